"""Every rule that a decision can name has words a person understands (I6)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import wellkept
from wellkept.core.consolidation.rules import DEFAULT_RULES
from wellkept.core.records.explain import _REASON_WORDS, reason_words
from wellkept.engine.history.verdicts import VERDICTS

ROOT = Path(wellkept.__file__).parent
COPIED = {"plain['rule']", "reason.rule"}
"""From a reason that was made elsewhere."""
BY_HAND = {
    "_skipped(found) if stage == 'vector' else stage": {
        "similarity_skip", "told_again", "content_hash", "canonical_hash",
    },
    "_skipped(found)": {"similarity_skip", "told_again"},
    "core/gate/outcomes.py supersede rule": {"same_subject", "reversion", "conflict_supersede"},
    "core/gate/outcomes.py warn rule": {"possible_repeat", "possible_conflict", "conflict_warn"},
    "'similarity_link' if rel == 'related' else rel": {"similarity_link", "refines"},
    "f'judged_{said}'": {f"judged_{said}" for said in VERDICTS},
    "action.rationale.rule": {rule.id for rule in DEFAULT_RULES},
}  # fmt: skip
"""What is not written out at the place itself."""


def sites() -> Iterator[tuple[Path, str, ast.expr]]:
    """Each place of the product that creates a reason: file, function and rule argument."""
    for file in sorted(ROOT.rglob("*.py")):
        if "testing" in file.relative_to(ROOT).parts:
            continue
        source = file.read_text("utf-8")
        if "Reason(" not in source:
            continue
        for function in ast.walk(ast.parse(source)):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                    said = [*node.args, *(word.value for word in node.keywords if word.arg == "rule")]
                    yield file, function.name, said[0]


def rules_of(file: Path, function: str, said: ast.expr) -> set[str]:
    if isinstance(said, ast.Constant):
        return {str(said.value)}
    text = ast.unparse(said)
    if text in COPIED:
        return set()
    if isinstance(said, ast.Name):
        module = import_module(".".join(("wellkept", *file.relative_to(ROOT).with_suffix("").parts)))
        if hasattr(module, text):
            return {str(getattr(module, text))}
        text = f"{file.relative_to(ROOT).as_posix()} {function} {text}"
    assert text in BY_HAND, f"{file}: say in BY_HAND which rules {text!r} can be"
    return BY_HAND[text]


NAMED = {rule for site in sites() for rule in rules_of(*site)}


def test_the_rules_are_found_where_they_are_named() -> None:
    assert {"nothing_like_it", "delivery", "replay", "handed_out", "wikilink", "told_again"} <= NAMED
    assert len(NAMED) > 30


@pytest.mark.parametrize("rule", sorted(NAMED - {rule.id for rule in DEFAULT_RULES}))
def test_a_rule_that_can_decide_has_words_of_its_own(rule: str) -> None:
    """I6: the text shown is not a variable name."""
    words = reason_words(rule)
    assert words == _REASON_WORDS[rule]
    assert " " in words and "_" not in words


def test_no_words_are_kept_for_rules_that_are_gone() -> None:
    assert set(_REASON_WORDS) - NAMED == set()


@pytest.mark.parametrize("rule", [rule.id for rule in DEFAULT_RULES])
def test_a_rule_of_consolidation_is_called_as_its_file_calls_it(rule: str) -> None:
    """Those are the user's own: a name of his says more than any words of ours."""
    assert reason_words(rule) == rule
