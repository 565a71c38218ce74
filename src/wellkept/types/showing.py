"""Display of values: lines of text, `repr` and HTML.

Stored text is untrusted: it is shortened, reduced to one line, and escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_LINE = 80
_SHOWN_OF_AN_ID = 8


def line(text: str, limit: int = _LINE) -> str:
    """The beginning of a text on one line, without control characters.

    Example:
        >>> line("Tea\\nis\\x1b[2J upstairs.", limit=12)
        'Tea is [2J …'
    """
    head = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * limit]).split())
    whole = len(head) <= limit and len(text) <= 4 * limit
    return head if whole else head[: limit - 1] + "…"


def short_id(memory_id: str) -> str:
    """The end of an id, as tables show it; every verb accepts it in place of the full id."""
    return memory_id[-_SHOWN_OF_AN_ID:]


def count_of(count: int, one: str, many: str = "") -> str:
    """A count with its noun; `many` is the plural when it does not end in "s" or "ies".

    Example:
        >>> count_of(1, "memory"), count_of(2, "memory"), count_of(0, "pair"), count_of(2, "write waits", "writes wait")
        ('1 memory', '2 memories', '0 pairs', '2 writes wait')
    """
    if count == 1:
        return f"{count} {one}"
    return f"{count} {many or (f'{one[:-1]}ies' if one.endswith('y') else f'{one}s')}"


def shown(name: str, values: Mapping[str, object]) -> str:
    """A `repr` with shortened texts and without empty values.

    Example:
        >>> shown("Note", {"id": "a", "tags": (), "text": "Tea is upstairs."})
        "Note(id='a', text='Tea is upstairs.')"
    """
    said = (
        f"{key}={line(value)!r}" if isinstance(value, str) else f"{key}={value!r}"
        for key, value in values.items()
        if value is not None and value not in ("", ())
    )
    return f"{name}({', '.join(said)})"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table for notebooks; every text is escaped.

    Example:
        >>> html_table(["text"], [["<b>"]])
        '<table><tr><th>text</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    head = "".join(f"<th>{escaped(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if headings else ''}{body}</table>"


def escaped(text: str) -> str:
    """The text with HTML special characters escaped."""
    import html

    return html.escape(text)
