"""Devices: where the memory of a tensor is.

A `Device` is a kind and an index. There is one object per pair, so devices compare by identity. The tables of backends
and of allocators have the kind as their key. Any lower-case word is a possible kind, and a new device needs no change
here.
"""

from __future__ import annotations

import re
from contextvars import ContextVar

from minigrad.errors import DeviceError

_FORM = re.compile(r"([a-z_]+)(?::([0-9]+))?")
_SINGLE = frozenset({"cpu", "reference"})
_known: dict[object, Device] = {}
# The devices that replace other devices in a thread or task that records a program: see `minigrad.jitting`.
replaced: ContextVar[dict[Device, Device] | None] = ContextVar("replaced", default=None)


class Device:
    """A memory and the processor that runs kernels on it.  There is one object per device.

    A call returns the device with a name: "cpu", "reference", "cuda" (which is "cuda:0"), "cuda:1", ...  An int is the
    index of a CUDA device: 0 is "cuda:0".  With `index`, the first argument is a kind: ("cuda", 0).
    type: the name, a kind, or the index of a CUDA device.  index: the index of the device, next to a kind.
    Raises DeviceError if the name is not a kind of device with an optional index.

    >>> str(Device("cuda")), Device("cpu") is Device("cpu"), Device(0) is Device("cuda", 0)
    ('cuda:0', True, True)
    """

    __slots__ = ("index", "kind")
    kind: str
    index: int

    def __new__(cls, type: str | int | Device, index: int | None = None) -> Device:
        return as_device(type, index)

    @staticmethod
    def made(kind: str, index: int = 0) -> Device:
        """Return a new device, which differs from all others."""
        device = object.__new__(Device)
        object.__setattr__(device, "kind", kind)
        object.__setattr__(device, "index", index)
        return device

    @property
    def type(self) -> str:
        """The same as `kind`; this is PyTorch's name."""
        return self.kind

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Device cannot be changed, so {name} cannot be set; create another mg.device")

    def __enter__(self) -> Device:
        """Open a block in which this thread or task creates tensors here, unless a call has a `device` argument."""
        _blocks.set((*_blocks.get(), self))
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """End the block: the default device is that from before."""
        # A generator may end the block in another thread, where it never held: there is nothing to end then.
        _blocks.set(_blocks.get()[:-1])

    def __str__(self) -> str:
        # There may be many cuda devices, so the name of one always has its index.
        return f"{self.kind}:{self.index}" if self.index or self.kind == "cuda" else self.kind

    def __repr__(self) -> str:
        return f"mg.device({str(self)!r})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return as_device, (str(self),)


def as_device(type: str | int | Device, index: int | None = None) -> Device:
    """Return the device with a name: see `Device`."""
    result = _named(type) if index is None else _indexed(type, index)
    others = replaced.get()
    return result if others is None else others.get(result, result)


def _named(device: str | int | Device) -> Device:
    if type(device) is Device:
        return device
    result = _known.get(device) if isinstance(device, str) else None
    return result if result is not None else _parse(device)


def _indexed(kind: object, index: object) -> Device:
    """Return the device of a kind and an index, which PyTorch takes as two arguments."""
    if not isinstance(kind, str) or ":" in kind or type(index) is not int or index < 0:
        raise DeviceError(
            f"device: with index, expected a kind without an index and an int from 0, got {kind!r} and {index!r}; pass "
            "'cuda:0', for example",
            device=kind,
        )
    return _named(f"{kind}:{index}")


def _parse(text: object) -> Device:
    if type(text) is int and text >= 0:  # not a bool
        text = f"cuda:{text}"
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise DeviceError(
            f"device: expected a kind with an optional index, such as 'cpu', 'cuda' or 'cuda:1', or the index of a "
            f"CUDA device, got {text!r}; pass 'cpu', for example",
            device=text,
        )
    kind, index = match[1], int(match[2] or 0)
    if index and kind in _SINGLE:
        raise DeviceError(
            f"device: there is only one {kind} device, so an index other than 0 is not allowed, got {text!r}; write "
            f"{kind!r}",
            device=text,
        )
    # setdefault is one atomic step, so two threads that call this at the same time get the same object.
    device = _known.setdefault((kind, index), Device.made(kind, index))
    if len(_known) < 1000:
        _known[text] = device
    return device


CPU = as_device("cpu")
REFERENCE = as_device("reference")

_default = [CPU]
_blocks: ContextVar[tuple[Device, ...]] = ContextVar("blocks", default=())  # the devices of the open `with` blocks


def default_device() -> Device:
    """Return the device of tensors that are created without a `device` argument."""
    blocks, others = _blocks.get(), replaced.get()
    chosen = blocks[-1] if blocks else _default[0]
    return chosen if others is None else others.get(chosen, chosen)


def set_default_device(device: str | int | Device | None) -> None:
    """Set the device of tensors that are created without a `device` argument; None is the CPU.

    Raises DeviceError if the thread is inside a `with` block of a device, which would hide the change until its end.
    """
    chosen = CPU if device is None else _named(device)
    if blocks := _blocks.get():
        raise DeviceError(
            f"set_default_device: expected a call outside of device blocks, got {str(chosen)!r} inside a block of "
            f"{str(blocks[-1])!r}, which would hide it until its end; write `with mg.device({str(chosen)!r}):` here",
            device=device,
        )
    _default[0] = chosen
