"""Forms of a text: canonical form, hashes, search terms, embedding text, excerpts, and validation.

All forms support every script. A form may fold spelling, never meaning: `1.5` differs from `15`, `C++` from `C`, `-5`
from `5`, and Chinese is never empty.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages
from wellkept.core.text.lookalikes import one_script
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.errors import ContentTooLarge, EmptyContent, InvalidText
from wellkept.patterns import pattern

EMBED_LIMIT = 30_000
"""Most characters of a text that are embedded."""

MAX_TERMS = 4096
MAX_TERM_LENGTH = 64

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4\u2032\uff07", "'"))
_SUPERSCRIPT = pattern("([\u207a\u207b\u2212+-]?)([\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207f]+)")
_SUBSCRIPT_AFTER_DIGIT = pattern("(?<=\\d)(?=[\u2080-\u2089])")
_COMPAT_NUMBER = pattern("[\u00bc-\u00be\u2150-\u215f\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u2116\u2122\u2120]")
_TAGS = pattern("(\U0001f3f4[\U000e0020-\U000e007f]+)|[\U000e0000-\U000e0fff]+")
"""Tag characters spell flag names after a black flag; elsewhere they are hidden text."""
_INVISIBLE = pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
_STRAY_JOINER = pattern(r"(?<!\S)[\u200c\u200d]+|(?<![\u200c\u200d])[\u200c\u200d]++(?!\S)")
_IDLE_JOINER = pattern(
    "(?<=[!-\u00a8\u00aa-\u00ad\u00af-\u05ff\u10a0-\u11ff\u1e00-\u1fff\u2010-\u203b\u2c60-\u2c7f\u2e80-\ua4cf"
    "\ua720-\ua7ff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff])[\u200c\u200d]+"
)
"""Joiners shape Arabic and Indic letters and combine emoji; after letters of these scripts they have no effect."""
_UNIT = pattern(
    r"\d(\s?)(?=[^\W\d_]{1,7}+(?![^\W_]))(?:([yYzZafpPnu\u03bcmcdhkKMgGtTeE]i?)?"
    r"((?i:hz|pa|wh|ah|ev|bq|gy|sv|mol|bar|bit|ohm|cal|lm|lx)|[\u03a9\u03c9bBsSgmMlLtTwWvVaAjJnNfFhHcCkK])"
    r"|([mMgGtTpPkK]))(?=(?:/s|ps|h)?(?![^\W_]))"
)
"""A unit after a digit; the lookahead skips digits that no short word follows."""
_FLAG = pattern(r"-(?<![^\W_]-)(?<!--)[A-Za-z](?![\w-])")
_CASED = pattern(f"(?P<flag>{_FLAG.pattern})|(?P<unit>{_UNIT.pattern})")
_CASED_PREFIXES = frozenset("mMpPyYzZ")
_CASED_UNITS = frozenset("bBsS")
_BULLET = pattern(r"^[ \t]*\*[ \t]+", re.MULTILINE)
_QUOTE = pattern('["\u201c\u201d]')
_MARKS_AT_END = pattern(r"(?:(?<=\S)\s)?+(?<![!?\u061f])([!?\u061f]++)(?!\S)")
_MARKUP = pattern(
    r"[`\"\u00ab\u00bb\u201c-\u201f\u2039\u203a\u3008-\u3011()\[\]{}]"
    r"|(?<![^\W_])\*{1,3}(?=[^\s*`);,])(?!\.)|(?<=[^\s*])\*{2,3}(?![^\W_])"
)
_MAY_BE_MARKUP = pattern(r"[`\"\u00ab\u00bb\u201c-\u201f\u2039\u203a\u3008-\u3011()\[\]{}*]")
_QUESTION_SIGNS = frozenset("!?\u061f")
_PERCENT_GAP = pattern(r"(?<=\d)\s+(?=[%\u2030])")
_NOT_WORD = pattern(r"[^\w\s]|_")
_SIGNS = pattern(r"[^\w\s]|_+")
_NON_CHARACTERS = pattern(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef]|[\ufffe\uffff"
    + "".join(chr(plane * 0x10000 + 0xFFFE) + chr(plane * 0x10000 + 0xFFFF) for plane in range(1, 17))
    + "]"
)
_LINE_END = pattern("[\t\n\r\u2028\u2029]")
_REPEATED = pattern(r"(.)\1{10,}", re.DOTALL)
_ALWAYS_KEPT = frozenset("%\u2030\u2031&\u00a7\u2033\u00b6")
_JOINERS = frozenset("\u200c\u200d")
_OPENING_QUOTE = pattern(r"(?<![\w'])'(?=\w)")
_DISSENT = frozenset(
    "\U0001f44e\U0001f621\U0001f620\U0001f92c\U0001f645\U0001f622\U0001f62d\U0001f61e\U0001f624\U0001f494\u274c\u26d4\U0001f6ab"
)
_MAX_PASSES = 6
_PLAIN = pattern("[a-z0-9]+(?: [a-z0-9]+)*")


# --------------------------------------------------------------------------------------------
# Canonical form


def fold(text: str) -> str:
    """The text with spelling variants folded and case kept; the basis of all forms.

    Superscripts are written out, because NFKC would join them to their base (5² is not 52). Fractions and enclosed
    numbers get spaces (1½ is not 11/2). Invisible characters are removed.
    """
    if text.isascii():
        return text.translate(_APOSTROPHES)  # no rule below applies to ASCII
    text = text.translate(_APOSTROPHES)
    text = _SUPERSCRIPT.sub(_raise_superscript, text)
    text = _SUBSCRIPT_AFTER_DIGIT.sub("_", text)
    text = _COMPAT_NUMBER.sub(lambda found: f" {found.group()} ", text)
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/").translate(_APOSTROPHES)
    text = _TAGS.sub(r"\1", _INVISIBLE.sub("", text))
    return _STRAY_JOINER.sub("", _IDLE_JOINER.sub("", text))


def _raise_superscript(found: re.Match[str]) -> str:
    sign, digits = found.group(1), unicodedata.normalize("NFKC", found.group(2))
    if sign in ("\u207a", "\u207b"):
        return f"^{'-' if sign == chr(0x207B) else '+'}{digits}"
    return f"{sign}^{digits}"


@remembered(8 * MIB)
def canonical(text: str) -> str:
    """The text without case, ordinary punctuation and extra spacing.

    Texts with equal canonical form say the same in the same words. Meaningful characters stay: letters, marks, digits
    and symbols of every script, signs, decimal points, paths, flags, question marks, and the case of flags (-c, -C) and
    of units after a number (mHz, MHz). Invisible characters and look-alike letters (`lookalikes`) are folded.

    Example:
        >>> canonical("Use  SQLite!")
        'use sqlite'
        >>> canonical("v1.5 costs -5 %")
        'v1.5 costs -5%'
    """
    current = text
    for _ in range(_MAX_PASSES):
        # Removing a character can change the class of its neighbour, so the rules run to a fixed point.
        following = _canonical_once(current)
        if following == current or _PLAIN.fullmatch(following):  # the rules leave plain words as they are
            return following
        current = following
    return " ".join(_NOT_WORD.sub(_drop_any, current).split())


def _canonical_once(text: str) -> str:
    collapsed = " ".join(_BULLET.sub(" ", one_script(fold(text))).split())
    if not any(map(str.isalnum, collapsed)):
        # Only punctuation or emoji: such texts are equal only if identical.
        return collapsed
    bare = _inches(_casefold(collapsed))
    if _MAY_BE_MARKUP.search(bare):  # faster than a replacement of nothing
        bare = " ".join(_MARKUP.sub(" ", bare).split())
    if not _QUESTION_SIGNS.isdisjoint(bare):
        bare = _MARKS_AT_END.sub(_question_mark, bare)
    return _PERCENT_GAP.sub("", " ".join(_drop_punctuation(bare).split()))


def _question_mark(found: re.Match[str]) -> str:
    """Reduce the marks at the end of a question to one; marks at the start of a text are kept."""
    opening = 0 if found.start() else 1
    marks = found.group(1)
    if "?" not in marks[opening:] and "\u061f" not in marks[opening:]:
        return found.group()
    return marks[:opening] + "?"


def _inches(text: str) -> str:
    """Write the inch mark (a quotation mark after a digit that closes no quotation) as two strokes."""
    opened = False
    pieces: list[str] = []
    last = 0
    for found in _QUOTE.finditer(text):
        at = found.start()
        if not opened and at and text[at - 1].isdigit():
            pieces += (text[last:at], "''")
            last = at + 1
        else:
            opened = not opened
    return "".join((*pieces, text[last:]))


def _casefold(text: str) -> str:
    pieces: list[str] = []
    last = 0
    for found in _CASED.finditer(text):
        pieces.append(text[last : found.start() + (not found["flag"])].casefold())
        pieces.append(found["flag"] or _unit_case(found))
        last = found.end()
    pieces.append(text[last:].casefold())
    # Case folding can produce decomposed forms; superscripts are already written out, so NFKC is safe.
    return unicodedata.normalize("NFKC", "".join(pieces))


def _unit_case(found: re.Match[str]) -> str:
    """Keep only case that distinguishes units: milli and mega, bit and byte; "5 HZ" is "5 Hz"."""
    gap, prefix, unit, lone = found.group(3), found.group(4) or "", found.group(5) or "", found.group(6) or ""
    if lone or not prefix:
        symbol = lone or unit
        return gap + (symbol if symbol in "mMbBgGtT" else symbol.casefold())
    prefix = prefix if prefix[0] in _CASED_PREFIXES else prefix.casefold()
    return gap + prefix + (unit if unit in _CASED_UNITS else unit.casefold())


def _drop_any(found: re.Match[str]) -> str:
    char = found.group()
    return char if char in _ALWAYS_KEPT or not _is_punctuation(char) else " "


def _drop_punctuation(text: str) -> str:
    def decide(found: re.Match[str]) -> str:
        char, at = found.group(), found.start()
        if char[0] == "_":  # a run is kept or removed as a whole
            return char if _part_of_identifier(text, *found.span()) else " "
        if char == "\u2212" and text[at + 1 : at + 2].isdigit():
            return "-"  # the typographic minus is the sign
        if not _is_punctuation(char) or char in _ALWAYS_KEPT:
            return char
        if char in "\u2013\u2012" and _wordy(text, at - 1) and text[at + 1 : at + 2].isdigit():
            return "-"
        return char if _carries_meaning(char, text, at) else " "

    return _SIGNS.sub(decide, text)


@lru_cache(maxsize=8192)
def _is_punctuation(char: str) -> bool:
    return (
        char == "`"
        or unicodedata.category(char)[0] in "PCZ"
        and not (char in _JOINERS or unicodedata.category(char) in ("Co", "Cn") or "\U000e0020" <= char <= "\U000e007f")
    )


def _wordy(text: str, at: int) -> bool:
    """Whether the position holds a letter, digit or mark."""
    if not 0 <= at < len(text):
        return False
    char = text[at]
    return char.isalnum() or char in _JOINERS or unicodedata.category(char)[0] == "M"


_BETWEEN_WORDS = frozenset("-'\u00b7\u05be\u05f3\u05f4\u2010\u2011\u301c*")
_CLOSING_EMPHASIS = pattern(r"[^\W_]_(?!\w)")
_OPENING_RUN = pattern(r"[-./_*]{0,8}[^\W_]")


def _carries_meaning(char: str, text: str, at: int) -> bool:
    """Whether a punctuation mark belongs to a number, identifier, path, flag or word."""
    before, after = _wordy(text, at - 1), _wordy(text, at + 1)
    if char in _BETWEEN_WORDS and before and after:
        return True
    left = text[at - 1] if at else " "
    right = text[at + 1] if at + 1 < len(text) else " "
    match char:
        case "." | "," | ":":
            return _divides(char, text, at)
        case "-":
            signed = right.isdigit() and not before
            return (
                signed
                or (right == " " and _graded(text, at))
                or (left in " -=/" and _opens(text, at))
                or _between_spaced_digits(text, at)
            )
        case "/":
            opens = left in " .~/:*" and _opens(text, at)
            return after or before or opens or _between_spaced_digits(text, at)
        case "\\":
            return before or after
        case "#":
            return after or (before and not left.isdigit())
        case "@":
            return after
        case "!":
            return right == "=" or (left == " " and after)
        case "*" | "?" | "\u061f" | "'":
            return _says_something(char, text, at)
        case _:
            return False


def _says_something(char: str, text: str, at: int) -> bool:
    """Whether the mark is a wildcard or operator, a question mark, or a foot or inch mark."""
    left = text[at - 1] if at else " "
    right = text[at + 1] if at + 1 < len(text) else " "
    match char:
        case "*":
            return right == "." or left == "/" or _alone(text, at)
        case "'":
            return _measures(text, at)
        case _:
            return right == " " and left != " " and _told(left)


def _alone(text: str, at: int) -> bool:
    """Whether the star is a separate word (SELECT * FROM, 2 * 3); bullets are already removed."""
    return at > 0 and text[at - 1] == " " and not _wordy(text, at + 1)


def _told(char: str) -> bool:
    """Whether the character is kept, so that a mark may follow it."""
    return char in _ALWAYS_KEPT or not _is_punctuation(char)


def _graded(text: str, at: int) -> bool:
    """Whether a minus follows one or two letters (A-, AB-)."""
    return at > 0 and text[at - 1].isalpha() and not (_wordy(text, at - 2) and _wordy(text, at - 3))


def _measures(text: str, at: int) -> bool:
    """Whether a stroke after a number means feet or inches and closes no quotation."""
    start = at
    while start and text[start - 1] == "'" and at - start < 2:
        start -= 1
    if not text[max(0, start - 1) : start].isdigit():
        return False
    return not _OPENING_QUOTE.search(text, max(0, start - 80), start)


def _divides(char: str, text: str, at: int) -> bool:
    """Whether a point, comma or colon is inside a number, name, time or path (1.5, a.b, 10:30, .env)."""
    before, after = _wordy(text, at - 1), _wordy(text, at + 1)
    left = text[at - 1] if at else " "
    right = text[at + 1] if at + 1 < len(text) else " "
    if char == ":":
        return (before and right.isdigit()) or text[at + 1 : at + 3] == "//" or "::" in (left + char, char + right)
    if before and after:
        return char == "." or (left.isdigit() and right.isdigit())
    return char == "." and left in " /." and _opens(text, at) and not _ellipsis(text, at)


def _opens(text: str, at: int) -> bool:
    return bool(_OPENING_RUN.match(text, at + 1))


def _ellipsis(text: str, at: int) -> bool:
    return "..." in text[max(0, at - 2) : at + 3]


def _between_spaced_digits(text: str, at: int) -> bool:
    return (
        text[max(0, at - 1) : at] == " "
        and text[at + 1 : at + 2] == " "
        and (text[max(0, at - 2) : at - 1].isdigit() and text[at + 2 : at + 3].isdigit())
    )


def _part_of_identifier(text: str, start: int, end: int) -> bool:
    """`_private`, `a__b` and `__init__` are identifiers; a pair of single underscores is emphasis."""
    if _wordy(text, start - 1) and _wordy(text, end):
        return True
    if end - start == 2 or not (_wordy(text, end) or _wordy(text, start - 1)):
        return _wordy(text, end) or _wordy(text, start - 1)
    return _wordy(text, end) and not _CLOSING_EMPHASIS.search(text, end, end + 200)


def content_hash(text: str) -> str:
    """SHA-256 of exactly this text, as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical_hash(text: str) -> str:
    """SHA-256 of the canonical form, as 64 hex digits."""
    return content_hash(canonical(text))


@remembered(2 * MIB)
def slot_key(text: str) -> str:
    """Key to compare subjects, attributes and tags: without case and extra spaces."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


# --------------------------------------------------------------------------------------------
# Words


def words(text: str | None) -> frozenset[str]:
    """The set of lower-cased words separated by spaces."""
    return frozenset((text or "").lower().split())


def text_overlap(a: str | None, b: str | None) -> float:
    """Shared words divided by the words of the shorter text; 0.0 if either is empty.

    Example:
        >>> text_overlap("Here's my status", "Here's my current status")
        1.0
    """
    left, right = words(a), words(b)
    if not left or not right:
        return 0.0
    return len(left & right) / min(len(left), len(right))


UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_TERM = pattern(rf"(?P<run>[{UNSPACED}]+)|(?P<chunk>[^\W{UNSPACED}](?:[^\s{UNSPACED}]*[^\s{UNSPACED}])?)")
_TERM_OF_ASCII = pattern(r"(?P<run>(?!))|(?P<chunk>\w\S*)")
"""The same in ASCII; the ranges of other scripts take long to compile."""
_SPLIT = pattern(r"[^\w\u0300-\u036f\u0590-\u05c7\u0610-\u065f\u0900-\u0dff]+")
_CAMEL = pattern(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_LATIN_MARKS = pattern("[\u0300-\u0305\u0307-\u036f]")
_PIECE = 1 << 16
_BEFORE_A_WORD = pattern(r" (?=[A-Za-z])")
"""Nothing that a rule of `fold` looks at reaches across such a space."""
_SPECIAL_NAMES = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp", "g++": "gplusplus"}


def search_terms(text: str) -> list[str]:
    """Terms for full-text search in any script, in order, with repeats.

    An identifier gives one joined term ("pr_441" for "PR#441") and its parts; unspaced scripts give character bigrams.
    Terms consist of letters, marks, digits and "_" only, so that they can be stored separated by spaces and quoted in
    queries.

    Example:
        >>> search_terms("PR#441 läuft")
        ['pr_441', 'pr', '441', 'lauft']
        >>> search_terms("数据库")
        ['数据', '据库']
    """
    terms: list[str] = []
    for found in (found for piece in _pieces(text) for found in _terms_of(fold(piece))):
        run = found.group("run")
        if run:
            terms += [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            chunk = found.group("chunk")
            terms += _known_terms(chunk) if len(chunk) <= MAX_TERM_LENGTH else _chunk_terms(chunk)
        if len(terms) >= MAX_TERMS:
            break
    return [term[:MAX_TERM_LENGTH] for term in terms[:MAX_TERMS]]


@remembered(16 * MIB)
def term_set(text: str) -> frozenset[str]:
    """The different terms of a text."""
    return frozenset(search_terms(text))


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces that can be folded one by one: the beginning of a very long one has enough terms."""
    at = 0
    while len(text) - at > 2 * _PIECE and (cut := _BEFORE_A_WORD.search(text, at + _PIECE)):
        yield text[at : cut.start()]
        at = cut.end()
    yield text[at:]


def _terms_of(folded: str) -> Iterator[re.Match[str]]:
    return (_TERM_OF_ASCII if folded.isascii() else _TERM).finditer(folded)


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    bare = chunk.rstrip(".,;:!?)]}\"'").casefold()
    if bare in _SPECIAL_NAMES:
        return (_SPECIAL_NAMES[bare], bare[:1])
    parts = [part for piece in _SPLIT.split(chunk) if (part := _fold_term(piece.strip("_")))]
    if not parts:
        return ()
    camel = [_fold_term(part) for piece in _SPLIT.split(chunk) for part in _CAMEL.split(piece) if part]
    finer = [part for part in camel if part and part not in parts] if len(camel) > len(parts) else []
    snake = [part for piece in parts if "_" in piece for part in piece.split("_") if part]
    is_list = len(chunk) > MAX_TERM_LENGTH or "," in chunk.rstrip(",")
    whole = ["_".join(parts)] if len(parts) > 1 and not is_list else []
    return (*whole, *parts, *snake, *finer)


# Most words occur in many texts.
_known_terms = lru_cache(maxsize=16_384)(_chunk_terms)


def _fold_term(part: str) -> str:
    """Fold case and Latin, Greek and Cyrillic diacritics; й keeps its breve, Indic signs stay."""
    decomposed = unicodedata.normalize("NFD", part.casefold().replace("й", "\ue000"))
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", decomposed.replace("\u0306", ""))).replace("\ue000", "й")


# --------------------------------------------------------------------------------------------
# Texts made of a memory


_CONTROL = pattern("[\x00-\x1f\x7f-\x9f]")


def excerpt(text: str, limit: int) -> str:
    """The start of a text on one line, without control characters, at most `limit` characters."""
    line = " ".join(_CONTROL.sub(" ", text[: limit * 4 + 64]).split())
    if len(line) <= limit and len(text) <= limit * 4 + 64:
        return line
    return line[: max(0, limit - 1)].rstrip() + "…"


def label(title: str, content: str) -> str:
    """The label of a memory: its title, or the start of its content."""
    return excerpt(title, 120) if title.strip() else excerpt(content, 60)


def embed_text(*, kind: str, title: str, summary: str, content: str, trigger: str = "") -> str:
    """The text that is embedded for a memory."""
    head = f"[{kind}] {title.strip()}" if title.strip() else ""
    parts = [head, summary.strip(), trigger.strip() if head else "", content]
    return "\n".join(part for part in parts if part)[:EMBED_LIMIT]


# --------------------------------------------------------------------------------------------
# Validation


def check_text(text: str, *, limit: int) -> None:
    """Validate a text before it is stored.

    Raises:
        EmptyContent: Only white space or invisible characters.
        ContentTooLarge: More than `limit` characters.
        InvalidText: NUL, control characters except tab and line ends, lone surrogates, noncharacters.
    """
    if len(text) > limit:
        raise ContentTooLarge(
            f"The text has {len(text)} characters, {limit} are allowed", todo="Split it, or raise max_content"
        )
    found = None if text.isprintable() else _NON_CHARACTERS.search(text)  # what is printed has none
    if found:
        raise InvalidText(
            f"The text holds the character U+{ord(found.group()):04X}, which no memory can keep",
            where=f"character {found.start()}",
            todo="Remove it and write again",
        )
    if not _INVISIBLE.sub("", text).strip():
        raise EmptyContent("The text is empty", todo="Write what is to be remembered")


def is_line(text: str) -> bool:
    """Whether a text is one visible line without hidden characters, in any script.

    Example:
        >>> is_line("верно для"), is_line("two\\nlines"), is_line("over\\u202eturned")
        (True, False, False)
    """
    if not text.strip() or _NON_CHARACTERS.search(text):
        return False
    return not (_INVISIBLE.search(text) or _LINE_END.search(text))


def decode(data: bytes) -> str:
    """Decode UTF-8 bytes, with or without a byte order mark.

    Raises:
        InvalidText: Not UTF-8; names the offset of the first wrong byte.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            "The bytes are not UTF-8", where=f"byte {error.start}", todo="Convert the source to UTF-8"
        ) from error


def is_junk(text: str) -> str | None:
    """The reason why a text is junk, or None; only certain filler is junk.

    A negative answer ("no thanks", a thumbs-down) is kept in any language.

    Example:
        >>> is_junk("On it 🚀")
        'only an acknowledgement'
        >>> is_junk("Use X") is None
        True
    """
    if not _DISSENT.isdisjoint(text):
        return None  # a thumbs-down is an answer
    found = _REPEATED.search(text)
    if found and len(set(text.strip())) == 1:
        return "one character repeated"
    plain = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" or c == "'" else " " for c in fold(text))
    parts = [part.strip("'") for part in plain.casefold().split() if part.strip("'")]
    if not parts:
        return "no words"
    if len(parts) <= 6 and _only_fillers(tuple(parts)):
        return "only an acknowledgement"
    return None


def _only_fillers(parts: tuple[str, ...]) -> bool:
    """Whether the words are a sequence of filler phrases."""
    fillers = in_all_languages("fillers")
    reachable = {0}
    for end in range(1, len(parts) + 1):
        if any(start in reachable and " ".join(parts[start:end]) in fillers for start in range(end)):
            reachable.add(end)
    return len(parts) in reachable
