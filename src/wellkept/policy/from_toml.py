"""Reads a policy from TOML; each invalid key or value is an error with the line and the allowed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_args

from wellkept.errors import InvalidPolicy, use_one_of
from wellkept.policy.antonyms import antonyms_of
from wellkept.policy.packs import DEFAULT_KINDS, PACKS, kinds_of
from wellkept.policy.presets import PRESETS
from wellkept.policy.record import (
    CHOICES,
    LINKING,
    LISTS,
    SHARES,
    Answers,
    Band,
    BandOutcome,
    Decay,
    KindPolicy,
    SecondReader,
    WhenJudged,
    is_one_of,
)

POLICY_KEYS = (
    "packs",
    "kinds",
    "max_content_chars",
    "conflict_days",
    "antonyms",
    "ask",
    "answers",
    "judging",
    "second_reader",
)
MAX_CONTENT_CHARS = 200_000
CONFLICT_DAYS = 14.0
QUESTIONS_PER_100 = 10.0

_DECAY_RANGES: Mapping[str, tuple[float, float]] = {
    "stability_days": (0.01, 36_500),
    "growth": (1, 100),
    "weak_below": (0, 1),
    "dormant_below": (0, 1),
    "cap_days": (0.01, 36_500),
    "difficulty": (0, 1),
}


class PolicyReader:
    """Turns parsed TOML into a policy; errors name the line and the key."""

    def __init__(self, text: str, origin: str) -> None:
        self._lines = text.splitlines()
        self._origin = origin

    def fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of `Policy` that the text states."""
        self._keys(data, POLICY_KEYS, "")
        kinds = self._packs(data["packs"]) if "packs" in data else dict(DEFAULT_KINDS)
        table = data.get("kinds", {})
        if not isinstance(table, Mapping):
            raise self._error("kinds", "must be a table of kinds", "Write [kinds.NAME]")
        for kind, entry in table.items():
            if not isinstance(entry, Mapping):
                raise self._error(f"kinds.{kind}", "must be a table", f"Write [kinds.{kind}]")
            kinds[kind] = self._kind(kind, entry)
        most = self._number(data, "max_content_chars", "", MAX_CONTENT_CHARS, (1, 10_000_000))
        days = self._number(data, "conflict_days", "", CONFLICT_DAYS, (0.01, 36_500))
        antonyms = self._antonyms(data.get("antonyms", []))
        ask = self._number(data, "ask", "", QUESTIONS_PER_100, (0, 100))
        return {
            "kinds": kinds,
            "max_content_chars": int(most),
            "conflict_days": days,
            "antonyms": antonyms,
            "ask": ask,
            "answers": self._one_of(data.get("answers", "mark"), "answers", get_args(Answers)),
            "judging": self._one_of(data.get("judging", "now"), "judging", get_args(WhenJudged)),
            "second_reader": self._one_of(
                data.get("second_reader", "uncertain"), "second_reader", get_args(SecondReader)
            ),
        }

    def _antonyms(self, pairs: Any) -> tuple[tuple[str, str], ...]:
        try:
            return antonyms_of(pairs)
        except InvalidPolicy as error:
            raise InvalidPolicy(error.what, where=f"{self._origin}{self._line('antonyms')}", todo=error.todo) from None

    def _packs(self, names: Any) -> dict[str, KindPolicy]:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._error("packs", "must be a list of names", 'Write packs = ["agent_memory"]')
        known = tuple(pack.name for pack in PACKS)
        return kinds_of(self._one_of(name, "packs", known) for name in names)

    def _kind(self, kind: str, entry: Mapping[str, Any]) -> KindPolicy:
        path = f"kinds.{kind}."
        self._keys(entry, tuple(item.name for item in fields(KindPolicy)), path)
        if "preset" in entry:
            self._one_of(entry["preset"], path + "preset", CHOICES["preset"])
            start = replace(PRESETS[entry["preset"]], decay=DEFAULT_KINDS.get(kind, PRESETS[entry["preset"]]).decay)
        elif kind in DEFAULT_KINDS:
            start = DEFAULT_KINDS[kind]
        else:
            raise self._error(path + "preset", "a new kind needs a preset", f"Use one of: {', '.join(PRESETS)}")
        changes: dict[str, Any] = {}
        for key, value in entry.items():
            match key:
                case "preset":
                    continue
                case "scope" | "stages":
                    changes[key] = self._list(value, key, path)
                case "bands":
                    changes[key] = self._bands(value, path)
                case "decay":
                    changes[key] = self._decay(value, start.decay, path)
                case "window_minutes":
                    changes[key] = self._number(entry, key, path, 0, (0, 525_600))
                case "wikilinks" | "auto_link":
                    changes[key] = self._linking(value, key, path)
                case "family":
                    changes[key] = self._name(value, key, path)
                case _ if key in SHARES:
                    changes[key] = self._number(entry, key, path, 0, (0, 1))
                case _:
                    changes[key] = self._one_of(value, path + key, CHOICES[key])
        return replace(start, **changes)

    def _bands(self, value: Any, path: str) -> tuple[Band, ...]:
        key = path + "bands"
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self._error(key, "must be a list of tables", 'Write bands = [{at = 0.95, outcome = "skip"}]')
        bands = []
        for item in value:
            self._keys(item, ("at", "outcome", "inclusive"), key + ".")
            if "at" not in item or "outcome" not in item:
                raise self._error(key, "each band needs `at` and `outcome`", "Add the missing one")
            outcome = self._one_of(item["outcome"], key + ".outcome", get_args(BandOutcome))
            inclusive = item.get("inclusive", True)
            if not isinstance(inclusive, bool):
                raise self._wrong(key + ".inclusive", inclusive, ("true", "false"))
            bands.append(Band(self._number(item, "at", key + ".", 0, (0, 1)), outcome, inclusive))
        if [band.at for band in bands] != sorted((band.at for band in bands), reverse=True):
            raise self._error(key, "bands must go from high to low", "Reorder them")
        return tuple(bands)

    def _decay(self, value: Any, start: Decay, path: str) -> Decay:
        key = path + "decay"
        if not isinstance(value, Mapping):
            raise self._error(key, "must be a table", f"Write [{key}]")
        self._keys(value, tuple(_DECAY_RANGES), key + ".")
        numbers = {name: self._number(value, name, key + ".", 0, _DECAY_RANGES[name]) for name in value}
        return replace(start, **numbers)

    def _one_of(self, value: Any, key: str, allowed: tuple[str, ...]) -> Any:
        if value not in allowed:
            raise self._wrong(key, value, allowed)
        return value

    def _name(self, value: Any, key: str, path: str) -> str:
        if not isinstance(value, str):
            raise self._error(path + key, "must be a name", 'Write family = "statements", or "" for none')
        return value

    def _linking(self, value: Any, key: str, path: str) -> bool | int:
        if not is_one_of(value, LINKING[key]):
            raise self._wrong(path + key, value, tuple(str(item).lower() for item in LINKING[key]))
        return bool(value) if key == "wikilinks" else int(value)

    def _list(self, value: Any, key: str, path: str) -> tuple[Any, ...]:
        allowed = LISTS[key]
        if not isinstance(value, list):
            raise self._error(path + key, "must be a list", f"Use any of: {', '.join(allowed)}")
        return tuple(self._one_of(item, path + key, allowed) for item in value)

    def _number(
        self, table: Mapping[str, Any], key: str, path: str, default: float, bounds: tuple[float, float]
    ) -> float:
        value = table.get(key, default)
        low, high = bounds
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self._error(path + key, f"{value!r} is not a number from {low:,.12g} to {high:,.12g}", "Change it")
        return float(value)

    def _keys(self, table: Mapping[str, Any], allowed: tuple[str, ...], path: str) -> None:
        for key in table:
            if key not in allowed:
                raise self._error(path + key, "unknown key", use_one_of(key, allowed, words="Allowed here"))

    def _wrong(self, key: str, value: Any, allowed: tuple[str, ...]) -> InvalidPolicy:
        return self._error(key, f"{value!r} is not allowed", use_one_of(value, allowed))

    def _error(self, key: str, what: str, todo: str) -> InvalidPolicy:
        return InvalidPolicy(f"{key}: {what}", where=f"{self._origin}{self._line(key)}", todo=todo)

    def _line(self, key: str) -> str:
        """The line of a dotted key, found by plain text search."""
        table, _, last = key.rpartition(".")
        section = ""
        found = 0
        for number, line in enumerate(self._lines, start=1):
            text = line.strip()
            if text.startswith("["):
                section = text.strip("[]").replace('"', "")
                if section == key:
                    return f", line {number}"
                if section == table and not found:
                    found = number
            elif section == table and text.split("=")[0].strip().strip('"') == last:
                return f", line {number}"
            elif section and table == section + ".bands" and text.startswith("bands"):
                found = number
            elif not section and not table and text.split("=")[0].strip() == last:
                return f", line {number}"
        return f", line {found}" if found else ""
