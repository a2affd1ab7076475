"""Options and states of optimizers: checks of the options, and the state as a dict with PyTorch's structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import float32
from minigrad.core.roles import Number
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.runtime.changes import CountedDict
from minigrad.runtime.tensor import Tensor

# ---- options ---------------------------------------------------------------------------------------------------------


NOT_NEGATIVE = Number(0.0)


def rate_of(group: dict[str, Any]) -> float:
    """Return the learning rate of a group, which may be a tensor, as a float."""
    return float(group["lr"])


def options_of(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the options among the local variables of an `__init__`: all arguments except the parameters."""
    return {name: value for name, value in variables.items() if name not in ("self", "params", "__class__")}


def expect_betas(name: str, betas: Sequence[Any]) -> None:
    """Raise ArgumentError unless all values are in [0, 1)."""
    for k, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ArgumentError(
                f"{name}: betas[{k}] must be at least 0 and less than 1, got {beta}; pass 0.9, for example"
            )


def expect_rate(name: str, lr: Any) -> None:
    """Raise ArgumentError unless a learning rate is a number, or a tensor of one element, of at least 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentError(
            f"{name}: lr must be a number or a tensor of one element, got shape {lr.shape}; pass lr=1e-3, for example"
        )
    NOT_NEGATIVE.expect(name, lr=lr.item() if isinstance(lr, Tensor) else lr)


# ---- states: parameters are replaced by indices ----------------------------------------------------------------------


def packed(groups: list[dict[str, Any]], state: Mapping[Any, Any]) -> dict[str, Any]:
    """Return groups and states in which each parameter is replaced by its index, counted through all groups."""
    numbers: dict[int, int] = {}
    listed = []
    for group in groups:
        for p in group["params"]:
            numbers.setdefault(id(p), len(numbers))
        options = {key: value for key, value in group.items() if key != "params"}
        listed.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
    states = {numbers[id(p)] if isinstance(p, Tensor) else p: each for p, each in state.items()}
    return {"state": states, "param_groups": listed}


def loaded(name: str, groups: list[dict[str, Any]], saved: Mapping[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
    """Return the states by parameter, and the groups with the options of a state dict.

    Raises ArgumentError if the groups differ.
    """
    new = [dict(group) for group in saved["param_groups"]]
    if len(new) != len(groups):
        raise ArgumentError(
            f"{name}: the state dict must have {len(groups)} parameter groups, got {len(new)}; create the optimizer "
            "with the same groups"
        )
    parameters: dict[Any, Any] = {}
    for k, (group, old) in enumerate(zip(new, groups, strict=True)):
        if len(group["params"]) != len(old["params"]):
            raise ArgumentError(
                f"{name}: group {k} of the state dict must have {len(old['params'])} parameters, got "
                f"{len(group['params'])}; create the optimizer with the same groups"
            )
        parameters |= zip(group["params"], old["params"])
        group["params"] = old["params"]
        if "param_names" in old:
            group.setdefault("param_names", old["param_names"])
    state = CountedDict(CountedDict)
    for key, value in saved["state"].items():
        p = parameters.get(key)
        if p is None:
            state[key] = value
        else:
            state[p] = CountedDict(None, {entry: taken(entry, each, p) for entry, each in value.items()})
    return state, new


def taken(entry: str, value: Any, p: Tensor) -> Any:
    """Return a copy of a loaded state: a tensor with the dtype and device of p; other values are unchanged."""
    if isinstance(value, dict):
        return {key: taken(key, each, p) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([taken(entry, each, p) for each in value])
    if isinstance(value, Tensor):
        tensor = value.detach()
    elif isinstance(value, np.ndarray):
        tensor = namespaces[MG]["from_numpy"](value)
    elif hasattr(value, "__dlpack__"):  # the value is a tensor of another library, for example of PyTorch
        from minigrad.api.interop.arrays import from_dlpack

        tensor = from_dlpack(value.detach() if hasattr(value, "detach") else value)
    else:
        return value
    if entry == "step" or not p.dtype.is_inexact:
        return tensor.to(float32, copy=True) if entry == "step" else tensor.to(p.device, copy=True)
    return tensor.to(p.device, p.dtype, copy=True)


def scalar_state(value: float) -> Tensor:
    """Return a counter in the form that PyTorch uses: a float32 scalar on the CPU."""
    return namespaces[MG]["tensor"](float(value), dtype=float32, device="cpu")


def filled(p: Tensor, value: complex) -> Tensor:
    """Return a tensor with the shape and strides of a parameter, filled with a value; both parts of complex numbers."""
    value = complex(value, value) if p.dtype.is_complex else value
    return namespaces[MG]["full_like"](p.detach(), value)
