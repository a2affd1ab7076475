"""Object code: what a kernel was compiled to, kept beside its text and linked without the compiler.

Numba is a compiler; what it has compiled needs it no more.  A file of object code says for which processor, by which
versions and from which text it was made, and is read only where all of that is so and its content has the hash that it
says.  LLVM links one in a fifth of a millisecond, where importing Numba takes half a second.

A name that the object code asks for and the process does not know means importing Numba, which brings such names; one
that Numba does not know either is an error, never a wrong call.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from minigrad.errors import KernelError

MAGIC = b"minigrad object code 2\n"
# Settings of Numba that say how a kernel runs or what is told of it, not what it is compiled to.
RUNNING = tuple(f"NUMBA_{name}" for name in (
    "NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "DISABLE_JIT", "DEBUG_CACHE", "WARNINGS", "DISABLE_PERFORMANCE_WARN",
    "COLOR_SCHEME", "SHOW_HELP", "FULL_TRACEBACKS", "CAPTURED_ERRORS", "CUDA", "ENABLE_CUDASIM", "DUMP", "TRACE",
))  # fmt: skip
# What those that matter are where nothing sets them.
USUAL = {"OPT": 3, "LOOP_VECTORIZE": 1, "SLP_VECTORIZE": 0, "BOUNDSCHECK": None, "DEBUGINFO_DEFAULT": 0,
         "CPU_NAME": None, "CPU_FEATURES": None}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """code: an object file.  symbols: the functions and numbers in it that are asked for.  needs: the names of others
    that the text it was made from mentions, more than it may need."""

    symbols: tuple[str, ...]
    needs: tuple[str, ...]
    code: bytes


# ---- what it is made for --------------------------------------------------------------------------------------------


@cache
def fits() -> str:
    """What object code of this process is made for and by, in words: processor, versions, Numba's settings."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return "; ".join([made_by(), llvm.get_host_cpu_name(), features.flatten() if features else "", *settings()])


@cache
def made_by() -> str:
    """The kind of machine, and the versions of what compiles for it."""
    import llvmlite
    import llvmlite.binding as llvm

    python, numba = f"Python {sys.version_info.major}.{sys.version_info.minor}", f"Numba {numba_version()}"
    return "; ".join([llvm.get_default_triple(), python, numba, f"llvmlite {llvmlite.__version__}"])


def numba_version() -> str:
    """Numba's version, without importing it: from the file that says so, and elsewhere from its metadata, for which
    Python imports thirty modules."""
    spec = find_spec("numba")
    if spec is not None and spec.origin:
        with suppress(OSError):
            text = Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
            if said := re.search(r'"version": "([^"]+)"', text):
                return said[1]
    from importlib import metadata

    return metadata.version("numba")


def settings() -> list[str]:
    """What the environment tells Numba of how to compile."""
    names = sorted(name for name in os.environ if name.startswith("NUMBA_") and not name.startswith(RUNNING))
    return [f"{name}={os.environ[name]}" for name in names]


def as_said() -> bool:
    """Whether Numba, which has just compiled, is set as `fits` says: a file of its own, its `config` and what is in the
    environment by now may differ."""
    from numba import config

    said = fits().split("; ")
    changed = {word.partition("=")[0] for word in settings()}
    unset = (name for name in USUAL if f"NUMBA_{name.removesuffix('_DEFAULT')}" not in changed)
    return all(word in said for word in settings()) and all(getattr(config, name) == USUAL[name] for name in unset)


def path_for(source: Path) -> Path:
    """Where the object code of a kernel's text is kept, for this processor and these versions."""
    return source.with_suffix(f".{hashlib.sha256(fits().encode()).hexdigest()[:8]}.o")


# ---- keeping --------------------------------------------------------------------------------------------------------


def packed(code: ObjectCode, text: str, made_for: str = "") -> bytes:
    """The content of a file: a line that says what it is, the hash of all that follows, a line of facts, the code.

    made_for: as `fits`, which it is where nothing else is said.
    """
    facts = {"fits": made_for or fits(), "text": digest(text), "symbols": code.symbols, "needs": code.needs}
    body = json.dumps(facts).encode() + b"\n" + code.code
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def unpacked(content: bytes, text: str, made_for: str = "") -> ObjectCode | None:
    """The object code in a file's content; None unless it is whole, and made for this process and from this text."""
    magic, _, rest = content.partition(b"\n")
    said, _, body = rest.partition(b"\n")
    if magic + b"\n" != MAGIC or hashlib.sha256(body).hexdigest().encode() != said:
        return None
    head, _, code = body.partition(b"\n")
    with suppress(ValueError, KeyError, TypeError):  # another writer's facts
        facts = json.loads(head)
        if facts["fits"] == (made_for or fits()) and facts["text"] == digest(text):
            return ObjectCode(tuple(facts["symbols"]), tuple(facts["needs"]), code)
    return None


def digest(text: str) -> str:
    """The hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def read(path: Path, text: str) -> ObjectCode | None:
    """What a file keeps of a text; None where there is none that fits and can be read."""
    try:
        return unpacked(path.read_bytes(), text)
    except OSError:
        return None


def write(path: Path, content: bytes, over: bool = True) -> None:
    """Keep a file, under a temporary name until it is whole.  Raises OSError where that is not possible.

    over: replace what is there; without, the file of whoever was first stays, and with it the locks on it.
    """
    import tempfile  # which imports twenty modules, and a warm start writes nothing

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not over:
            with suppress(OSError):  # somebody was first, or the file system has no links
                os.link(temporary, path)
            if path.exists():
                return
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


# ---- making ---------------------------------------------------------------------------------------------------------


def compiled(kernel: Any) -> ObjectCode:
    """What Numba has compiled an eager function of one signature to."""
    from minigrad.kernels.cpu import generator

    (only,) = kernel.overloads.values()
    library = only.library
    needs = sorted(name for name in generator.outside_names(library) if not name.startswith("llvm."))
    return ObjectCode((only.fndesc.llvm_func_name,), tuple(needs), generator.emit(library))


def listings(kernel: Any) -> tuple[str, str, str]:
    """Of an eager function of one signature: its name there, LLVM's text of it, and the assembly."""
    from minigrad.kernels.cpu import generator

    (only,) = kernel.overloads.values()
    return only.fndesc.llvm_func_name, *generator.listings(only.library)


def assembled(text: str, symbols: tuple[str, ...]) -> ObjectCode:
    """Object code of LLVM's own language."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    return ObjectCode(symbols, (), machine(opt=2, reloc="pic", codemodel="small").emit_object(module))


# ---- linking --------------------------------------------------------------------------------------------------------


@cache
def linker() -> Any:
    """LLVM's linker of object code in memory; of the two that it has the one that puts what belongs together side by
    side, and says so where it cannot."""
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(machine(), use_jit_link=True, suppress_errors=True)


def machine(**options: Any) -> Any:
    """The host as LLVM compiles for it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True, **options)


def link(object_code: ObjectCode, **known: int) -> dict[str, int]:
    """The addresses of the symbols, valid as long as the process lives.  known: addresses of what the code asks for.

    Raises KernelError for code that asks for what nobody knows.
    """
    try:
        return linked(object_code, {**never_called(), **known})
    except RuntimeError:
        pass  # it asks for more
    try:
        return linked(object_code, {**never_called(), **of_numba(object_code.needs), **known})
    except (RuntimeError, ValueError) as error:  # ValueError: Numba has no threading layer
        raise KernelError(f"object code does not link: {error!s:.200}") from error


def linked(object_code: ObjectCode, known: Mapping[str, int]) -> dict[str, int]:
    """One attempt.  Raises RuntimeError for names that neither `known` nor the process has."""
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(object_code.code).add_current_process()
    for name, address in known.items():
        builder.import_symbol(name, address)
    for name in object_code.symbols:
        builder.export_symbol(name)
    tracker = builder.link(linker(), f"kernel {next(_numbers)}")
    tracker.detach()  # or its end would unload the code, which may run as long as the process lives
    return {name: tracker[name] for name in object_code.symbols}


_numbers = count()  # each library of the linker has a name of its own


@cache
def never_called() -> dict[str, int]:
    """What Numba mentions for arrays that own memory; those of kernels own none.  A call would end the process."""
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    return {"NRT_MemInfo_call_dtor": ctypes.cast(library.abort, ctypes.c_void_p).value or 0}


def of_numba(names: tuple[str, ...]) -> dict[str, int]:
    """The addresses of what Numba brings with it, and where it is asked for of its threading layer."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)  # both register names with LLVM
    if "numba_parallel_for" in names:
        from minigrad.kernels.cpu.generator import start_threads

        start_threads()
    addresses = {name: llvm.address_of_symbol(name) for name in names}
    return {name: address for name, address in addresses.items() if address}
