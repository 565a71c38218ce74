"""The model that extracts facts from conversations: where their texts go, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from wellkept.cli.terminal.chat_model import PANEL, ChatOptions, DryRunOption, chat_model, require_permission, resumable
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.session import Session
from wellkept.config import extraction_folder
from wellkept.frozen import frozen
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.core.transcripts.facts import Passage
    from wellkept.core.transcripts.turns import Turn
    from wellkept.engine.ingest.extracting import Extraction
    from wellkept.models.answering.extractor import ChatExtractor


@frozen(kw_only=True)
class ExtractOptions:
    """The model that extracts facts, and how much it may cost."""

    extract: str | None = option(
        "--extract",
        metavar="URL",
        panel=PANEL,
        show_default=False,
        help="A chat endpoint that extracts facts, such as http://127.0.0.1:8080/v1.",
    )
    asked: ChatOptions = ChatOptions()
    dry_run: DryRunOption = False

    def chat(self, run: Session) -> ChatExtractor | None:
        """The model; None if none is wanted."""
        from wellkept.models.answering.extractor import ChatExtractor

        if self.extract is None:
            if self != ExtractOptions():
                raise typer.BadParameter("Name the endpoint", param_hint="--extract")
            return None
        return chat_model(ChatExtractor, run.settings, self.extract, self.asked)


def unsent(model: ChatExtractor, turns: Sequence[Turn]) -> list[Passage]:
    """The passages about which the model has said nothing yet."""
    from wellkept.core.transcripts.facts import passages
    from wellkept.engine.ingest.extracting import KeptAnswers

    kept = KeptAnswers(extraction_folder(), model.id)
    return [passage for passage in passages(turns) if kept.get(passage) is None]


def extraction(run: Session, model: ChatExtractor, turns: Sequence[Turn]) -> Extraction:
    """Ask the model about the turns.

    Raises:
        ConfigError: The texts would leave this machine, and the settings do not allow it.
        ModelError: The endpoint cannot be reached, refuses, or sends something else; its answers so far are kept.
    """
    from wellkept.engine.ingest.extracting import KeptAnswers, extracted

    waiting = unsent(model, turns)
    if waiting:
        require_permission(run.settings, model, count_of(len(waiting), "passage"))
        most, lines = sum(map(model.estimate, waiting)), sum(len(one.lines) for one in waiting)
        run.note(
            f"Sends {count_of(len(waiting), 'passage')} with {count_of(lines, 'line')} to {model.endpoint.host}: "
            f"at most about {most:,} tokens" + ("" if model.budget is None else f"; the budget is {model.budget:,}")
        )
    kept = KeptAnswers(extraction_folder(), model.id)
    with resumable(run), run.progress("Extracting", None, of="passages") as bar:
        found = extracted(turns, model, kept, progress=bar)
    if found.left:
        left = count_of(found.left, "passage is", "passages are")
        run.note(f"The budget is spent: {left} left; the same command goes on where this one ended")
    return found
