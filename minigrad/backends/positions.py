"""Positions of extremes and of sorted elements, with or without the elements: one function serves two requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps, Value
from minigrad.core.requests import Request


def serve_positions(
    device: type[Any], one: type[Request], both: type[Request],
    find: Callable[[Steps, Any, Value, Value | None], None],
) -> None:  # fmt: skip
    """Register the services of a request for positions, and of the request for elements and their positions.

    find: adds the steps that write the positions, and the elements unless that value is None.
    """

    @serves(device, one)
    def positions(steps: Steps, request: Request) -> None:
        (out,) = steps.outs
        if out.layout.numel:
            find(steps, request, out, None)

    @serves(device, both)
    def elements(steps: Steps, request: Request) -> Launch | None:
        values, out = steps.outs
        if values.layout is not out.layout:
            return steps.lower(request)
        if out.layout.numel:
            find(steps, request, out, values)
        return None
