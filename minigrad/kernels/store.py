"""The kernel cache: from the source of a kernel to machine code that is compiled only once.

`load` names a text by its hash, writes it into the cache, and searches for its object code next to it (`objects.py`).
If no valid object code fits, Numba is imported and compiles the text.  Only one process compiles a kernel at a time,
and the others then find its object code.  Without a usable cache, kernels stay in memory, and a message reports this
once.  With NUMBA_DISABLE_JIT=1 the same text runs as plain Python.  `specialize.py` writes the texts.
"""

from __future__ import annotations

import errno
import gc
import linecache
import os
import re
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from time import perf_counter
from types import FrameType, ModuleType
from typing import Any

try:
    import fcntl
except ImportError:  # without POSIX, two processes may compile the same kernel, and the later code remains
    fcntl = None  # type: ignore[assignment]

from minigrad.config import assigned, settings
from minigrad.errors import KernelError
from minigrad.kernels import objects
from minigrad.kernels.notice import forgo, patience

watchers: list[list[str]] = []  # lists that receive the files of kernels while a plan is prepared: see `watch`
compiling: list[Callable[[], None]] = []  # functions to call when a compilation begins
_lock = threading.RLock()
TRIAL = 1 << 16  # bytes of a trial write, about as many as the largest kernels have
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, or a limit of the process
FREE = "free some space, or set MINIGRAD_CACHE_DIR to a folder of your own on another disk"
Text = tuple[str, str, str]  # the name of a kernel, the name of its file, and its text


def cache_folder() -> Path:
    """Return the folder of the kernel cache, which is created with mode 0700.

    Its content is executed, so a folder that belongs to another user, or whose content other users could have written,
    is refused.  The permissions of other users are removed; a folder that its owner made read-only stays read-only, and
    its kernels are loaded.  Raises KernelError with the reason, also if there cannot be a folder.
    """
    folder = settings.cache_dir / "kernels"
    try:
        folder = folder.expanduser()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise refusal(folder, f"belongs to user {status.st_uid}")
        if stat.S_IMODE(status.st_mode) & 0o022 and any(folder.iterdir()):
            raise refusal(folder, "can be written by other users; empty it and run chmod 700 on it")
        if stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(stat.S_IMODE(status.st_mode) & 0o700)
        if not os.access(folder, os.R_OK | os.X_OK):
            raise refusal(folder, "cannot be read")
    except (OSError, RuntimeError) as error:  # Path.home raises RuntimeError if there is no home folder
        if isinstance(error, KernelError):
            raise
        raise refusal(folder, f"cannot be used: {error}") from error
    return folder


def site_folder() -> Path | None:
    """Return the folder of the kernels that an administrator has compiled for other users, or None.

    Its content is executed, so it must belong to the administrator or to this user, and no one else may write to it.
    Raises KernelError with the reason if it cannot be used.
    """
    if settings.site_cache_dir is None:
        return None
    folder = settings.site_cache_dir.expanduser() / "kernels"
    try:
        status = folder.stat()
    except OSError as error:
        raise KernelError(f"the site's kernel cache {folder} cannot be used: {error.strerror}") from error
    if status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022:
        raise KernelError(
            f"the site's kernel cache {folder} must belong to root or to you, and nobody else may write to it; "
            "run `chmod go-w` on it as its owner"
        )
    return folder


def writable_folder() -> Path:
    """Return the folder of the kernel cache after a trial write; raise KernelError if it can store no kernel."""
    import tempfile  # imported here, because few commands need it

    folder = cache_folder()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TRIAL))
    except OSError as error:
        raise KernelError(unwritten(folder, error)) from error
    return folder


def unwritten(folder: Path, error: OSError) -> str:
    """Return why a kernel cannot be stored in a folder, with a remedy."""
    remedy = FREE if error.errno in FULL else "set MINIGRAD_CACHE_DIR to a folder of your own"
    return f"the kernel cache {folder} cannot be written: {error.strerror or error}; {remedy}"


def refusal(folder: Path, reason: str) -> KernelError:
    """Return the error for a folder that cannot be the cache."""
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
def collector_paused(keeps: bool = False) -> Iterator[None]:
    """Disable garbage collection in a `with` block.

    Importing Numba, compiling and recording create many objects that stay alive.  Traversing them again and again would
    take a tenth of the time to the first gradient.

    keeps: whether the objects that the block makes stay.  Then they count as old ones afterwards, so that the next
    search for new garbage does not read them either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if keeps and not gc.get_freeze_count():  # both together move all objects to the oldest generation
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of a `with` block; a second one interrupts at once.

    An interrupt while Numba is being imported, or builds its tables at the first compilation, would leave it incomplete
    and unusable for the rest of the process.  Only the main thread receives signals.  A signal handler that Python did
    not install stays in effect.
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


def forks_wait() -> threading.RLock:
    """Return the lock for writing, importing, compiling and linking a kernel: a fork waits until it is free."""
    return _lock


class Kernel:
    """A compiled kernel.

    name: its readable name.  path: the file of its text, which may be in memory only.  flags: whether it may set the
    flag of a call.  address: the address of its machine code.  python: the Python function, if nothing is compiled.

    origin: "compiled" now, from the "cache", from a "pack", "python", or "ahead" if this process compiles for others.
    """

    __slots__ = ("address", "flags", "name", "origin", "path", "python")

    def __init__(self, path: str, address: int, origin: str, python: Callable[..., Any] | None = None) -> None:
        self.path, self.address, self.origin, self.python = path, address, origin, python
        self.name, self.flags = "", False


class NotCompiled(Exception):
    """Raised when a kernel would have to be compiled inside `without_compiling`; text: its name, file and text."""

    def __init__(self, text: Text) -> None:
        super().__init__(text[0])
        self.text = text


class _Compiler(threading.local):
    off = False


_compiler = _Compiler()  # its attribute `off` has a separate value in each thread


def without_compiling() -> AbstractContextManager[None]:
    """Make `load` raise NotCompiled instead of compiling, in this block and this thread.

    The text of the kernel is in the cache then, so that another process can compile it.
    """
    return assigned(_compiler, "off", True)


def is_compiled(text: Text) -> bool:
    """Return whether a kernel that was not compiled is in the cache by now."""
    path = cache_folder() / text[1]
    return text[1] in loaded or objects.path_for(path).exists()


loaded: dict[str, Kernel] = {}  # the loaded kernels, by the name of their file
_making = [0.0]  # the seconds in which this process compiled kernels or read them from the cache
_wanted: list[Text] | None = None  # the texts to compile, in a process that compiles for others


def running_time() -> float:
    """Return a clock in seconds that does not count the compilation of kernels and their reading from the cache."""
    return perf_counter() - _making[0]


def load(name: str, text: str) -> Kernel:
    """Return a kernel from the cache, or compile it and store it there.

    Without a usable cache, it stays in memory.  name: readable, such as "mul_f32_f32_dense11"; the hash of the text
    makes the file name unique.
    """
    file = file_of(name, text)
    with _lock, uninterrupted():
        kernel = loaded.get(file)
        if kernel is None:
            if _wanted is None:
                began = perf_counter()
                kernel = make(name, file, text)
                _making[0] += perf_counter() - began
            else:
                _wanted.append((name, file, text))
                kernel = Kernel(file, 0, "ahead")
            kernel.name, kernel.flags = name, "flag[0] = " in text
            loaded[file] = kernel
        return kernel


def make(name: str, file: str, text: str) -> Kernel:
    """Return the kernel of a text that this process has not loaded yet."""
    try:
        folder = cache_folder()
    except KernelError as error:
        forgo(str(error))
    else:
        try:
            return from_cache(folder / file, name, text)
        except OSError as error:  # for example, the disk is full
            forgo(unwritten(folder, error))
    location = f"<minigrad {file}>"
    linecache.cache[location] = (len(text), None, text.splitlines(keepends=True), location)
    return from_others(location, file, text) or fresh(location, name, text, None)


def file_of(name: str, text: str) -> str:
    """Return the file name of a kernel: its name in ASCII letters, digits and underscores, and the hash of its text."""
    readable = re.sub(r"[^A-Za-z0-9_]", "_", name)[:100]
    return f"{readable}_{objects.digest(text)[:16]}.py"


def from_cache(path: Path, name: str, text: str) -> Kernel:
    """Return a kernel from the cache, or compile it into the cache.  Raises OSError if that is not possible."""
    publish(path, text)
    if without_compiler():
        return fresh(str(path), name, text, None)
    kept = objects.path_for(path)
    kernel = linked(str(path), objects.read(kept, text), "cache") or from_others(str(path), path.name, text)
    if kernel is None:
        with locked(path):
            kernel = linked(str(path), objects.read(kept, text), "cache") or fresh(str(path), name, text, kept)
    return kernel


def from_others(location: str, file: str, text: str) -> Kernel | None:
    """Return a kernel from the site's cache, otherwise from the pack of the package; None if it is in neither."""
    if without_compiler():
        return None
    try:
        site = site_folder()
    except KernelError as error:
        forgo(str(error))
        site = None
    code = None if site is None else objects.read(objects.path_for(site / file), text)
    if code is not None:
        return linked(location, code, "site cache")
    from minigrad.kernels import packs  # imported here, because not every start needs a pack

    return linked(location, packs.find(file, text), "pack")


def linked(location: str, code: objects.ObjectCode | None, origin: str) -> Kernel | None:
    """Return a kernel from its object code; None if there is no code or it does not link."""
    if code is None:
        return None
    try:
        (address,) = objects.link(code).values()
    except KernelError:
        return None
    return Kernel(location, address, origin)


def collect() -> list[Text]:
    """Switch this process to compiling for others; from now on it runs no kernels.

    The texts of requested kernels are added to the returned list, and a function that does nothing replaces each
    kernel.  `keep` compiles one of the texts.
    """
    global _wanted
    _wanted = []
    return _wanted


def keep(name: str, file: str, text: str, writing: threading.Lock) -> None:
    """Compile a text for other processes, unless another process compiles it.

    Nothing happens if its object code already exists.  writing: the lock that is held while a file is written, so that
    a thread that acquires it may end the process.
    """
    path = cache_folder() / file
    publish(path, text)
    kept = objects.path_for(path)
    with locked(path, wait=False) as free:
        if free and objects.read(kept, text) is None and objects.as_said():
            content = objects.packed(objects.compiled(built(str(path), name, text)), text)
            with writing:
                objects.write(kept, content)


def fresh(location: str, name: str, text: str, kept: Path | None) -> Kernel:
    """Compile a text, and write its object code to `kept` if that is not None."""
    if _compiler.off and not without_compiler():
        raise NotCompiled((name, Path(location).name, text))
    fork_after_logging()
    for tell in compiling:
        tell()
    with patience(name):
        function = built(location, name, text)
        if not hasattr(function, "overloads"):
            return Kernel(location, 0, "python", function)
        code = objects.compiled(function)
        (address,) = objects.link(code).values()
    if kept is not None and objects.as_said():
        try:
            objects.write(kept, objects.packed(code, text))
        except OSError as error:  # for example, the disk is full
            forgo(unwritten(kept.parent, error))
    return Kernel(location, address, "compiled")


def of_llvm(name: str, text: str, symbols: tuple[str, ...]) -> objects.ObjectCode:
    """Return the object code of a text in LLVM's language.

    It comes from the cache, or it is assembled and then cached, if there is a usable cache.
    """
    try:
        path = objects.path_for(cache_folder() / file_of(name, text))
        code = objects.read(path, text)
    except (KernelError, OSError):
        return objects.assembled(text, symbols)
    if code is None:
        code = objects.assembled(text, symbols)
        with suppress(OSError):
            objects.write(path, objects.packed(code, text))
    return code


def without_compiler() -> bool:
    """Return whether NUMBA_DISABLE_JIT=1 makes kernels run as Python."""
    numba = sys.modules.get("numba")
    if numba is not None:
        return bool(numba.config.DISABLE_JIT)
    with suppress(ValueError):
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))
    return False


def built(location: str, name: str, text: str) -> Any:
    """Return the function that Numba compiles from a text; with NUMBA_DISABLE_JIT=1 the plain Python function."""
    from minigrad.kernels.cpu.generator import near

    with near():
        return run(location, name, text).kernel


def listings(location: str) -> tuple[str, str, str]:
    """Return the name, the LLVM text and the assembly of a kernel's file, which is compiled once more for this.

    Raises KernelError if kernels run as Python.
    """
    function = built(location, Path(location).stem, source(location))
    if not hasattr(function, "overloads"):
        raise KernelError(f"{location} cannot be compiled: NUMBA_DISABLE_JIT is set; unset it", path=location)
    return objects.listings(function)


def run(location: str, name: str, text: str) -> ModuleType:
    """Execute a text as a module."""
    module = ModuleType(f"minigrad_kernels_{Path(location).stem}")
    module.__file__ = location
    sys.modules[module.__name__] = module
    try:
        with collector_paused():
            exec(compile(text, location, "exec"), vars(module))
    except MemoryError:
        raise
    except Exception as error:
        reason = str(error) or repr(error)
        raise KernelError(f"{name} does not compile: {reason} (source: {location})", path=location) from error
    finally:
        del sys.modules[module.__name__]
    return module


def source(location: str) -> str:
    """Return the text of a kernel's file, which may be in memory only."""
    return (
        "".join(linecache.getlines(location))
        if location.startswith("<")
        else Path(location).read_text(encoding="utf-8")
    )


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a kernel's file, so that only one process at a time compiles the kernel.

    The other processes wait, and then find the kernel's object code.  The operating system releases the lock if the
    process that holds it ends.  With wait=False, the block receives False if another process holds the lock.
    """
    with path.open() as file:
        if fcntl is None:
            yield True
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:  # the file system does not support locks
            pass
        try:
            yield True
        finally:
            with suppress(OSError):  # a child that was forked meanwhile also has the file open
                fcntl.flock(file, fcntl.LOCK_UN)


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()


def _before_fork() -> None:
    _lock.acquire()


def _after_fork_in_parent() -> None:
    with suppress(RuntimeError):  # raised if the hooks were added during this fork, which has not acquired the lock
        _lock.release()


def hold_forks() -> None:
    """Make forks wait while a thread compiles or links.

    Otherwise the child process would inherit locked locks of Numba, LLVM and files.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
        )


@cache
def fork_after_logging() -> None:
    """Register the fork hooks again before the first compilation, so that a fork acquires our lock before logging's.

    Numba's import acquires the lock of logging.  The fork hook that was registered last runs first, so our hooks are
    registered again after logging has been imported.  Logging is imported only if a kernel is compiled.
    """
    import logging  # noqa: F401

    hold_forks()


hold_forks()


def publish(path: Path, text: str) -> None:
    """Write a text to a file, unless the file contains the text already."""
    content = text.encode()
    try:
        there = path.read_bytes()
    except FileNotFoundError:
        # Two processes may do this at the same time.  Both must then lock the same file, so the first one stays.
        objects.write(path, content, over=False)
        return
    if there != content:
        objects.write(path, content)
