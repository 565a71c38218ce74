"""The letters of a text cut into raw tokens; its language; stems.

One pattern holds every kind of token, the longest and most special first. All repeats in it are
bounded or cannot overlap, so that no text makes it slow.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.lexicon import SPACED, Language, lexicon
from wellkept.core.text.forms import UNSPACED, fold
from wellkept.core.text.text_cache import remembered

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
    attached = "|".join(
        map(re.escape, [*units, "bn", "mn", "k", "K", "M", "st", "nd", "rd", "th", "x", "er", "e", "ème"])
    )
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
        r"(?P<cjktime>(?:上午|下午|午前|午後|早上|晚上|凌晨|夜)?\d{1,2}[点點時时](?!间|間)(?:\d{1,2}分|半)?)",
        r"(?P<clock>(?<![\d:.])\d{1,2}:\d{2}(?::\d{2})?(?!\d)(?:\s?[aApP]\.?[mM]\b\.?)?(?:\s?Uhr\b)?)",
        r"(?P<ampm>(?<![\d:.])\d{1,2}(?:[.]\d{2})?\s?[aApP](?:\.[mM]\.|[mM]\b))",
        r"(?P<uhr>(?<![\d:.])\d{1,2}(?:[.:]\d{2})?\s?(?:Uhr\b(?:\s\d{2}\b)?|o'clock\b)|(?<![\d:.])\d{1,2}\s?h\s?\d{2}\b(?!\s?m))",
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
        rf"(?P<run>(?:(?!(?:上午|下午|午前|午後|早上|晚上|凌晨|夜)\d)[{UNSPACED}])+)",
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


_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|z\.\s?B|d\.\s?h|etc|vs|approx|ca|Mr|Mrs|Ms|Dr|St|Mme|Sr|Sra)\.(?=\s|,)")
_PAGE = re.compile(r"\bpp?\.\s?(?=\d)")
_REQUESTS = re.compile(r"(?<=\d )(?:requests?|req)\s?(?:per|/|a)\s?(minute|min|second|sec|s|hour|h)\b")
_PART_OF_DAY = re.compile(
    r"\b(\d{1,2}[:.]\d{2}|(?<=at )\d{1,2}|(?<=by )\d{1,2}|(?<=until )\d{1,2})(?: o'clock)?"
    r" (?:in the (morning|afternoon|evening)|at (night))\b"
)
_MEASURE = re.compile(
    r"(?<=\d)-(?=(?:second|sec|minute|min|hour|day|week|month|year|met(?:er|re)|mile|euro|dollar|percent|pixel)s?\b)"
)
_NUMBER_SIGN = re.compile(r"\b[Nn]o\.\s?(?=\d)")


def _per_time(found: re.Match[str]) -> str:
    return f"rp{found.group(1)[0]}"


def _half_of_day(found: re.Match[str]) -> str:
    clock, part = found.group(1), found.group(2) or found.group(3)
    hour = int(re.split("[:.]", clock)[0])
    if not 0 < hour <= 12 or (part == "night" and hour in (12, *range(1, 5))):
        return found.group()  # "2 at night" is before dawn, and 14:30 needs no help
    return f"{clock} {'am' if part == 'morning' else 'pm'}"


def _without_dots(found: re.Match[str]) -> str:
    return found.group().replace(".", "")


_HEAD = 2000
"""Characters of a text by which its language is told."""


def language_of(text: str) -> Language:
    """The language whose small words a text uses; English when it uses none of any."""
    return _language_of(text[:_HEAD])


@remembered(characters=1_000_000)
def _language_of(head: str) -> Language:
    known = lexicon().languages
    unspaced = len(_RUN.findall(head))
    if unspaced * 4 >= sum(map(str.isalpha, head)) and unspaced:
        return known["ja" if _KANA.search(head) else "zh"]
    found = _PLAIN_WORD.findall(head.lower())
    if len(_CYRILLIC.findall(head)) * 2 >= sum(map(str.isalpha, head)) and found:
        return known["ru"]
    counts = {code: sum(word in known[code].markers for word in found) for code in SPACED}
    best = max(SPACED, key=lambda code: (counts[code], -SPACED.index(code)))
    return known[best]


_STRANGE_LETTERS = re.compile(
    "[\u0105\u0107\u0119\u0142\u0144\u015b\u017a\u017c\u0111\u010d\u010f\u011b\u0148\u0159\u0161\u0165\u016f\u017e\u0131\u011f\u015f\u0103\u0163\u0219\u021b\u0151\u0171\u01a1\u01b0\u1ea0-\u1ef9\u00f8\u00e5\u00fe\u00f0\u0456\u0457\u0454\u0491\u045e]"
)
_KNOWN_SCRIPT = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0400-\u04ff]")
_CODE = re.compile(r"[_{}<>=|;$\\]|::|\w[./]\w|\(\)|\d")
_SHORT = 3


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Small words of each known language, and those of languages without a word list."""
    known = lexicon()
    own = {
        code: known.languages[code].markers
        | known.languages[code].soft
        | known.languages[code].copula
        | known.languages[code].auxiliary
        | known.languages[code].choose
        | known.languages[code].additive
        for code in SPACED
    }
    return own, known.strangers


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


@remembered(characters=1_000_000)
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
    own, strangers = _vocabulary()
    codes = ("ru",) if len(_CYRILLIC.findall(head)) * 2 >= letters else SPACED
    best = max(sum(word in own[code] for word in found) for code in codes)
    strange = sum(word in strangers for word in found)
    lettered = sum(_STRANGE_LETTERS.search(word) is not None for word in found)
    if strange > best or (lettered >= 2 and lettered + strange >= best):
        return False
    return best > 0 or len(_CODE.findall(head)) * 3 >= len(found)


def prepared(text: str) -> str:
    """The text as the lexer reads it: folded, without markup, abbreviations without their points."""
    plain = _ABBREVIATED.sub(_without_dots, _NUMBER_SIGN.sub("#", _MARKUP.sub(" ", fold(text))))
    plain = _MEASURE.sub(" ", plain)
    return _PART_OF_DAY.sub(_half_of_day, _REQUESTS.sub(_per_time, _PAGE.sub("page ", plain)))


def has_kana(text: str) -> bool:
    """True for Japanese, which shares its ideographs with Chinese."""
    return _KANA.search(text) is not None


CJK_COUNT = re.compile(
    "[一二两三四五六七八九十百]{1,12}(?=个|個|次|天|周|人|年|小时|小時|分钟|分間|秒|回|件|台|名|度|錠|つ|时间|時間|か月|ヶ月|週間"
    "|匹|本|枚|元|円|欧元|美元)"
)
CJK_MONTH = re.compile("[一二三四五六七八九十]{1,3}月")


def rank_of(word: str, language: Language) -> int:
    """The number an ordinal word stands for; 0 when it is none."""
    if word in language.ordinals:
        return language.ordinals[word]
    if language.code == "en" and word.endswith("th"):
        base = word[:-2]
        number = language.numerals.get(base) or language.numerals.get(base.removesuffix("ie") + "y")
        return number or int(language.scale.get(base, 0))
    return 0


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def stem(word: str, language: Language) -> str:
    """A crude stem for aligning: light endings of the language are cut, in English at most twice."""
    return _stem(word, language.code) if len(word) <= _LONGEST_KEPT else _stem.__wrapped__(word, language.code)


_LONGEST_KEPT = 64


@lru_cache(maxsize=16384)
def _stem(word: str, code: str) -> str:
    language = lexicon().languages[code]
    if code == "de":
        word = word.translate(_UMLAUTS)
    word = language.irregular.get(word, word)
    for _ in range(2 if code == "en" else 1):
        shorter = _without_suffix(word, language)
        if shorter == word:
            break
        word = shorter
    return word


def _without_suffix(word: str, language: Language) -> str:
    least = 3 if language.code == "en" else 4
    for suffix in language.suffixes:
        base = word[: -len(suffix)]
        if len(base) < least or not word.endswith(suffix):
            continue
        if (suffix == "s" and base.endswith("s")) or (suffix == "y" and base[-1] in "aeiou"):
            continue
        if suffix in ("ed", "ing") and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
            base = base[:-1]
        return base
    return word
