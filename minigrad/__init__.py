"""minigrad: an autograd framework to read in an hour, look inside of while it runs, and train networks with.

`import minigrad as mg`; names and arguments follow PyTorch.  Importing it loads NumPy only: Numba comes with the
first kernel, graphviz with the first picture.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from minigrad.autodiff.engine import backward, grad
from minigrad.autodiff.grads import GradStore
from minigrad.backends.base import Backend
from minigrad.backends.parallel import get_num_threads, set_num_threads, threading_layer
from minigrad.backends.registry import register_backend
from minigrad.config import debug, override, settings
from minigrad.core import requests
from minigrad.core.allocator import Allocator, MemoryStats, empty_cache, get_allocator, memory_stats, set_allocator
from minigrad.core.device import Device, default_device, set_default_device
from minigrad.core.device import as_device as device
from minigrad.core.dtype import (
    DType,
    as_dtype,
    bf16,
    bfloat16,
    bool_,
    default_float,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    promote,
    set_default_float,
    u8,
    u32,
    uint8,
    uint32,
)
from minigrad.core.dtype import bool_ as bool
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import (
    ArgumentError,
    DeclarationError,
    DeviceError,
    DTypeError,
    GradientError,
    IndexOutOfRange,
    KernelError,
    MinigradError,
    ShapeError,
    StorageError,
)
from minigrad.face import aliases as _aliases  # noqa: F401  other libraries' names
from minigrad.face import methods as _methods  # noqa: F401  attaches the ops to Tensor
from minigrad.face.aliases import arange_step, flatten_from, flatten_to, where_cond
from minigrad.face.display import printoptions, set_printoptions
from minigrad.face.interop import from_dlpack
from minigrad.face.methods import (
    diagonal,
    expand,
    flip,
    movedim,
    narrow,
    permute,
    select,
    squeeze,
    t,
    transpose,
    unfold,
    unsqueeze,
    view,
)
from minigrad.face.pytorch import unbind
from minigrad.ops import embedding as _embedding  # noqa: F401  ops under other names: in mg.nn.functional
from minigrad.ops import losses as _losses  # noqa: F401
from minigrad.ops import norms as _norms  # noqa: F401
from minigrad.ops import rules
from minigrad.ops.activation import log_sigmoid, relu, relu6, sigmoid, silu
from minigrad.ops.arithmetic import (
    abs,
    add,
    div,
    floor_divide,
    maximum,
    minimum,
    mul,
    neg,
    remainder,
    sign,
    square,
    sub,
)
from minigrad.ops.casting import cast, clone, contiguous
from minigrad.ops.compare import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    eq,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    where,
)
from minigrad.ops.composed import (
    affine,
    clamp,
    elu,
    gelu,
    leaky_relu,
    lerp,
    roll,
    slice_scatter,
    softplus,
)
from minigrad.ops.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from minigrad.ops.creation import (
    arange,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from minigrad.ops.declare import elementwise, kernel, reduction, scalar
from minigrad.ops.explog import erf, erfc, exp, exp2, expm1, log, log1p, log2, log10, logaddexp, ndtr
from minigrad.ops.extremes import argmax, argmin, max, min
from minigrad.ops.indexing import gather, index_add, index_copy, index_select, scatter_add
from minigrad.ops.joining import cat, chunk, repeat, split, stack
from minigrad.ops.lengths import norm
from minigrad.ops.linalg import addmm, addmv, baddbmm, bmm, dot, matmul, mm, mv, outer
from minigrad.ops.masks import masked_fill, masked_scatter, masked_select, nonzero
from minigrad.ops.pooling import adaptive_avg_pool1d, avg_pool1d, max_pool1d, max_pool2d, max_pool3d
from minigrad.ops.powers import hypot, pow, reciprocal, rsqrt, sqrt
from minigrad.ops.random import (
    Generator,
    manual_seed,
    normal,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    uniform,
)
from minigrad.ops.record import schema
from minigrad.ops.reduce import (
    all,
    amax,
    amin,
    any,
    logsumexp,
    mean,
    prod,
    std,
    sum,
    var,
)
from minigrad.ops.rounding import ceil, floor, round, trunc
from minigrad.ops.scan import cummax, cummin, cumprod, cumsum, logcumsumexp
from minigrad.ops.softmax import log_softmax, softmax, softmin
from minigrad.ops.sorting import argsort, kthvalue, median, msort, sort, topk
from minigrad.ops.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, sin, sinh, tan, tanh
from minigrad.ops.views import flatten, reshape
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.inference import inference_mode, is_inference_mode_enabled
from minigrad.runtime.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var

if TYPE_CHECKING:
    from minigrad import autograd, cuda, func, nn, testing, viz
    from minigrad.autodiff.anomaly import detect_anomaly
    from minigrad.autodiff.checkpoint import checkpoint
    from minigrad.autodiff.custom import custom_vjp
    from minigrad.autodiff.function import Function
    from minigrad.insight import tape
    from minigrad.viz.explain import explain

# Names that are imported at their first use, and where from: few runs need them.
LATER = {
    "Function": "autodiff.function", "checkpoint": "autodiff.checkpoint", "custom_vjp": "autodiff.custom",
    "detect_anomaly": "autodiff.anomaly", "explain": "viz.explain", "tape": "insight",
}  # fmt: skip

if "IPython" in sys.modules:  # a notebook, most likely: its errors are shown without the way through this package
    from minigrad.face import tracebacks as _tracebacks

    _tracebacks.install()


def __getattr__(name: str) -> Any:
    """What is imported at its first use: `mg.func`, `mg.nn`, `mg.viz` and other folders, and the names of LATER."""
    if name in ("autograd", "cuda", "func", "nn", "testing", "viz"):
        return importlib.import_module(f"minigrad.{name}")
    if name not in LATER:
        from minigrad.face.absent import absent

        raise absent(__name__, name)
    found = globals()[name] = getattr(importlib.import_module(f"minigrad.{LATER[name]}"), name)
    return found


__version__ = "0.1.0"

__all__ = [
    "Allocator", "ArgumentError", "Backend", "BackpropOp", "DType", "DTypeError", "DeclarationError", "Device",
    "DeviceError", "Function", "Generator", "GradStore", "GradientError", "IndexOutOfRange", "KernelError",
    "Layout", "MemoryStats", "MinigradError", "ShapeError", "Storage", "StorageError", "Tensor", "Var", "abs",
    "acos", "acosh", "adaptive_avg_pool1d", "add", "addmm", "addmv", "affine", "all", "amax", "amin", "any",
    "arange", "arange_step", "argmax", "argmin", "argsort", "as_dtype", "asin", "asinh", "atan", "atan2", "atanh",
    "autograd", "avg_pool1d", "backward", "baddbmm", "bf16", "bfloat16", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bmm", "bool", "bool_", "cast", "cat", "ceil", "checkpoint", "chunk", "clamp", "clone",
    "contiguous", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cos",
    "cosh", "cuda", "cummax", "cummin", "cumprod", "cumsum", "custom_vjp", "debug", "default_device", "default_float",
    "detect_anomaly", "device", "diagonal", "div", "dot", "elementwise", "elu", "empty", "empty_cache",
    "empty_like", "enable_grad", "eq", "erf", "erfc", "exp", "exp2", "expand", "explain", "expm1", "eye", "f16",
    "f32", "f64", "flatten", "flatten_from", "flatten_to", "flip", "float16", "float32", "float64", "floor",
    "floor_divide", "from_dlpack", "from_numpy", "full", "full_like", "func", "gather", "ge", "gelu",
    "get_allocator", "get_num_threads", "grad", "gt", "hypot", "i8", "i16", "i32", "i64", "index_add", "index_copy",
    "index_select", "inference_mode", "int8", "int16", "int32", "int64", "is_grad_enabled",
    "is_inference_mode_enabled", "isfinite", "isinf", "isnan", "kernel", "kthvalue", "le", "leaky_relu", "lerp",
    "linspace", "log", "log1p", "log2", "log10", "log_sigmoid", "log_softmax", "logaddexp", "logcumsumexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "manual_seed", "masked_fill",
    "masked_scatter", "masked_select", "matmul", "max", "max_pool1d", "max_pool2d", "max_pool3d", "maximum",
    "mean", "median", "memory_stats", "min", "minimum", "mm", "movedim", "msort", "mul", "mv", "narrow", "ndtr",
    "ne", "neg", "nn", "no_grad", "nonzero", "norm", "normal", "ones", "ones_like", "outer", "override",
    "permute", "pow", "printoptions", "prod", "promote", "rand", "rand_like", "randint", "randn", "randn_like",
    "randperm", "reciprocal", "reduction", "register_backend", "relu", "relu6", "remainder", "repeat", "requests",
    "reshape", "roll", "round", "rsqrt", "rules", "scalar", "scatter_add", "schema", "select", "set_allocator",
    "set_default_device", "set_default_float", "set_grad_enabled", "set_num_threads", "set_printoptions",
    "settings", "sigmoid", "sign", "silu", "sin", "sinh", "slice_scatter", "softmax", "softmin", "softplus",
    "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "t", "tan", "tanh", "tape",
    "tensor", "testing", "threading_layer", "topk", "transpose", "trunc", "u8", "u32", "uint8", "uint32",
    "unbind", "unfold", "uniform", "unsqueeze", "var", "view", "viz", "where", "where_cond", "zeros", "zeros_like",
]  # fmt: skip
