"""From a kernel's text to machine code for a device: the only module that uses numba-cuda.

The text is executed with the names of numba.cuda and compiled to PTX. nvJitLink, or the `ptxas` of an installed
toolkit, converts PTX to a cubin: a driver accepts a cubin of its own major version, but not PTX that is newer than
itself.  None of this needs a device.  The cubin is stored next to the text in the kernel cache and under its rules
(`kernels/store.py`), with the text, the compute capability and the versions from which it was made, and the hash of its
content; it is used only if all of these agree.

A product and a sum are rounded separately, as on the CPU and in a loop that fuses ops: the compiler joins them into one
instruction only in a text that sets `FMA`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata, util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad.backends.cuda.presence import INSTALL, clash
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.config import assigned
from minigrad.errors import KernelError
from minigrad.kernels import objects
from minigrad.kernels.notice import forgo
from minigrad.kernels.store import cache_folder, forks_wait, locked, publish

Capability = tuple[int, int]
SOMEWHERE: Capability = (9, 0)  # the capability that kernels are compiled for if there is no device
TARGET = re.compile(r"^\.target (sm_\w+)", re.MULTILINE)
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)


def missing() -> str:
    """Return why nothing can be compiled here, or ""."""
    if util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed: {INSTALL}"
    if reason := clash():
        return reason
    if assembler() == "":
        return f"neither nvJitLink nor ptxas is here, one of which makes machine code of PTX: {INSTALL}"
    return ""


@cache
def assembler() -> str:
    """Return the assembler that converts PTX to machine code: "nvjitlink", "ptxas", or "" if there is none."""
    try:
        from cuda.bindings import nvjitlink

        nvjitlink.version()
    except Exception:  # the package nvjitlink, or a library that it loads, is missing
        return "ptxas" if shutil.which("ptxas") else ""
    return "nvjitlink"


@cache
def made_by() -> str:
    """Return the versions of the compilers, as text."""
    packages = ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink")
    versions = []
    for name in packages:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "; ".join([*versions, assembler()])


def compiled(program: Program, capability: Capability = SOMEWHERE) -> Compiled:
    """Return a kernel's machine code for a capability, from the cache or compiled now.

    Raises KernelError if nothing can be compiled here, or if the text cannot be compiled.
    """
    made_for = f"sm_{capability[0]}{capability[1]}; {made_by()}; FMA where the text has it"
    return from_cache(program, made_for, lambda: make(program, capability))


def make(program: Program, capability: Capability) -> Compiled:
    """Compile a text."""
    reason = missing()
    if reason:
        raise KernelError(f"{program.name} cannot be compiled: {reason}")
    with forks_wait():
        ptx = to_ptx(program, capability)
    cubin, log = assemble(ptx, program.name)
    entry = ENTRY.search(ptx)
    if entry is None:
        raise KernelError(
            f"{program.name}: the compiled PTX has no entry function; report this defect with the text of the kernel"
        )
    return Compiled(entry[1], ptx, cubin, log)


def to_ptx(program: Program, capability: Capability) -> str:
    """Return the PTX of a text.  Raise KernelError with the message of numba-cuda."""
    from numba import cuda, types
    from numba.core.errors import NumbaError
    from numba.np.numpy_support import from_dtype

    space = namespace()
    try:
        exec(compile(program.text, program.file, "exec"), space)
        pointers = [types.CPointer(from_dtype(np.dtype(kind))) for kind in space["POINTERS"]]
        signature = types.void(*pointers, types.UniTuple(types.int64, space["NUMBERS"]))
        with capable(capability), joining(space.get("FMA", False)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ptx, _ = cuda.compile(
                space["kernel"], signature, device=False, abi="numba", cc=capability,
                launch_bounds=space.get("BLOCK", THREADS),
            )  # fmt: skip
    except (NumbaError, NotImplementedError, AttributeError, KeyError, TypeError) as error:
        raise KernelError(f"{program.name}: the kernel cannot be compiled: {error}", path=program.file) from error
    return str(ptx)


@cache
def natives() -> dict[str, Any]:
    """Return the names that every text can use."""
    from numba import cuda
    from numba.cuda import libdevice

    from minigrad.kernels.cuda import native

    return {"cuda": cuda, "libdevice": libdevice, "device": cuda.jit(device=True), **native.natives()}


def namespace() -> dict[str, Any]:
    """Return a namespace for one text."""
    return dict(natives())


def capable(capability: Capability) -> AbstractContextManager[None]:
    """Open a block in which functions that kernels call are compiled for a capability.

    Otherwise numba-cuda requests the capability from the driver, even if nothing is run.
    """
    from numba.cuda import dispatcher

    return assigned(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=capability))


def joining(allowed: bool) -> AbstractContextManager[None]:
    """Open a block in which libNVVM may join a product and a sum, or may not.

    numba-cuda passes no such option to libNVVM.
    """
    from numba.cuda.cudadrv import nvvm

    return assigned(nvvm, "compile_ir", partial(nvvm.compile_ir, fma=int(allowed)))


def assemble(ptx: str, name: str) -> tuple[bytes, str]:
    """Return the machine code of PTX, and the assembler's report on registers and memory."""
    match = TARGET.search(ptx)
    arch = match[1] if match else "sm_90"
    return by_nvjitlink(ptx, arch, name) if assembler() == "nvjitlink" else by_ptxas(ptx, arch, name)


def by_nvjitlink(ptx: str, arch: str, name: str) -> tuple[bytes, str]:
    """Assemble PTX with the nvJitLink library."""
    from cuda.bindings import nvjitlink

    options = [f"-arch={arch}", "-verbose"]
    handle = nvjitlink.create(len(options), options)
    try:
        try:
            data = ptx.encode()
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), name)
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            text = bytearray(nvjitlink.get_error_log_size(handle))
            nvjitlink.get_error_log(handle, text)
            raise KernelError(
                f"{name}: nvJitLink cannot assemble the PTX, got {text.decode(errors='replace')[:500]!r}; compare the "
                "versions of nvidia-nvvm and nvidia-nvjitlink in `python -m minigrad doctor`"
            ) from error
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin), log.decode(errors="replace").rstrip("\0")


def by_ptxas(ptx: str, arch: str, name: str) -> tuple[bytes, str]:
    """Assemble PTX with the `ptxas` program of an installed toolkit."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = ["ptxas", "-v", f"-arch={arch}", "-o", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KernelError(
                f"{name}: ptxas cannot assemble the PTX, got {done.stderr[:500]!r}; compare the versions of ptxas and "
                "nvidia-nvvm, or install nvidia-nvjitlink"
            )
        return target.read_bytes(), done.stderr


MAGIC = b"minigrad cubin 2\n"
RESERVED = 1024  # bytes of shared memory per block that CUDA reserves; assemblers count them


@dataclass(frozen=True)
class Compiled:
    """The machine code of a kernel.

    entry: the kernel's name in the machine code.
    log: the report of the assembler.
    """

    entry: str
    ptx: str
    cubin: bytes
    log: str

    def counted(self, words: str) -> int:
        """Return the number before some words of the log; 0 if the words do not occur."""
        match = re.search(rf"(\d+) {words}", self.log)
        return int(match[1]) if match else 0

    @property
    def registers(self) -> int:
        """The number of registers per thread."""
        return self.counted("registers")

    @property
    def stack(self) -> int:
        """The number of bytes of a thread's own memory, for arrays outside registers."""
        return self.counted("bytes stack frame")

    @property
    def spills(self) -> int:
        """The number of bytes that are stored and loaded for lack of registers."""
        return self.counted("bytes spill stores") + self.counted("bytes spill loads")

    @property
    def shared(self) -> int:
        """The number of bytes of shared memory per block."""
        return max(0, self.counted("bytes smem") - RESERVED) if self.counted("bytes smem") else 0

    @property
    def widest(self) -> int:
        """The number of bits of the widest access to global memory."""
        accesses = re.findall(r"\b(?:ld|st)\.global(?:\.(?!v\d)[a-z]+)*(?:\.v(\d))?\.[a-z](\d+)\b", self.ptx)
        return max((int(count or 1) * int(bits) for count, bits in accesses), default=0)

    @property
    def double(self) -> bool:
        """Return whether the kernel computes in float64."""
        return bool(re.search(r"\b(?:add|sub|mul|fma|div|sqrt|cvt)\.(?:\w+\.)*f64\b", self.ptx))

    def report(self) -> str:
        """Return a description of the resources, one per line."""
        return "\n".join([
            f"registers      {self.registers} a thread",
            f"stack          {self.stack} bytes a thread, of which {self.spills} are spilled registers",
            f"shared memory  {self.shared} bytes a block",
            f"widest access  {self.widest} bits",
            f"float64        {'used' if self.double else 'not used'}",
        ])  # fmt: skip


def from_cache(program: Program, made_for: str, make: Callable[[], Compiled]) -> Compiled:
    """Return machine code from the cache, or compile it now and cache it if possible."""
    try:
        folder = cache_folder() / "cuda"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / program.file
        publish(path, program.text)
    except (KernelError, OSError) as error:
        forgo(str(error))
        return make()
    kept = path.with_suffix(f".{objects.sha256(made_for.encode())[:8]}.cubin")
    result = read(kept, program, made_for)
    if result is None:
        with locked(path):
            result = read(kept, program, made_for)
            if result is None:
                result = make()
                with suppress(OSError):  # a full disk must not prevent the launch
                    objects.write(kept, packed(result, program, made_for))
    return result


def packed(code: Compiled, program: Program, made_for: str) -> bytes:
    """Return the content of a file."""
    facts = {"fits": made_for, "text": objects.digest(program.text), "entry": code.entry, "ptx": code.ptx,
             "log": code.log}  # fmt: skip
    return objects.sealed(MAGIC, facts, code.cubin)


def read(path: Path, program: Program, made_for: str) -> Compiled | None:
    """Return the code in a file; None if there is no complete file that matches."""
    try:
        content = path.read_bytes()
    except OSError:
        return None

    def make(facts: dict[str, Any], cubin: bytes) -> Compiled:
        return Compiled(facts["entry"], facts["ptx"], cubin, facts["log"])

    return objects.unsealed(MAGIC, content, make, fits=made_for, text=objects.digest(program.text))
