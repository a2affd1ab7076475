"""The table from devices to backends.  A device kind is registered with a factory, which runs at the first use.

`cpu` and `reference` are registered here; a device of a user is registered in the same way, with `register_backend`.
CUDA's backend is imported at its first use only, so `import minigrad` never initialises CUDA.
"""

from __future__ import annotations

from collections.abc import Callable

from minigrad.backends import lowering  # noqa: F401, its functions serve any device
from minigrad.backends.base import Backend
from minigrad.config import announce, changers, settings
from minigrad.core.device import Device, as_device
from minigrad.errors import DeviceError

_factories: dict[str, Callable[[], Backend]] = {}
_backends: dict[str, Backend] = {}
_resting: dict[tuple[str, str], Backend] = {}  # backends that are not used now, by kind and setting
_by_device: dict[Device, Backend] = {}
_by_dlpack: dict[int, str] = {}
ACCELERATOR = "cuda"  # the kind of device for calls that name none, such as x.pin_memory()


def register_backend(kind: str, factory: Callable[[], Backend], dlpack: int | None = None) -> None:
    """Register the backend for the devices of `kind`; it replaces an earlier registration.

    kind: A word in lower case, such as "cpu".
    factory: Function without parameters that returns the Backend.  It is called at the first use of a device of this
    kind.
    dlpack: DLPack device type of the kind; required if the backend accepts memory of other libraries.
    """
    _factories[kind] = factory
    if dlpack is not None:
        _by_dlpack[dlpack] = kind
    forget(kind)


def forget(kind: str) -> None:
    """Create the backend of a kind again at its next use, for example after a change of its settings."""
    for resting in [key for key in _resting if key[0] == kind]:
        del _resting[resting]
    serve(kind, None)


def follow(kind: str, before: str, now: str) -> None:
    """Select another backend for a kind; the previous backend and its memory are kept until it is selected again."""
    serving, resting = _backends.get(kind), _resting.pop((kind, now), None)
    if serving is not None:
        _resting[kind, before] = serving
    serve(kind, resting)


def serve(kind: str, backend: Backend | None) -> None:
    """Use this backend for a kind of device from now on.  None: a new backend is created at the next use."""
    _backends.pop(kind, None)
    if backend is not None:
        _backends[kind] = backend
    for device in [d for d in _by_device if d.kind == kind]:
        del _by_device[device]
    announce()


def serve_device(device: Device, backend: Backend) -> None:
    """Use this backend for one device, regardless of its kind, until another backend is set for the kind."""
    _by_device[device] = backend


changers.append(follow)


def backend_of(device: Device) -> Backend:
    """Return the backend of a device.  Raise DeviceError if none is registered."""
    backend = _by_device.get(device)
    if backend is None:
        backend = _backends.get(device.kind) or _create(device)
        _backends[device.kind] = backend
        _by_device[device] = backend
    return backend


def started(kind: str) -> Backend | None:
    """Return the backend of a kind if it has been used, otherwise None."""
    return _backends.get(kind)


def cuda_is_available() -> bool:
    """Return whether `device="cuda"` can be used, on a real device or in the simulator."""
    from minigrad.backends.cuda.presence import fault

    return settings.cuda == "simulator" or started("cuda") is not None or not fault()


def used_devices() -> tuple[Device, ...]:
    """Return the devices that have been used."""
    return tuple(_by_device)


def device_of_dlpack(number: int, index: int) -> Device:
    """Return the device for DLPack's device type and index.

    Raises DeviceError for a type that no backend has.
    """
    kind = _by_dlpack.get(number)
    if kind is None:
        raise DeviceError(
            f"from_dlpack: no backend accepts memory of the DLPack device type {number}; copy the data to the host "
            "first",
            op="from_dlpack",
        )
    return as_device(f"{kind}:{index}")


def _create(device: Device) -> Backend:
    factory = _factories.get(device.kind)
    if factory is None:
        raise DeviceError(
            f"expected one of the devices {', '.join(_factories)}, got {device}; pass device='cpu', for example",
            device=str(device),
        )
    return factory()


def _cpu() -> Backend:
    from minigrad.backends.cpu import CpuBackend

    return CpuBackend()


def _reference() -> Backend:
    from minigrad.backends.reference import ReferenceBackend

    return ReferenceBackend()


def _cuda() -> Backend:
    from minigrad.backends.cuda import CudaBackend, choose

    return CudaBackend(choose())


register_backend("cpu", _cpu)
register_backend("reference", _reference)
register_backend("cuda", _cuda, dlpack=2)
