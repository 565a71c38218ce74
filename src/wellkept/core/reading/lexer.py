"""The letters of a text cut into raw tokens; its language; stems.

One pattern holds every kind of token, the longest and most special first. All repeats in it are
bounded or cannot overlap, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.text.forms import UNSPACED, fold
from wellkept.core.text.text_cache import MIB, remembered

_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff\u200c\u200d"
_LETTERS = rf"(?:[^\W\d_{UNSPACED}]++|[{_MARKS}]++)++"
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u04ff"
"""Without the signs × and ÷, which stand among the letters: "2× A100" holds a number."""
_EDGE = rf"(?<![{_LATIN}\d_])"
_WORDY = rf"[^\W{UNSPACED}]"


@lru_cache(maxsize=1)
def token_pattern() -> re.Pattern[str]:
    """The one expression that splits a text into typed tokens, longest readings first."""
    units = sorted((u for u in lexicon().units if u[0].isascii() and u[0].isalpha()), key=lambda u: (-len(u), u))
    attached = "|".join(map(re.escape, [*units, "bn", "mn", "k", "K", "M", "x", *_longest("ordinal_endings")]))
    halves, hour, clock = ("|".join(map(re.escape, _longest(name))) for name in ("halves", "hour_signs", "clock_signs"))
    number = (
        rf"(?<![{_LATIN}\d_.])[-+]?(?:(?<!\d\s)[€$£¥₽₹]\s?)?"
        r"[-+]?(?:\d{1,3}(?: \d{3})+(?![\d.,])|\d+(?:[.,'_]\d+)*|(?<!\d)\.\d+)"
        rf"(?:[eE][-+]?\d{{1,3}})?(?:(?:{attached})(?![{_LATIN}\d_])|(?![{_LATIN}\d_]))"
    )
    alternatives = [
        rf"(?P<url>[a-z][a-z0-9+]{{1,9}}://[^\s,;<>{UNSPACED}]+)",
        r"(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4})",
        r"(?P<ip>(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?(?![\w.]\w))",
        r"(?P<iso>(?<!\d)\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?)",
        r"(?P<day>(?<![\d.])\d{1,2}([./])\s?\d{1,2}(?:\.\s?|/)\d{4}(?!\d))",
        r"(?P<daymonth>(?<![\w.:/-])(?:1[3-9]|2\d|3[01])-(?:0[1-9]|1[0-2])(?![\w:/-]|\.\d))",
        r"(?P<cjkdate>(?:\d{2,4}年)?\d{1,2}月(?:\d{1,2}[日号號])?)",
        rf"(?P<cjktime>(?:{halves})?\d{{1,2}}[点點時时](?!间|間)(?:\d{{1,2}}分|半)?)",
        rf"(?P<clock>(?<![\d:.])\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d)(?:\s?[aApP]\.?[mM]\b\.?)?(?:\s?(?:{clock})\b)?)",
        r"(?P<ampm>(?<![\d:.])\d{1,2}(?:[.]\d{2})?\s?[aApP](?:\.[mM]\.|[mM]\b))",
        rf"(?P<hours>(?<![\d:.])\d{{1,2}}(?:[.:]\d{{2}})?\s?(?:(?:{clock})\b(?:\s\d{{2}}\b)?|(?:{hour})\b)|"
        r"(?<![\d:.])\d{1,2}\s?h\s?\d{2}\b(?!\s?m))",
        r"(?P<fraction>(?<![\w./])(?:\d{1,3} )?[1-9]/[2-9](?![\w/.]))",
        r"(?P<ratio>(?<![\w./])\d+/\d+(?![\w/]))",
        rf"(?P<version>(?<![{_LATIN}\d_.])[vV]\d+(?:\.\d+)*(?:-[A-Za-z0-9]+)*|(?<![{_LATIN}\d_.])\d+(?:\.\d+){{2,}}(?:-?[A-Za-z]\w*)?)",
        rf"(?P<number>{number})",
        r"(?P<flag>(?<!\S)--[A-Za-z][\w-]*(?:=[\w./-]+)?|(?<!\S)-[A-Za-z](?!\w))",
        rf"(?P<handle>[#@]{_WORDY}(?:{_WORDY}|-(?=\w))*)",
        rf"(?P<path>{_EDGE}(?:~|\.{{1,2}})?/[\w.-]{{0,64}}\w(?:/[\w.-]{{0,64}}\w){{0,16}}/?|{_EDGE}\.[A-Za-z]\w+|"
        rf"{_EDGE}[A-Za-z0-9_.-]{{0,64}}\w(?:/[\w.-]{{0,64}}\w){{2,16}}|"
        rf"{_EDGE}\w[A-Za-z0-9_-]{{0,64}}/[A-Za-z0-9_-]{{0,64}}\.\w+)",
        r"(?P<special>\b[A-Za-z]\+\+|(?<![^\W_])[A-Z]{1,2}[+-](?![\w+-])|\b[CFcf]#(?!\w))",
        rf"(?P<dotted>{_EDGE}[A-Za-z_][A-Za-z0-9_-]{{0,64}}(?:\.[A-Za-z0-9_-]{{0,64}}[A-Za-z0-9_]{{2}}){{1,8}}"
        rf"(?![{_LATIN}]))",
        rf"(?P<mixed>{_EDGE}(?:[A-Za-z]{{1,24}}-){{0,4}}[A-Za-z]{{1,24}}-?\d[A-Za-z0-9_]*(?:[-.:][A-Za-z0-9_]+){{0,4}}|"
        rf"{_EDGE}\d{{1,64}}[A-Za-z][A-Za-z0-9_]*|{_EDGE}[A-Za-z0-9]{{0,64}}_[A-Za-z0-9_]+)",
        rf"(?P<run>(?:(?!(?:{halves})\d)[{UNSPACED}])+)",
        rf"(?P<word>{_LETTERS}(?:'{_LETTERS})*)",
        r"(?P<end>(?:(?!!=)[.!?;\n。！？；…])+|\s[-–—]{1,2}\s|—)",
        r"(?P<digits>\d+)",  # whatever else stands around them, digits are never dropped
        r"(?P<sign>!=|==|<=|>=|[=<>:→&%]|[^\w\s.,'\"()\[\]-])",
    ]
    return re.compile("|".join(alternatives))


_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_RUN = re.compile(f"[{UNSPACED}]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN_KANA = re.compile("[\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_MARKUP = re.compile(r"`|\*{2,3}|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|~~")


def _without_dots(found: re.Match[str]) -> str:
    return found.group().replace(".", "")


@lru_cache(maxsize=1)
def _rewritten() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], str], ...]]:
    """Abbreviations of all languages, and what is written otherwise before a text is read."""
    dotted = "|".join(re.escape(text).replace(r"\ ", r"\s?") for text in _longest("abbreviations"))
    rules = tuple(rule for language in lexicon().languages.values() for rule in language.rewritten)
    return re.compile(rf"\b(?:{dotted})\.(?=\s|,)"), rules


def _longest(name: str) -> list[str]:
    return sorted(in_all_languages(name), key=lambda text: (-len(text), text))


_HEAD = 2000
"""Characters of a text by which its language is told."""


def language_of(text: str) -> Language:
    """The language whose small words a text uses; English when it uses none of any."""
    return lexicon().languages[_code_of(text[:_HEAD])]


@remembered(4 * MIB)
def _code_of(head: str) -> str:
    known = lexicon()
    unspaced = len(_RUN.findall(head))
    if unspaced * 4 >= sum(map(str.isalpha, head)) and unspaced:
        return unspaced_language(head).code
    found = _PLAIN_WORD.findall(head.lower())
    codes, owners = _owners("markers")
    if len(_CYRILLIC.findall(head)) * 2 >= sum(map(str.isalpha, head)) and found:
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
    """The language of a text without blanks: kana are Japanese, ideographs alone Chinese."""
    return lexicon().of_script("kana" if _KANA.search(text) else "han")[0]


@lru_cache(maxsize=2)
def _owners(which: str) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The languages with blanks between words, first one first, and of each small word those it belongs to."""
    languages = lexicon().of_script("latin", "cyrillic")
    owners: dict[str, tuple[str, ...]] = {}
    for language in languages:
        for word in language.markers if which == "markers" else _vocabulary(language):
            owners[word] = (*owners.get(word, ()), language.code)
    return tuple(language.code for language in languages), owners


def _vocabulary(language: Language) -> frozenset[str]:
    """Every small word by which a language is known."""
    own = language.markers | language.soft | language.copula
    return (own | language.auxiliary | language.choose | language.additive) - language.no_markers


_STRANGE_LETTERS = re.compile(
    "[\u0105\u0107\u0119\u0142\u0144\u015b\u017a\u017c\u0111\u010d\u010f\u011b\u0148\u0159\u0161\u0165\u016f\u017e\u0131\u011f\u015f\u0103\u0163\u0219\u021b\u0151\u0171\u01a1\u01b0\u1ea0-\u1ef9\u00f8\u00e5\u00fe\u00f0\u0456\u0457\u0454\u0491\u045e]"
)
_KNOWN_SCRIPT = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0400-\u04ff]")
_CODE = re.compile(r"[_{}<>=|;$\\]|::|\w[./]\w|\(\)|\d")
_SHORT = 3


def language_is_known(text: str) -> bool:
    """Whether the word lists cover the language of a text, so that "no difference found" means something.

    Args:
        text: Any text.

    Returns:
        False for more than three words of a script or language without a word list (Arabic, Dutch,
        Polish …); True for the known languages, and for texts too short or too much like code to tell.

    Example:
        >>> language_is_known("Het is niet toegestaan om wachtwoorden op te slaan")
        False
        >>> language_is_known("npm run build")
        True
    """
    return _language_is_known(text[:_HEAD])


@remembered(4 * MIB)
def _language_is_known(text: str) -> bool:
    head = fold(text)
    letters = sum(map(str.isalpha, head))
    unspaced = len(_RUN.findall(head))
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
    strangers = lexicon().strangers
    strange = sum(word in strangers for word in found)
    lettered = sum(_STRANGE_LETTERS.search(word) is not None for word in found)
    if strange > best or (lettered >= 2 and lettered + strange >= best):
        return False
    return best > 0 or len(_CODE.findall(head)) * 3 >= len(found)


def prepared(text: str) -> str:
    """The text as the lexer reads it: folded, without markup, abbreviations without their points."""
    abbreviated, rules = _rewritten()
    plain = abbreviated.sub(_without_dots, _MARKUP.sub(" ", fold(text)))
    for pattern, other in rules:
        plain = pattern.sub(other, plain)
    return plain


@lru_cache(maxsize=1)
def han_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A count in ideographs, and a month in them."""
    digits = "".join(digit for digit, number in lexicon().han_digits.items() if number)
    return re.compile(f"[{digits}十百]{{1,12}}(?={'|'.join(lexicon().han_counters)})"), re.compile(
        f"[{digits}十]{{1,3}}月"
    )


def rank_of(word: str, language: Language) -> int:
    """The number an ordinal word stands for; 0 when it is none."""
    return language.ordinals.get(word) or language.ordinals_beyond.get(word, 0)


def stem(word: str, language: Language) -> str:
    """A crude stem for aligning: light endings of the language are cut."""
    return _stem(word, language.code) if len(word) <= _LONGEST_KEPT else _stem.__wrapped__(word, language.code)


_LONGEST_KEPT = 64


@lru_cache(maxsize=16384)
def _stem(word: str, code: str) -> str:
    language = lexicon().languages[code]
    for letter, other in language.spelled.items():
        word = word.replace(letter, other)
    word = language.irregular.get(word, word)
    for _ in range(language.grammar.stem_rounds):
        shorter = _without_suffix(word, language)
        if shorter == word:
            break
        word = shorter
    return word


def _without_suffix(word: str, language: Language) -> str:
    least = language.grammar.shortest_stem
    for suffix in language.suffixes:
        base = word[: -len(suffix)]
        if len(base) < least or not word.endswith(suffix):
            continue
        if (suffix == "s" and base.endswith("s")) or (suffix == "y" and base[-1] in "aeiou"):
            continue
        if suffix in language.doubling_suffixes and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
            base = base[:-1]
        return base
    return word
