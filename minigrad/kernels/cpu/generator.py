"""Machine code of kernels, with their constants next to the code.

Numba loads its code at once, anywhere in memory, so this code addresses every constant with eight bytes.  A kernel is
an object file that is linked as one piece: its constants are near, an instruction can read them itself, and a
polynomial takes a fifth to a third less time.  So kernels have a code generator of their own, in LLVM's small code
model, which loads nothing.  Numba's own generator still answers requests for the Python side of its functions.
docs/decisions/035 has the figures.  This file imports Numba, so only processes that compile import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from minigrad.kernels.cpu.processor import tuning

# Pairs of arrays that LLVM may compare before a loop, so that it vectorises: its 8 are too few for a fused loop, which
# reads and writes a dozen arrays.
CHECKS = 128


class Generator(JITCPUCodegen):  # type: ignore[misc, unused-ignore]
    """Numba's generator for the processor, with near constants.  usual: the one that loads what must be called."""

    def __init__(self, usual: Any) -> None:
        super().__init__("minigrad.kernels")
        self.owner = self._engine  # of the description of the machine
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
        """A function's environment: written where it is loaded, if it is."""
        self._engine.environments.append((name, env))

    def emit(self, library: Any) -> bytes:
        """The object file of a library that is complete."""
        code: bytes = self._tm.emit_object(library._final_module)
        return code


class Engine:
    """Replacement of the engine that loads code: it loads a module only if its address is requested; kernels never are.

    waiting: modules that are not loaded. names: their definitions. environments: of functions in them.
    """

    def __init__(self, usual: Any) -> None:
        self.usual = usual
        self.forget()

    def forget(self) -> None:
        """Nobody will ask any more."""
        self.waiting: list[Any] = []
        self.names: set[str] = set()
        self.environments: list[tuple[str, Any]] = []

    def add_module(self, module: Any) -> None:
        """Store a module, and the names that it defines."""
        self.waiting.append(module)
        for group in (module.functions, module.global_variables):
            self.names |= {each.name for each in group if not each.is_declaration}

    def is_symbol_defined(self, name: str) -> bool:
        """Whether there is something to ask for."""
        return name in self.names or bool(self.usual._engine.is_symbol_defined(name))

    def finalize_object(self) -> None:
        """Load nothing."""

    def get_function_address(self, name: str) -> int:
        """The address of a function that Python calls."""
        waiting, environments = self.waiting, self.environments
        self.forget()
        for module in waiting:
            self.usual._add_module(module)
        self.usual._engine.finalize_object()
        for each in environments:
            self.usual.set_env(*each)
        return int(self.usual._engine.get_function_address(name))

    def add_global_mapping(self, variable: Any, address: int) -> None:
        """Say where a name is that another module has."""
        self.usual._engine.add_global_mapping(variable, address)


binding.set_option("", f"-runtime-memory-check-threshold={CHECKS}")


@cache
def generator() -> Generator:
    """The generator of this process; Numba's own parts have been made by its own one by then."""
    rtsys.initialize(cpu_target.target_context)
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    return Generator(cpu_target.target_context.codegen())


def start_threads() -> None:
    """Start Numba's threads; before that nobody can have the address of its parallel loop."""
    from numba.np.ufunc.parallel import _launch_threads

    _launch_threads()


@contextmanager
def near() -> Iterator[None]:
    """In this block Numba compiles for kernels, in this thread; others wait, as they do for any compile."""
    context = cpu_target.target_context
    with global_compiler_lock:
        made = generator()
        before, context._internal_codegen = context._internal_codegen, made
        try:
            yield
        finally:
            context._internal_codegen = before
            made._engine.forget()


def emit(library: Any) -> bytes:
    """The object file of a library that Numba has completed."""
    return generator().emit(library)


def outside_names(library: Any) -> list[str]:
    """The functions that a complete library calls and does not define."""
    return [f.name for f in library._final_module.functions if f.is_declaration]


def listings(library: Any) -> tuple[str, str]:
    """A complete library in LLVM's own language, and in that of the processor."""
    module = library._final_module
    return str(module), str(generator()._tm.emit_assembly(module))
