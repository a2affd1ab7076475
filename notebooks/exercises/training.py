"""Exercises of notebook 13: training something real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.errors import GradientError
from notebooks.grading import Exercise, Wrong, as_array, expect_close

Answer = Callable[..., Any]
CLOSE = 1e-4  # float32


def cross_entropy(scores: Any, truth: Any) -> Any:
    """Logarithms of probabilities, picked and averaged."""
    return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


def grade_cross_entropy(answer: Answer) -> None:
    """Values, gradients, and scores whose exponentials overflow."""
    rng = np.random.default_rng(0)
    for name, values in (
        ("small scores", rng.standard_normal((4, 3))),
        ("scores of five rows", 2 * rng.standard_normal((5, 7))),
        ("scores up to 1000", np.array([[1000.0, 0.0, -1000.0], [5.0, 1000.0, 999.0]])),
    ):
        truth = mg.tensor([k % values.shape[1] for k in range(len(values))])
        ours, theirs = (mg.Var(values, dtype="float32") for _ in range(2))
        got, want = answer(ours, truth), mg.nn.functional.cross_entropy(theirs, truth)
        expect_close(got, want, f"the loss of {name}", CLOSE)
        try:
            gradient = mg.grad(got, ours)
        except (GradientError, AttributeError, mg.ArgumentError, TypeError):
            raise Wrong("the value is right, but no gradient flows from it to the scores; stay with tensors") from None
        expect_close(gradient, mg.grad(want, theirs), f"the gradient by {name}", CLOSE)


def momentum(weight: Any, gradient: Any, speed: Any, rate: float) -> tuple[Any, Any]:
    """The speed first, then the weight by the new speed."""
    speed = 0.9 * speed + gradient
    return weight - rate * speed, speed


def grade_momentum(answer: Answer) -> None:
    """Three steps, from a speed that is not 0."""
    weight, speed = np.array([1.0, -2.0]), np.array([0.5, 0.0])
    for gradient, rate in (([1.0, 2.0], 0.1), ([-0.5, 0.3], 0.1), ([4.0, -1.0], 0.01)):
        got = answer(mg.tensor(weight), mg.tensor(gradient, dtype="float64"), mg.tensor(speed), rate)
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            raise Wrong(f"momentum gives {type(got).__name__}, and (new weight, new speed) was expected")
        wanted = momentum(weight, np.array(gradient), speed, rate)
        given = f"for weight {weight.tolist()}, gradient {gradient}, speed {speed.tolist()}, rate {rate}"
        for name, mine, theirs in zip(("weight", "speed"), got, wanted):
            expect_close(mine, theirs, f"the new {name} {given}", CLOSE)
        weight, speed = wanted


def clipped(gradients: Sequence[Any], limit: float) -> list[Any]:
    """All by the same factor, which is at most 1."""
    total = float(np.sqrt(sum(float((g.numpy() ** 2).sum()) for g in gradients)))
    return [g * min(1.0, limit / total) if total else g for g in gradients]


def grade_clipped(answer: Answer) -> None:
    """Long ones, short ones, and zeros."""
    for values, limit in (
        (([3.0, 4.0], [12.0]), 1.0),
        (([3.0, 4.0], [12.0]), 14.0),
        (([0.6, -0.8], [0.0]), 0.5),
        (([6.0, 0.0], [0.0, 0.0, 8.0]), 20.0),
        (([0.0, 0.0], [0.0]), 1.0),
    ):
        given = [mg.tensor(v, dtype="float64") for v in values]
        got = answer(list(given), limit)
        if not isinstance(got, (tuple, list)) or len(got) != len(given):
            raise Wrong(f"clipped gives {type(got).__name__}, and a list of {len(given)} tensors was expected")
        for k, (mine, theirs) in enumerate(zip(got, clipped([mg.tensor(v, dtype="float64") for v in values], limit))):
            expect_close(mine, theirs, f"gradient {k} of {list(values)}, clipped to {limit},", CLOSE)


def attention(q: Any, k: Any, v: Any) -> Any:
    """What fits, without what comes later, as shares of the values."""
    later = mg.tensor(np.triu(np.ones((len(q), len(q)), bool), 1))
    fits = (q @ k.T) * q.shape[1] ** -0.5
    return fits.masked_fill(later, -1e9).softmax(-1) @ v


def grade_attention(answer: Answer) -> None:
    """Values, and that nothing of what comes later gets in."""
    rng = np.random.default_rng(0)
    for places, width in ((4, 3), (6, 2)):
        q, k, v = (2 * rng.standard_normal((places, width)) for _ in range(3))
        want = attention(*(mg.tensor(x, dtype="float32") for x in (q, k, v)))
        got = as_array(answer(*(mg.tensor(x, dtype="float32") for x in (q, k, v))), "attention")
        if got.shape == (places, width) and not np.allclose(got[0], v[0], atol=1e-3):
            raise Wrong(f"the first place can take from itself only, so its row is v[0], {v[0].round(3).tolist()}; "
                        f"yours is {got[0].round(3).tolist()}")  # fmt: skip
        expect_close(got, want, f"attention over {places} places", 1e-3)


EXERCISES = {
    "13.1": Exercise(
        "The cross entropy; softmax and logarithm belong together, or one of them overflows.",
        (
            "log(softmax(x)) is x minus the logarithm of the sum of exp(x). There is one op for all of that.",
            "scores.log_softmax(1) gives all logarithms; gather(1, truth.unsqueeze(1)) picks one a row.",
            "Return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean().",
        ),
        grade_cross_entropy, cross_entropy,
    ),
    "13.2": Exercise(
        "Momentum: each gradient counts, and less with every step.",
        (
            "The new speed comes first, from the old one and the gradient.",
            "speed = 0.9 * speed + gradient; and the weight moves by the new one.",
            "Return (weight - rate * speed, speed) with that speed.",
        ),
        grade_momentum, momentum, fills=True,
    ),
    "13.3": Exercise(
        "Clipping by the length of all gradients keeps their direction.",
        (
            "How long is one vector that holds all elements of all gradients?",
            "total is the root of the sum of all squares, of all tensors. What factor makes it limit, if it is larger?",
            "By min(1.0, limit / total), each of them; and beware of a total of 0.",
        ),
        grade_clipped, clipped,
    ),
    "13.4": Exercise(
        "Attention that looks back: what comes later is masked before the softmax.",
        (
            "(q @ k.T) * width ** -0.5 has at [i, j] how well place j fits what i asks for. Which of these may not be?",
            "Those with j > i: np.triu(np.ones((n, n), bool), 1). Give them -1e9, so that the softmax makes them 0.",
            "fits.masked_fill(mg.tensor(mask), -1e9).softmax(-1) @ v.",
        ),
        grade_attention, attention,
    ),
}  # fmt: skip
