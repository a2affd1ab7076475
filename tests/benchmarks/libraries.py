"""The libraries that are compared: how each makes tensors, runs a row, and shows its result as an array."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from tests.benchmarks.case import Case, Run


class Minigrad:
    """minigrad on the CPU."""

    name = "minigrad"
    module = mg

    def tensor(self, array: NDArray[Any], tracks: bool) -> Any:
        return mg.tensor(array, requires_grad=tracks)

    def array(self, x: Any) -> NDArray[Any]:
        return np.asarray(x.detach().to(mg.float64).numpy() if x.dtype.is_float else x.numpy())

    def prepare(self, case: Case, arrays: Sequence[NDArray[Any]]) -> Run | None:
        """The row as a function without arguments."""
        tensors = [self.tensor(array, k < case.tracks) for k, array in enumerate(arrays)]
        if case.build is not None:
            return case.build(self.module, *tensors)
        assert case.fn is not None
        fn, module = case.fn, self.module
        if not case.tracks:
            return lambda: fn(module, *tensors)
        return with_backward(fn, module, tensors, tensors[: case.tracks])


class PyTorch(Minigrad):
    """PyTorch, if it is installed; with as many threads as minigrad."""

    name = "torch"

    def __init__(self) -> None:
        self.module = importlib.import_module("torch")
        # After minigrad's, because asking Numba for its threads may reset these (numba#9387).
        self.module.set_num_threads(mg.get_num_threads())

    def tensor(self, array: NDArray[Any], tracks: bool) -> Any:
        if array.dtype.name == "bfloat16":
            x = self.module.from_numpy(array.view(np.uint16).copy()).view(self.module.bfloat16)
        else:
            x = self.module.from_numpy(array.copy())
        return x.requires_grad_(tracks)

    def array(self, x: Any) -> NDArray[Any]:
        return (x.detach().double() if x.is_floating_point() else x).numpy()


class NumPy(Minigrad):
    """NumPy, for the rows that it can do."""

    name = "numpy"

    def array(self, x: Any) -> NDArray[Any]:
        return np.asarray(x)

    def prepare(self, case: Case, arrays: Sequence[NDArray[Any]]) -> Run | None:
        if case.numpy is None or case.tracks:
            return None
        fn = case.numpy
        return lambda: fn(*arrays)


def with_backward(fn: Any, module: Any, tensors: list[Any], leaves: list[Any]) -> Run:
    """Forward, backward with a given cotangent, and fresh gradients each time."""
    shape = fn(module, *tensors)
    cotangent = module.ones_like(shape.detach())

    def run() -> list[Any]:
        for x in leaves:
            x.grad = None
        fn(module, *tensors).backward(cotangent)
        return [x.grad for x in leaves]

    return run


def installed() -> list[Minigrad]:
    """minigrad, then what else there is to compare with."""
    found: list[Minigrad] = [Minigrad()]
    if importlib.util.find_spec("torch") is not None:
        found.append(PyTorch())
    return [*found, NumPy()]
