"""Check of the requirements of a real device: packages, a driver, a device.  Each has its own message if it is missing.

No CUDA package is imported here: packages are found by their files, and the driver is queried through its library.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib import metadata, util
from typing import NamedTuple

from minigrad.errors import DeviceError

OLDEST = 12  # the first major version of CUDA that is supported
PACKAGES = {"numba_cuda": "numba-cuda", "cuda.core": "cuda-core"}
# Must agree with the extra `cuda` of pyproject.toml.
INSTALL = "pip install 'numba-cuda[cu13]==0.30.*' 'cuda-core==1.*' 'numpy<2.5'"
LIBRARY = "libcuda.so.1"
FORKED = (
    "cuda:0 cannot be used in this process: CUDA had been started when it was forked; start processes by 'spawn' or "
    "'forkserver', or use CUDA in them only"
)
INSTEAD = "MINIGRAD_CUDA=simulator runs the same kernels without a GPU"


class Driver(NamedTuple):
    """Report of the driver: its version (0 without a driver), the number of devices, and the message if it fails."""

    version: int
    devices: int
    fault: str

    @property
    def text(self) -> str:
        """The CUDA version that the driver supports, for example "13.0"."""
        return f"{self.version // 1000}.{self.version % 1000 // 10}"


def missing_packages() -> list[str]:
    """Return the packages that are not installed, by their names for an installer."""
    return [name for module, name in PACKAGES.items() if not installed(module)]


def installed(module: str) -> bool:
    """Return whether a module could be imported, without importing it."""
    head, _, rest = module.partition(".")
    spec = util.find_spec(head)
    if spec is None or not rest:
        return spec is not None
    try:
        metadata.version(PACKAGES[module])
    except metadata.PackageNotFoundError:
        return False
    return True


def clash() -> str:
    """Return why the installed packages do not work together, or ""."""
    try:
        ours, numpy = [tuple(map(int, metadata.version(x).split(".")[:2])) for x in ("numba-cuda", "numpy")]
    except metadata.PackageNotFoundError:
        return ""
    if ours <= (0, 30) and numpy >= (2, 5):
        return f"numba-cuda 0.30 uses names that NumPy 2.5 no longer has: {INSTALL}"
    return ""


def needed() -> int:
    """Return the major version of CUDA that the installed packages compile for.

    Older drivers cannot load the machine code.
    """
    try:
        return max(OLDEST, int(metadata.version("cuda-bindings").partition(".")[0]))
    except metadata.PackageNotFoundError:
        return OLDEST


started: list[int] = []  # the id of the process that has started CUDA


@cache
def driver() -> Driver:
    """Query the driver, once; this initialises CUDA in this process if possible."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return Driver(0, 0, f"no NVIDIA driver was found ({LIBRARY} is not there)")
    version, devices = ctypes.c_int(), ctypes.c_int()
    # The value is 1000 * major + 10 * minor.
    if library.cuDriverGetVersion(ctypes.byref(version)) or version.value < 1000 * needed():
        result = Driver(version.value, 0, "")
        fault = f"the NVIDIA driver is too old: it supports CUDA {result.text}, {needed()}.0 is needed"
        more = "; numba-cuda[cu12] would do" if needed() > OLDEST <= version.value // 1000 else ""
        return result._replace(fault=fault + more)
    started.append(os.getpid())
    status = library.cuInit(0)
    if status == 0:
        library.cuDeviceGetCount(ctypes.byref(devices))
    if status in (0, 100) and not devices.value:
        return Driver(version.value, 0, "there is an NVIDIA driver, but it finds no device")
    fault = f"the NVIDIA driver could not be started (CUDA error {status})" if status else ""
    return Driver(version.value, devices.value, fault)


def fault() -> str:
    """Return why no real device can be used, or ""."""
    missing = missing_packages()
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: {INSTALL}"
    return clash() or driver().fault


def require() -> None:
    """Raise DeviceError that names the missing part, if CUDA cannot be used."""
    reason = fault()
    if started and started[-1] != os.getpid():
        raise DeviceError(FORKED, device="cuda:0")
    if reason:
        raise DeviceError(f"device='cuda' cannot be used: {reason}; {INSTEAD}", device="cuda")
