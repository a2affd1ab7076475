"""einops and opt_einsum on tensors: the backend of each for minigrad, and the import of `einops.layers.minigrad`.

Both look a backend up in modules of their own, and minigrad may be imported before or after them.  A finder of the
import system enters the backend as soon as such a module is imported.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minigrad.declare.names import MG, namespaces
from minigrad.runtime.tensor import Tensor

LAYERS = "einops.layers.minigrad"


class Finder:
    """Call a function of ENTER after the import of a module, and find the module of einops' layers for minigrad."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of ENTER or of LAYERS, and None for any other module."""
        if name == LAYERS:
            return spec_from_file_location(name, Path(__file__).parents[2] / "nn" / "einops_layers.py")
        spec = PathFinder.find_spec(name, path) if name in ENTER else None
        if spec is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_enter(module: Any) -> None:
                execute(module)
                if module.__name__ == name:  # the loader of a zip file has other modules too
                    ENTER[name](module)

            loader.exec_module = execute_and_enter
        return spec


def connect() -> None:
    """Enter the backends, now or when their libraries are imported."""
    for name, enter in ENTER.items():
        if name in sys.modules:
            enter(sys.modules[name])
    sys.meta_path.insert(0, Finder())


def name_contractions(dispatch: Any) -> None:
    """State the module whose `einsum`, `tensordot` and `transpose` have NumPy's arguments, which opt_einsum calls."""
    dispatch._aliases["minigrad"] = "minigrad.api.interop.numpy_calls"


def define_backend(backends: Any) -> None:
    """Define the subclass of `AbstractBackend` by which einops computes with tensors."""
    mg = SimpleNamespace(**namespaces[MG])

    class MinigradBackend(backends.AbstractBackend):
        framework_name = "minigrad"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Any:
            return mg.from_numpy(x)

        def to_numpy(self, x: Any) -> Any:
            return x.numpy(force=True)

        def is_float_type(self, x: Any) -> bool:
            return x.is_floating_point()

        def arange(self, start: int, stop: int) -> Any:
            return mg.arange(start, stop)

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            names = {"min": "amin", "max": "amax"}
            return getattr(x, names.get(operation, operation))(dim=tuple(axes))

        def transpose(self, x: Any, axes: Any) -> Any:
            return x.permute(axes)

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return mg.stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return x.unsqueeze(new_position)

        def add_axes(self, x: Any, n_axes: int, pos2len: dict[int, int]) -> Any:
            for position in pos2len:
                x = x.unsqueeze(position)
            return x.expand([pos2len.get(k, -1) for k in range(n_axes)])

        def tile(self, x: Any, repeats: Any) -> Any:
            return x.repeat(repeats)

        def concat(self, tensors: list[Any], axis: int) -> Any:
            return mg.cat(tensors, dim=axis)

        def einsum(self, pattern: str, *x: Any) -> Any:
            return mg.einsum(pattern, *x)

        def layers(self) -> Any:
            import importlib

            return importlib.import_module(LAYERS)

    backends.MinigradBackend = MinigradBackend  # a class keeps only weak references to its subclasses


ENTER = {"einops._backends": define_backend, "opt_einsum.backends.dispatch": name_contractions}
