"""Advice for names that other libraries have and minigrad does not have.

An AttributeError for a missing name ends with advice: the replacement of a name from PyTorch or JAX, the namespace of
minigrad that has the name, or names of the same namespace with a similar spelling.  The advice is looked up only when
the message of such an error is read.

Names that tensors do not have, although `mg` has a function or PyTorch a method of this name, are descriptors of the
class, which `attach` sets after all methods.  A `__getattr__` would make the lookup of every other attribute slower,
and a call `x * x` slower by a fifth.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from inspect import getattr_static
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, Final, NoReturn

from minigrad.declare.manual import document_all
from minigrad.declare.names import listed, namespaces
from minigrad.runtime.tensor import Tensor

JIT: Final = "write mg.jit around a whole step with its backward pass: it records the kernels once and repeats them"
EXPORTED: Final = "programs are not exported; mg.save writes the tensors of a state_dict as safetensors"
HALF_COMPLEX: Final = "parts of 16 bits are not supported; write x.to(mg.complex64)"
ARRAYS: Final = "if no gradient is required, use NumPy's function, which accepts tensors, and mg.from_numpy"
SPARSE: Final = "there are no sparse tensors; mg.gather and mg.scatter_add work by index"
QUANTIZED: Final = "there are no quantized tensors; mg.amp.autocast computes in bfloat16 or float16"
RECORDED: Final = "mg.viz.graph(f(x)) draws the recorded ops of a result, and mg.explain prints them"
SPAWNED: Final = (
    "write Python's multiprocessing with the start method 'spawn', or start processes that train with mg.dist"
)

INSTEAD: Final = {
    "compile": JIT,
    "CUDAGraph": JIT,
    **dict.fromkeys(("export", "onnx"), EXPORTED),
    "CrossMapLRN2d": "write mg.nn.LocalResponseNorm; CrossMapLRN2d counts the first channel in every sum",
    "SparseAdam": "write mg.optim.Adam; gradients of mg.nn.Embedding are dense",
    "astype": "write x.to(dtype)",
    "array": "write mg.tensor, or mg.from_numpy to share memory",
    "custom_jvp": "write mg.Function with a jvp, or mg.custom_vjp",
    "device_put": "write x.to(device)",
    "hub": "models are not downloaded; mg.load reads safetensors files",
    **dict.fromkeys(("make_jaxpr", "fx"), RECORDED),
    **dict.fromkeys(("ao", "quantization"), QUANTIZED),
    "SummaryWriter": "import it from minigrad.utils.tensorboard, or write mg.viz.Log, which draws the stored values",
    "accelerator": "write mg.cuda, whose is_available() returns whether there is a GPU",
    "multiprocessing": SPAWNED,
    "overrides": "there is no __torch_function__; write mg.Function, or an op with @mg.composed()",
    "profiler": "mg.viz.memory draws memory, mg.explain lists kernels, and the module timeit measures times",
    "version": "write mg.__version__",
    "pmap": "start one process per part of the batch; mg.dist combines the gradients",
    "lax": "mg.func has scan, while_loop, cond, map and associative_scan; mg.where selects by element",
    "fori_loop": "write a loop of Python, or mg.func.scan, which returns the values of all rounds",
    "numpy": "the names of jax.numpy that minigrad has are names of mg itself",
    "solve": "write mg.linalg.solve(a, b)",
    "symeig": "write mg.linalg.eigh(A, UPLO='U')",
    "triangular_solve": "write mg.linalg.solve_triangular(A, B, upper=True), in which A is the first argument",
    "to_numpy": "write x.numpy(), or x.detach().numpy() if x requires a gradient",
    "tree": "write mg.func.tree_map",
    "tree_util": "write mg.func.tree_map",
}  # fmt: skip
# Families of names, by a pattern.
FAMILIES: Final = {
    r"sparse|coalesced?$|_indices$|^(hs|ds|s)p?mm$": SPARSE,
    r"quant|^q_|^q(int|uint|scheme)|^int_repr$": QUANTIZED,
    r"chalf|complex": HALF_COMPLEX,
    r"^(cudnn|mkldnn|miopen|fbgemm)_|_mkldnn": "minigrad does not call kernels of other libraries; use the op itself",
}
# The namespaces that are searched, in this order.
SPACES: Final = ("", "nn", "nn.functional", "optim", "optim.lr_scheduler", "data", "linalg", "special", "fft", "func",
                 "autograd", "distributions", "nn.init", "nn.utils", "amp", "testing", "viz")  # fmt: skip

# Methods of PyTorch 2.13, and names from its older releases and from NumPy that scripts use.
OTHERS: Final = (
    "as_subclass astype ccol_indices chalf coalesce col_indices crow_indices dense_dim dequantize "
    "eig indices int_repr is_coalesced lstsq map2_ masked_scatter_ matrix_exp "
    "nonzero_static polygamma_ q_per_channel_axis q_scale q_zero_point qscheme reinforce renorm_ resize "
    "resize_as set_ slice_inverse smm solve sparse_dim sparse_mask sspaddmm symeig to_mkldnn to_numpy "
    "to_padded_tensor to_sparse to_sparse_coo to_sparse_csr triangular_solve untyped_storage values xpu"
).split()

# Python suggests no names for a class with 750 attributes and more, so typical slips in the names that are used most
# are listed too: a plural, or two letters in a wrong order.
USED: Final = (
    "backward clone contiguous data detach device dtype flatten float grad item long mean ndim numel numpy permute "
    "requires_grad reshape shape size squeeze sum tolist transpose unsqueeze view"
).split()


class Advised:
    """A function whose missing attributes raise an AttributeError with advice."""

    def __init__(self, function: Callable[..., Any], path: str, advice: str) -> None:
        functools.update_wrapper(self, function)
        self.function, self.path, self.advice = function, path, advice

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> NoReturn:
        raise MissingName(f"function {self.path!r} has no attribute {name!r}", name, lambda: self.advice)

    def __repr__(self) -> str:
        return repr(self.function)

    def __reduce__(self) -> str:
        return self.function.__name__


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
    return MissingName(f"module {module!r} has no attribute {name!r}", name, lambda: advice_for(module, name))


def advice_for(module: str, name: str) -> str:
    """Return the advice for a name that a module does not have, or ""."""
    own = getattr(importlib.import_module(module), "__all__", ())
    return replaced(name) or elsewhere(module, name) or similar_names(name, own)


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
    return f"write it as a method, x.{name}()" if module and callable(getattr(Tensor, name, None)) else ""


def similar_names(name: str, names: Iterable[str]) -> str:
    """Return a question with names of a similar spelling, or ""; swapped letters of short names are similar too."""
    import difflib  # only errors need it

    names = list(names)
    close = [each for each in names if len(name) > 2 and sorted(each.lower()) == sorted(name.lower())]
    close = close or difflib.get_close_matches(name, names, n=3, cutoff=0.78)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def answering(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` function of a module, which raises the error for a missing name."""

    def missing(name: str) -> NoReturn:
        raise absent(module, name)

    return missing


def imported(module: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classes and functions of a module that it, or its package, defines, by name."""
    package = f"{module['__package__']}."
    kinds = (type, FunctionType)
    return {name: x for name, x in module.items() if isinstance(x, kinds) and str(x.__module__).startswith(package)}


def present(module: dict[str, Any], names: Mapping[str, Any], later: Mapping[str, str] = MappingProxyType({})) -> None:
    """Fill a module with its public names; any other name raises an AttributeError with advice.

    later: public names that a higher layer defines, each with its module: see `defined_above`.
    """

    def find(name: str) -> Any:
        if name not in later:
            raise absent(module["__name__"], name)
        module[name] = defined_above(later[name], name)
        return module[name]

    everything = sorted({*names, *later})
    document_all(names)
    for part in [x for x in names.values() if isinstance(x, ModuleType)]:
        document_all(imported(vars(part)))
    module.update(names, __all__=everything, __dir__=listed(everything), __getattr__=find)


def defined_above(module: str, name: str) -> Any:
    """Import a public name at its first use from a higher layer than that of its namespace, as `mg.nn.SyncBatchNorm`.

    A module imports only from lower layers, and PyTorch has some of its names in lower ones.  `tests/test_layers.py`
    lists the modules that may be named here.
    """
    value = getattr(importlib.import_module(f"minigrad.{module}"), name)
    document_all({name: value})
    return value


# ---- attributes that tensors do not have -----------------------------------------------------------------------------


class Missing:
    """The descriptor of a missing attribute, which raises AttributeError with advice."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, kind: type) -> NoReturn:
        missing_attribute(kind, self.name)


def missing_attribute(kind: type, name: str) -> NoReturn:
    """Raise the AttributeError for an attribute that a class of tensors does not have."""

    def advice() -> str:
        function = elsewhere("", name).removeprefix("write it as ")
        call = f"write {function}(x)" if function else ""
        names = [each for each in dir(kind) if not each.startswith("_")]
        own = [each for each in names if not isinstance(getattr_static(kind, each, None), Missing)]
        return replaced(name) or call or similar_names(name, own)

    raise MissingName(f"{kind.__name__!r} object has no attribute {name!r}", name, advice)


OF_SOME = ("__cuda_array_interface__", "_grad", "name")  # attributes of tensors on a GPU, and of leaves


def own_attributes(x: Tensor) -> list[str]:
    """Return the names of the attributes that a tensor really has, for its `__dir__`."""
    kind = type(x)
    names = [name for name in object.__dir__(x) if not isinstance(getattr_static(kind, name, None), Missing)]
    return [name for name in names if name not in OF_SOME or hasattr(x, name)]


def slips(name: str) -> list[str]:
    """Return a name with an `s` at its end, and with each two neighbouring letters swapped."""
    return [f"{name}s", *[f"{name[:k]}{name[k + 1]}{name[k]}{name[k + 2 :]}" for k in range(len(name) - 1)]]


def attach() -> None:
    """Set a descriptor for each missing name on Tensor, after all methods have been attached."""
    typed = [slip for name in USED for slip in slips(name)]
    for name in {*OTHERS, *typed, *[name for names in namespaces.values() for name in names]}:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, Missing(name))
    Tensor.__dir__ = own_attributes  # type: ignore[method-assign,assignment]
