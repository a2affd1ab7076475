"""The requests that run on the reference device while a function is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from minigrad.backends.reference import ReferenceBackend
from minigrad.core.requests import Request
from minigrad.declare.record import schema


def requests_of(call: Callable[[], Any]) -> list[Request]:
    """Return the requests that ops make, in the order in which they run, without the requests that compose them."""
    seen: list[Request] = []
    within: list[Request] = []
    plain = ReferenceBackend.prepare

    def prepare(self: Any, request: Request, outs: Any, *operands: Any) -> Any:
        within.append(request)
        launch = plain(self, request, outs, *operands)
        within.pop()
        if within:
            return launch

        def run(*buffers: Any) -> Any:
            seen.append(request)
            return launch(*buffers)

        return run

    kept = {op: dict(op.plans) for op in schema.values()}
    for op in kept:
        op.plans.clear()
    try:
        with patch.object(ReferenceBackend, "prepare", prepare):
            call()
    finally:
        for op, plans in kept.items():
            op.plans.clear()
            op.plans.update(plans)
    return seen
