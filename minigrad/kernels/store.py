"""The kernel cache: from the source of a kernel to machine code that was compiled once.

`load` names a text by its hash, puts it into the cache and looks for its object code next to it (`objects.py`).  If no
complete object code fits, Numba is imported and compiles the text.  One process at a time compiles a kernel, and the
others find its object code.  Without a usable cache kernels stay in memory, and a message reports that once.  With
NUMBA_DISABLE_JIT=1 the same text runs as plain Python.  `specialize.py` writes the texts.
"""

from __future__ import annotations

import gc
import linecache
import os
import re
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

try:
    import fcntl
except ImportError:  # not POSIX: two processes may compile one kernel, and the later code remains
    fcntl = None  # type: ignore[assignment]

from minigrad.config import settings
from minigrad.errors import KernelError
from minigrad.kernels import objects
from minigrad.kernels.notice import forgo, patience

watchers: list[list[str]] = []  # lists that receive the files of kernels while a plan is prepared: see `watch`
compiling: list[Callable[[], None]] = []  # functions to call when a compilation begins
_lock = threading.RLock()
Text = tuple[str, str, str]  # of a kernel: its name, the name of its file, the text


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


def forks_wait() -> threading.RLock:
    """Return the lock for writing, importing, compiling and linking a kernel: a fork waits until it is free."""
    return _lock


class Kernel:
    """A compiled kernel.

    name: readable.  path: its text, which may be in memory.  flags: whether it may raise the flag of a call.
    address: where its machine code begins.  python: the function itself, where nothing is compiled.
    origin: "compiled" now, from the "cache" or a "pack", "python", or "ahead": for others.
    """

    __slots__ = ("address", "flags", "name", "origin", "path", "python")

    def __init__(self, path: str, address: int, origin: str, python: Callable[..., Any] | None = None) -> None:
        self.path, self.address, self.origin, self.python = path, address, origin, python
        self.name, self.flags = "", False


class NotCompiled(Exception):
    """A kernel would have to be compiled now, where that is not wanted.  text: of the kernel."""

    def __init__(self, text: Text) -> None:
        super().__init__(text[0])
        self.text = text


class _Compiler(threading.local):
    off = False


_compiler = _Compiler()  # of this thread


@contextmanager
def without_compiling() -> Iterator[None]:
    """In this block `load` raises NotCompiled, with the text published in the cache, instead of compiling."""
    before, _compiler.off = _compiler.off, True
    try:
        yield
    finally:
        _compiler.off = before


def is_compiled(text: Text) -> bool:
    """Return whether a kernel that was not compiled is in the cache by now."""
    path = cache_folder() / text[1]
    return text[1] in loaded or objects.path_for(path).exists()


loaded: dict[str, Kernel] = {}  # kernels by the name of their file
_wanted: list[Text] | None = None  # in a process that compiles for others: the texts to compile


def load(name: str, text: str) -> Kernel:
    """A kernel, from the cache or put there; in memory where there can be no cache.

    name: readable, such as "mul_f32_f32_dense11"; the hash of the text makes the file name unique.
    """
    file = file_of(name, text)
    with _lock, uninterrupted():
        kernel = loaded.get(file)
        if kernel is None:
            if _wanted is None:
                kernel = make(name, file, text)
            else:
                _wanted.append((name, file, text))
                kernel = Kernel(file, 0, "ahead")
            kernel.name, kernel.flags = name, "flag[0] = " in text
            loaded[file] = kernel
        return kernel


def make(name: str, file: str, text: str) -> Kernel:
    """The kernel of a text that this process has not met."""
    try:
        folder = cache_folder()
    except KernelError as error:
        forgo(str(error))
    else:
        try:
            return from_cache(folder / file, name, text)
        except OSError as error:  # a full disk
            forgo(f"the kernel cache {folder} cannot be used: {error}")
    location = f"<minigrad {file}>"
    linecache.cache[location] = (len(text), None, text.splitlines(keepends=True), location)
    return from_pack(location, file, text) or fresh(location, name, text, None)


def file_of(name: str, text: str) -> str:
    """The file name of a kernel: letters that every file system has, and the hash of the text."""
    readable = re.sub(r"[^A-Za-z0-9_]", "_", name)[:100]
    return f"{readable}_{objects.digest(text)[:16]}.py"


def from_cache(path: Path, name: str, text: str) -> Kernel:
    """A kernel whose object code is kept, or will be.  Raises OSError where it cannot."""
    publish(path, text)
    if without_compiler():
        return fresh(str(path), name, text, None)
    kept = objects.path_for(path)
    kernel = linked(str(path), objects.read(kept, text), "cache") or from_pack(str(path), path.name, text)
    if kernel is None:
        with locked(path):
            kernel = linked(str(path), objects.read(kept, text), "cache") or fresh(str(path), name, text, kept)
    return kernel


def from_pack(location: str, file: str, text: str) -> Kernel | None:
    """A kernel that came with the package; None where there is none."""
    if without_compiler():
        return None
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
    """Switch this process to compiling for others; it runs no kernels from now on.

    Requested kernels go into the returned list, and a substitute that does nothing replaces them.  `keep` compiles one.
    """
    global _wanted
    _wanted = []
    return _wanted


def keep(name: str, file: str, text: str, writing: threading.Lock) -> None:
    """Compile a text for other processes, unless it is there or one of them is at it.

    writing: held while a file is written, so that who holds it may end the process.
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
    """Compile a text, and keep its object code in a file if one is named."""
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
        except OSError as error:  # a full disk
            forgo(f"the kernel cache {kept.parent} cannot be written: {error}")
    return Kernel(location, address, "compiled")


def of_llvm(name: str, text: str, symbols: tuple[str, ...]) -> objects.ObjectCode:
    """Object code of LLVM's own language, from the cache or put there if it can be."""
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
    """Whether kernels run as Python: NUMBA_DISABLE_JIT=1, read as Numba reads it."""
    numba = sys.modules.get("numba")
    if numba is not None:
        return bool(numba.config.DISABLE_JIT)
    with suppress(ValueError):
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))
    return False


def built(location: str, name: str, text: str) -> Any:
    """The kernel of a text as Numba makes it; the plain function with NUMBA_DISABLE_JIT=1."""
    from minigrad.kernels.cpu.generator import near

    with near():
        return run(location, name, text).kernel


def listings(location: str) -> tuple[str, str, str]:
    """A kernel by its file, compiled once more to be read: its name, LLVM's text and assembly.  Raises KernelError
    where kernels run as Python."""
    function = built(location, Path(location).stem, source(location))
    if not hasattr(function, "overloads"):
        raise KernelError(f"{location} is not compiled: NUMBA_DISABLE_JIT is set", path=location)
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
    """The text of a kernel by its file, which may be in memory."""
    return (
        "".join(linecache.getlines(location))
        if location.startswith("<")
        else Path(location).read_text(encoding="utf-8")
    )


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """One process at a time compiles a kernel, and the others find its object code.

    The lock is the kernel file's own, and goes with the process that holds it.  Without `wait`, False while another
    process holds it.
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
        except OSError:  # a file system without locks
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
    with suppress(RuntimeError):  # raised if the hooks were added while this fork waited: they did not acquire the lock
        _lock.release()


def hold_forks() -> None:
    """A fork waits for a thread that compiles or links: its child would inherit the locks of Numba, LLVM and files."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
        )


@cache
def fork_after_logging() -> None:
    """Before the first compile: let a fork take our lock, once more, before the lock of logging.

    Numba's import takes the lock of logging.  The hook that was registered last runs first, and logging is imported
    only if a kernel is compiled.
    """
    import logging  # noqa: F401

    hold_forks()


hold_forks()


def publish(path: Path, text: str) -> None:
    """Make sure that a file holds a text."""
    content = text.encode()
    try:
        there = path.read_bytes()
    except FileNotFoundError:
        # Two processes may be here at once; both must then lock the one file that stays.
        objects.write(path, content, over=False)
        return
    if there != content:
        objects.write(path, content)
