"""Conversion of modules to another device or dtype: parameters and buffers remain the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from minigrad.core.dtype import as_dtype, bfloat16, float16, float32, float64
from minigrad.core.formats import CHANNELS_LAST, contiguous_format, layout_in, preserve_format
from minigrad.errors import ArgumentError, DTypeError
from minigrad.nn.modules.members import BUFFERS, CHILDREN, PARAMETERS
from minigrad.nn.modules.states import Stateful
from minigrad.nn.parameter import Uninitialized, adopt
from minigrad.ops.casting import _target
from minigrad.ops.creation import empty_like
from minigrad.runtime.changes import changes
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Movable(Stateful):
    """The conversions of a module; this is a base class of `Module`."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Convert all parameters, their gradients and all buffers, each tensor once."""
        with no_grad():
            self._convert(fn, recurse, {})
        changes.count += 1
        return self

    def _convert(self, fn: Callable[[Tensor], Tensor], recurse: bool, done: dict[int, Any]) -> None:
        d = self.__dict__
        for name in [*d[PARAMETERS], *d[BUFFERS]]:
            x = d[name]
            if x is None or id(x) in done:
                continue
            done[id(x)] = x
            if isinstance(x, Uninitialized):
                x.convert(fn)
                continue
            adopt(x, fn(x.detach()))
            if getattr(x, "_grad", None) is not None:
                x._grad = fn(x._grad)
        for name in d[CHILDREN] if recurse else ():
            if d[name] is not None:
                d[name]._convert(fn, recurse, done)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and convert the parameters and buffers in place, and return the module.

        args and kwargs: `to(device)`, `to(dtype)`, `to(device, dtype)` or `to(tensor)`, as for a tensor. A dtype must
        be a floating dtype, and applies only to floating tensors. `non_blocking` is accepted as well. `memory_format`
        applies only to tensors with its number of dims.

        Returns (Module): The module itself. Its parameters are the same objects as before, so an optimizer keeps
        training them.

        Raises DTypeError if the dtype is not a floating dtype, or an argument is neither a dtype nor a device.
        Raises ArgumentError if `memory_format` is not a memory format.
        """
        flags = {name: kwargs.pop(name) for name in ("non_blocking", "copy", "memory_format") if name in kwargs}
        dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
        args = (*args, *kwargs.values())
        memory_format = flags.pop("memory_format", preserve_format)
        if memory_format in CHANNELS_LAST:
            ranks: tuple[int, ...] = (CHANNELS_LAST[memory_format],)
        else:
            layout_in("to", (), memory_format)  # raises an error for other values
            ranks = (4, 5) if memory_format is contiguous_format else ()
        if flags.pop("copy", False):
            raise ArgumentError("to: copy must be False for a module, which is converted in place; use copy.deepcopy")
        for arg in args:
            if isinstance(arg, bool) or arg is None:
                continue
            new_dtype, new_device = _target(arg)
            dtype, device = new_dtype or dtype, new_device or device
        wanted = None if dtype is None else as_dtype(dtype)
        if wanted is not None and not wanted.is_inexact:
            raise DTypeError(
                f"to: dtype must be a floating dtype for the parameters of a module, got {wanted}; use mg.float32"
            )

        def converted(x: Tensor) -> Tensor:
            casts = wanted is not None and (x.dtype.is_float or (x.dtype.is_complex and wanted.is_complex))
            result: Tensor = x.to(dtype=wanted if casts else None, device=device, **flags)
            return result.contiguous(memory_format=memory_format) if result.ndim in ranks else result

        return self._apply(converted)

    def share_memory(self) -> Self:
        """Return the module: see `Tensor.share_memory_`.  Raises StateError for a lazy module without shapes."""
        for x in self.state_dict(keep_vars=True).values():
            if isinstance(x, Tensor):
                x.layout  # noqa: B018  an uninitialized tensor raises the error
        return self

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype, in place."""
        return self._apply(lambda x: x.to(dtype=as_dtype(dst_type)))

    def float(self) -> Self:
        """Convert the floating parameters and buffers to float32, in place."""
        return self.to(float32)

    def double(self) -> Self:
        """Convert the floating parameters and buffers to float64, in place."""
        return self.to(float64)

    def half(self) -> Self:
        """Convert the floating parameters and buffers to float16, in place."""
        return self.to(float16)

    def bfloat16(self) -> Self:
        """Convert the floating parameters and buffers to bfloat16, in place."""
        return self.to(bfloat16)

    def cpu(self) -> Self:
        """Move the parameters and buffers to the CPU, in place."""
        return self._apply(lambda x: x.to(device="cpu"))

    def cuda(self, device: int | str | None = None) -> Self:
        """Move the parameters and buffers to a GPU, in place.

        device: Index or name of the GPU; the first GPU by default.
        """
        name = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self._apply(lambda x: x.to(device=name))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move the parameters and buffers to a device; their values become undefined."""
        return self._apply(lambda x: empty_like(x, device=device), recurse)
