"""Names that other libraries have and minigrad does not, each with its replacement.

`mg.concat` raises AttributeError, as any name that is not there; for those that somebody who comes from PyTorch or JAX
is likely to try, the message goes on with the way that there is.  Looked up only where a name was not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from minigrad.declare.names import listed

LAYERS: Final = ("Linear", "Module", "Sequential", "Conv1d", "Conv2d", "Embedding", "LayerNorm", "Dropout",
                 "ModuleList", "BatchNorm2d", "ReLU", "MSELoss", "CrossEntropyLoss", "Parameter")  # fmt: skip
STEP: Final = "write it as mg.optim.{}"
COMPILED: Final = "programs are not compiled as a whole yet; each op and each derivative rule is one kernel already"
COMPLEX: Final = "there are no complex numbers; keep the two parts in two tensors"
ARRAYS: Final = "for values without a gradient take NumPy's: numpy functions accept tensors, mg.from_numpy shares"
HERE: Final = "write it as mg.func.{}"

INSTEAD: Final = {
    **{name: f"write mg.nn.{name}" for name in LAYERS},
    **{name: STEP.format(name) for name in ("SGD", "Adam", "AdamW")},
    **dict.fromkeys(("compile", "jit", "pmap", "make_jaxpr"), COMPILED),
    **dict.fromkeys(("complex64", "complex128", "cfloat", "real", "imag", "view_as_real"), COMPLEX),
    **dict.fromkeys(("fft", "eig", "eigvals"), ARRAYS),
    **{name: f"write it as mg.linalg.{name}" for name in ("inv", "solve", "eigh", "eigvalsh", "pinv", "lstsq",
                                                          "matrix_rank")},
    **{name: HERE.format(name) for name in ("vmap", "jvp", "vjp", "value_and_grad", "jacfwd", "jacrev", "hessian",
                                            "linearize", "tree_map", "functional_call")},
    "CrossMapLRN2d": "write mg.nn.LocalResponseNorm; PyTorch's counts the first channel in every sum",
    "array": "write mg.tensor, or mg.from_numpy to share memory",
    "asarray": "write mg.as_tensor, which shares where it can, or mg.tensor, which copies",
    "clip_grad_norm_": "write mg.nn.utils.clip_grad_norm_",
    "custom_jvp": "write mg.Function with a jvp, or mg.custom_vjp",
    "device_put": "write x.to(device)",
    "l1_loss": "write mg.nn.functional.l1_loss(x, target)",
    "lax": "write loops and branches in Python; mg.where chooses by element",
    "mse_loss": "write mg.nn.functional.mse_loss(x, target)",
    "numpy": "the names of jax.numpy that there are stand in mg itself",
    "one_hot": "write mg.nn.functional.one_hot(index, classes)",
    "pad": "write mg.nn.functional.pad",
    "sparse": "there are no sparse tensors; mg.gather and mg.scatter_add work by index",
    "tree": "write mg.func.tree_map",
    "tree_util": "write mg.func.tree_map",
}  # fmt: skip


def absent(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have."""
    instead = INSTEAD.get(name)
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {instead}" if instead else ""))


def present(module: dict[str, Any], names: Mapping[str, Any]) -> None:
    """Fill a module with public names; for any other it fails, and says what to write instead."""

    def missing(name: str) -> NoReturn:
        raise absent(module["__name__"], name)

    everything = sorted(names)
    module.update(names, __all__=everything, __dir__=listed(everything), __getattr__=missing)
