"""Optimizers, schedules and mixed precision have PyTorch's parameters, defaults and methods."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import minigrad as mg

# PyTorch's own, for its profiler and its types, and a helper that is not documented.
NOT_HERE = {"profile_hook_step", "OptimizerPreHook", "OptimizerPostHook", "recursive_undo"}


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """Return name, kind and default of each parameter."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def classes(module: Any) -> list[Any]:
    """Return the public classes of a module of ours."""
    return [value for name in module.__all__ if isinstance(value := getattr(module, name), type)]


OURS = {
    "optim": [c for c in classes(mg.optim) if c is not mg.optim.RuleOptimizer],
    "optim.lr_scheduler": classes(mg.optim.lr_scheduler),
    "optim.swa_utils": [mg.optim.swa_utils.SWALR, mg.optim.swa_utils.AveragedModel],
    "amp": [mg.amp.GradScaler, mg.autocast],
}


@pytest.mark.torch
@pytest.mark.parametrize("where", OURS)
def test_parameters_and_methods_are_pytorchs(where: str) -> None:
    theirs = pytest.importorskip("torch")
    for part in where.split("."):
        theirs = getattr(theirs, part)
    for ours in OURS[where]:
        other = getattr(theirs, ours.__name__)
        assert parameters(ours.__init__) == parameters(other.__init__), ours.__name__
        if ours.__name__ == "AveragedModel":  # there it is a Module
            continue
        public = {name for name in dir(other) if not name.startswith("_")} - NOT_HERE
        assert public <= set(dir(ours)), (ours.__name__, public - set(dir(ours)))


@pytest.mark.torch
def test_all_optimizers_and_schedules_of_pytorch_are_here() -> None:
    torch = pytest.importorskip("torch")
    names = {name for name in dir(torch.optim) if isinstance(getattr(torch.optim, name), type)}
    assert names - set(dir(mg.optim)) == {"SparseAdam"}
    assert set(torch.optim.lr_scheduler.__all__) <= set(mg.optim.lr_scheduler.__all__)
    assert set(torch.optim.swa_utils.__all__) <= set(mg.optim.swa_utils.__all__)
