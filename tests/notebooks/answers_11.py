"""Answers to 11, ops of one's own."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def clip(rule: Any, forward: Any = lambda x: x.clone()) -> Any:
    """A Function by its backward."""

    class Clip(mg.Function):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    Clip.forward = staticmethod(forward)  # type: ignore[method-assign]
    Clip.backward = staticmethod(lambda ctx, g: rule(g))  # type: ignore[method-assign]
    return Clip


RIGHT: dict[str, list[Any]] = {
    "11.1": [lambda g, x: g * x.tanh(), lambda g, x: g * (1.0 - 2.0 / ((2.0 * x).exp() + 1.0))],
    "11.2": [
        lambda g, x, w: (2.0 * g * w * x, g * (x**2 + 3.0 * w**2)),
        lambda g, x, w: [g * (x * w + w * x), g * x * x + g * 3.0 * w * w],
    ],
    "11.3": [
        lambda g, x, y: g * x / (y + (y == 0)),
        lambda g, x, y: g * x * (y == 0).where_cond(0.0, 1.0 / y.maximum(1e-300)),
    ],
    "11.4": [clip(lambda g: g.clamp(-1.0, 1.0)), clip(lambda g: g.minimum(1.0).maximum(-1.0))],
}
WRONG: dict[str, list[Any]] = {
    "11.1": [
        lambda g, x: x.tanh(),
        lambda g, x: g * (1.0 - x.tanh() ** 2),
        lambda g, x: g / x.cosh(),
        lambda g, x: g * x.sinh() / x.cosh() ** 2,
        lambda g, x: (g * x).tanh(),
    ],
    "11.2": [
        lambda g, x, w: g * 2.0 * w * x,
        lambda g, x, w: (g * (x * x + 3.0 * w * w), g * 2.0 * w * x),
        lambda g, x, w: (2.0 * w * x, x * x + 3.0 * w * w),
        lambda g, x, w: (g * 2.0 * w * x, g * (x * x)),
        lambda g, x, w: (g * 2.0 * x, g * (x * x + w * w)),
    ],
    "11.3": [
        lambda g, x, y: g * x / y,
        lambda g, x, y: x / (y + (y == 0)),
        lambda g, x, y: g * 2.0 * x,
        lambda g, x, y: g * y / x,
        lambda g, x, y: g * x / (y + 1.0),
    ],
    "11.4": [
        clip(lambda g: g),
        clip(lambda g: g.minimum(1.0)),
        clip(lambda g: g.sign()),
        clip(lambda g: g.clamp(-1.0, 1.0), lambda x: x.clamp(-1.0, 1.0)),
        clip(lambda g: g.clamp(-1.0, 1.0)).apply,
    ],
}
