"""Integer weights for the encoder that cannot overflow or saturate on any processor.

Kernels without VNNI add two products of an unsigned and a signed byte in 16 bits. With weights from -63 to 63 the
largest sum is 2 * 255 * 63 = 32,130, which fits. So every kernel gives the same integers.

Two known methods compensate for the low precision of seven bits. Inputs are centred and their channels are levelled
against the weights (SmoothQuant, Xiao et al. 2023); both are folded into the preceding normalisation or value
projection. Weights are rounded one input channel after the other, and later channels compensate the rounding error of
earlier ones (GPTQ, Frantar et al. 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from training.model import HEADS, WIDTH, RelationModel, tensors
from wellkept.models.tokenizer.pairs import Row

LARGEST = 63
"""Largest absolute value of a weight."""
LEVEL = 0.65
"""Strength of levelling: 0 leaves the inputs unchanged, 1 gives all channels the same width."""
DAMPING = 0.01
GELU_FLOOR = 0.1699712
"""Negative of the minimum of GELU, rounded up."""
_BATCH = 32
_BLOCK = 128


@dataclass(frozen=True)
class Linear:
    """A linear map with integer weights: `round((inputs - centre) / width / step) @ weights * step * scale + bias`.

    The step is computed per row of inputs at run time.

    Attributes:
        weights: int8 from -63 to 63, shape (inputs, outputs).
        scale, bias: float32, one per output; the bias already includes the centre of the inputs.
        centre, width: float32, one per input.
    """

    weights: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]
    centre: NDArray[np.float32]
    width: NDArray[np.float32]


def quantised(model: RelationModel, rows: Sequence[Row]) -> dict[str, Linear]:
    """The quantised linear maps of a model by name: `layers.N.read|output|wide|narrow`, `head.0`, `head.3`.

    `read` is query, key and value side by side. The query is divided by the square root of a head's width; the value is
    centred and levelled for `output`.

    Args:
        model: The model in single precision.
        rows: Some hundred rows of training material for estimating widths and corrections.
    """
    batches = (tensors(rows[start : start + _BATCH]) for start in range(0, len(rows), _BATCH))
    return quantised_over(model, ((pieces != 0, (pieces, marks)) for pieces, marks in batches))


def quantised_over(model: nn.Module, runs: Iterable[tuple[Tensor, tuple[object, ...]]]) -> dict[str, Linear]:
    """The same of a model of any arguments with these layers.

    Args:
        model: The model in single precision.
        runs: For each run of the model which places hold a piece, and its arguments.
    """
    seen = _inputs(model, runs)
    found: dict[str, Linear] = {}
    for place, layer in enumerate(model.layers):
        name = f"layers.{place}"
        centre, width = _levels(layer.output.weight, seen[f"{name}.output"])
        root = (WIDTH // HEADS) ** 0.5
        # The shares of the attention add up to 1, so what is done to each value is done to their mean.
        weight = torch.cat([layer.query.weight / root, layer.key.weight, layer.value.weight / width[:, None]])
        bias = torch.cat([layer.query.bias / root, layer.key.bias, (layer.value.bias - centre) / width])
        inputs = seen[f"{name}.query"]
        found[f"{name}.read"] = _linear(weight, bias, inputs, *_levels(weight, inputs))
        found[f"{name}.output"] = _linear(layer.output.weight, layer.output.bias, seen[f"{name}.output"], centre, width)
        wide, inputs = layer.wide, seen[f"{name}.wide"]
        found[f"{name}.wide"] = _linear(wide.weight, wide.bias, inputs, *_levels(wide.weight, inputs))
        found[f"{name}.narrow"] = _after_gelu(layer.narrow, seen[f"{name}.narrow"])
    first, last = model.head[0], model.head[3]
    found["head.0"] = _linear(first.weight, first.bias, seen["head.0"], torch.zeros(1), torch.ones(1))
    found["head.3"] = _after_gelu(last, seen["head.3"])
    return found


def _inputs(model: nn.Module, runs: Iterable[tuple[Tensor, tuple[object, ...]]]) -> dict[str, Tensor]:
    """The inputs of each linear map over these runs without padding, shape (places, inputs)."""
    seen: dict[str, list[Tensor]] = {}
    present = torch.empty(0)

    def remember(name: str) -> object:
        def hook(_module: nn.Module, given: tuple[Tensor, ...]) -> None:
            values = given[0].detach()
            of_pieces = values.shape[:-1] == present.shape
            seen.setdefault(name, []).append(values[present] if of_pieces else values.flatten(0, -2))

        return hook

    handles = [
        module.register_forward_pre_hook(remember(name))
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
    ]
    model.eval()
    with torch.no_grad():
        for of_run, given in runs:
            present = of_run
            model(*given)
    for handle in handles:
        handle.remove()
    return {name: torch.cat(parts) for name, parts in seen.items()}


def _levels(weight: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Centre and width of each input channel."""
    low, high = inputs.amin(0), inputs.amax(0)
    reach = ((high - low) / 2).clamp(min=1e-5)
    width = reach**LEVEL / weight.detach().abs().amax(0).clamp(min=1e-5) ** (1 - LEVEL)
    return (low + high) / 2, (width / width.mean()).clamp(min=1e-3)


def _after_gelu(linear: nn.Linear, inputs: Tensor) -> Linear:
    """A map after GELU: its inputs plus `GELU_FLOOR` are never negative and use all eight bits."""
    return _linear(linear.weight, linear.bias, inputs, torch.tensor([-GELU_FLOOR]), torch.ones(1))


def _linear(weight: Tensor, bias: Tensor, inputs: Tensor, centre: Tensor, width: Tensor) -> Linear:
    weight, bias = weight.detach(), bias.detach()
    centre, width = centre.expand(weight.shape[1]), width.expand(weight.shape[1])
    integers, scale = rounded(weight * width, (inputs - centre) / width)

    def plain(values: Tensor) -> NDArray[np.float32]:
        return values.numpy().astype(np.float32)

    return Linear(
        integers.T.numpy().astype(np.int8), plain(scale), plain(bias + weight @ centre), plain(centre), plain(width)
    )


def rounded(weight: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Integer weights and their scale per output that minimise the change of the products with the inputs.

    Args:
        weight: Shape (outputs, inputs).
        inputs: Typical inputs, shape (places, inputs).

    Source: Frantar et al. 2023, "GPTQ", algorithm 1, widest channels first.
    """
    left = weight.double().clone()
    scale = left.abs().amax(1).clamp(min=1e-12) / LARGEST
    moments = inputs.double().T @ inputs.double()
    moments += DAMPING * moments.diag().mean() * torch.eye(len(moments), dtype=torch.double)
    order = torch.argsort(moments.diag(), descending=True, stable=True)
    left, moments = left[:, order], moments[order][:, order]
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(moments)), upper=True)
    integers = torch.empty_like(left)
    for start in range(0, left.shape[1], _BLOCK):
        end = min(start + _BLOCK, left.shape[1])
        block, within = left[:, start:end].clone(), inverse[start:end, start:end]
        errors = torch.empty_like(block)
        for place in range(end - start):
            chosen = (block[:, place] / scale).round().clamp(-LARGEST, LARGEST)
            integers[:, order[start + place]] = chosen
            errors[:, place] = (block[:, place] - chosen * scale) / within[place, place]
            block[:, place:] -= errors[:, place, None] * within[place, place:]
        left[:, end:] -= errors @ inverse[start:end, end:]
    return integers, scale
