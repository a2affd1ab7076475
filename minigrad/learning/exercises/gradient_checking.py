"""Exercises of notebook 04: checks of gradients. The rules in which errors are to be found are in `patients.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minigrad.learning.exercises.patients import INDEX, PATIENTS, WRONG_IN, Array, log_softmax, pick
from minigrad.learning.grading import Exercises, Wrong, as_array, as_results, as_bool

EXERCISES = Exercises()

Map = Callable[[Array], Array]
Rule = Callable[[Array, Array], Any]


def holds(f: Map, rule: Rule, x: Array) -> bool:
    """Return whether a rule agrees with central differences, for random weights."""
    y, h = np.asarray(f(x)), 1e-6
    g = np.random.default_rng(0).standard_normal(y.shape)
    numeric = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        numeric[i] = np.sum(g * (f(x + step) - f(x - step))) / (2 * h)
    found = np.asarray(rule(g, x))
    if found.shape != x.shape:
        return False
    tolerance = 1e-5 * np.abs(numeric).max() + 10 * 2.0**-52 * np.sum(np.abs(g * y)) / h
    return bool(np.abs(found - numeric).max() <= tolerance)


# ---- mutants: what a checker is tried on ----------------------------------------------------------------------------


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_rule(g: Array, x: Array) -> Array:
    y = softmax(x)
    return y * (g - (g * y).sum())


def tanh_rule(g: Array, x: Array) -> Array:
    return g * (1 - np.tanh(x) ** 2)


def wrong_at_one(g: Array, x: Array) -> Array:
    found = tanh_rule(g, x)
    found.reshape(-1)[-1] *= 1.5
    return found


def nan_at_one(g: Array, x: Array) -> Array:
    found = tanh_rule(g, x)
    found.reshape(-1)[0] = np.nan
    return found


POINTS = (np.array([0.4, -1.1, 0.9]), np.array([[0.3, -0.8], [1.2, 0.5], [-0.2, 0.7]]))
RULES: tuple[tuple[str, Map, Rule, bool], ...] = (
    ("a right rule of tanh", np.tanh, tanh_rule, True),
    ("a right rule of softmax", softmax, softmax_rule, True),
    ("a right rule of log_softmax", log_softmax, lambda g, x: g - softmax(x) * g.sum(), True),
    ("a right rule of 1e9 * x**2, whose values are large", lambda x: 1e9 * x * x, lambda g, x: 2e9 * g * x, True),
    ("a right rule of 1e-9 * x**2, whose values are small", lambda x: 1e-9 * x * x, lambda g, x: 2e-9 * g * x, True),
    ("a right rule of sum(x * x), which returns one number", lambda x: (x * x).sum(), lambda g, x: 2 * g * x, True),
    ("tanh with the wrong sign", np.tanh, lambda g, x: -tanh_rule(g, x), False),
    ("tanh, wrong at one element", np.tanh, wrong_at_one, False),
    ("tanh, with nan at one element", np.tanh, nan_at_one, False),
    ("tanh, with one number for all of the gradient", np.tanh, lambda g, x: tanh_rule(g, x).sum(), False),
    ("tanh, with right values and one dim too many", np.tanh, lambda g, x: tanh_rule(g, x)[None], False),
    ("softmax, twice too large", softmax, lambda g, x: 2 * softmax_rule(g, x), False),
    ("softmax with a rule that returns zeros", softmax, lambda g, x: np.zeros_like(x), False),
    ("exp, wrong by a hundredth of a percent", np.exp, lambda g, x: 1.0001 * g * np.exp(x), False),
    ("1e-9 * x**2 with the 2 forgotten", lambda x: 1e-9 * x * x, lambda g, x: 1e-9 * g * x, False),
    ("1e9 * x**2, wrong by one part in a thousand", lambda x: 1e9 * x * x, lambda g, x: 2.002e9 * g * x, False),
)  # fmt: skip


@EXERCISES(
    "04.1", holds, "A checker that finds every planted mistake and rejects no correct rule.",
    "It is error_of and tolerance of the notebook in one function. Which weights, and of which shape?",
    "Random weights, of the shape of f(x). Compare shapes first. And nan is neither larger nor smaller than anything: "
    "how must the comparison be written so that nan fails?",
    "g = np.random.default_rng(0).standard_normal(np.shape(f(x))); found = np.asarray(rule(g, x)); return False if "
    "found.shape != x.shape, else bool(np.abs(found - numeric(f, g, x)).max() <= tolerance(f, g, x)).",
)  # fmt: skip
def grade_holds(answer: Any) -> None:
    """Test every rule at two points, and that the point is unchanged."""
    for name, f, rule, right in RULES:
        for point in POINTS:
            x = point.copy()
            if as_bool(answer(f, rule, x), "holds(f, rule, x)") is not right:
                said = "rejects" if right else "accepts"
                raise Wrong(f"your checker {said} {name}, at a point of shape {x.shape}")
            if not np.array_equal(x, point):
                raise Wrong("your checker changes x: perturb a copy, or restore the element")


# ---- the hunt -------------------------------------------------------------------------------------------------------

DIAGNOSIS = {
    "add_bias": "sum", "centre": "path", "cube": "factor", "difference": "sign", "pick": "overwritten",
    "product": "transpose", "ratio": "swapped", "root": "stale", "running_total": "reversed",
}  # fmt: skip
MISSED = {
    "cube": "cube is tiny, and so are its errors: is your tolerance in proportion?",
    "root": "root is wrong by less than a tenth of a percent: is your tolerance small enough?",
}
ACCUSED = {
    "relu": "relu's point is at a kink, where no rule can agree with a central difference: its rule is right",
    "energy": "energy is large, and so is the rounding of its quotients: it is innocent",
}


@EXERCISES(
    "04.2", set(DIAGNOSIS), "The hunt: nine of fourteen, and relu is innocent.",
    "For each name, and each k below len(patient.operands): holds(*patient.operand(k)).",
    "Of those that your checker rejects, one is checked on a kink. Move its point a little, and check again.",
    "{name for name, p in PATIENTS.items() if not all(holds(*p.operand(k)) for k in range(len(p.operands)))}, without "
    "relu.",
)  # fmt: skip
def grade_wrong_ones(answer: Any) -> None:
    """Test the names of the wrong rules, given as any collection of strings."""
    if not isinstance(answer, (set, frozenset, list, tuple, dict)) or not all(isinstance(n, str) for n in answer):
        raise Wrong("pass the names of the functions with a wrong rule, as a set or a list of strings")
    named = set(answer)
    unknown = sorted(named - set(PATIENTS))
    if unknown:
        raise Wrong(f"there is no patient {unknown[0]!r}; there are {', '.join(PATIENTS)}")
    accused, missed = sorted(named - set(DIAGNOSIS)), sorted(set(DIAGNOSIS) - named)
    if accused:
        innocent = (
            "one function that you name is innocent"
            if len(accused) == 1
            else f"{len(accused)} functions that you name are innocent"
        )
        raise Wrong(next((ACCUSED[n] for n in accused if n in ACCUSED), f"{innocent}: the rule is right"))
    if missed:
        told = [MISSED[n] for n in missed if n in MISSED] if len(missed) <= 2 else []
        more = f"; {told[0]}" if told else "; did you try every operand?"
        others = "one more function has" if len(missed) == 1 else f"{len(missed)} more functions have"
        raise Wrong(f"all functions that you name have wrong rules, and {others}{more}")


@EXERCISES(
    "04.3", DIAGNOSIS, "Nine mistakes, and each has its symptom.",
    "Print rule(g, x) / numeric(f, g, x) for each of them, and look it up in the table of section 4.",
    "One ratio at all elements is a sign or a factor. The right numbers elsewhere: transpose, reversed or swapped. "
    "For the rest read the code: what is used several times, what changes after it was saved?",
    "add_bias does not sum over the rows, centre omits the path through the mean, pick has = instead of +=, root "
    "keeps the value of one step before, ratio has its two gradients in the wrong order. Of the others, cube and "
    "difference show in their ratios, product and running_total have their numbers elsewhere.",
)  # fmt: skip
def grade_diagnosis(answer: Any) -> None:
    """Test the words; say how many are right, and name one that is wrong."""
    if not isinstance(answer, Mapping):
        raise Wrong('pass a dictionary from names to words, such as {"cube": "sign"}')
    if set(answer) != set(DIAGNOSIS):
        raise Wrong("the keys should be the names from exercise 04.2: each function with a wrong rule, and no other")
    for name, word in answer.items():
        if word not in WRONG_IN:
            raise Wrong(f"{name}: {word!r} is not one of the words; use one of {', '.join(WRONG_IN)}")
    bad = [name for name in DIAGNOSIS if answer[name] != DIAGNOSIS[name]]
    if bad:
        raise Wrong(f"{9 - len(bad)} of 9 are right; check {bad[0]} again, which is not {answer[bad[0]]!r}")


# ---- mending --------------------------------------------------------------------------------------------------------


def centre_rule(g: Array, x: Array) -> tuple[Array, ...]:
    """Return the gradient of x; each element of x also changes the mean."""
    return (g - g.mean(),)


def add_bias_rule(g: Array, x: Array, b: Array) -> tuple[Array, ...]:
    """Return the gradients; b is used once per row, so its gradients are summed over the rows."""
    return g, g.sum(0)


def pick_rule(g: Array, x: Array) -> tuple[Array, ...]:
    """Return the gradient of x; an element that was picked twice gets two terms."""
    gradient = np.zeros_like(x)
    np.add.at(gradient, INDEX, g)
    return (gradient,)


MENDED: dict[str, Callable[..., tuple[Array, ...]]] = {
    "centre": centre_rule, "add_bias": add_bias_rule, "pick": pick_rule,
}  # fmt: skip
SHAPES: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "centre": (((4,),), ((2, 3),)),
    "add_bias": (((4, 3), (3,)), ((2, 5), (5,)), ((1, 2), (2,))),
    "pick": (((4,),), ((3,),), ((3, 2),)),
}


@EXERCISES(
    "04.4", MENDED,
    "Where a value is used several times, its gradients add up: over rows, picks, and the path through a mean.",
    "How often is each element of the operand used? Each use contributes a gradient.",
    "b is used once per row: g.sum(0). An element of x is used in the mean too, with slope -1/n for each result. For "
    "pick, use an addition that does not lose repeated indices.",
    "g - g.mean(); g and g.sum(0); np.add.at(gradient, INDEX, g) on zeros. Return each as a tuple.",
)  # fmt: skip
def grade_mended(answer: Any) -> None:
    """Compare each rule with its reference, on several shapes."""
    if not isinstance(answer, Mapping) or set(answer) != set(MENDED):
        raise Wrong("pass a dictionary of the three rules by name: centre, add_bias, pick")
    draw = np.random.default_rng(5).standard_normal
    for name, right in MENDED.items():
        for shapes in SHAPES[name]:
            operands = [draw(shape) for shape in shapes]
            g = draw(pick(*operands).shape if name == "pick" else shapes[0])
            got, want = answer[name](g, *operands), right(g, *operands)
            what = f"the rule of {name}, with operands of shape {', '.join(map(str, shapes))},"
            as_results(got, len(want), what, f"a tuple of {len(want)}, a gradient for each operand,")
            for k, (mine, theirs) in enumerate(zip(got, want)):
                found = as_array(mine, what)
                if found.shape != theirs.shape:
                    raise Wrong(
                        f"{what} returns a gradient of shape {found.shape} for operand {k + 1}, which has "
                        f"{theirs.shape}"
                    )
                if not np.allclose(found, theirs, rtol=1e-9, atol=1e-12):
                    raise Wrong(
                        f"{what} returns {found.round(3).tolist()} for operand {k + 1}, and "
                        f"{theirs.round(3).tolist()} was expected, for g = {g.round(3).tolist()}"
                    )


# ---- transposes -----------------------------------------------------------------------------------------------------


def transposed(push: Map, pull: Map, n: int, m: int) -> bool:
    """Return whether <u, push(v)> equals <pull(u), v> for random u and v."""
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(m), rng.standard_normal(n)
    pushed, pulled = u @ push(v), pull(u) @ v
    return bool(abs(pushed - pulled) <= 1e-9 * (np.abs(u) @ np.abs(push(v)) + np.abs(pull(u)) @ np.abs(v)))


def pairs() -> list[tuple[str, Map, Map, int, int, bool]]:
    """Return maps with their transposes, and maps with wrong transposes."""
    draw = np.random.default_rng(6).standard_normal
    a, s, wide = draw((2, 3)), draw((3, 3)), draw((30, 40))
    off = a.copy()
    off[1, 2] += 0.5
    return [
        ("a matrix of 2 rows and 3 columns, and its transpose", lambda v: a @ v, lambda u: u @ a, 3, 2, True),
        ("a matrix of 30 rows and its transpose", lambda v: wide @ v, lambda u: wide.T @ u, 40, 30, True),
        ("a square matrix and its transpose", lambda v: s @ v, lambda u: s.T @ u, 3, 3, True),
        ("a large matrix and its transpose", lambda v: 1e8 * (a @ v), lambda u: 1e8 * (a.T @ u), 3, 2, True),
        ("twice a matrix, and twice its transpose", lambda v: 2 * (a @ v), lambda u: 2 * (a.T @ u), 3, 2, True),
        ("cumsum, and cumsum from the other end", np.cumsum, lambda u: np.cumsum(u[::-1])[::-1], 4, 4, True),
        ("a square matrix, pulled by itself instead of its transpose", lambda v: s @ v, lambda u: s @ u, 3, 3, False),
        ("cumsum, pulled by itself", np.cumsum, np.cumsum, 4, 4, False),
        ("a pull with the wrong sign", lambda v: a @ v, lambda u: -(a.T @ u), 3, 2, False),
        ("a pull too large by one part in a thousand", lambda v: a @ v, lambda u: 1.001 * (a.T @ u), 3, 2, False),
        ("a pull by a matrix that differs in one element", lambda v: a @ v, lambda u: off.T @ u, 3, 2, False),
        ("a small matrix, and twice its transpose", lambda v: 1e-9 * (a @ v), lambda u: 2e-9 * (a.T @ u), 3, 2, False),
    ]  # fmt: skip


@EXERCISES(
    "04.5", transposed, "Two rules that are transposes agree on one number, without any step.",
    "Draw u of shape (m,) and v of shape (n,). Which two numbers should be one?",
    "u @ push(v) and pull(u) @ v. They are rounded, so compare relative to their size, not to 0.",
    "return bool(np.isclose(u @ push(v), pull(u) @ v, rtol=1e-6, atol=0)).",
)  # fmt: skip
def grade_transposed(answer: Any) -> None:
    """Test each pair five times, and take the majority of the answers.

    Random vectors that hide a difference, or that cancel, are rare, and an answer by chance is not right for all pairs.
    """
    for name, push, pull, n, m, right in pairs():
        answers = [as_bool(answer(push, pull, n, m), "transposed(push, pull, n, m)") for _ in range(5)]
        if answers.count(right) < 3:
            absolute = "; an absolute tolerance lets small numbers pass" if name.startswith("a small") else ""
            raise Wrong(f"for {name}, the answer is {right}, and yours is {not right}{absolute}")
