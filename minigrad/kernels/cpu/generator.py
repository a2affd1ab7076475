"""Generate the machine code of kernels, with their constants next to the code.

Numba loads its code immediately, anywhere in memory, so this code needs an address of eight bytes for every constant.
A kernel is an object file that is linked as one piece: its constants are near, so an instruction can read them
directly, and a polynomial takes a fifth to a third less time.  Therefore kernels have their own code generator, in
LLVM's small code model, which loads nothing.  Numba's own generator still serves the Python side of its functions.
docs/decisions/035 has the measurements.  This file imports Numba, so only processes that compile import it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.types import functions

from minigrad.kernels.cpu.processor import tuning

# Maximum number of pairs of arrays that LLVM checks for overlap before a loop, so that the loop vectorises.  LLVM's
# default, 8, is too small for a fused loop, which reads and writes a dozen arrays.
CHECKS = 128
_signatures: dict[Any, Any] = {}  # those of operators, by the operator and the types of its operands


class Generator(JITCPUCodegen):  # type: ignore[misc, unused-ignore]
    """Numba's code generator for the processor, with near constants.

    usual: Numba's own generator, whose functions are loaded.
    """

    def __init__(self, usual: Any) -> None:
        super().__init__("minigrad.kernels")
        self.owner = self._engine  # the engine that keeps the description of the machine alive
        self.usual = usual
        self._engine: Any = Engine(usual)

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        super()._customize_tm_options(options)
        options |= {"reloc": "pic", "codemodel": "small"}

    def _customize_tm_features(self) -> str:
        return ",".join(filter(None, (super()._customize_tm_features(), tuning())))

    def _add_module(self, module: Any) -> None:
        self._engine.add_module(module)

    def set_env(self, name: str, env: Any) -> None:
        """Remember the environment of a function, which is written when it is loaded."""
        self._engine.environments.append((name, env))

    def emit(self, library: Any) -> bytes:
        """Return the object code of a finalized library."""
        code: bytes = self._tm.emit_object(library._final_module)
        return code


class Engine:
    """A substitute for the engine that loads code: it loads a module only if an address in it is requested.

    Nothing requests the address of a kernel, so kernels are never loaded.

    waiting: the modules that are not loaded.  names: their definitions.  environments: those of the functions in them.
    """

    def __init__(self, usual: Any) -> None:
        self.usual = usual
        self.forget()

    def forget(self) -> None:
        """Drop the modules that are not loaded: nothing will request their addresses."""
        self.waiting: list[Any] = []
        self.names: set[str] = set()
        self.environments: list[tuple[str, Any]] = []

    def add_module(self, module: Any) -> None:
        """Store a module and the names that it defines."""
        self.waiting.append(module)
        for group in (module.functions, module.global_variables):
            self.names |= {each.name for each in group if not each.is_declaration}

    def is_symbol_defined(self, name: str) -> bool:
        """Return whether a stored or a loaded module defines a name."""
        return name in self.names or bool(self.usual._engine.is_symbol_defined(name))

    def finalize_object(self) -> None:
        """Do nothing, because modules are loaded later."""

    def get_function_address(self, name: str) -> int:
        """Load the stored modules, and return the address of one of their functions."""
        waiting, environments = self.waiting, self.environments
        self.forget()
        for module in waiting:
            self.usual._add_module(module)
        self.usual._engine.finalize_object()
        for each in environments:
            self.usual.set_env(*each)
        return int(self.usual._engine.get_function_address(name))

    def add_global_mapping(self, variable: Any, address: int) -> None:
        """Set the address of a variable that another module defines."""
        self.usual._engine.add_global_mapping(variable, address)


binding.set_option("", f"-runtime-memory-check-threshold={CHECKS}")


@cache
def generator() -> Generator:
    """Return the code generator of this process, after Numba's own generator has compiled Numba's own parts."""
    rtsys.initialize(cpu_target.target_context)
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    return Generator(cpu_target.target_context.codegen())


def start_threads() -> None:
    """Start Numba's threads, which defines the address of its parallel loop."""
    from numba.np.ufunc.parallel import _launch_threads

    _launch_threads()


@contextmanager
def near() -> Iterator[None]:
    """Make Numba compile with near constants in this block; other threads wait, as for any compilation."""
    context = cpu_target.target_context
    with global_compiler_lock, remembered():
        made = generator()
        before, context._internal_codegen = context._internal_codegen, made
        try:
            yield
        finally:
            context._internal_codegen = before
            made._engine.forget()


@contextmanager
def remembered() -> Iterator[None]:
    """Make Numba resolve an operator once per process for the same types of operands, in this block.

    Numba searches all overloads of `+` for every `+` of a kernel, twice.  The index arithmetic of a loop nest consists
    of a hundred operators on int64, so these searches take up to a sixth of the time to compile it.
    """
    base: Any = functions.BaseFunction
    resolve = base.get_call_type

    def signature_of(function: Any, typing: Any, args: Any, kws: Any) -> Any:
        if kws or getattr(function.typing_key, "__module__", "") != operator.add.__module__:
            return resolve(function, typing, args, kws)
        signature = _signatures.get((function, args))
        if signature is None:
            signature = _signatures[function, args] = resolve(function, typing, args, kws)
        return signature

    base.get_call_type = signature_of
    try:
        yield
    finally:
        base.get_call_type = resolve


def emit(library: Any) -> bytes:
    """Return the object file of a library that Numba has completed."""
    return generator().emit(library)


def outside_names(library: Any) -> list[str]:
    """Return the functions that a complete library calls but does not define."""
    return [f.name for f in library._final_module.functions if f.is_declaration]


def listings(library: Any) -> tuple[str, str]:
    """Return a complete library in LLVM's language and as assembly."""
    module = library._final_module
    return str(module), str(generator()._tm.emit_assembly(module))
