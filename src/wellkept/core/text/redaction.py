"""Redacted excerpts for reports: short, on one line, without likely secrets."""

from __future__ import annotations

import re

from wellkept.core.text.forms import excerpt

LIMIT = 80
_READ = 8
"""Factor of the limit that is scanned, so that text moved up by a redaction has been scanned too."""
_NAMES = (
    r"pass(?:word|wd|phrase|code)|pass(?=\s*[=:])|secret|token|api[ _-]?key|credentials?|pin(?:[ _-]?code)?"
    r"|passwort|kennwort|geheimnis|mot de passe|contraseña|contrasena|clave|senha|parola"
    r"|пароль|密码|密碼|口令|パスワード|暗証番号|비밀번호|كلمة المرور|كلمة السر|סיסמה|पासवर्ड|รหัสผ่าน"
)
_IS = r"is|ist|lautet|est|es|é|è|=|:|：|это|是|为|為|は|은|는|هي|-"
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), "[login]"),
    # A few words may be in between: "the password for the router is …".
    (
        re.compile(rf"(?i)(?<![^\W_])({_NAMES})((?:\s+[^\s:=]+){{0,5}}?\s*(?:{_IS})(?:\s+|(?<=\W)|(?=\W)))\s*\S+"),
        r"\1\2[secret]",
    ),
    (re.compile(rf"({_NAMES})\s*([=:：是为為は])\s*\S+", re.IGNORECASE), r"\1\2[secret]"),
    (re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}\b"), "[key]"),
    (re.compile(r"\b\d(?:[ -]?\d){8,}\b"), "[number]"),
)
_HIDDEN = re.compile(
    "[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Bidirectional and invisible characters."""


def redacted(text: str, limit: int = LIMIT) -> str:
    """The start of a text with addresses, passwords, keys and long numbers removed.

    Redaction is best effort and no protection: secrets are recognised heuristically.

    Example:
        >>> redacted("Mail ana@example.org, the password is hunter2.")
        'Mail [e-mail], the password is [secret]'
    """
    line = _HIDDEN.sub("", excerpt(text, limit * _READ))
    if line.endswith("…") and " " in line:
        line = line[: line.rindex(" ")] + " …"  # half a key would not be recognised
    for pattern, word in _SECRETS:
        line = pattern.sub(word, line)
    return excerpt(line, limit)
