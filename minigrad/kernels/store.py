"""The kernel cache: from the source of a kernel to machine code that was compiled once.

`load` names a text by its hash, puts it into the cache and runs it, so Numba's disk cache always hits or is always
right.  The text at hand is what runs: a file that differs from it is replaced, and machine code that does not load is
made again.  One process at a time compiles a kernel, and the others find its machine code.  Where there can be no
cache, kernels live in memory, and that is said once.  With NUMBA_DISABLE_JIT=1 the same file runs as plain Python.
`specialize.py` writes the texts.
"""

from __future__ import annotations

import gc
import hashlib
import linecache
import os
import re
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, ModuleType

try:
    import fcntl
except ImportError:  # not POSIX: two processes may compile one kernel, and the later one's code is kept
    fcntl = None  # type: ignore[assignment]

from minigrad.config import settings
from minigrad.errors import KernelError
from minigrad.kernels.notice import forgo, patience

watchers: list[list[str]] = []  # lists that want the files of kernels while a plan is prepared: see `watch`
_lock = threading.RLock()


def cache_folder() -> Path:
    """The kernel cache, made 0700.  Its content is executed, so it is refused if somebody else owns it, or could write
    what is in it.  Raises KernelError with the reason, also where there can be no folder."""
    folder = settings.cache_dir / "kernels"
    try:
        folder = folder.expanduser()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise refusal(folder, f"belongs to user {status.st_uid}")
        if stat.S_IMODE(status.st_mode) & 0o022 and any(folder.iterdir()):
            raise refusal(folder, "could be written by others; empty it and close it (chmod 700)")
        if stat.S_IMODE(status.st_mode) != 0o700:
            folder.chmod(0o700)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise refusal(folder, "cannot be written")
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        if isinstance(error, KernelError):
            raise
        raise refusal(folder, f"cannot be used: {error}") from error
    return folder


def refusal(folder: Path, reason: str) -> KernelError:
    """Why a folder is not the cache."""
    return KernelError(f"the kernel cache {folder} {reason}; set MINIGRAD_CACHE_DIR to a folder of your own")


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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of a `with` block, the second one does not.

    An interrupt while Numba is imported, or makes its tables at the first compile, leaves a half of it that no later
    call can use.  Only the main thread sees signals; a handler that Python did not set stays.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))
        if len(waiting) > 1:
            handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting:
            handler(*waiting[0])


def load(name: str, text: str) -> ModuleType:
    """A kernel module, from the cache or put there; in memory where there can be no cache.

    name: readable, such as "mul_f32_f32_dense11"; the hash of the text makes the file name unique.
    """
    file = file_of(name, text)
    full = f"minigrad_kernels_{file.removesuffix('.py')}"
    with _lock, uninterrupted():
        module = sys.modules.get(full)
        if module is not None:
            return module
        try:
            folder = cache_folder()
        except KernelError as error:
            forgo(str(error))
        else:
            try:
                return from_cache(full, folder / file, name, text)
            except OSError as error:  # a full disk
                forgo(f"the kernel cache {folder} cannot be used: {error}")
        return from_memory(full, file, name, text)


def file_of(name: str, text: str) -> str:
    """The file name of a kernel: letters that every file system has, and the hash of the text."""
    readable = re.sub(r"[^A-Za-z0-9_]", "_", name)[:100]
    return f"{readable}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"


def from_cache(full: str, path: Path, name: str, text: str) -> ModuleType:
    """Run a text from its file, where Numba finds or keeps its machine code.  Raises OSError where it cannot."""
    publish(path, text)
    found = index_of(path, text).exists()
    try:
        with compiling(path, name, text):
            return run(full, str(path), name, text)
    except (KernelError, OSError):
        if not found:
            raise
        discard(path)  # the text is right, so the machine code that was found is at fault
    with compiling(path, name, text):
        return run(full, str(path), name, text)


def from_memory(full: str, file: str, name: str, text: str) -> ModuleType:
    """Compile a text for this process alone."""
    place, text = f"<minigrad {file}>", text.replace("cache=True, ", "")
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    with patience(name):
        return run(full, place, name, text)


def run(full: str, place: str, name: str, text: str) -> ModuleType:
    """Execute a text as a module."""
    module = ModuleType(full)
    module.__file__ = place
    sys.modules[full] = module
    try:
        with collector_paused():
            exec(compile(text, place, "exec"), vars(module))
            check_origin(module)
    except BaseException as error:
        # Also when the user interrupts a compile: the next call must not find half a module.
        del sys.modules[full]
        if isinstance(error, OSError) or not isinstance(error, Exception):
            raise
        if isinstance(error, RuntimeError) and "cannot cache function" in str(error):
            raise OSError(str(error)) from error
        raise KernelError(f"{name} does not compile: {error} (source: {place})", path=place) from error
    return module


def check_origin(module: ModuleType) -> None:
    """Raise ValueError if the machine code was made from another module's text."""
    for code in getattr(getattr(module, "kernel", None), "overloads", {}).values():
        if code.fndesc.modname != module.__name__:
            raise ValueError(f"its machine code is that of {code.fndesc.modname}")


def source(place: str) -> str:
    """The text of a kernel by its file, which may be in memory."""
    return "".join(linecache.getlines(place)) if place.startswith("<") else Path(place).read_text(encoding="utf-8")


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
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        except KeyboardInterrupt:
            discard(path, ".tmp.*")
            raise


def discard(path: Path, ending: str = "") -> None:
    """Remove the machine code of a kernel, or the files of it with some ending."""
    for file in path.parent.glob(f"__pycache__/{path.stem}.*{ending}"):
        file.unlink(missing_ok=True)


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the old one may be held by a thread that does not exist here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def publish(path: Path, text: str) -> None:
    """Make sure that a file holds a text.  It is written under a temporary name: two processes cannot see half a file,
    and the first of them keeps its own, so that machine code is not taken for older than its text."""
    content = text.encode()
    with suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return
        path.unlink()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".py")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
