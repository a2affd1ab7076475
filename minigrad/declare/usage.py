"""Errors for a decorator of declarations that is used in a wrong form, or on a body that no call can compute.

`decorators.py` defines the decorators.  Each of them takes its options by keyword in a call, and the call returns the
function that reads the declaration.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.errors import DeclarationError, shortened

F = TypeVar("F", bound=Callable[..., Any])


def called_with(form: str) -> Callable[[F], F]:
    """Make a decorator of declarations raise DeclarationError, with its `form`, unless it is called with its options.

    Python's own error would count the arguments of a function that the user did not write.
    """

    def wrap(decorator: Any) -> Any:
        parameters = inspect.signature(decorator).parameters.values()
        required = [p.name for p in parameters if p.default is p.empty]

        @functools.wraps(decorator)
        def checked(*functions: Any, **options: Any) -> Any:
            missing = [name for name in required if name not in options]
            if functions or missing:
                raise DeclarationError(wrong_form(decorator.__name__, form, functions, missing))
            return decorator(**options)

        return checked

    return wrap


def wrong_form(name: str, form: str, functions: tuple[Any, ...], missing: list[str]) -> str:
    """Return the message for a decorator without its options, or without some of them."""
    needed = f"needs {' and '.join(f'{each}=' for each in missing)}" if missing else "takes its options by keyword"
    got = shortened(functions[0]) if functions else "other options"
    rules = "; mg.rules lists the dtype rules and shape rules" if "mg.rules" in form else ""
    return f"{name}: the decorator {needed}, got {got}; write {form} above the function{rules}"


def check_operators(op: Op, dtype: Callable[..., Any]) -> None:
    """Raise DeclarationError if the body has an operator for integers and its dtype rule always computes in floats.

    With other rules, only a call with floats raises this error.
    """
    from minigrad.kernels.rendering import Value, bodies_of  # the module is not needed for `import minigrad`

    compute = np.dtype(np.int64)
    with suppress(Exception):  # the rule may not allow integers, and then the first call checks the body
        compute = dtype(op, (Spec(Layout.contiguous(()), int64),) * len(op.operands))[0]
    if np.dtype(compute).kind == "f":
        assert op.scalar is not None
        args = op.scalar.args
        bodies_of(op.scalar, [Value(ast.Name(name)) for name in args], np.dtype(compute), set(args), "", {})
