"""The language of a text, and whether the word lists cover it."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from wellkept.core.lexicon import Language, lexicon
from wellkept.core.lexicon.tables import raw_table
from wellkept.core.text.forms import UNSPACED, fold
from wellkept.core.text.letter_groups import LetterWeights, letters_of
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.patterns import pattern

_PLAIN_WORD = pattern(r"[^\W\d_]+")
_RUN = pattern(f"[{UNSPACED}]")
_KANA = pattern("[\u3041-\u30ff]")
_HAN_KANA = pattern("[\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_CYRILLIC = pattern("[\u0400-\u04ff]")
_LATIN = pattern("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_KNOWN_SCRIPT = pattern("[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0400-\u04ff]")
_CODE = pattern(r"[_{}<>=|;$\\]|::|\w[./]\w|\(\)|\d")
_SHORT = 3
"""Most words of a text that is too short to decide whether its language is known."""
_NAME = 3
"""Most words of a name."""
_SPOKEN = 1.0
"""Log-odds that a text is English where it has more words of the English lists than of any other language."""
_HEAD = 2000
"""Characters at the start of a text from which its language is detected."""


def language_of(text: str) -> Language:
    """The language of the function words of a text; English for a text without any."""
    return lexicon().languages[_code_of(text[:_HEAD])]


@remembered(4 * MIB)
def _code_of(head: str) -> str:
    known = lexicon()
    found = _PLAIN_WORD.findall(head.lower())
    codes, owners = _owners("markers")
    if not head.isascii():
        letters, unspaced = sum(map(str.isalpha, head)), len(_RUN.findall(head))
        if unspaced * 4 >= letters and unspaced:
            return unspaced_language(head).code
        if len(_CYRILLIC.findall(head)) * 2 >= letters and found:
            codes = tuple(language.code for language in known.of_script("cyrillic"))
    counts = dict.fromkeys(codes, 0)
    for word in found:
        for code in owners.get(word, ()):
            if code in counts:
                counts[code] += 1
    for code in counts:
        unsure = known.languages[code].no_markers
        if counts[code] and unsure:
            counts[code] += sum(word in unsure for word in found)
    return max(counts, key=counts.__getitem__)


def unspaced_language(text: str) -> Language:
    """The language of a text without spaces: kana are Japanese, ideographs alone are Chinese."""
    return lexicon().of_script("kana" if _KANA.search(text) else "han")[0]


@lru_cache(maxsize=2)
def _owners(which: str) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The codes of the languages with spaces, by rank, and each known word with the codes of its languages."""
    languages = lexicon().of_script("latin", "cyrillic")
    owners: dict[str, tuple[str, ...]] = {}
    for language in languages:
        for word in language.markers if which == "markers" else _vocabulary(language):
            owners[word] = (*owners.get(word, ()), language.code)
    return tuple(language.code for language in languages), owners


def _vocabulary(language: Language) -> frozenset[str]:
    """Every word by which a language is recognised as known."""
    own = language.markers | language.soft | language.copula
    return (own | language.auxiliary | language.choose | language.additive) - language.no_markers


def language_is_known(text: str) -> bool:
    """Whether the word lists cover the language of a text, so that "no difference found" means something.

    Args:
        text: Any text.

    Returns:
        False for more than three words of a script or language without a word list (Arabic, Dutch,
        Polish …); True for the known languages, and for texts too short or too much like code to decide.

    Example:
        >>> language_is_known("Het is niet toegestaan om wachtwoorden op te slaan")
        False
        >>> language_is_known("npm run build"), language_is_known("Gateway timeouts raised again")
        (True, True)
    """
    return _language_is_known(text[:_HEAD])


def is_english(text: str) -> bool:
    """Whether a text is English, by its letters; a single word, a name, numbers and code count as English.

    Example:
        >>> [is_english(text) for text in ("The rent is 900 euros.", "Die Miete ist nun 900 Euro.", "Аренда 900 евро.")]
        [True, False, False]
    """
    return _is_english(text[:_HEAD])


@remembered(4 * MIB)
def _is_english(text: str) -> bool:
    head = fold(text)
    letters = sum(map(str.isalpha, head))
    unspaced = 0 if head.isascii() else len(_RUN.findall(head))
    if (unspaced and unspaced * 4 >= letters) or len(_LATIN.findall(head)) * 2 < letters:
        return False
    chunks = head.split()
    words = [word for chunk in chunks if not _CODE.search(chunk) for word in _PLAIN_WORD.findall(chunk)]
    if len(words) < 2 or (len(words) <= _NAME and head.istitle() and all(map(str.isalpha, chunks))):
        return True
    weights, bias = _of_english()
    _, owners = _owners("vocabulary")
    counts = Counter(code for word in words for code in owners.get(word.lower(), ()))
    english = next(code for code, language in lexicon().languages.items() if language.grammar.wordnet)
    spoken = counts.pop(english, 0) > max(counts.values(), default=0)
    return weights.sum(letters_of(head)) + bias + (_SPOKEN if spoken else 0.0) > 0


@lru_cache(maxsize=1)
def _of_english() -> tuple[LetterWeights, float]:
    """Weights of groups of letters for the log-odds that a text is English, and their constant term."""
    table = dict(raw_table("english"))
    bias = table.pop("bias")
    return LetterWeights.of(**table), bias


@remembered(4 * MIB)
def _language_is_known(text: str) -> bool:
    head = fold(text)
    letters = sum(map(str.isalpha, head))
    unspaced = 0 if head.isascii() else len(_RUN.findall(head))
    if letters and unspaced * 4 >= letters:
        return len(_HAN_KANA.findall(head)) * 2 >= unspaced
    found = _PLAIN_WORD.findall(head.lower())
    covered = len(_KNOWN_SCRIPT.findall(head)) + unspaced
    if letters > 2 * _SHORT and covered * 2 < letters:
        return False
    if len(found) <= _SHORT:
        return True
    codes, owners = _owners("vocabulary")
    if len(_CYRILLIC.findall(head)) * 2 >= letters:
        codes = tuple(language.code for language in lexicon().of_script("cyrillic"))
    counts = Counter(code for word in found for code in owners.get(word, ()))
    best = max(counts[code] for code in codes)
    strangers, strange_letters = lexicon().strangers, lexicon().strange_letters
    strange = sum(word in strangers for word in found)
    lettered = sum(strange_letters.search(word) is not None for word in found)
    if strange <= best and not (lettered >= 2 and lettered + strange >= best):
        if best > 0 or len(_CODE.findall(head)) * 3 >= len(found):
            return True
    return _is_english(text)  # its notes often have no function word: "api-gw timeouts raised"
