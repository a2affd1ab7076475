"""Functions with a derivative of their own, made of their methods, for tests."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def function(forward: Any, backward: Any, setup: Any = None, **more: Any) -> Any:
    """Return a Function with these methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    if setup is not None:
        methods["setup_context"] = staticmethod(setup)
    return type("Own", (mg.Function,), methods)


def saving(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * x


def slope(ctx: Any, g: Any) -> Any:
    (x,) = ctx.saved_tensors
    return g * 2.0 * x


def keep_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


Square = function(saving, slope)
Modern = function(lambda x: x * x, slope, keep_input)
