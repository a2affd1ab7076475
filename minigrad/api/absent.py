"""Names that other libraries have and minigrad has not: what to write instead.

`mg.concat` raises AttributeError, as any name that is not there; for those that somebody who comes from PyTorch or JAX
is likely to try, the message goes on with the way that there is.  Looked up only where a name was not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from minigrad.declare.names import listed

LAYER: Final = "layers as objects are not there yet: a network is a function of its weights, with mg.nn.functional"
STEP: Final = "an optimizer is a loop with x.set(x - rate * g); notebooks/13_training.py writes Adam in ten lines"
COMPILED: Final = "programs are not compiled as a whole yet; each op and each derivative rule is one kernel already"
COMPLEX: Final = "there are no complex numbers; keep the two parts in two tensors"
ARRAYS: Final = "for values without a gradient take NumPy's: numpy functions accept tensors, mg.from_numpy shares"
HERE: Final = "write it as mg.func.{}"

INSTEAD: Final = {
    **dict.fromkeys(("Linear", "Module", "Sequential", "Conv1d", "Conv2d", "Embedding", "LayerNorm", "Dropout",
                     "ModuleList", "functional_call", "BatchNorm2d", "ReLU", "MSELoss", "CrossEntropyLoss"), LAYER),
    **dict.fromkeys(("optim", "SGD", "Adam", "AdamW"), STEP),
    **dict.fromkeys(("compile", "jit", "pmap", "make_jaxpr"), COMPILED),
    **dict.fromkeys(("complex64", "complex128", "cfloat", "real", "imag", "view_as_real"), COMPLEX),
    "fft": ARRAYS,
    **dict.fromkeys(("inv", "solve", "det", "slogdet", "svd", "qr", "eig", "eigh", "eigvalsh", "pinv", "lstsq",
                     "matrix_rank"), ARRAYS),
    **{name: HERE.format(name) for name in ("vmap", "jvp", "vjp", "value_and_grad", "jacfwd", "jacrev", "hessian",
                                            "linearize", "tree_map")},
    "Parameter": "write mg.Var(x, name=...)",
    "array": "write mg.tensor, or mg.from_numpy to share memory",
    "asarray": "write mg.as_tensor, which shares where it can, or mg.tensor, which copies",
    "clip": "write mg.clamp",
    "clip_grad_norm_": "scale the gradients by limit / length; notebooks/13_training.py has it as an exercise",
    "concat": "write mg.cat",
    "concatenate": "write mg.cat",
    "custom_jvp": "write mg.Function with a jvp, or mg.custom_vjp",
    "device_put": "write x.to(device)",
    "get_default_dtype": "write mg.default_float",
    "inf": "write math.inf",
    "l1_loss": "write mg.nn.functional.l1_loss(x, target)",
    "lax": "write loops and branches in Python; mg.where chooses by element",
    "mse_loss": "write mg.nn.functional.mse_loss(x, target)",
    "nan": "write math.nan",
    "numpy": "the names of jax.numpy that there are stand in mg itself",
    "one_hot": "write mg.nn.functional.one_hot(index, classes)",
    "pad": "write mg.nn.functional.pad",
    "pi": "write math.pi",
    "random": "write mg.randn, mg.rand, ... with generator=mg.Generator(seed), which is what a key is for",
    "set_default_dtype": "write mg.set_default_float",
    "sparse": "there are no sparse tensors; mg.gather and mg.scatter_add work by index",
    "tree": "write mg.func.tree_map",
    "tree_util": "write mg.func.tree_map",
    "utils": "torch.utils.checkpoint is mg.checkpoint; there are no data loaders yet",
}  # fmt: skip


def absent(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have."""
    instead = INSTEAD.get(name)
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {instead}" if instead else ""))


def present(module: dict[str, Any], names: Mapping[str, Any]) -> None:
    """Fill a module with public names; for any other it fails, and says what to write instead."""

    def missing(name: str) -> NoReturn:
        raise absent(module["__name__"], name)

    everything = sorted(names)
    module.update(names, __all__=everything, __dir__=listed(everything), __getattr__=missing)
