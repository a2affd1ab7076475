"""Mutants of machinery: hooks, records of writes in place, forward mode's ways.

Their functions are listed; each is broken in every way that a tree can be, statements too.  What should notice are the
tests that were written for them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from minigrad.runtime.hooks import walks
from tests.mutation.checkers import claims
from tests.mutation.mutant import Mutant, attribute, rewritten
from tests.mutation.trees import tree_of, variants
from tests.programs import test_programs


@dataclass(frozen=True)
class Part:
    """Functions of one module, by name, or all of it; and the modules of tests that hold them."""

    kind: str
    module: str
    names: tuple[str, ...]
    tests: tuple[str, ...]


HOOKS = ("tests.autodiff.test_hooks",)
WRITES = ("tests.autodiff.test_writes", "tests.autodiff.test_writes_under_no_grad", "tests.autodiff.test_leaves",
          "tests.autodiff.test_writes_alive", "tests.autodiff.test_saved_hooks",
          "tests.autodiff.test_written_gradients", "tests.autodiff.test_written_parts",
          "tests.autodiff.test_views_in_place")  # fmt: skip
# The last of these runs every row, which takes the longest.
FORWARD = ("tests.func.test_nesting", "tests.autodiff.test_function_calls", "tests.func.test_functions",
           "tests.autodiff.test_forward")  # fmt: skip
CALLS = ("tests.autodiff.test_function", "tests.autodiff.test_function_calls", "tests.autodiff.test_custom_vjp",
         "tests.func.test_functions")  # fmt: skip
AT_IMPORT = ("Sealed.__init__",)  # has run before anything is broken
PARTS = (
    Part("hooks", "minigrad.autodiff.hooks", (), HOOKS),
    Part("hooks", "minigrad.runtime.hooks", ("HookHandle.__init__", "HookHandle.remove", "add_hook", "add_leaf_hook",
                                             "retain"), HOOKS),
    Part("writes", "minigrad.runtime.rebasing", (), WRITES),
    Part("forward", "minigrad.autodiff.forward", ("pushed", "by_rule", "by_linearity", "by_diagonal", "by_transposing",
                                                  "pulled_back"), FORWARD),
    Part("calls", "minigrad.autodiff.calling", (), CALLS),
    Part("calls", "minigrad.autodiff.user_op", (), CALLS),
    Part("calls", "minigrad.autodiff.context", (), CALLS),
    Part("calls", "minigrad.autodiff.custom", (), CALLS),
    Part("calls", "minigrad.autodiff.function", (), CALLS),
    Part("forward", "minigrad.autodiff.tangents", ("as_parts", "as_result", "plus", "check_tangent"), FORWARD),
)  # fmt: skip


def mutants() -> Iterator[Mutant]:
    """Those of every part."""
    for part in PARTS:
        check = partial(run_all, part.tests)
        for name, fn in functions_of(part):
            for what, make in variants(tree_of(fn), statements=True):
                yield Mutant(part.kind, f"{part.module.rpartition('.')[2]}.{name}", what, partial(rewritten, fn, make),
                             check)  # fmt: skip


def run_all(paths: tuple[str, ...]) -> None:
    """All tests of some modules.  Those of a node's hooks once more as the first ones of a process, and for writes some
    random programs."""
    if paths == HOOKS:
        with attribute(walks, "hooked", False):
            claims(HOOKS[0], ("test_hooks_of_a_node_run_in_order",))()
    for path in paths:
        claims(path)()
    if paths == WRITES:
        for first in (0, 25, 50):
            test_programs.test_values_and_derivatives_of_programs_that_write_into_what_they_made_are_right(first)


def functions_of(part: Part) -> Iterator[tuple[str, Any]]:
    """The functions and methods of a part."""
    module = importlib.import_module(part.module)
    named = part.names or tuple(every_name(module))
    for name in [name for name in named if name not in AT_IMPORT]:
        found: Any = module
        for each in name.split("."):
            found = inspect.getattr_static(found, each)
        yield name, function_in(found)


def every_name(module: Any) -> Iterator[str]:
    """Functions, and methods of classes, that stand in a module."""
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            yield name
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            yield from (f"{name}.{k}" for k, v in vars(value).items() if stands_there(function_in(v), module))


def function_in(value: Any) -> Any:
    """The function of a method, static method, class method or property."""
    return getattr(value, "__func__", None) or getattr(value, "fget", None) or value


def stands_there(fn: Any, module: Any) -> bool:
    """Whether it was written in the module, and not made by a decorator of classes."""
    return inspect.isfunction(fn) and fn.__code__.co_filename == module.__file__
