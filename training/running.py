"""A network in training: its optimiser, its averaged weights and its saved state."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

BFLOAT16 = torch.cpu._is_avx512_bf16_supported()
"""Whether the processor multiplies in bfloat16; where it only imitates it, single precision is many times as fast."""
AVERAGING = 0.995
LEAST_RATE = 0.03
"""Of the highest learning rate, at the last steps."""


class Running:
    """A model with what a stopped run needs to go on.

    Args:
        model: The network.
        out: Folder of the run.
        steps: All steps of the run.
        rate: Highest learning rate.
        warming: Steps until it is reached.
        falling: Last steps of the run, over which the rate falls in a line; default: all. A run that has not come to
            them can be prolonged.
    """

    def __init__(
        self, model: nn.Module, out: Path, *, steps: int, rate: float, warming: int, falling: int | None = None
    ) -> None:
        self.model, self.step = model, 0
        self._out, self._steps, self._rate, self._warming = out, steps, rate, warming
        self._falling = steps if falling is None else falling
        trained = [item for item in model.parameters() if item.requires_grad]
        plain = [item for item in trained if item.ndim < 2]
        heavy = [item for item in trained if item.ndim >= 2]
        groups = [{"params": heavy, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        self._optimiser = torch.optim.AdamW(groups, lr=rate, fused=True)
        self.averaged = {name: item.detach().clone() for name, item in model.state_dict().items()}

    def resume(self) -> None:
        """Load the last saved state, if there is one."""
        path = self._out / "state.pt"
        if path.exists():
            state = torch.load(path)
            self.model.load_state_dict(state["model"])
            self._optimiser.load_state_dict(state["optimiser"])
            self.averaged, self.step = state["averaged"], state["step"]

    def save(self, *copies: str) -> None:
        """Save the state and the averaged weights, the latter also under other names, each by an atomic replacement."""
        state = {"model": self.model.state_dict(), "optimiser": self._optimiser.state_dict()}
        files = {"state.pt": state | {"averaged": self.averaged, "step": self.step}}
        files |= dict.fromkeys(("averaged.pt", *copies), self.averaged)
        for name, value in files.items():
            torch.save(value, self._out / (name + ".new"))
            (self._out / (name + ".new")).replace(self._out / name)

    def learn(self, loss: Tensor) -> float:
        """One step down this loss."""
        left = min(1.0, (self._steps - self.step) / max(1, self._falling))
        rate = self._rate * min(1.0, (self.step + 1) / self._warming) * max(LEAST_RATE, left)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimiser.step()
        self.step += 1
        keep = min(AVERAGING, self.step / (self.step + 19))
        with torch.no_grad():
            for name, item in self.model.state_dict().items():
                self.averaged[name].lerp_(item, 1 - keep)
        return float(loss.detach())
