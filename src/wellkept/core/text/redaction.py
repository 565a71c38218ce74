"""Short excerpts that may stand in a report: bounded, on one line, without what looks like a secret."""

from __future__ import annotations

import re

from wellkept.core.text.forms import excerpt

LIMIT = 80
_READ = 8
"""So many times the limit are looked at: what is taken out must not draw in what nobody has looked at."""
_NAMES = (
    r"pass(?:word|wd|phrase|code)|pass(?=\s*[=:])|secret|token|api[ _-]?key|credentials?|pin(?:[ _-]?code)?"
    r"|passwort|kennwort|geheimnis|mot de passe|contraseña|contrasena|clave|senha|parola"
    r"|пароль|密码|密碼|口令|パスワード|暗証番号|비밀번호|كلمة المرور|كلمة السر|סיסמה|पासवर्ड|รหัสผ่าน"
)
_IS = r"is|ist|lautet|est|es|é|è|=|:|：|это|是|为|為|は|은|는|هي|-"
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), "[login]"),
    # A few words may stand between: "the password for the router is …".
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
"""Characters that turn the reading direction or are not seen at all."""


def redacted(text: str, limit: int = LIMIT) -> str:
    """The beginning of a text with addresses, passwords, keys and long numbers taken out.

    It is a courtesy to whoever reads a report, not a protection: what a secret looks like is a guess.

    Example:
        >>> redacted("Mail ana@example.org, the password is hunter2.")
        'Mail [e-mail], the password is [secret]'
    """
    line = _HIDDEN.sub("", excerpt(text, limit * _READ))
    if line.endswith("…") and " " in line:
        line = line[: line.rindex(" ")] + " …"  # half a key would not look like one
    for pattern, word in _SECRETS:
        line = pattern.sub(word, line)
    return excerpt(line, limit)
