"""Every function from text to value takes time in proportion to its text, whatever the text is (D1).

The time is that of the processor. A text of twice the length may take 2.6 times as long; what takes less than the
floor is not judged, for the clock cannot.
"""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from growth import too_slow
from wellkept.adapters import notes, pickles
from wellkept.adapters.transcripts import chat_lines, slack
from wellkept.adapters.transcripts.tags import without_tags
from wellkept.cli.terminal import safe
from wellkept.core.consolidation import extractive_summary
from wellkept.core.consolidation.plan_file import plan_from
from wellkept.core.consolidation.rules import rules_from_toml
from wellkept.core.differences import find
from wellkept.core.judging.compare import _sentences, shared_words
from wellkept.core.reading import chat_turns, features, language_detection, lexer
from wellkept.core.recall import bm25, safe_blocks
from wellkept.core.records.wikilinks import names
from wellkept.core.text import forms as text
from wellkept.core.text import redaction
from wellkept.core.text.lookalikes import one_script
from wellkept.core.text.sentences import sentences
from wellkept.core.text.token_estimate import estimate_tokens
from wellkept.core.transcripts.facts import Passage, facts_in, passages
from wellkept.core.transcripts.statements import statements
from wellkept.core.transcripts.turns import Turn
from wellkept.errors import WellkeptError
from wellkept.models import relation
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.tokenizer.pairs import PairReader
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces
from wellkept.parsing import parsed_json, parsed_toml
from wellkept.policy import Policy

RATIO = 2.6
"""For twice the length."""
SIZES = (1_000, 4_000, 16_000, 64_000)
HEAVY = frozenset(("differences", "differences of a part", "shared words", "sentences as tuples", "summary"))
"""All of them read features first, which are measured by themselves with every text."""

Read = Callable[[str], Any]
Make = Callable[[int], str]


def _note(folder: Path, content: str) -> None:
    file = folder / "note.md"
    file.write_text(content, encoding="utf-8")
    list(notes.memories(file))


def _functions(folder: Path) -> dict[str, Read]:
    tokenizer = Tokenizer(minilm_pieces())
    multilingual = relation._multilingual(relation.WEIGHTS, 0).reader.tokenizer
    return {
        "canonical": text.canonical,
        "fold": text.fold,
        "one script": one_script,
        "slot key": text.slot_key,
        "words": text.words,
        "overlap": lambda t: text.text_overlap(t, t[::-1]),
        "search terms": text.search_terms,
        "excerpt": partial(text.excerpt, limit=60),
        "check": partial(text.check_text, limit=10**9),
        "line": text.is_line,
        "junk": text.is_junk,
        "language": language_detection.language_of,
        "english": language_detection.is_english,
        "language known": language_detection.language_is_known,
        "prepared": lexer.prepared,
        "features": features.features,
        "differences": lambda t: find.differences(t, "Use tea " + t[::-1]),
        "differences of a part": lambda t: find.differences(t, t[: len(t) // 2] + " not " + t[len(t) // 2 :]),
        "shared words": lambda t: shared_words(t, t + " tea"),
        "sentences as tuples": _sentences,
        "sentences": sentences,
        "statements": lambda t: list(statements(Turn(conversation="c", place="1", text=t))),
        "tags": without_tags,
        "slack": lambda t: slack._plain(t, {}),
        "chat line": lambda t: chat_lines._take([], 1, t),
        "facts": lambda t: facts_in(f'{{"facts": [{t}', Passage(())),
        "passages": lambda t: list(passages([Turn(conversation="c", place="1", text=t)])),
        "summary": lambda t: extractive_summary.summarise([t, t[::-1]]),
        "names": names,
        "lines": safe_blocks.lines_of,
        "one line": safe_blocks.one_line,
        "tokens": estimate_tokens,
        "asks": chat_turns.asks,
        "redacted": redaction.redacted,
        "without secrets": redaction.without_secrets,
        "document terms": bm25.document_terms,
        "query terms": bm25.query_terms,
        "hashing": lambda t: HashingEmbedder().embed([t]),
        "pieces": tokenizer.encode,
        "pairs": PairReader(tokenizer).read,
        "pieces of other languages": multilingual.encode,
        "pairs in other languages": PairReader(multilingual).read,
        "json": parsed_json,
        "json text": lambda t: parsed_json(f'{{"a": [{t}'),
        "toml": parsed_toml,
        "toml key": lambda t: parsed_toml(f"{t} = 1"),
        "policy": Policy.from_toml,
        "rules": rules_from_toml,
        "plan": plan_from,
        "note": partial(_note, folder),
        "note's heading": lambda t: _note(folder, f"# {t}"),
        "front matter": lambda t: _note(folder, f"---\n{t}\n---\n- tea"),
        "pickle": lambda t: pickles.data_of(t.encode()),
        "pickled text": lambda t: pickles.as_json(pickles.data_of(pickle.dumps([t]))),
        "safe": safe.safe,
        "safe line": safe.one_line,
        "safe json": lambda t: safe.safe_json(t, encoding="utf-8"),
    }


SIGNS = (
    [chr(code) for code in range(33, 127)] + list("😀数ひ한яλعשनท–…。！№²½") + ["\u0301", "\u200d", "\u200b", "\ufe0f"]
)
MIXTURES = [
    "a. ", "1 h 30 min ", "x_1 ", "not a, ", "No. 5 ", "!?_-", '"a" ', "(a [b {c ", "**a** _b_ ", "<!-- # ", "[[a]] [",
    "a's ", "Ana and Bo before noon; ", "pa\u0430ypal ", "数据库 one ", "👩\u200d💻 e\u0301", "1.5% -5 €3 ",
    "<a-b> </c-d> ", "<@U1|a <#", "1/2/24, 3:04 ", "http://a.b/c?d=e ", "- a\n  - b\n\n", "if not unless only when ",
]  # fmt: skip


def _texts() -> Iterator[tuple[str, Make]]:
    """Each sign in one of three forms, in turn; the mixtures; and a text whose words all differ."""
    forms: tuple[tuple[str, Callable[[str, int], str]], ...] = (
        ("{}x", lambda sign, n: (sign * n)[: n - 1] + "x"),
        ("x{}x", lambda sign, n: "x" + (sign * n)[: n - 2] + "x"),
        ("a{}a{}", lambda sign, n: (f"a{sign}" * n)[:n]),
    )
    for number, sign in enumerate(SIGNS):
        label, form = forms[number % len(forms)]
        yield label.format(sign, sign), partial(form, sign)
    for sign in "!?._-'\"*[#<`\u200d":  # what texts are most often decorated with, in every form
        for label, form in forms:
            yield label.format(sign, sign), partial(form, sign)
    for mixture in MIXTURES:
        yield mixture, partial(_repeated, mixture)
    yield "numbered", lambda n: " ".join(f"item{k} {k}." for k in range(n // 10))


def _repeated(mixture: str, n: int) -> str:
    return (mixture * n)[:n]


def _seconds(read: Read, content: str) -> float:
    """CPU time of one call; expected errors count as answers."""
    started = time.process_time()
    try:
        read(content)
    except WellkeptError:
        pass
    return time.process_time() - started


_turn = iter(range(10**9))


def _too_slow(read: Read, make: Make, smaller: int, larger: int) -> str:
    """How a time grows from one number of characters to another, where it grows too fast.

    Each run has another text, so that no cache answers.
    """
    return too_slow(lambda size: _seconds(read, f"{make(size)}{next(_turn)}"), smaller, larger, RATIO**2)


@pytest.fixture
def functions(tmp_path: Path) -> Iterator[dict[str, Read]]:
    """The functions, each called once before so that its tables are there; nothing is collected meanwhile."""
    found = _functions(tmp_path)
    for read in found.values():
        _seconds(read, "Use tea, not 5 coffees.")
    gc.collect()
    gc.disable()
    yield found
    gc.enable()


@pytest.mark.slow
def test_no_function_takes_quadratic_time_for_texts_of_8000_characters(functions: dict[str, Read]) -> None:
    """The quick part: two doublings at once, of every function and of every text in turn."""
    texts = list(_texts())
    found = [
        (name, label, told)
        for number, (name, read) in enumerate(functions.items())
        for label, make in texts[number % 14 :: 14]
        if (told := _too_slow(read, make, 2_000, 8_000))
    ]
    assert found == []


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(_functions(Path())))
def test_a_text_of_four_times_the_length_takes_at_most_2_6_squared_as_long(
    name: str, functions: dict[str, Read]
) -> None:
    """From 1,000 to 64,000 characters, two doublings at once: most of the smaller texts are below the floor."""
    read = functions[name]
    texts = list(_texts())
    found = [
        (label, told)
        for label, make in (texts[::12] + texts[-len(MIXTURES) - 1 :] if name in HEAVY else texts)
        for smaller, larger in zip(SIZES, SIZES[1:], strict=False)
        if (told := _too_slow(read, make, smaller, larger))
    ]
    assert found == []


def test_the_measure_sees_quadratic_time() -> None:
    """A measure that finds nothing anywhere would be worth nothing."""

    def quadratic(content: str) -> int:
        return sum(1 for at in range(0, len(content), 32) for _ in content[at:])

    assert _too_slow(quadratic, lambda n: "a" * n, 4_000, 16_000)
    assert not _too_slow(lambda t: sum(map(ord, t * 20)), lambda n: "a" * n, 4_000, 16_000)
