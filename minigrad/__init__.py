"""minigrad: an autograd framework that you can inspect while it runs, with a core that you can read in an hour.

The usual import is `import minigrad as mg`; names and arguments follow PyTorch.  The import loads only NumPy: Numba is
imported for the first kernel, and graphviz for the first picture.
"""

import importlib
import sys
from typing import Any

from minigrad.api import aliases as _aliases
from minigrad.api import methods as _methods
from minigrad.api.display import printoptions, set_printoptions
from minigrad.api.in_place import METHODS as _METHODS
from minigrad.api.interop import protocols as _protocols
from minigrad.api.interop.arrays import from_dlpack, from_file
from minigrad.autodiff.engine import backward, grad
from minigrad.autodiff.grads import GradStore
from minigrad.backends.base import Backend
from minigrad.backends.parallel import get_num_threads, set_num_threads, threading_layer
from minigrad.backends.registry import register_backend
from minigrad.config import debug, override, settings
from minigrad.core import dtype as _dtypes
from minigrad.core import requests
from minigrad.core.allocator import Allocator, MemoryStats, empty_cache, get_allocator, memory_stats, set_allocator
from minigrad.core.device import Device, default_device, set_default_device
from minigrad.core.device import Device as device
from minigrad.core.dtype import (
    DType,
    as_dtype,
    default_complex,
    default_float,
    finfo,
    iinfo,
    promote,
    set_default_float,
)
from minigrad.core.formats import channels_last, channels_last_3d, contiguous_format, preserve_format, strided
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.declare import advice as _advice
from minigrad.declare import rules
from minigrad.declare.decorators import composed, elementwise, kernel, reduction, scalar
from minigrad.declare.decorators import view as _view
from minigrad.declare.manual import document_all as _document_all
from minigrad.declare.names import MG as _MG
from minigrad.declare.names import namespaces as _namespaces
from minigrad.declare.record import schema
from minigrad.errors import (
    ArgumentError,
    DeclarationError,
    DeviceError,
    DTypeError,
    FileError,
    GradientError,
    GroupError,
    IndexOutOfRange,
    KernelError,
    MinigradError,
    RecordingError,
    ShapeError,
    StateError,
    StorageError,
    WorkerError,
)
from minigrad.ops.generators import Generator
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.inference import inference_mode, is_inference, is_inference_mode_enabled
from minigrad.runtime.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var

# Modules and helpers of this file, which are not public names.
_HIDDEN = {name for name, value in globals().items() if isinstance(value, type(sys))} - {"rules", "requests"}
_HIDDEN |= {"Any", "LATER"}

# Names that are imported at their first use, each with its module, because few programs need them.
LATER = {
    "Checkpoint": "api.files.checkpoints", "GradScaler": "amp", "Function": "autodiff.function", "vmap": "func",
    "array_api": "api.interop.array_api", "autocast": "amp",
    "checkpoint": "autodiff.checkpoint",
    "custom_vjp": "autodiff.custom", "binomial": "distributions.sampling", "poisson": "distributions.sampling",
    "detect_anomaly": "autodiff.anomaly", "explain": "viz.explain", "jit": "jitting", "load": "api.files.trees",
    "save": "api.files.trees", "tape": "diagnostics",
    **dict.fromkeys(("default_generator", "get_rng_state", "initial_seed", "seed", "set_rng_state"), "random"),
    **dict.fromkeys((
        *_METHODS, "as_strided", "asarray", "bartlett_window", "blackman_window", "empty_permuted", "empty_strided",
        "frombuffer", "hamming_window", "hann_window", "kaiser_window", "range", "vander",
    ), "api.memory"),
    **dict.fromkeys((
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
        "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "Size", "absolute", "arccos", "arccosh",
        "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "are_deterministic_algorithms_enabled",
        "can_cast", "clip", "concat", "concatenate", "divide", "dtype", "e", "fix", "ger",
        "get_default_device", "get_default_dtype", "get_deterministic_debug_mode", "get_float32_matmul_precision",
        "greater", "greater_equal", "inf", "is_deterministic_algorithms_warn_only_enabled", "layout", "less",
        "less_equal", "memory_format", "multiply", "nan", "negative", "newaxis", "not_equal", "pi", "promote_types",
        "result_type", "set_default_dtype", "set_default_tensor_type", "set_deterministic_debug_mode",
        "set_float32_matmul_precision", "subtract", "true_divide", "use_deterministic_algorithms",
    ), "api.legacy"),
}  # fmt: skip

if "IPython" in sys.modules:  # probably a notebook, where tracebacks omit the frames of this package
    from minigrad.api import display as _display

    _display.install()


def __getattr__(name: str) -> Any:
    """Import a name at its first use: a module such as `mg.nn`, `mg.func` or `mg.viz`, or a name in LATER."""
    if name in _MODULES:
        return importlib.import_module(f"minigrad.{LATER.get(name, name)}")
    if name not in LATER:
        raise _advice.absent(__name__, name)
    result = globals()[name] = getattr(importlib.import_module(f"minigrad.{LATER[name]}"), name)
    _document_all({name: result})
    return result


__version__ = "0.1.0"

# The dtypes, also under their names in C and NumPy.
globals().update({name: dtype for name, dtype in vars(_dtypes).items() if type(dtype) is DType and name[0] != "_"})
globals().update({name: _dtypes.as_dtype(dtype) for name, dtype in (
    ("bool", "bool"), ("half", "f16"), ("float", "f32"), ("double", "f64"), ("cfloat", "c64"), ("cdouble", "c128"),
    ("short", "i16"), ("int", "i32"), ("long", "i64"),
)})  # fmt: skip

# The ops and functions that declarations have entered.  The stub beside this file lists them for editors.
globals().update(_namespaces[_MG])
_advice.attach()
_document_all(globals())
_document_all(vars(Tensor))
del globals()["dist"]  # the package `dist` can be called like the function: `mg.dist(x, y)`

_MODULES = ("amp", "array_api", "autograd", "backends", "cuda", "data", "dist", "distributed", "distributions", "fft",
            "func", "linalg", "nn", "optim", "quasirandom", "random", "signal", "special", "testing", "utils",
            "viz")  # fmt: skip
__all__ = sorted({
    *_MODULES, *LATER,
    *[name for name, value in globals().items() if not name.startswith("_") and name not in _HIDDEN],
})  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
