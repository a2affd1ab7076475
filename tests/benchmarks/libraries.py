"""The libraries that are compared: how each makes tensors, runs a row, and shows its result as an array."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from minigrad.config import settings
from tests.benchmarks.case import Case, Run


class Minigrad:
    """minigrad, on the CPU unless another device is named."""

    name = "minigrad"
    module = mg

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    def tensor(self, array: NDArray[Any], tracks: bool) -> Any:
        return mg.tensor(array, requires_grad=tracks, device=self.device)

    def array(self, x: Any) -> NDArray[Any]:
        x = x.detach().to("cpu")
        return np.asarray(x.numpy(), np.float64) if x.dtype.is_float else x.numpy()

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


class OnCuda(Minigrad):
    """minigrad on a GPU, with its clock: events that the device passes."""

    cuda = mg.cuda

    def __init__(self) -> None:
        super().__init__("cuda")

    def mark(self) -> Any:
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3

    def synchronize(self) -> None:
        self.cuda.synchronize()

    def tidy(self) -> None:
        """Give memory back that is kept for reuse."""
        self.cuda.empty_cache()

    def peak(self, run: Run) -> int | None:
        """The most bytes that tensors had while it ran, or None where that is not counted."""
        run()
        self.cuda.reset_peak_memory_stats()
        run()
        self.synchronize()
        return int(self.cuda.max_memory_allocated())


class PyTorchOnCuda(PyTorch, OnCuda):
    """PyTorch on the same GPU; float32 is not rounded to TF32, for minigrad's is not."""

    device = "cuda"

    def __init__(self) -> None:
        self.module = importlib.import_module("torch")
        self.cuda = self.module.cuda
        self.module.backends.cuda.matmul.allow_tf32 = self.module.backends.cudnn.allow_tf32 = False

    def tensor(self, array: NDArray[Any], tracks: bool) -> Any:
        return super().tensor(array, False).to(self.device).requires_grad_(tracks)

    def array(self, x: Any) -> NDArray[Any]:
        return super().array(x.cpu())  # type: ignore[no-any-return]


class CuPy(OnCuda):
    """CuPy, for the rows that NumPy can do: NumPy's functions hand its arrays on to it."""

    name = "cupy"

    def __init__(self) -> None:
        self.module = importlib.import_module("cupy")
        self.cuda = self.module.cuda

    def array(self, x: Any) -> NDArray[Any]:
        array = self.module.asnumpy(x)
        return np.asarray(array, np.float64) if array.dtype.kind == "f" else array

    def prepare(self, case: Case, arrays: Sequence[NDArray[Any]]) -> Run | None:
        if case.numpy is None or case.tracks or any(a.dtype.kind not in "biuf" for a in arrays):
            return None
        fn, given = case.numpy, [self.module.asarray(a) for a in arrays]
        return lambda: fn(*given)

    def mark(self) -> Any:
        event = self.cuda.Event()
        event.record()
        return event

    def between(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(self.cuda.get_elapsed_time(start, end)) * 1e-3

    def synchronize(self) -> None:
        self.cuda.runtime.deviceSynchronize()

    def tidy(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()

    def peak(self, run: Run) -> int | None:
        return None


def installed_on_cuda() -> tuple[list[OnCuda], list[str]]:
    """minigrad and what else is there for the GPU; and a sentence for each that is not."""
    found: list[OnCuda] = [OnCuda()]
    absent = []
    for name, library in (("torch", PyTorchOnCuda), ("cupy", CuPy)):
        if settings.cuda == "simulator":
            absent.append(f"{name} is not compared: it has no simulator")
        elif importlib.util.find_spec(name) is None:
            absent.append(f"{name} is not compared: it is not installed")
        elif name == "torch" and not importlib.import_module(name).cuda.is_available():
            absent.append("torch is not compared: it is installed without CUDA, or finds no device")
        else:
            found.append(library())
    return found, absent


def installed() -> list[Minigrad]:
    """minigrad, then what else there is to compare with."""
    found: list[Minigrad] = [Minigrad()]
    if importlib.util.find_spec("torch") is not None:
        found.append(PyTorch())
    return [*found, NumPy()]
