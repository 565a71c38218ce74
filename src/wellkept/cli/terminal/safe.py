"""Escapes untrusted text for the terminal: stored texts may contain control sequences.

Control characters (and with them every escape sequence), direction overrides, invisible characters and lone
surrogates are printed as escapes, `\\x1b` or `\\u202e`. Joiners are kept: emoji and several scripts need
them.
"""

from __future__ import annotations

import json
import re
import unicodedata

_JOINERS = "\u200c\u200d"
_BOUND = 400
_SUSPECT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe(text: str, *, lines: bool = False) -> str:
    """The text with every character that a terminal would interpret escaped.

    Args:
        text: An untrusted text.
        lines: Whether to keep line ends and tabs.

    Example:
        >>> safe("harmless \\x1b[31mred"), safe("a\\nb", lines=True)
        ('harmless \\\\x1b[31mred', 'a\\nb')
    """
    return "".join(char if _is_harmless(char, lines=lines) else _spelled(char) for char in text)


def one_line(text: str, *, limit: int = _BOUND) -> str:
    """The text on one line, escaped and at most `limit` characters long."""
    line = safe(" ".join(text[: limit * 4].split()))
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: max(0, limit - 1)].rstrip() + "…"


def safe_json(value: object, *, encoding: str | None) -> str:
    """Equivalent JSON that is safe to print; ASCII when the encoding is limited."""
    unicode = (encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(value, ensure_ascii=not unicode)
    # JSON has none of these characters outside strings; inside strings an escape is equivalent.
    return _SUSPECT.sub(_escaped, text)


def _is_harmless(char: str, *, lines: bool) -> bool:
    if char in "\n\t":
        return lines
    return char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escaped(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
