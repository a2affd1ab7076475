"""Advice for names that other libraries have and minigrad does not have.

An AttributeError for a missing name ends with advice: the replacement of a name from PyTorch or JAX, the namespace of
minigrad that has the name, or names of the same namespace with a similar spelling.  The advice is looked up only when
the message of such an error is read.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

from minigrad.declare.docstring import document_all
from minigrad.declare.names import listed

JIT: Final = "write mg.jit around a whole step with its backward pass: it records the kernels once and repeats them"
EXPORTED: Final = "programs are not exported; mg.save writes the tensors of a state_dict as safetensors"
COMPLEX: Final = "there are no complex numbers; keep the two parts in two tensors"
ARRAYS: Final = "if no gradient is required, use NumPy's function, which accepts tensors, and mg.from_numpy"
SPARSE: Final = "there are no sparse tensors; mg.gather and mg.scatter_add work by index"
QUANTIZED: Final = "there are no quantized tensors; mg.amp.autocast computes in bfloat16 or float16"
GAMMA: Final = "minigrad has no gamma sampler; draw the samples with NumPy and convert them with mg.from_numpy"

INSTEAD: Final = {
    "compile": JIT,
    "CUDAGraph": JIT,
    **dict.fromkeys(("export", "onnx"), EXPORTED),
    **dict.fromkeys(("complex", "complex64", "complex128", "cfloat", "cdouble", "real", "imag", "angle", "polar"),
                    COMPLEX),
    **dict.fromkeys(("fft", "ifft", "rfft", "stft", "istft", "eig", "eigvals"), ARRAYS),
    **dict.fromkeys(("Gamma", "Beta", "Dirichlet", "Chi2", "StudentT", "FisherSnedecor", "InverseGamma"), GAMMA),
    "CrossMapLRN2d": "write mg.nn.LocalResponseNorm; CrossMapLRN2d counts the first channel in every sum",
    "SparseAdam": "write mg.optim.Adam; gradients of mg.nn.Embedding are dense",
    "astype": "write x.to(dtype)",
    "array": "write mg.tensor, or mg.from_numpy to share memory",
    "asarray": "write mg.as_tensor, which shares memory if possible, or mg.tensor, which copies",
    "custom_jvp": "write mg.Function with a jvp, or mg.custom_vjp",
    "device_put": "write x.to(device)",
    "hub": "models are not downloaded; mg.load reads safetensors files",
    "make_jaxpr": "mg.viz.graph(f(x)) draws the recorded ops of a result, and mg.explain prints them",
    "pmap": "start one process per part of the batch; mg.dist combines the gradients",
    "lax": "write loops and branches in Python; mg.where selects by element",
    "numpy": "the names of jax.numpy that minigrad has are names of mg itself",
    "quantization": QUANTIZED,
    "range": "write mg.arange, which does not include the end",
    "solve": "write mg.linalg.solve(a, b)",
    "to_numpy": "write x.numpy(), or x.detach().numpy() if x requires a gradient",
    "tree": "write mg.func.tree_map",
    "tree_util": "write mg.func.tree_map",
}  # fmt: skip
# Families of names, by a pattern.
FAMILIES: Final = {
    r"sparse|coalesced?$|_indices$|^(hs|ds|s)p?mm$": SPARSE,
    r"quant|^q_|^q(int|uint|scheme)|^int_repr$": QUANTIZED,
    r"complex|conj": COMPLEX,
    r"^(cudnn|mkldnn|miopen|fbgemm)_|_mkldnn": "minigrad does not call kernels of other libraries; use the op itself",
}
# The namespaces that are searched, in this order.
SPACES: Final = ("", "nn", "nn.functional", "optim", "optim.lr_scheduler", "data", "linalg", "special", "func",
                 "autograd", "distributions", "nn.init", "nn.utils", "amp", "testing", "viz")  # fmt: skip


class MissingName(AttributeError):
    """The error for a missing attribute.

    Its advice is looked up when the message is read, so `hasattr` does not pay for it.
    """

    def __init__(self, message: str, name: str, advice: Callable[[], str]) -> None:
        super().__init__(message, name=name)
        self.advice = advice

    def __str__(self) -> str:
        # Names of Python protocols, such as `_repr_html_`, get no advice.
        advice = "" if str(self.name).startswith("_") else self.advice()
        return f"{self.args[0]}: {advice}" if advice else str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


def absent(module: str, name: str) -> AttributeError:
    """Return the AttributeError for a name that a module does not have."""

    def advice() -> str:
        own = getattr(importlib.import_module(module), "__all__", ())
        return replaced(name) or elsewhere(module, name) or nearest(name, own)

    return MissingName(f"module {module!r} has no attribute {name!r}", name, advice)


def missing_attribute(kind: type, name: str) -> NoReturn:
    """Raise the AttributeError for an attribute that a class of tensors does not have."""

    def advice() -> str:
        function = elsewhere("", name).removeprefix("write it as ")
        call = f"write {function}(x)" if function else ""
        return replaced(name) or call or nearest(name, [each for each in dir(kind) if each != name])

    raise MissingName(f"{kind.__name__!r} object has no attribute {name!r}", name, advice)


def replaced(name: str) -> str:
    """Return the advice for a name from another library, or ""."""
    family = (advice for pattern, advice in FAMILIES.items() if re.search(pattern, name))
    return INSTEAD.get(name) or next(family, "")


def elsewhere(module: str, name: str) -> str:
    """Return advice that names the namespace of minigrad, or the method, that has the name; "" if there is none."""
    for space in SPACES:
        path = f"minigrad.{space}".rstrip(".")
        if path != module and name in getattr(importlib.import_module(path), "__all__", ()):
            return f"write it as mg.{space}.{name}".replace("..", ".")
    tensor = importlib.import_module("minigrad.runtime.tensor").Tensor
    return f"write it as a method, x.{name}()" if module and callable(getattr(tensor, name, None)) else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question with names of a similar spelling, or ""."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.78)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def answering(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` function of a module, which raises the error for a missing name."""

    def missing(name: str) -> NoReturn:
        raise absent(module, name)

    return missing


def present(module: dict[str, Any], names: Mapping[str, Any]) -> None:
    """Fill a module with its public names; any other name raises an AttributeError with advice."""
    everything = sorted(names)
    document_all(names)
    module.update(names, __all__=everything, __dir__=listed(everything), __getattr__=answering(module["__name__"]))
