"""The length of a text in tokens, estimated without a tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from wellkept.core.text.forms import UNSPACED

_WHOLE = re.compile(f"[{UNSPACED}\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_QUARTERS = {"whole": 4, "other": 2, "latin": 1}


def estimate_tokens(text: str) -> int:
    """Estimated tokens of a text.

    One token for four Latin letters, signs or digits, for each character of an unspaced script or Hangul, and for two
    characters of any other script.

    Example:
        >>> estimate_tokens("four words of text!!"), estimate_tokens("数据库"), estimate_tokens("база")
        (5, 3, 2)
    """
    if text.isascii():
        return -(-len(text) // 4)
    counts = Counter(text)
    whole = sum(count for char, count in counts.items() if _WHOLE.match(char))
    plain = sum(count for char, count in counts.items() if _is_latin(char))
    quarters = whole * _QUARTERS["whole"] + plain * _QUARTERS["latin"]
    return -(-(quarters + (len(text) - whole - plain) * _QUARTERS["other"]) // 4)


def _is_latin(char: str) -> bool:
    return char.isascii() or (char.isalpha() and unicodedata.name(char, "").startswith("LATIN"))
