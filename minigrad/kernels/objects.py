"""Object code: the result of compiling a kernel, stored next to its text and linked without the compiler.

Compiled code does not need Numba.  A file of object code records the processor and the versions for which it was made,
the hash of the code from which it was made, and the hash of its own content.  It is used only if all of these agree.
LLVM links a file in a fifth of a millisecond; importing Numba takes half a second.

If the object code needs a name that the process does not define, Numba is imported to define it.  If Numba does not
define the name either, linking raises KernelError.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from minigrad.errors import KernelError
from minigrad.kernels.cpu.processor import tuning

T = TypeVar("T")
MAGIC = b"minigrad object code 2\n"
# Numba's settings that affect how a kernel runs or which messages appear, but not its machine code.
RUNNING = tuple(f"NUMBA_{name}" for name in (
    "NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "DISABLE_JIT", "DEBUG_CACHE", "WARNINGS", "DISABLE_PERFORMANCE_WARN",
    "COLOR_SCHEME", "SHOW_HELP", "FULL_TRACEBACKS", "CAPTURED_ERRORS", "CUDA", "ENABLE_CUDASIM", "DUMP", "TRACE",
))  # fmt: skip
# The default values of the settings that affect the machine code.
USUAL = {"OPT": 3, "LOOP_VECTORIZE": 1, "SLP_VECTORIZE": 0, "BOUNDSCHECK": None, "DEBUGINFO_DEFAULT": 0,
         "CPU_NAME": None, "CPU_FEATURES": None}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """Object code, and the names that it defines and needs.

    code: an object file.  symbols: the functions and variables that it exports.  needs: the external names in the text
    from which it was made; the object file may need only some of them.
    """

    symbols: tuple[str, ...]
    needs: tuple[str, ...]
    code: bytes


# ---- what it is made for --------------------------------------------------------------------------------------------


@cache
def fits() -> str:
    """Return the origin of this process's object code, as text: processor, tuning, versions, Numba's settings."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    compiled_for = [features.flatten() if features else "", *filter(None, [tuning()])]
    return "; ".join([made_by(), llvm.get_host_cpu_name(), *compiled_for, *settings()])


@cache
def made_by() -> str:
    """Return LLVM's target and the versions of Python, Numba and llvmlite as text."""
    import llvmlite
    import llvmlite.binding as llvm

    python, numba = f"Python {sys.version_info.major}.{sys.version_info.minor}", f"Numba {numba_version()}"
    return "; ".join([llvm.get_default_triple(), python, numba, f"llvmlite {llvmlite.__version__}"])


def numba_version() -> str:
    """Return Numba's version without importing Numba: from its version file, otherwise from its metadata.

    Reading the metadata is slower, because Python imports thirty modules for it.
    """
    spec = find_spec("numba")
    if spec is not None and spec.origin:
        with suppress(OSError):
            text = Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
            if said := re.search(r'"version": "([^"]+)"', text):
                return said[1]
    from importlib import metadata

    return metadata.version("numba")


def settings() -> list[str]:
    """Return the variables of Numba that affect compilation, as NAME=value."""
    names = sorted(name for name in os.environ if name.startswith("NUMBA_") and not name.startswith(RUNNING))
    return [f"{name}={os.environ[name]}" for name in names]


def as_said() -> bool:
    """Return whether the settings with which Numba has just compiled are those in the text of `fits`.

    They may differ through Numba's settings file, assignments to `numba.config`, or later changes of the environment.
    """
    from numba import config

    said = fits().split("; ")
    changed = {word.partition("=")[0] for word in settings()}
    unset = (name for name in USUAL if f"NUMBA_{name.removesuffix('_DEFAULT')}" not in changed)
    return all(word in said for word in settings()) and all(getattr(config, name) == USUAL[name] for name in unset)


def sha256(content: bytes) -> str:
    """Return the SHA-256 hash in hexadecimal."""
    import hashlib  # loaded at the first kernel, as `json` is: both take 4 ms of an import

    return hashlib.sha256(content).hexdigest()


def path_for(source: Path) -> Path:
    """Return the path of the object code of a kernel's text, for this processor and these versions."""
    return source.with_suffix(f".{sha256(fits().encode())[:8]}.o")


# ---- keeping --------------------------------------------------------------------------------------------------------


def sealed(magic: bytes, facts: dict[str, Any], code: bytes) -> bytes:
    """Return the content of a file: the line `magic`, the hash of the rest, a line of JSON, the code."""
    import json

    body = json.dumps(facts).encode() + b"\n" + code
    return magic + sha256(body).encode() + b"\n" + body


def unsealed(magic: bytes, content: bytes, make: Callable[[dict[str, Any], bytes], T], **expected: str) -> T | None:
    """Return make(facts, code) for a file's content; None if it is damaged, or some facts are not as expected."""
    import json

    said, _, body = content.removeprefix(magic).partition(b"\n")
    if not content.startswith(magic) or sha256(body).encode() != said:
        return None
    head, _, code = body.partition(b"\n")
    with suppress(ValueError, KeyError, TypeError):  # another program has written a file with invalid facts
        facts = json.loads(head)
        if all(facts[name] == value for name, value in expected.items()):
            return make(facts, code)
    return None


def packed(code: ObjectCode, text: str, made_for: str = "") -> bytes:
    """Return the content of a file. made_for: the origin of the code, by default the text of `fits`."""
    facts = {"fits": made_for or fits(), "text": digest(text), "symbols": code.symbols, "needs": code.needs}
    return sealed(MAGIC, facts, code.code)


def unpacked(content: bytes, text: str, made_for: str = "") -> ObjectCode | None:
    """Return the object code in a file's content; None if it is damaged, or has another origin or another text."""

    def make(facts: dict[str, Any], code: bytes) -> ObjectCode:
        return ObjectCode(tuple(facts["symbols"]), tuple(facts["needs"]), code)

    return unsealed(MAGIC, content, make, fits=made_for or fits(), text=digest(text))


@lru_cache(maxsize=256)
def digest(text: str) -> str:
    """Return the SHA-256 hash of the code of a kernel's text, in hexadecimal: see `bare_code`."""
    return sha256(bare_code(text).encode())


# A docstring is the only text in quotes that begins a line.  In a line with quotes, `#` may be part of a text.
DOCSTRING = re.compile(r'^ *r?"""[^"]*(?:"(?!"")[^"]*)*"""\n', re.MULTILINE)
COMMENT = re.compile(r"""^([^#"'\n]*)#.*$""", re.MULTILINE)
BLANK = re.compile(r" *\n(?: *\n)*")
MODULE = re.compile(r"^from minigrad[.\w]* import ", re.MULTILINE)


def bare_code(text: str) -> str:
    """Return a Python text without docstrings, comments, blank lines, and the modules of its imports from minigrad.

    Two texts with equal code have equal syntax trees, except for docstrings and these modules.  Kernels are keyed by
    their code, so a change of prose or a moved file recompiles nothing.  Parsing the text would take ten times as long.
    """
    code = BLANK.sub("\n", COMMENT.sub(r"\1", DOCSTRING.sub("", text)))
    return MODULE.sub("from minigrad import ", code)


def read(path: Path, text: str) -> ObjectCode | None:
    """Return the object code of a text from a file; None if the file cannot be read or does not fit."""
    try:
        return unpacked(path.read_bytes(), text)
    except OSError:
        return None


def write(path: Path, content: bytes, over: bool = True) -> None:
    """Write a file, under a temporary name until it is complete.  Raises OSError if that is not possible.

    over: whether to replace an existing file.  If False, the file of the first writer stays, and with it the locks on
    it.
    """
    import tempfile  # imported here: it imports twenty modules, and with a warm cache nothing is written

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not over:
            with suppress(OSError):  # another process has created the file first, or the file system has no links
                os.link(temporary, path)
            if path.exists():
                return
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


# ---- making ---------------------------------------------------------------------------------------------------------


def compiled(kernel: Any) -> ObjectCode:
    """Return the object code of a function that Numba has compiled for one signature."""
    from minigrad.kernels.cpu import generator

    (only,) = kernel.overloads.values()
    library = only.library
    needs = sorted(name for name in generator.outside_names(library) if not name.startswith("llvm."))
    return ObjectCode((only.fndesc.llvm_func_name,), tuple(needs), generator.emit(library))


def listings(kernel: Any) -> tuple[str, str, str]:
    """Return the name in LLVM, the LLVM text and the assembly of a function compiled for one signature."""
    from minigrad.kernels.cpu import generator

    (only,) = kernel.overloads.values()
    return only.fndesc.llvm_func_name, *generator.listings(only.library)


def assembled(text: str, symbols: tuple[str, ...]) -> ObjectCode:
    """Compile a text in LLVM's language to object code."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    return ObjectCode(symbols, (), machine(opt=2, reloc="pic", codemodel="small").emit_object(module))


# ---- linking --------------------------------------------------------------------------------------------------------


@cache
def linker() -> Any:
    """Return LLVM's in-memory linker of object code.

    LLVM has two; this one, JITLink, places the sections of an object file close together, and reports an error if it
    cannot.
    """
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(machine(), use_jit_link=True, suppress_errors=True)


def machine(**options: Any) -> Any:
    """Return LLVM's description of this processor as a compilation target."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True, **options)


def link(object_code: ObjectCode, **known: int) -> dict[str, int]:
    """Return the addresses of the symbols, which are valid until the process ends.

    known: the addresses of names that the code needs.  Raises KernelError if the code needs a name that is not defined.
    """
    try:
        return linked(object_code, {**never_called(), **known})
    except RuntimeError:
        pass  # the object code needs names that this process has not loaded yet
    try:
        return linked(object_code, {**never_called(), **of_numba(object_code.needs), **known})
    except (RuntimeError, ValueError) as error:  # a ValueError means that Numba has no threading layer
        raise KernelError(f"object code does not link: {error!s:.200}") from error


def linked(object_code: ObjectCode, known: Mapping[str, int]) -> dict[str, int]:
    """Link with the names in `known` and those of the process; raise RuntimeError if a name is missing."""
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(object_code.code).add_current_process()
    for name, address in known.items():
        builder.import_symbol(name, address)
    for name in object_code.symbols:
        builder.export_symbol(name)
    tracker = builder.link(linker(), f"kernel {next(_numbers)}")
    tracker.detach()  # otherwise deleting the tracker would unload the code, which may run until the process ends
    return {name: tracker[name] for name in object_code.symbols}


_numbers = count()  # each library of the linker needs a different name


@cache
def never_called() -> dict[str, int]:
    """Return an address for a name that Numba references for arrays that own memory.

    Kernels have no such arrays and never call the function of this name.  The returned address is that of C's `abort`,
    so a call would end the process.
    """
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    return {"NRT_MemInfo_call_dtor": ctypes.cast(library.abort, ctypes.c_void_p).value or 0}


def of_numba(names: tuple[str, ...]) -> dict[str, int]:
    """Return the addresses of the names that Numba defines, after starting its threads if the code needs them."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)  # this line and `start_threads` register names with LLVM
    if "numba_parallel_for" in names:
        from minigrad.kernels.cpu.generator import start_threads

        start_threads()
    addresses = {name: llvm.address_of_symbol(name) for name in names}
    return {name: address for name, address in addresses.items() if address}
