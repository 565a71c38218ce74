"""A mapping in layers: a copy shares all that is there, and holds what changes in a layer of its own."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Layers(Generic[_Key, _Value]):
    """Dicts, newest first. Only the first one changes; a mapping that was copied must not change again.

    Layers that are joined are at most twice as large as what lies over them. So n small changes, each in a copy
    of the last, copy each value about log n times, and there are at most log n layers.

    Example:
        >>> first: Layers[str, int] = Layers()
        >>> first.put("a", 1)
        >>> second = first.copy()
        >>> second.put("a", None)
        >>> first.get("a"), second.get("a")
        (1, None)
    """

    __slots__ = ("_layers",)

    def __init__(self) -> None:
        # None stands for a removed value; the last layer holds none.
        self._layers: list[dict[_Key, _Value | None]] = [{}]

    def copy(self) -> Layers[_Key, _Value]:
        """A mapping that can change independently."""
        made: Layers[_Key, _Value] = Layers()
        made._layers = [{}, *self._layers] if self._layers[-1] else made._layers
        return made

    def get(self, key: _Key) -> _Value | None:
        """The value of a key; None when there is none."""
        for layer in self._layers:
            if key in layer:
                return layer[key]
        return None

    def __getitem__(self, key: _Key) -> _Value:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: _Key) -> bool:
        return self.get(key) is not None

    def put(self, key: _Key, value: _Value | None) -> None:
        """Set the value of a key, or remove it with None."""
        if value is None and len(self._layers) == 1:
            self._layers[0].pop(key, None)
        else:
            self._layers[0][key] = value

    def all(self) -> dict[_Key, _Value]:
        """Everything as one dict, to be read only; keys in the order in which they were first put."""
        if len(self._layers) > 1:
            self._layers = _joined(self._layers, len(self._layers))
        return self._layers[0]  # type: ignore[return-value]  # the last layer holds no None

    def settle(self) -> None:
        """Join the newest layers, before this mapping is copied."""
        if not self._layers[0]:
            self._layers = self._layers[1:] or self._layers
        most, size = 1, len(self._layers[0])
        while most < len(self._layers) and len(self._layers[most]) <= 2 * size:
            size += len(self._layers[most])
            most += 1
        if most > 1:
            self._layers = _joined(self._layers, most)


def _joined(layers: list[dict[_Key, _Value | None]], most: int) -> list[dict[_Key, _Value | None]]:
    """The layers with the newest ones as one, a new dict; nothing that another mapping shares is changed."""
    joined: dict[_Key, _Value | None] = {}
    for layer in reversed(layers[:most]):
        joined.update(layer)
    if most == len(layers):
        joined = {key: value for key, value in joined.items() if value is not None}
    return [joined, *layers[most:]]
