"""autocast: a block in which the operands of ops are cast to the dtype that suits the op.

An observer casts operands before a call, so the casts are recorded in the graph, and gradients have the dtype of the
parameter.  Outside all blocks, no observer is attached, so calls have no overhead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from types import TracebackType
from typing import Any, TypeVar

from minigrad.amp.policies import FLOAT32, LOWER, WIDEST
from minigrad.core.device import as_device
from minigrad.core.dtype import DType, as_dtype, bfloat16, float16, float32, float64
from minigrad.core.op import Op
from minigrad.errors import ArgumentError, warn
from minigrad.runtime import casting
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
        casts = casting.current()
        if casts is None:
            return operands
        token = casting.pause()  # casts are calls of ops as well, and their own operands must not be cast
        try:
            result: tuple[Any, ...] = casts.operands(op, operands)
        finally:
            casting.resume(token)
        return result


observer = Casting()


class autocast:
    """Compute products and convolutions in a 16-bit dtype, and losses in float32.

    This class is a context manager, and a decorator of functions.

    Parameters
    ----------
    device_type : str
        Kind of device, such as "cpu" or "cuda"; tensors on other devices are not cast.
    dtype : DType or str, optional
        The 16-bit dtype, bfloat16 or float16; by default float16 for CUDA, and bfloat16 otherwise.
    enabled : bool, default True
        Whether the block casts. If False, nothing is cast in the block, even inside another block.
    cache_enabled : bool, default True
        Whether the result of casting a parameter is cached, and used again until the outermost block ends.

    Raises
    ------
    ArgumentError
        If `device_type` is not a kind of device.

    Notes
    -----
    A backward pass casts nothing, even inside a block: its ops have the dtypes of the forward pass.

    Examples
    --------
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
        outer = casting.current()
        kept = ({} if outer is None or outer.kept is None else outer.kept) if self.cache_enabled else None
        self.begun.append(casting.begin(Casts(self.device, self.fast_dtype if self.enabled else None, kept)))
        attach(observer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        detach(observer)
        casting.resume(self.begun.pop())

    def __call__(self, function: F) -> F:
        """Return a function that runs each call in a separate block."""
        return decorated(function, lambda: autocast(self.device, self.fast_dtype, self.enabled, self.cache_enabled))


def is_autocast_available(device_type: str) -> bool:
    """Return whether `autocast` casts tensors on a kind of device, which is True for every existing kind."""
    return bool(as_device(device_type).kind)
