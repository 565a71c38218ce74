"""Whether a text is a turn of a conversation, and who speaks: a question, a greeting or an answer states no fact.

The relation model is trained on statements, so its opinion about two turns is not reliable enough for a contradiction.
"""

from __future__ import annotations

from functools import lru_cache

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.lexicon.english import english
from wellkept.core.reading.language_detection import is_english, language_of
from wellkept.core.text.forms import fold
from wellkept.core.text.sentences import sentences
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.patterns import pattern

MOST_READ = 400
"""Characters at the start of a text from which it is classified."""

_SPEAKER = pattern(r"\s*([^\W\d_][\w.'-]{0,39}(?: [^\W\d_][\w.'-]{0,39}){0,2})\s?(?::\s+|:(?=[\u3041-\u9fff]))(?=\S)")
_STAMP = pattern(r"\s*[(\[][^()\[\]]{1,60}[)\]]\s*")
_WORD = pattern(r"[^\W_]+(?:'[^\W_]+)*")
_COMMA = pattern("[,，、]")
_OPENING = pattern(r"[^,.!?;:，。！？]{0,60}")
_QUESTION_MARKS = ("?", "？", "؟")
_BEHIND_MARKS = " \n\t\"'”»)`*!"
_PLACES = 3
"""Most words of a greeting: "Thanks so much", "Hey Mel"."""


@remembered(2 * MIB)
def speaker(text: str) -> str:
    """The speaker of a turn, in lower case; empty if none is named.

    A label is no speaker: "Decision: use Postgres", "Port: 8080".

    Example:
        >>> speaker("Caroline: I moved to Graz."), speaker("Decision: we use Postgres.")
        ('caroline', '')
    """
    found = _SPEAKER.match(fold(text[:MOST_READ]))
    if found is None:
        return ""
    name = found.group(1)
    lower = name.lower()
    if lower in in_all_languages("talkers"):
        return lower
    if not all(word[0].isupper() or not word[0].islower() for word in name.split()):
        return ""
    rest = fold(text[:MOST_READ])[found.end() :]
    language = language_of(rest)
    if _greets(rest, language):
        return lower
    words = _words(rest)
    if language.grammar.wordnet:
        return lower if len(words) > 1 and not any(word in english().words for word in lower.split()) else ""
    return lower if language.events.persons & set(words if language.grammar.spaced else rest) else ""


def seeks(query: str) -> bool:
    """Whether a query asks something: a question, also without its mark, and with an interrogative in front.

    Example:
        >>> seeks("who signs the invoices"), seeks("signatures on invoices")
        (True, False)
    """
    if questions(query):
        return True
    head, language = _head(query)
    if not language.grammar.spaced:
        return any(word in head for word in language.events.interrogatives)
    known = language.events.interrogatives if is_english(query) else _interrogatives()
    return not known.isdisjoint(_words(head)[:1])


@lru_cache(maxsize=1)
def _interrogatives() -> frozenset[str]:
    """The interrogatives of all languages with spaces: a query is often too short to tell its language."""
    every = lexicon().languages.values()
    return frozenset[str]().union(*(one.events.interrogatives for one in every if one.grammar.spaced))


@remembered(2 * MIB)
def is_turn(text: str) -> bool:
    """Whether a text is a turn of a conversation: it asks, greets or answers, or names its speaker.

    Example:
        >>> [is_turn(text) for text in ("What made you pick it?", "Wow, Caroline! Great.", "Ana: I like tea.")]
        [True, True, True]
        >>> is_turn("The deploy runs on Friday.")
        False
    """
    return bool(questions(text) or speaker(text) or greets(text))


def is_spoken(text: str) -> bool:
    """Whether a text is a turn as it was written down: with its speaker in front, perhaps behind a time stamp.

    Example:
        >>> is_spoken("Ana: on my way"), is_spoken("[2026-01-04 10:12] Ana: on my way"), is_spoken("Ana is on her way")
        (True, True, False)
    """
    stamp = _STAMP.match(text)
    return bool(speaker(text[stamp.end() :] if stamp else text))


def greets(text: str) -> bool:
    """Whether a text begins with a greeting, thanks or an exclamation.

    Example:
        >>> greets("Thanks so much, Mel!"), greets("The thanks came late.")
        (True, False)
    """
    return _greets(fold(text[:MOST_READ]), language_of(text[:MOST_READ]))


def asks(text: str) -> bool:
    """Whether a text ends with a question mark.

    Example:
        >>> asks("Where did Ana move?"), asks("Ana moved.")
        (True, False)
    """
    return text.rstrip(_BEHIND_MARKS).endswith(_QUESTION_MARKS)


def unasked(text: str) -> str:
    """The words of a question without the question mark; any other text as it is.

    Example:
        >>> unasked("any news?"), unasked("No news.")
        ('any news', 'No news.')
    """
    return text.rstrip(_BEHIND_MARKS + "".join(_QUESTION_MARKS)) if asks(text) else text


@remembered(2 * MIB)
def questions(text: str) -> bool:
    """Whether a text is a question: by its question mark, or by its first words (in Chinese and Japanese: its last)."""
    if asks(text):
        return True
    head, language = _head(text)
    asking = language.events.asking
    if not language.grammar.spaced:
        return head.rstrip("。.! ").endswith(tuple(asking))
    words = _words(head)[:4]
    return any(tuple(words[: len(phrase)]) == phrase for phrase in asking.get(words[0] if words else "", ()))


@remembered(2 * MIB)
def reported_question(text: str) -> str:
    """The words by which all that a text says is a question, such as "asked whether"; empty where it states something.

    What stands behind a comma, in a second sentence or in a long text may be a statement.

    Example:
        >>> reported_question("Ana asked whether the office closes."), reported_question("The office closes.")
        ('asked whether', '')
        >>> reported_question("Ana asked whether it closes. It does.")
        ''
    """
    if len(text) > MOST_READ or ";" in text or len(sentences(text)) > 1:
        return ""
    head = fold(text).lower()
    phrase, rest = _opened(head)
    return "" if _COMMA.search(rest.lstrip(", ")) else phrase


def _opened(head: str) -> tuple[str, str]:
    """The first words of a reported question, and what follows them; both empty without any."""
    by_first, unspaced = _open_questions()
    found = list(_WORD.finditer(head))
    words = tuple(word.group() for word in found)
    for place, word in enumerate(words):
        for phrase in by_first.get(word, ()):
            end = place + len(phrase)
            if words[place:end] == phrase:
                return " ".join(phrase), head[found[end - 1].end() :]
    return next(((phrase, head.partition(phrase)[2]) for phrase in unspaced if phrase in head), ("", ""))


@lru_cache(maxsize=1)
def _open_questions() -> tuple[dict[str, tuple[tuple[str, ...], ...]], tuple[str, ...]]:
    """The words of a reported question in all languages: by their first word, and those of unspaced scripts."""
    every = lexicon().languages.values()
    spaced = [one.events.open_question for one in every if one.grammar.spaced]
    by_first = {word: sum((known.get(word, ()) for known in spaced), ()) for known in spaced for word in known}
    return by_first, tuple(phrase for one in every if not one.grammar.spaced for phrase in one.events.open_question)


def _head(text: str) -> tuple[str, Language]:
    """The start of a text in lower case, and its language."""
    head = fold(text[:MOST_READ]).lower()
    return head, language_of(head)


def _greets(text: str, language: Language) -> bool:
    greeting = language.events.greeting
    opening = _OPENING.match(text.strip())
    head = opening.group().lower() if opening else ""
    if not language.grammar.spaced:
        return any(head.startswith(word) for word in greeting)
    spoken = _words(head)
    return bool(spoken) and spoken[0] in greeting and len(spoken) <= _PLACES


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
