"""gradcheck finds wrong derivatives, and reports where they are wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.declare.rules import promote
from minigrad.errors import ArgumentError, DTypeError, GradientError
from minigrad.testing import GradcheckError, gradcheck, gradgradcheck


@mg.elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, b: g * b))
def wrong_product(left, b):
    """A product whose second rule multiplies by the wrong operand."""
    return left * b


@mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * x * 3.0 + (x > 1.0).to(g.dtype) * 0.01,))
def slightly_wrong_cube(x):
    """x**3, with a rule that is wrong for x > 1 only."""
    return x * x * x


def test_a_right_gradient_passes() -> None:
    a, b = mg.Var(np.ones((2, 3)), dtype="float64"), mg.Var([0.5, 2.0, 3.0], dtype="float64")
    assert gradcheck(lambda a, b: a / b + (a * b).sum(), [a, b])
    assert gradgradcheck(lambda a, b: a / b + (a * b).sum(), [a, b])


def test_the_worst_element_is_named_with_both_values() -> None:
    x = mg.Var([0.5, 2.0, 0.25], dtype="float64")
    with pytest.raises(GradcheckError, match=r"gradient of 'x' is worst at \(1,\): analytic .*, numeric .*1 of 3") as e:
        gradcheck(slightly_wrong_cube, x, names=["x"])
    assert e.value.argument == "x" and e.value.index == (1,)
    assert abs(e.value.numeric) > 1.0 and abs(e.value.analytic - e.value.numeric) == pytest.approx(0.01, rel=1e-3)


def test_the_wrong_argument_is_named() -> None:
    a, b = mg.Var([2.0, 3.0], dtype="float64"), mg.Var([5.0, 7.0], dtype="float64")
    with pytest.raises(GradcheckError, match="gradient of 'weight'"):
        gradcheck(lambda image, weight: wrong_product(image, weight), [a, b])


def test_an_error_that_sums_to_zero_is_noticed() -> None:
    class Swapped:
        def __call__(self, x: Any) -> Any:
            return x + (x.detach() * 0.0 + x[::-1] - x[::-1].detach()) - (x - x.detach())

    x = mg.Var([1.0, 2.0, 4.0], dtype="float64")
    with pytest.raises(GradcheckError):
        gradcheck(Swapped(), x)


def test_a_kink_is_named_and_both_sides_of_it_are_compared() -> None:
    report = gradcheck(lambda x: x.relu() * 2.0, mg.Var([0.0, 1.0, -1.0], dtype="float64"))
    assert report and report.kinks == [("x", (0,))]
    assert "1 kink at (0,), compared on both sides" in str(report) and report.arguments[0].largest < 1e-9


def test_a_kink_at_which_the_gradient_is_the_central_difference_is_not_listed() -> None:
    x = mg.Var([0.0, 1.0], dtype="float64", device="reference")
    assert gradcheck(mg.abs, x).kinks == [] and gradcheck(mg.relu, x).kinks == [("x", (0,))]


@pytest.mark.parametrize(("left", "right"), [(0.0, 2.0), (3.0, 1.0), (0.0, -1.0)])
@pytest.mark.parametrize("point", [[0.0], [0.0, -1.0], [0.0, 1.0]])
def test_a_rule_that_is_wrong_on_one_side_of_a_kink_is_wrong(left: float, right: float, point: list[float]) -> None:
    @mg.elementwise(dtype=promote, vjp=(lambda g, x: g * mg.where(x > 0.0, right, left),))
    def ramp(x):
        """What is above 0."""
        return x if x > 0 else 0.0

    with pytest.raises(GradcheckError, match="is worst at"):
        gradcheck(ramp, mg.Var(point, dtype="float64"), modes=("reverse",))


def test_other_arguments_are_compared_where_the_point_has_moved_to() -> None:
    a, b = mg.Var([0.0, 1.0], dtype="float64"), mg.Var([2.0, 3.0], dtype="float64")
    report = gradcheck(lambda a, b: a.relu() * b, [a, b])
    assert report and report.kinks == [("a", (0,))] and max(each.largest for each in report.arguments) < 1e-8


def test_every_argument_is_looked_at_before_the_worst_is_named() -> None:
    @mg.elementwise(dtype=promote, vjp=(lambda g, b: g * b * 1.1, lambda g, a: g * a * 2.0))
    def product(a, b):
        """A product."""
        return a * b

    a, b = mg.Var([2.0, 3.0], dtype="float64"), mg.Var([5.0, 7.0], dtype="float64")
    with pytest.raises(GradcheckError, match=r"of 'b' is worst .*2 of 2 elements differ, and some of 'a'") as e:
        gradcheck(product, [a, b])
    assert e.value.report is not None and {each.argument for each in e.value.report.ranked} == {"a", "b"}
    assert str(e.value.report) in e.value.__notes__[0] and repr(e.value.report) == str(e.value.report)


def test_what_gives_no_tensor_is_refused() -> None:
    for wrong in (lambda x: None, lambda x: {"y": x}, lambda x: (x, 1.0)):
        with pytest.raises(mg.ArgumentError, match=r"the function must return a tensor, or a tuple or"):
            gradcheck(wrong, mg.Var([1.0], dtype="float64"))


def test_a_function_that_is_all_kinks_is_called_that() -> None:
    def takagi(x: Any) -> Any:  # continuous, and nowhere differentiable
        heights = [2.0**k * x.detach().numpy() for k in range(45)]
        return mg.tensor(sum(np.abs(h - np.round(h)) / 1.2**k for k, h in enumerate(heights))) + x * 0.0

    with pytest.raises(GradcheckError, match="the function has a kink at each of the points tried"):
        gradcheck(takagi, mg.Var([0.3], dtype="float64"))


def test_a_slope_whose_sign_depends_on_the_last_digits_is_no_kink() -> None:
    def saw(x: Any) -> Any:
        return mg.tensor(np.where(np.round(x.detach().numpy() * 1e7) % 2, 1.0, -1.0)) * (x - x.detach()) + x.detach()

    with pytest.raises(GradcheckError, match="it has the wrong sign; wrong rule"):
        gradcheck(saw, mg.Var([0.3], dtype="float64"))


def test_a_wrong_rule_beside_a_kink_is_still_wrong() -> None:
    with pytest.raises(GradcheckError, match="is worst at"):
        gradcheck(lambda x: x.relu() + slightly_wrong_cube(x), mg.Var([0.0, 2.0], dtype="float64"))


def test_a_wrong_second_derivative_is_noticed() -> None:
    x = mg.Var([0.7, 1.9], dtype="float64")

    def detached_slope(x: Any) -> Any:
        return x.exp().detach() * x + x * 0.0

    with pytest.raises(GradcheckError):
        gradgradcheck(lambda x: x * x * detached_slope(x), x)


@mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * (3.0 if mg.is_grad_enabled() else 2.0),))
def square_of_two_minds(x):
    """x**2, with another gradient where its graph is recorded."""
    return x * x


def test_a_gradient_that_differs_where_its_graph_is_recorded_is_noticed() -> None:
    x = mg.Var([0.5, 2.0], dtype="float64", device="reference")
    assert gradcheck(square_of_two_minds, [x], modes=("reverse",))
    with pytest.raises(GradcheckError, match=r"gradient 0 at \(0,\) must not depend on create_graph"):
        gradgradcheck(square_of_two_minds, [x])


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"must have the dtype mg\.float64, or float32"):
        gradcheck(lambda x: x * 2.0, mg.Var([1.0], dtype="float16"))
    with pytest.raises(GradientError, match="expected at least one Var among the inputs"):
        gradcheck(lambda x: x * 2.0, mg.tensor([1.0]))
    for checker in (gradcheck, gradgradcheck):
        with pytest.raises(GradientError, match=r"got float 1\.0, float 2\.0; pass mg\.Var\(data, dtype=mg\.float64\)"):
            checker(lambda x, y: x * y, [1.0, 2.0])
        with pytest.raises(GradientError, match=r"got float64\(2,\); pass mg\.Var"):
            checker(lambda x: x * 2.0, mg.tensor([1.0, 2.0], dtype="float64", device="reference"))
    with pytest.raises(GradientError, match="an output of the function must require a gradient"):
        gradcheck(lambda x: x.detach(), mg.Var([1.0], dtype="float64"))


@pytest.mark.parametrize("checker", [gradcheck, gradgradcheck])
def test_one_var_at_two_positions_is_two_arguments(checker: Any) -> None:
    a = mg.Var([0.3, -1.2], dtype="float64", device="reference")
    assert checker(mg.mul, (a, a)) and checker(lambda x, y: x * y * y, (a, a))
    assert a.detach().tolist() == [0.3, -1.2] and a.grad is None
    with pytest.raises(GradcheckError, match=r"gradient of 'w' .* it is 3 times"):
        gradcheck(wrong_by(lambda g: g * 3.0), (a, a), names=["x", "w"])


@pytest.mark.parametrize("checker", [gradcheck, gradgradcheck])
def test_a_var_that_the_function_also_reads_by_another_way_moves_at_both_reads(checker: Any) -> None:
    a = mg.Var([0.3, -1.2], dtype="float64", device="reference")
    layer = mg.nn.Linear(2, 1, device="reference").double()
    other = mg.Var([2.0, 0.5], dtype="float64", device="reference")
    before = layer.weight.tolist()
    for function, inputs in (
        (lambda x: x * a, a),
        (lambda x: a * a, a),
        (lambda xs, y: xs[0] * y, ([a], a)),
        (lambda w: (layer(a) ** 2).sum(), layer.weight),
        (lambda x: x * other * a.detach(), a),
    ):
        assert checker(function, inputs)
    corner = mg.Var([0.3, 0.0], dtype="float64", device="reference")
    assert gradcheck(lambda x: x.relu() * 2 + corner, corner).arguments[0].kinks and corner.tolist() == [0.3, 0.0]
    assert a.tolist() == [0.3, -1.2] and layer.weight.tolist() == before, "the memory is as before"
    with pytest.raises(GradcheckError, match="worst at"):
        gradcheck(lambda x: wrong_by(lambda g: g * 3.0)(x, a), a)


# ---- what differs from call to call ---------------------------------------------------------------------------------


def test_a_random_function_is_called_not_deterministic() -> None:
    rng = np.random.default_rng(0)
    x = mg.Var([0.5, 2.0], dtype="float64")
    for noisy in (
        lambda x: x * mg.tensor(rng.uniform(size=2)),
        lambda x: x * mg.tensor((rng.uniform(size=2) < 0.5).astype(np.float64)),
        lambda x: x * 2.0 + float(rng.uniform()) * 1e-8,
    ):
        with pytest.raises(
            GradcheckError, match=r"the function is not deterministic, because calls at one point differ"
        ):
            gradcheck(noisy, x)
        with pytest.raises(GradcheckError, match="not deterministic"):
            gradgradcheck(lambda x, noisy=noisy: noisy(x) * x * x, x)


def test_a_random_gradient_is_called_not_deterministic() -> None:
    rng = np.random.default_rng(0)

    @mg.elementwise(dtype=promote, vjp=(lambda g: g * float(rng.uniform(1.0, 3.0)),))
    def doubled(x):
        """Twice x, with a rule that draws."""
        return x * 2.0

    with pytest.raises(GradcheckError, match=r"the gradient of 'x' at \(0,\) is not deterministic"):
        gradcheck(lambda x: doubled(x), mg.Var([0.5], dtype="float64"))


# ---- the report -----------------------------------------------------------------------------------------------------


def wrong_by(change: Any) -> Any:
    """x times w with a gradient of w that is changed."""

    @mg.elementwise(dtype=promote, vjp=(lambda g, w: g * w, lambda g, x: change(g * x)))
    def product(x, w):
        """A product."""
        return x * w

    return product


@mg.elementwise(dtype=promote, vjp=(lambda g, x, y: y * (1.0 - y),))
def sigmoid_without_g(x):
    """A sigmoid whose rule forgets its g."""
    return 1.0 / (1.0 + math.exp(-x))


@pytest.mark.parametrize("function", [sigmoid_without_g, lambda x: sigmoid_without_g(x * 2.0) * 3.0])
def test_a_rule_that_forgets_its_g_is_told_so(function: Any) -> None:
    x = mg.Var([0.5, 2.0, -1.0], dtype="float64", device="reference")
    with pytest.raises(GradcheckError, match="it does not depend on the incoming gradient"):
        gradcheck(function, x)


POINT = np.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: -g, "it has the wrong sign"),
        (lambda g: g * 3.0, "it is 3 times what it should be"),
        (lambda g: g / 6.0, r"it is 0\.166667 \(1/6\) times what it should be"),
        (lambda g: g * 0.0, "it is zero everywhere"),
        (lambda g: g + 5.0, "it is off by 5 at every element"),
        (lambda g: g.flip(1), "its values are reversed along dim 1"),
        (lambda g: g.sum(1, keepdim=True).expand(2, 3) * 1.0, "it is summed over dim 1"),
        (lambda g: g * 0.0 + 1.0, "it does not depend on the incoming gradient: the rule must multiply by g"),
        (lambda g: g * g, "it is not proportional to the incoming gradient"),
    ],
)
def test_what_is_wrong_with_a_rule_is_guessed(change: Any, words: str) -> None:
    x, w = (
        mg.Var(POINT, dtype="float64", device="reference"),
        mg.Var(POINT[::-1].copy(), dtype="float64", device="reference"),
    )
    with pytest.raises(GradcheckError, match=f"gradient of 'w' is worst at .*{words}.*; wrong rule: no step") as error:
        gradcheck(wrong_by(change), [x, w], names=["x", "w"])
    report = error.value.report
    assert report is not None and not report and report.ranked[0].argument == "w"
    assert [e.excess for e in report.ranked] == sorted((e.excess for e in report.ranked), reverse=True)


def test_a_transpose_and_swapped_operands_are_guessed() -> None:
    square = mg.Var([[1.0, 2.0], [5.0, 3.0]], dtype="float64", device="reference")
    weights = mg.tensor([[1.0, 2.0], [3.0, 7.0]], dtype="float64", device="reference")
    with pytest.raises(GradcheckError, match=r"dims in the order \(1, 0\)"):
        gradcheck(wrong_by(lambda g: g.t()), [weights, square])
    a, b = (
        mg.Var([2.0, 3.0], dtype="float64", device="reference"),
        mg.Var([5.0, 4.0], dtype="float64", device="reference"),
    )
    with pytest.raises(GradcheckError, match="gradient of 'left': the operands may be swapped"):
        gradcheck(wrong_product, [a, b], names=["left", "b"])


def test_a_bad_step_is_told_from_a_wrong_rule() -> None:
    x = mg.Var([1.0], dtype="float64")
    with pytest.raises(GradcheckError, match=r"bad step: they agree at steps around 1e-\d+, so pass eps=") as error:
        gradcheck(lambda x: (x * 50.0).sin(), x, eps=0.05)
    assert error.value.report is not None and len(error.value.report.curve) == 10
    assert error.value.report.suspect is None, "of one number anything is a factor"
    assert gradcheck(lambda x: (x * 50.0).sin(), x)


def test_float32_is_checked_with_steps_of_its_own() -> None:
    x = mg.Var([0.5, 2.0, 3.0])
    assert gradcheck(lambda x: x * x * x, x)
    assert gradgradcheck(lambda x: x * x * x, x)
    with pytest.raises(GradcheckError, match=r"it is 1\.00\d+ times what it should be; wrong rule"):
        gradcheck(slightly_wrong_cube, mg.Var([2.0, 0.5]), rtol=1e-4, atol=1e-4)


def test_large_arguments_are_held_against_random_directions() -> None:
    rng = np.random.default_rng(0)
    x = mg.Var(rng.uniform(0.2, 0.9, (20, 20)), dtype="float64")
    report = gradcheck(lambda x: x * x, x)
    assert report.arguments[0].compared == 0 and "random projections" in str(report)
    assert gradcheck(lambda x: x * x, x, every=True).arguments[0].compared == 400
    values = rng.uniform(0.2, 0.9, (20, 20))
    values[7, 3] = 1.5
    with pytest.raises(GradcheckError, match=r"worst at \(7, 3\).*1 of 400"):
        gradcheck(slightly_wrong_cube, mg.Var(values, dtype="float64"))


def test_a_report_reads_as_text_and_as_html() -> None:
    x = mg.Var([0.5, 2.0], dtype="float64")
    report = gradcheck(lambda x: x * x, x)
    assert str(report).splitlines()[0] == "gradcheck: agrees" and "<table" not in report._repr_html_()
    with pytest.raises(GradcheckError) as error:
        gradcheck(slightly_wrong_cube, x, names=["<x>"])
    found = error.value.report
    assert found is not None and str(found).splitlines()[0] == "gradcheck: differs"
    assert "&lt;x&gt;" in found._repr_html_() and found._repr_html_().count("<td") == 2
    assert found._repr_html_().count("rgb(255,255,255)") == 1, "an element that is a little wrong is not white"


# ---- the other modes ------------------------------------------------------------------------------------------------


@mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * 2.0,), jvp=lambda dx, x: dx * x * 3.0)
def square_of_two_modes(x):
    """x**2, with a rule of forward mode that is wrong."""
    return x * x


def test_forward_mode_and_batches_are_checked_where_that_is_asked() -> None:
    a, b = mg.Var(POINT, dtype="float64"), mg.Var([0.5, 2.0, 3.0], dtype="float64")
    report = gradcheck(lambda a, b: (a.softmax(1), a @ b), [a, b], modes=("forward", "reverse", "batched"))
    assert report and len(report.checks) == 3
    assert all(words in str(report) for words in ("<u, Jv> is", "batch of 3 cotangents", "batch of 3 tangents"))
    assert len(gradcheck(lambda a, b: a * b, [a, b], modes="batched").checks) == 1
    second = gradgradcheck(lambda a, b: a * b, [a, b], modes=("forward", "batched"))
    assert second and len(second.checks) == 3


def test_forward_mode_is_checked_where_nothing_is_said_and_the_function_goes_through_it() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64")
    for check in (gradcheck, gradgradcheck):
        assert [words.split(" is")[0] for words, _ in check(lambda x: x * x, x).checks] == ["<u, Jv>"]

    class Own(mg.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[override]
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    for function, why in (
        (Own.apply, "Own: a Function whose forward has the parameter ctx"),
        (lambda x: x * 2.0 if x.requires_grad else x * 3.0, "must return equal values with and without tangents"),
    ):
        report = gradcheck(function, x)
        assert report and not report.checks and "forward mode is not compared: " in str(report) and why in str(report)
        with pytest.raises(GradientError, match=why):
            gradcheck(function, x, modes=("forward",))


def test_a_wrong_rule_of_forward_mode_is_told_from_one_of_reverse_mode() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64")
    assert gradcheck(square_of_two_modes, x, modes=("reverse",))
    words = (
        r"forward mode is wrong, and worst for the tangent of output 0 at \(\d,\).*it is 1.5 times what it should be"
    )
    with pytest.raises(GradcheckError, match=words) as error:
        gradcheck(square_of_two_modes, x)
    report = error.value.report
    assert report is not None and len(report.ranked) == 2 and len(report.curve) == 10
    assert report.checks[0][0].startswith("<u, Jv> is") and not report.checks[0][1]
    both = [mg.Var([2.0, 3.0], dtype="float64"), mg.Var([5.0, 7.0], dtype="float64")]
    with pytest.raises(GradcheckError, match=r"the gradient of 'b' is worst at"):
        gradcheck(wrong_product, both, modes=("forward",))


@pytest.mark.parametrize("checker", [gradcheck, gradgradcheck])
def test_inputs_that_are_not_in_a_tuple_are_refused_with_the_call_to_write(checker: Any) -> None:
    x = mg.Var([1.0], dtype="float64", device="reference")
    words = rf"{checker.__name__}: the inputs must be one tensor or one tuple, got 2 .*pass a tuple, .*\(f, \(x, y\)\)"
    if checker is gradcheck:  # the third argument of the other is PyTorch's `grad_outputs`
        with pytest.raises(mg.ArgumentError, match=words):
            checker(mg.mul, x, x)
    else:
        assert checker(lambda x: x * x * x, x, x)
    with pytest.raises(mg.ArgumentError, match="got 3 positional arguments"):
        checker(mg.mul, x, 1e-6, 1e-5)
    with pytest.raises(TypeError, match=rf"^{checker.__name__}\(\) missing 1 required positional argument: 'inputs'"):
        checker(mg.mul)


def test_modes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(mg.ArgumentError, match="'sideways'"):
        gradcheck(lambda x: x * x, mg.Var([1.0], dtype="float64"), modes=("sideways",))


def test_forward_mode_alone_needs_no_backward_pass() -> None:
    class Doubled(mg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, wrong: bool) -> Any:
            ctx.factor = 3.0 if wrong else 2.0
            return x * 2

        @staticmethod
        def jvp(ctx: Any, dx: Any, _: Any) -> Any:
            return dx * ctx.factor

    x = mg.Var([1.0, -0.5], dtype="float64", device="reference")
    for options in ({"backward": False}, {"check_forward_ad": True, "check_backward_ad": False}):
        report = mg.autograd.gradcheck(lambda x: Doubled.apply(x, False), (x,), **options)
        assert report and report.arguments[0].largest < 1e-6
        with pytest.raises(GradcheckError, match="the tangent of 'x' is wrong"):
            mg.autograd.gradcheck(lambda x: Doubled.apply(x, True), (x,), **options)


def test_outputs_whose_shape_or_dtype_depends_on_values_are_an_error() -> None:
    x = mg.Var([1.0], dtype="float64", device="reference")
    for change in (lambda y: mg.cat([y, y]), lambda y: y.to(mg.float32)):
        with pytest.raises(ArgumentError, match=r"must return the same shapes and dtypes .* and float64\(1,\)"):
            gradcheck(lambda x, change=change: change(x) if x.item() >= 1.0 else x, x)


def test_the_error_of_a_check_is_a_result_without_raise_exception() -> None:
    x = mg.Var([1.0], dtype="float64", device="reference")
    assert gradcheck(lambda x: x.detach() * 2.0, x, raise_exception=False) is False
    with pytest.raises(GradcheckError, match="an output of the function must require a gradient, got none"):
        gradcheck(lambda x: x.detach() * 2.0, x)
    with pytest.raises(ArgumentError, match="expected at least one mode to check"):
        gradcheck(lambda x: x * 2.0, x, check_backward_ad=False, check_forward_ad=False)


def test_the_module_of_pytorch_has_the_checks_and_their_error() -> None:
    from minigrad.autograd.gradcheck import GradcheckError as Error

    assert Error is GradcheckError and mg.autograd.gradcheck is gradcheck
