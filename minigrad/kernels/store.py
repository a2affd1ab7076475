"""The kernel cache: from the source of a kernel to machine code that was compiled once.

`load` names a text by its hash, puts it into the cache and imports it, so Numba's disk cache always hits or is always
right.  One process at a time compiles a kernel, and the others find its machine code.  With NUMBA_DISABLE_JIT=1 the
same file runs as plain Python.  `specialize.py` writes the texts.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

try:
    import fcntl
except ImportError:  # not POSIX: two processes may compile one kernel, and the later one's code is kept
    fcntl = None  # type: ignore[assignment]

from minigrad.config import settings
from minigrad.errors import KernelError
from minigrad.kernels.notice import patience

watchers: list[list[str]] = []  # lists that want the files of kernels while a plan is prepared: see `watch`
_lock = threading.RLock()


def cache_folder() -> Path:
    """The kernel cache, made 0700 and refused if it belongs to somebody else: its content is executed."""
    folder = settings.cache_dir / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise KernelError(
            f"the kernel cache {folder} belongs to user {status.st_uid}; set MINIGRAD_CACHE_DIR to a folder of your own"
        )
    if stat.S_IMODE(status.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


@contextmanager
def watch() -> Iterator[list[str]]:
    """Collect the files of the kernels that are prepared inside a `with` block."""
    seen: list[str] = []
    watchers.append(seen)
    try:
        yield seen
    finally:
        watchers.remove(seen)


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection in a `with` block: importing Numba and compiling make many objects that stay, and walking
    them again and again is a tenth of the time to the first gradient."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def load(name: str, text: str) -> ModuleType:
    """Import a kernel module, writing it first unless the cache has it.

    name: readable, such as "mul_f32_f32_dense11"; the hash of the text makes the file name unique.
    """
    stem = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    full = f"minigrad_kernels_{stem}"
    with _lock:
        module = sys.modules.get(full)
        if module is not None:
            return module
        path = cache_folder() / f"{stem}.py"
        if not path.exists():
            _publish(path, text)
        spec = importlib.util.spec_from_file_location(full, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        try:
            with collector_paused(), compiling(path, name, text):
                spec.loader.exec_module(module)
        except BaseException as error:
            # Also when the user interrupts a compile: the next call must not find half a module.
            del sys.modules[full]
            if not isinstance(error, Exception):
                raise
            raise KernelError(f"{name} does not compile: {error} (source: {path})", path=str(path)) from error
        return module


def index_of(path: Path, text: str) -> Path:
    """Where Numba keeps the index of a kernel's machine code, by the line of its decorator and Python's version.

    One look-up: a listing of a folder with thousands of kernels takes longer than to load one of them.
    """
    line = text.partition("\ndef kernel(")[0].count("\n") + 1
    version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    return path.parent / "__pycache__" / f"{path.stem}.kernel-{line}.{version}.nbi"


@contextmanager
def compiling(path: Path, name: str, text: str) -> Iterator[None]:
    """Around an import that may compile: one process at a time does, and the others find its machine code.

    The lock is the kernel file's own, and goes with the process that holds it.
    """
    if index_of(path, text).exists():
        yield
        return
    with path.open() as file, patience(name):
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the old one may be held by a thread that does not exist here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _publish(path: Path, text: str) -> None:
    """Write under a temporary name, then link: two processes cannot see half a file nor replace each other's."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".py")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        os.replace(temporary, path)
        return
    os.unlink(temporary)
