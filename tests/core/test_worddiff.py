"""Two texts as one: what stays, what goes, what comes."""

import pytest

from wellkept.core.text.word_diff import shared, word_diff

CASES = {
    "one word replaced": ("The port is 5432.", "The port is 5433.", "The port is |-5432.|+5433."),
    "words added inside": ("Deploys happen here", "Deploys do not happen here", "Deploys |+do not |happen here"),
    "words left out": ("Always run all tests", "Always run tests", "Always run |-all |tests"),
    "nothing shared": ("yes", "no", "-yes|+no"),
    "equal": ("a b", "a b", "a b"),
    "white space is no difference": ("a\n\n b ", "a b", "a b"),
    "an empty text": ("", "new words", "+new words"),
    "a script without spaces": ("端口是五", "端口是六", "端口是|-五|+六"),
    "right to left": ("المنفذ هو 5432", "المنفذ هو 5433", "المنفذ هو |-5432|+5433"),
}


@pytest.mark.parametrize(("old", "new", "shown"), CASES.values(), ids=CASES)
def test_the_words_of_two_texts_stand_in_one_line(old: str, new: str, shown: str) -> None:
    signs = {"both": "", "old": "-", "new": "+"}
    assert "|".join(signs[piece.side] + piece.text for piece in word_diff(old, new)) == shown


@pytest.mark.parametrize(("old", "new", "_"), CASES.values(), ids=CASES)
def test_each_text_can_be_read_from_the_pieces(old: str, new: str, _: str) -> None:
    pieces = word_diff(old, new)
    for side, text in (("old", old), ("new", new)):
        kept = "".join(piece.text for piece in pieces if piece.side in ("both", side))
        assert "".join(kept.split()) == "".join(text.split())


def test_how_much_is_shared_is_counted_in_words() -> None:
    assert shared(word_diff("a b c", "a b d")) == pytest.approx(4 / 6)
