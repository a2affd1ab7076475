"""Exercises of appendix A3: common tasks in PyTorch, written with minigrad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import Exercises, Wrong, expect_close, tried

EXERCISES = Exercises()

# ---- a strict backward ----------------------------------------------------------------------------------------------


def strict_backward(y: Any) -> Any:
    """Call `y.backward()` if y has one element; otherwise raise ValueError."""
    if y.numel() != 1:
        raise ValueError(f"backward of {y.numel()} elements")
    return y.backward()


@EXERCISES(
    "A3.1", strict_backward, "A backward that requires a scalar: the line at which PyTorch stops.",
    "How many elements does y have? Check this first.",
    "y.numel() is the product of the shape; () and (1,) and (1, 1) have one element, (0,) has none.",
    "if y.numel() != 1: raise ValueError('...'); return y.backward().",
)  # fmt: skip
def grade_strict_backward(answer: Callable[[Any], Any]) -> None:
    """Test that scalars write .grad, and that other tensors raise an error before anything is written."""
    for shape in ((), (1,), (1, 1)):
        x = mg.Var(np.full(shape, 3.0), name="x")
        got = answer(x * x)
        if not isinstance(got, mg.GradStore):
            raise Wrong(
                f"for a tensor of shape {shape} it should return the result of y.backward(), but returned {got!r}"
            )
        expect_close(got[x], np.full(shape, 6.0), f"the gradient of x * x at 3, of shape {shape},")
        if x.grad is None:
            raise Wrong(
                f"for a tensor of shape {shape}, x.grad is None: y.backward() would have left the gradient there"
            )
    for shape in ((2,), (1, 3), (0,)):
        x = mg.Var(np.full(shape, 3.0), name="x")
        try:
            answer(x * x)
        except mg.MinigradError as error:
            raise Wrong(
                f"for shape {shape} minigrad raised an error, {error}; check y before you call backward"
            ) from None
        except ValueError:
            pass
        else:
            raise Wrong(f"for a tensor of shape {shape} it should raise a ValueError, but it raised no error")
        if x.grad is not None:
            raise Wrong(f"for a tensor of shape {shape} it raised the error only after backward had written x.grad")


# ---- load_state_dict ------------------------------------------------------------------------------------------------


def load(w: dict[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the names, then write the values."""
    if set(w) != set(state):
        raise KeyError(f"names that do not fit: {sorted(set(w) ^ set(state))}")
    for name, v in w.items():
        value = state[name]
        v.set(value.T if name.endswith(".weight") and value.ndim == 2 else value)
    return w


def _weights() -> dict[str, Any]:
    shapes = {"0.weight": (2, 3), "0.bias": (3,), "1.weight": (3,), "2.weight": (3, 3)}
    return {name: mg.Var(np.zeros(shape), name=name) for name, shape in shapes.items()}


def _state() -> dict[str, Any]:
    draw = np.random.default_rng(3).standard_normal
    return {"2.weight": draw((3, 3)), "0.weight": draw((3, 2)), "0.bias": draw(3), "1.weight": draw(3)}


@EXERCISES(
    "A3.2", load, "Weights are copied by name, transposed if the layouts differ, into the existing Vars.",
    "Compare the names of both dicts first: after the first v.set, an error would leave w half changed.",
    "If set(w) != set(state), raise the KeyError. Then call v.set(...) for each; it takes NumPy arrays.",
    "for name, v in w.items(): value = state[name]; v.set(value.T if name.endswith('.weight') and value.ndim == 2 "
    "else value). return w.",
    fills=True,
)  # fmt: skip
def grade_load(answer: Callable[[Any, Any], Any]) -> None:
    """Test the values, transposed or not; that the Vars stay the same; that a failure changes nothing."""
    w, state = _weights(), _state()
    before = dict(w)
    got = tried(answer, w, state, on="a state that fits")
    if got is not w:
        raise Wrong(f"load should return w itself, but returned {type(got).__name__}")
    for name, v in before.items():
        if w.get(name) is not v:
            raise Wrong(f"{name!r} is not the same Var as before; write the new values into the old Var, with set")
        expect_close(v, state[name].T if name in ("0.weight", "2.weight") else state[name], f"{name!r} after load")
    for what, change in (
        ("lacks '0.bias'", {"0.bias": None}),
        ("has 'head.bias', which is not in w", {"head.bias": 1.0}),
    ):
        w = _weights()
        other = {name: value for name, value in {**_state(), **change}.items() if value is not None}
        try:
            answer(w, other)
        except KeyError:
            pass
        else:
            raise Wrong(f"for a state that {what} it should raise a KeyError, but it raised no error")
        if any(v.detach().numpy().any() for v in w.values()):
            raise Wrong(f"for a state that {what} it raised the error only after it had changed some weights")


# ---- gradients in parts ---------------------------------------------------------------------------------------------


def in_parts(loss_of: Callable[[Any], Any], w: Mapping[str, Any], parts: Sequence[Any]) -> dict[str, Any]:
    """Return the mean gradients over all parts; each part is weighted by the number of its samples."""
    count = sum(len(part) for part in parts)
    total = {name: mg.zeros_like(v) for name, v in w.items()}
    for part in parts:
        gradients = mg.grad(loss_of(part), list(w.values()))
        total = {name: total[name] + g * (len(part) / count) for name, g in zip(w, gradients)}
    return total


@EXERCISES(
    "A3.3", in_parts,
    "The mean of means is the mean only if all parts have the same length; so weight each part by its length.",
    "The sum over all samples is the sum over parts of len(part) * loss_of(part). What is the mean?",
    "mg.grad(loss_of(part), list(w.values())) returns the gradients of one part and changes no .grad.",
    "Add up g * (len(part) / count) by name, with count the sum of all len(part); begin with mg.zeros_like(v).",
)  # fmt: skip
def grade_in_parts(answer: Callable[[Any, Any, Any], Any]) -> None:
    """Compare with the gradient of the whole, for parts of equal and of different sizes."""
    rows = mg.from_numpy(np.random.default_rng(5).standard_normal((12, 2)))
    for sizes in ((12,), (4, 4, 4), (1, 8, 3)):
        w = {"a": mg.Var([0.5, -1.0], dtype="float64", name="a"), "b": mg.Var(0.3, dtype="float64", name="b")}

        def loss_of(part: Any, w: Any = w) -> Any:
            return ((part @ w["a"] + w["b"]).tanh() ** 2).mean()

        w["b"].grad = mg.tensor(5.0, dtype="float64")
        want = mg.grad(loss_of(rows), list(w.values()))
        got = answer(loss_of, w, rows.split(list(sizes)))
        if not isinstance(got, Mapping) or set(got) != set(w):
            raise Wrong("return a dict with one gradient for each name of w")
        for name, right in zip(w, want):
            expect_close(
                got[name], right, f"the gradient of {name!r} from parts of {', '.join(map(str, sizes))} samples"
            )
        if w["a"].grad is not None or w["b"].grad is None or w["b"].grad.item() != 5.0:
            raise Wrong("the gradients are right, but .grad of the Vars has changed; mg.grad does not change it")
