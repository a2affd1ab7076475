"""Positions of extremes and of sorted elements, with or without the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps, Value
from minigrad.core.requests import Request


def serve_positions(
    device: type[Any], kind: type[Request], find: Callable[[Any, Any, Value, Value | None], None]
) -> None:
    """Register the service of a request whose results are positions, or elements and their positions.

    find: adds the steps that write the positions, and the elements unless that value is None.
    """

    @serves(device, kind)
    def positions(steps: Steps, request: Request) -> Launch | None:
        *values, out = steps.outs
        if values and values[0].layout is not out.layout:
            return steps.lower(request)
        if out.layout.numel:
            find(steps, request, out, values[0] if values else None)
        return None
