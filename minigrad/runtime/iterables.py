"""Tensors in containers: iterables of parameters, with the errors for other objects, and nested results.

`optim` and `nn.utils` use these functions.  A model is often passed instead of its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from minigrad.errors import ArgumentError, DTypeError
from minigrad.runtime.tensor import Tensor, describe


def as_list(name: str, parameters: Any, what: str = "parameters") -> list[Any]:
    """Return an iterable of tensors or of dicts as a list.  Raise DTypeError for another object.

    name, what: the public function and its parameter, for messages.
    """
    if isinstance(parameters, Iterable) and not isinstance(parameters, (Tensor, dict)):
        return list(parameters)
    kinds = "tensors or dicts" if what == "params" else "tensors"
    raise DTypeError(
        f"{name}: {what} must be an iterable of {kinds}, got {describe(parameters)}; {instead_of(parameters)}"
    )


def tensors_of(name: str, tensors: Any, what: str = "parameters") -> list[Tensor]:
    """Return a tensor, or an iterable of tensors, as a list; raise DTypeError if it contains another object."""
    listed = [tensors] if isinstance(tensors, Tensor) else as_list(name, tensors, what)
    for x in listed:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name}: {what} must contain tensors, got {describe(x)}; pass model.parameters()")
    return listed


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Iterate over the tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def expect_some(name: str, parameters: Any, listed: list[Any]) -> None:
    """Raise ArgumentError for a list without parameters; an exhausted iterator has none, too."""
    if not listed:
        used = (
            ", because an earlier loop or list() has used up the iterator" if isinstance(parameters, Iterator) else ""
        )
        raise ArgumentError(
            f"{name}: params must contain at least one parameter, got an empty {'iterator' if used else 'list'}{used}; "
            "pass model.parameters()"
        )


def instead_of(value: Any) -> str:
    """Return what to pass instead of an object that is not an iterable of parameters."""
    if isinstance(value, dict) and "params" in value:
        return "pass a list of groups, such as [{'params': model.parameters()}]"
    if callable(value) and not callable(getattr(value, "parameters", None)):
        return "call it, as in model.parameters()"
    return "pass a list of tensors, or model.parameters()"
