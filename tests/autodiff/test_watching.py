"""An error for a rule that does not return a gradient states op, operand, line, the value and the expected value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over
from two_results import twice_and_thrice

import minigrad as mg
from minigrad.errors import DeclarationError, DeviceError, DTypeError, GradientError, ShapeError

ways = over("create_graph", [False, True], ids=["plain", "recorded"])


def op_with(*rules: Callable[..., Any]) -> Callable[..., Any]:
    if len(rules) == 2:

        @mg.elementwise(dtype=mg.rules.promote, vjp=rules)
        def product(a, b):
            """a times b."""
            return a * b

        return product

    @mg.elementwise(dtype=mg.rules.promote, vjp=rules)
    def cube(x):
        """x**3."""
        return x * x * x

    return cube


def line_of(fn: Callable[..., Any]) -> str:
    return re.escape(f"{fn.__code__.co_filename}:{fn.__code__.co_firstlineno}")


WRONG: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "number": (lambda g, x: 2.0, GradientError, "float 2.0"),
    "none": (lambda g, x: None, GradientError, "NoneType None"),
    "array": (lambda g, x: np.ones(3), GradientError, r"ndarray float64\(3,\)"),
    "tuple": (lambda g, x: (g * x, g), GradientError, "tuple"),
    "smaller": (lambda g, x: (g * x).sum(), ShapeError, r"float32\(\)"),
    "shorter": (lambda g, x: (g * x)[:2], ShapeError, r"float32\(2,\)"),
    "larger": (lambda g, x: (g * x).expand(4, 3) * 1.0, ShapeError, r"float32\(4, 3\)"),
    "column": (lambda g, x: (g * x).reshape(3, 1), ShapeError, r"float32\(3, 1\)"),
    "ints": (lambda g, x: (g * x).to(mg.int32), DTypeError, r"int32\(3,\)"),
    "truths": (lambda g, x: x > 0.0, DTypeError, r"bool\(3,\)"),
    "elsewhere": (lambda g, x: (g * x).to("cpu"), DeviceError, r"float32\(3,\) on cpu"),
}


@ways
@over("name", WRONG)
def test_what_is_no_gradient_is_named_with_its_rule(name: str, create_graph: bool) -> None:
    rule, error, got = WRONG[name]
    x = mg.Var([1.0, 2.0, 3.0], device="reference")
    expected = r"expected a tensor float32\(3,\) on reference, as the operand"
    message = f"cube: the derivative rule for 'x' at {line_of(rule)} returned {got}.*; {expected}"
    for _ in range(2):
        with pytest.raises(error, match=message):
            op_with(rule)(x).backward(create_graph=create_graph)
    assert x.grad is None


def test_the_operand_is_named() -> None:
    right, wrong = lambda g, b: g * b, lambda g, a: 3
    a, b = mg.Var([1.0], device="reference"), mg.Var([2.0], device="reference")
    with pytest.raises(GradientError, match=f"product: the derivative rule for 'b' at {line_of(wrong)} returned int 3"):
        op_with(right, wrong)(a, b).backward()


@ways
def test_a_gradient_that_sums_to_its_operand_or_is_of_another_float_is_right(create_graph: bool) -> None:
    a = mg.Var([2.0], device="reference")
    b = mg.Var([[1.0, 2.0], [3.0, 4.0]], dtype="float64", device="reference")
    op = op_with(lambda g, b: g * b, lambda g, a: g * a)
    first, second = mg.grad(op(a, b), [a, b], create_graph=create_graph)
    assert first.tolist() == [10.0] and first.dtype is mg.float32
    assert second.tolist() == [[2.0, 2.0], [2.0, 2.0]] and second.dtype is mg.float64


def joint_op(joint: Callable[..., Any]) -> Callable[..., Any]:
    @mg.kernel(
        dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(lambda g, b: g * b, lambda g, a: g * a), joint=joint
    )
    def paired(backend, out, a, b):
        """a times b, with one rule for both."""
        return backend.prepare(mg.requests.Elementwise(mg.mul.op.scalar, out.dtype.compute), out, a, b)

    return paired


JOINT: dict[str, tuple[Callable[..., Any], str]] = {
    "one": (lambda g, a, b: (g * b,), "must return a tuple of 2 gradients, one for each operand, got 1 gradients"),
    "three": (
        lambda g, a, b: (g * b, g * a, g),
        "must return a tuple of 2 gradients, one for each operand, got 3 gradients",
    ),
    "tensor": (lambda g, a, b: g * b, r"must return a tuple of 2 gradients, one for each operand, got float32\(2,\)"),
    "none": (lambda g, a, b: None, "must return a tuple of 2 gradients, one for each operand, got NoneType None"),
    "number": (lambda g, a, b: (g * b, 1.0), r"returned float 1.0; expected a tensor float32\(2,\)"),
}


@ways
@pytest.mark.parametrize("name", JOINT)
def test_a_joint_rule_gives_one_gradient_an_operand(name: str, create_graph: bool) -> None:
    rule, message = JOINT[name]
    a, b = mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], device="reference")
    with pytest.raises(GradientError, match=f"paired: the .*rule.* at {line_of(rule)} {message}"):
        joint_op(rule)(a, b).backward(create_graph=create_graph)


def test_a_right_joint_rule_is_used() -> None:
    a, b = mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], device="reference")
    first, second = mg.grad(joint_op(lambda g, a, b: [g * b, g * a * 2.0])(a, b), [a, b])
    assert first.tolist() == [3.0, 4.0] and second.tolist() == [2.0, 4.0]


def one_by_one(g, a, b, *, asked):
    """A gradient for each operand that is asked for, with what its own rule would save."""
    return (g * b if asked[0] else None, g * a if asked[1] else None)


@ways
def test_a_joint_rule_may_be_told_which_gradients_are_asked_for(create_graph: bool) -> None:
    a, b = mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], device="reference")
    op = joint_op(one_by_one)
    for wanted, expected in (([a, b], [[3.0, 4.0], [1.0, 2.0]]), ([a], [[3.0, 4.0]]), ([b], [[1.0, 2.0]])):
        found = mg.grad(op(a, b), wanted, create_graph=create_graph)
        assert [g.tolist() for g in found] == expected
    (found,) = mg.grad(op(a.detach(), b), [b], create_graph=create_graph)
    assert found.tolist() == [1.0, 2.0]


@ways
def test_a_joint_rule_that_leaves_out_what_was_asked_for_is_named(create_graph: bool) -> None:
    a, b = mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], device="reference")
    y = joint_op(lambda g, a, b, *, asked: (g * b, None))(a, b)
    assert mg.grad(y, [a], create_graph=create_graph, retain_graph=True)[0].tolist() == [3.0, 4.0]
    with pytest.raises(GradientError, match=r"the joint derivative rule for 'b' at .* returned NoneType None"):
        mg.grad(y, [a, b], create_graph=create_graph)


def test_only_a_joint_rule_is_told_what_is_asked_for() -> None:
    with pytest.raises(
        DeclarationError,
        match=r"'asked' in a derivative rule of alone is neither a parameter nor a static fact; use one of "
        r"x_\{shape, dtype, layout, device\}, y_\{.*\}, in_\{.*\}, in_shapes, position$",
    ):

        @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, *, asked: g,))
        def alone(x):
            """x."""
            return x


def writing(g, x):
    g.mul_(2.0)
    return g


def writing_operand(g, x):
    x.mul_(2.0)
    return g * x


@pytest.mark.parametrize(("rule", "name"), [(writing, "g"), (writing_operand, "x")])
def test_a_rule_that_writes_into_what_it_was_given_is_named(rule: Callable[..., Any], name: str) -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    with pytest.raises(
        GradientError, match=f"rule for 'x' at {line_of(rule)} must not write into its argument '{name}'"
    ):
        op_with(rule)(x).backward(mg.tensor([3.0, 4.0], device="reference"))
    assert x.grad is None


def test_of_several_results_the_gradient_is_named_that_was_written_into() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    with pytest.raises(GradientError, match=r"rule for 'x' at .* must not write into its argument 'g1'"):
        twice_and_thrice(lambda g1, x: g1.mul_(x))(x).b.backward(mg.tensor([3.0, 4.0], device="reference"))


# ---- .grad ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "error", "got"),
    [
        (1.0, GradientError, "float 1.0"),
        (np.ones(2, np.float32), GradientError, r"ndarray float32\(2,\)"),
        (mg.ones(3, device="reference"), ShapeError, r"float32\(3,\)"),
        (mg.ones(1, device="reference"), ShapeError, r"float32\(1,\)"),
        (mg.ones(2, dtype="float64", device="reference"), DTypeError, r"float64\(2,\)"),
        (mg.ones(2), DeviceError, r"float32\(2,\) on cpu"),
    ],
    ids=["number", "array", "shape", "broadcast", "dtype", "device"],
)
def test_grad_is_none_or_a_gradient(value: Any, error: type[Exception], got: str) -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    x.grad = kept = mg.ones(2, device="reference")
    with pytest.raises(error, match=rf"grad: the gradient of the Var float32\(2,\) must have .*, got {got}"):
        x.grad = value
    assert x.grad is kept
    (x * 2.0).backward()
    assert x.grad is kept and kept.tolist() == [3.0, 3.0]
    x.grad = None
    assert x.grad is None


CONVERTING: dict[str, tuple[Callable[..., Any], str]] = {
    "math": (
        lambda g, x: g * math.cos(x),
        r"called float\(\): .*float32\(3,\).*; write x\.cos\(\) instead of math\.cos",
    ),
    "numpy": (lambda g, x: g * np.cos(x.numpy()), r"called numpy\(\): .*; write x\.cos\(\)"),
    "item": (lambda g, x: g * x.item(), r"called item\(\): .*; write x\.cos\(\)"),
    "if": (lambda g, x: g if x > 0.0 else -g, r"called bool\(\): .*; write mg\.where"),
}


@ways
@pytest.mark.parametrize("name", CONVERTING)
def test_a_rule_that_converts_tensors_to_numbers_is_named(name: str, create_graph: bool) -> None:
    rule, words = CONVERTING[name]
    x = mg.Var([1.0, 2.0, 3.0], device="reference")
    if name == "numpy" and not create_graph:  # the rule is not recorded, so its result is right
        op_with(rule)(x).backward()
        assert x.grad.tolist() == pytest.approx(np.cos([1.0, 2.0, 3.0]).tolist())
        return
    with pytest.raises((ShapeError, GradientError), match=f"cube: .*'x' at {line_of(rule)} {words}") as error:
        op_with(rule)(x).backward(create_graph=create_graph)
    assert "detach" not in str(error.value) and "tolist" not in str(error.value)


def test_a_jvp_rule_that_converts_tensors_to_numbers_is_named() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, x: g * x.cos(),), jvp=lambda dx, x: dx * math.cos(x))
    def sine(x):
        """sin(x)."""
        return math.sin(x)

    x = mg.tensor([1.0, 2.0], device="reference")
    with pytest.raises(ShapeError, match=r"sine: the jvp rule at .* called float\(\): .*; write x\.cos\(\)"):
        mg.func.jvp(sine, (x,), (x,))


def test_another_error_in_a_rule_has_a_note_with_the_rule() -> None:
    rule = lambda g, x: g * mg.ones(4, device="reference")
    x = mg.Var([1.0, 2.0, 3.0], device="reference")
    with pytest.raises(ShapeError) as error:
        op_with(rule)(x).backward()
    assert re.search(f"raised in cube: the derivative rule for 'x' at {line_of(rule)}", error.value.__notes__[0])
