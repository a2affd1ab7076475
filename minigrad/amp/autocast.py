"""autocast: a block in which the operands of ops are cast to the dtype that suits the op.

An observer casts operands before a call, so the casts are recorded in the graph, and gradients have the dtype of the
parameter.  Outside all blocks, no observer is attached, so calls have no overhead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Token
from typing import Any, Final, TypeVar

from minigrad.core.device import as_device
from minigrad.core.dtype import DType, as_dtype, bfloat16, float16, float32, float64
from minigrad.core.op import Op
from minigrad.errors import ArgumentError, warn
from minigrad.runtime import recording
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import decorated, mode
from minigrad.runtime.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
DEFAULTS = {"cuda": float16}  # the default dtype of a block; on other devices it is bfloat16


class Casts:
    """Store the dtype and the cache of the innermost open `autocast` block of a thread or task.

    `kind` is the kind of device.  `dtype` is the dtype of the block, or None if the block casts nothing.  `kept` is the
    cache: it stores leaves with their versions and cast values until the outermost block ends; it is None without a
    cache.
    """

    __slots__ = ("dtype", "kept", "kind")

    def __init__(self, kind: str, dtype: DType | None, kept: dict[Any, Any] | None) -> None:
        self.kind, self.dtype, self.kept = kind, dtype, kept

    def cast(self, x: Any, dtype: DType) -> Any:
        """Return an operand in a dtype, or unchanged if it is not castable."""
        if not castable(x, self.kind) or x.dtype is dtype:
            return x
        if self.kept is None or not x.is_variable or not mode.enabled:
            return x.to(dtype)
        key = id(x), dtype
        kept = self.kept.get(key)
        if kept is None or kept[0] is not x or kept[1] != x.storage.version:
            kept = self.kept[key] = x, x.storage.version, x.to(dtype)
        return kept[2]

    def block(self) -> autocast:
        """Return a new block with the same casts."""
        return autocast(self.kind, self.dtype, self.dtype is not None, self.kept is not None)

    def operands(self, op: Op, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands of an op, cast to the dtype that suits the op."""
        name = op.name
        if self.dtype is None or not (name in LOWER or name in FLOAT32 or name in WIDEST):
            return operands
        wanted = self.dtype if name in LOWER else float32
        if name in WIDEST and len({x.dtype for x in flat(operands) if castable(x, self.kind)}) < 2:
            return operands
        return tuple([[self.cast(each, wanted) for each in x] if isinstance(x, (list, tuple)) else self.cast(x, wanted)
                      for x in operands])  # fmt: skip


def castable(x: Any, kind: str) -> bool:
    """Return whether a value is a floating tensor on a kind of device; float64 is never cast."""
    return isinstance(x, Tensor) and x.dtype.is_float and x.dtype is not float64 and x.device.kind == kind


def flat(operands: tuple[Any, ...]) -> list[Any]:
    """Return the operands as a flat list, with the elements of sequences."""
    return [each for x in operands for each in (x if isinstance(x, (list, tuple)) else (x,))]


class Casting(Observer):
    """Casts the operands of calls in threads and tasks that are inside a block."""

    def calling(self, op: Op, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        casts = recording.current_casts()
        if casts is None:
            return operands
        token = recording.pause_casts()  # casts are calls of ops as well, and their own operands must not be cast
        try:
            result: tuple[Any, ...] = casts.operands(op, operands)
        finally:
            recording.resume_casts(token)
        return result


observer = Casting()


class autocast:
    """Compute products and convolutions in a 16-bit dtype, and losses in float32.

    This class is a context manager, and a decorator of functions.

    device_type: Kind of device, such as "cpu" or "cuda"; tensors on other devices are not cast.
    dtype (DType or str): The 16-bit dtype, bfloat16 or float16; by default float16 for CUDA, and bfloat16 otherwise.
    enabled: Whether the block casts. If False, nothing is cast in the block, even inside another block.
    cache_enabled (bool): Whether the result of casting a parameter is cached, and used again until the outermost block
    ends.

    Raises ArgumentError if `device_type` is not a kind of device.

    A backward pass casts nothing, even inside a block: its ops have the dtypes of the forward pass.

    >>> x, w = mg.ones(2, 3), mg.Var(mg.ones(3, 2))
    >>> with mg.autocast("cpu"):
    ...     y = x @ w
    >>> y.dtype
    mg.bfloat16
    >>> _ = y.sum().backward()
    >>> w.grad.dtype
    mg.float32
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ArgumentError(
                f"autocast: expected device_type to be a str such as 'cpu', got {device_type!r}; pass device_type='cpu'"
            )
        self.device = as_device(device_type).kind
        self.fast_dtype = DEFAULTS.get(self.device, bfloat16) if dtype is None else as_dtype(dtype)
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warn(
                f"autocast: dtype must be mg.bfloat16 or mg.float16, got {self.fast_dtype}, so autocast casts nothing; "
                "pass dtype=mg.bfloat16"
            )
            enabled = False
        self.enabled, self.cache_enabled = enabled, cache_enabled is not False
        self.begun: list[Token[Any]] = []

    def __enter__(self) -> autocast:
        outer = recording.current_casts()
        kept = ({} if outer is None or outer.kept is None else outer.kept) if self.cache_enabled else None
        self.begun.append(recording.begin_casts(Casts(self.device, self.fast_dtype if self.enabled else None, kept)))
        attach(observer)
        return self

    def __exit__(self, *error: object) -> None:
        detach(observer)
        recording.resume_casts(self.begun.pop())

    def __call__(self, function: F) -> F:
        """Return a function that runs each call in a separate block."""
        return decorated(function, lambda: autocast(self.device, self.fast_dtype, self.enabled, self.cache_enabled))


def is_autocast_available(device_type: str) -> bool:
    """Return whether `autocast` casts tensors on a kind of device, which is True for every existing kind."""
    return bool(as_device(device_type).kind)


# ---- dtypes ----------------------------------------------------------------------------------------------------------

# Ops that compute in the dtype of the block.
LOWER: Final = frozenset((
    "addbmm", "addmm", "attention", "baddbmm", "bmm", "conv", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "linear", "matmul", "mm", "prelu", "scaled_dot_product_attention", "vecdot",
))  # fmt: skip

# Ops that compute in float32.
FLOAT32: Final = frozenset((
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cdist", "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve",
    "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "eigh", "eigvalsh", "grid_sample",
    "hinge_embedding_loss", "huber_loss", "inv", "inv_ex", "inverse", "kl_div", "l1_loss", "lstsq", "lu_factor_ex",
    "lu_solve", "margin_ranking_loss", "matrix_rank", "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "pinv", "pinverse", "poisson_nll_loss",
    "prod", "qr", "quantile", "smooth_l1_loss", "soft_margin_loss", "solve", "svd", "svdvals", "trace",
    "triplet_margin_loss",
))  # fmt: skip

# Ops whose operands are cast to float32 if their dtypes differ.
WIDEST: Final = frozenset(("cat", "index_copy", "stack"))


# ---- functions -------------------------------------------------------------------------------------------------------


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the `forward` of a Function for use inside `autocast` blocks.

    fwd: The static method; if None, a decorator is returned.
    device_type: Kind of device of the block.
    cast_inputs (DType or str): Dtype to which floating tensors on this device are cast if the function is called inside
    a block; the ops in `forward` then run without autocast. By default, the ops in `forward` run with the autocast of
    the block.

    Returns (callable): The method, or the decorator.

    >>> class Double(mg.Function):
    ...     @staticmethod
    ...     @mg.amp.custom_fwd(device_type="cpu", cast_inputs="float32")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @mg.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with mg.autocast("cpu"):
    ...     Double.apply(mg.ones(1, dtype="bfloat16")).dtype
    mg.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    method: Callable[..., Any] = fwd
    kind = as_device(device_type).kind
    dtype = None if cast_inputs is None else as_dtype(cast_inputs)

    @functools.wraps(method)
    def forward(*args: Any, **kwargs: Any) -> Any:
        casts = recording.current_casts()
        if dtype is None or casts is None or casts.kind != kind or casts.dtype is None:
            return method(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return method(
                *[cast(x, dtype, kind) for x in args], **{name: cast(x, dtype, kind) for name, x in kwargs.items()}
            )

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a Function whose `forward` has `custom_fwd`; a backward pass never casts operands."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    as_device(device_type)
    return bwd


def cast(value: Any, dtype: DType, kind: str) -> Any:
    """Return a value whose floating tensors on a kind of device, also those in containers, are cast to a dtype."""
    if isinstance(value, Tensor):
        return value.to(dtype) if castable(value, kind) else value
    if isinstance(value, dict):
        return {key: cast(each, dtype, kind) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([cast(each, dtype, kind) for each in value])
    return value
