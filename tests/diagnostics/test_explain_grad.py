"""Each way in which a gradient goes wrong is told with the op and the line that did it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import GradientError
from minigrad.runtime import journal

HERE = "test_explain_grad.py"

# Which device computes does not matter here, and this one compiles nothing.
pytestmark = pytest.mark.usefixtures("reference")


def line_of(text: str) -> int:
    """The number of the line of this file that ends in a mark."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def at(mark: str) -> str:
    """How a reason names a line of this file."""
    return f"{HERE}:{line_of(mark)}"


# ---- None -----------------------------------------------------------------------------------------------------------


def test_a_detach_is_named_with_its_line() -> None:
    x = mg.Var([1.0, 2.0])
    with mg.debug():
        cut = (x * 2.0).detach()  # cut here
        loss = (cut * 3.0).sum()
    found = x.explain_grad(loss)
    assert found.kind == "none" and len(found.reasons) == 1
    assert "detach()" in found.reasons[0] and at("cut here") in found.reasons[0]


def test_a_block_of_no_grad_is_named_with_the_line_of_the_op() -> None:
    x = mg.Var([1.0, 2.0])
    with mg.debug():
        with mg.no_grad():
            y = x.exp()  # unrecorded
        loss = y.sum()
    found = x.explain_grad()
    assert found.kind == "none"
    assert "exp(2,)" in found.reasons[0] and "no_grad" in found.reasons[0] and at("unrecorded") in found.reasons[0]
    assert str(x.explain_grad(loss)) == str(found)


def test_a_var_that_nothing_used_is_told_so_and_a_name_is_said() -> None:
    x, unused = mg.Var([1.0, 2.0]), mg.Var([3.0], name="bias")
    with mg.debug():
        loss = x.exp().sum()
    told = str(unused.explain_grad(loss))
    assert told.startswith("the gradient of float32() with respect to 'bias' float32(1,) is None\n")
    assert "was not computed from it by any op" in told and "run the program under" not in told


def test_numbers_that_left_are_told_with_their_lines() -> None:
    x, other = mg.Var([3.0, 4.0]), mg.Var([1.0, 2.0])
    with mg.debug():
        length = (x * x).sum().item()  # a number
        parts = x.exp().tolist()  # a list
        array = (x * 2.0).detach().numpy()  # an array
        loss = (mg.tensor([length, *parts, *array.tolist()]).sum() * other).sum()
    told = x.explain_grad(loss).reasons
    assert "was not computed from it by any op" in told[0] and told[1].startswith(
        "its values left the graph through item() at "
    )
    places = [f"{how}() at " for how in ("item", "tolist", "numpy")]
    assert all(how in told[1] for how in places) and told[1].count(HERE) == 3
    assert all(at(mark) in told[1] for mark in ("a number", "a list", "an array"))
    assert other.explain_grad(loss).kind == "flows"


def test_a_line_of_a_notebook_is_named_by_its_cell(tmp_path: Path) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(ipython_dir=str(tmp_path), config=Config(HistoryManager={"enabled": False}))
    shell.execution_count = 7
    cell = "import minigrad as mg\nx = mg.Var([1.0, 2.0])\nwith mg.debug():\n    y = x.detach()"
    try:
        shell.run_cell(cell, store_history=True).raise_error()
        assert "detach() at In[7]:4 cut the graph" in str(shell.user_ns["x"].explain_grad(shell.user_ns["y"]))
    finally:
        InteractiveShell.clear_instance()


def test_integers_end_gradients() -> None:
    x = mg.Var([1.0, 3.0, 2.0])
    with mg.debug():
        place = x.argmax(0)  # a place
        loss = place.to(mg.float32) * 2.0
    found = x.explain_grad(loss)
    assert found.kind == "none" and "int64" in found.reasons[0] and at("a place") in found.reasons[0]
    assert "only floats and complex numbers do" in mg.tensor([1, 2]).explain_grad(loss).reasons[0]


def test_every_way_that_was_cut_is_told() -> None:
    x = mg.Var([1.0, 3.0])
    with mg.debug():
        loss = (x.detach() + (x > 2.0).to(mg.float32)).sum()
    reasons = x.explain_grad(loss).reasons
    assert len(reasons) == 2 and "detach()" in reasons[0] and "returned bool" in reasons[1]


def test_what_has_nothing_to_do_with_it() -> None:
    x, w = mg.Var([1.0]), mg.Var([2.0])
    with mg.debug():
        loss = (w * 2.0).sum()
        side = x * 2.0
    assert "was not computed from it by any op" in x.explain_grad(loss).reasons[0]
    assert "make it a mg.Var" in mg.tensor([1.0]).explain_grad(loss).reasons[0]
    assert x.explain_grad(side).kind == "flows"


@pytest.mark.parametrize(
    ("copy", "how"),
    [
        (lambda x: mg.tensor(np.asarray(x)), "np.asarray()"),
        (lambda x: mg.tensor(np.array(x * 1.0)), "np.asarray()"),
        (lambda x: mg.tensor(x), "mg.tensor()"),
        (lambda x: mg.tensor([x[0], x.sum()]), "mg.tensor()"),
        (lambda x: mg.Var(x), "mg.Var()"),
    ],
)
def test_a_copy_that_left_the_graph_is_named(copy: Callable[[mg.Tensor], mg.Tensor], how: str) -> None:
    x = mg.Var([1.0, 2.0])
    with mg.debug():
        loss = (copy(x) * 3.0).sum()
    told = x.explain_grad(loss).reasons
    assert told[1].startswith(f"its values left the graph through {how} at ") and HERE in told[1]


def test_swapped_arguments_are_noticed() -> None:
    x = mg.Var([1.0, 2.0])
    loss = (x * x).sum()
    assert "did you mean x.explain_grad(loss)" in loss.explain_grad(x).reasons[0]
    with mg.debug():
        z = mg.Var([1.0])
        product = z * 2.0
        side = product.detach() * mg.Var([1.0])
    assert "did you mean x.explain_grad(loss)" in side.explain_grad(product).reasons[0]
    assert "did you mean" not in str(z.explain_grad(loss))


def test_without_debug_it_says_how_to_learn_more() -> None:
    x = mg.Var([1.0])
    loss = (x.detach() * mg.Var([2.0])).sum()
    assert "run the program under mg.debug()" in x.explain_grad(loss).reasons[0]
    with pytest.raises(GradientError, match=r"for example x\.explain_grad\(loss\)"):
        x.explain_grad()


# ---- zero -----------------------------------------------------------------------------------------------------------


def test_a_dead_relu_is_called_so() -> None:
    x = mg.Var([-1.0, -2.0])
    with mg.debug():
        loss = (x * 2.0).relu().sum()  # dead
    found = x.explain_grad(loss)
    assert found.kind == "zero" and len(found.reasons) == 1
    assert "dead relu" in found.reasons[0] and at("dead") in found.reasons[0]


def test_a_sum_of_a_softmax_is_constant_and_not_saturated() -> None:
    x = mg.Var([1.0, 2.0, 3.0])
    told = str(x.explain_grad(x.softmax(0).sum()))
    assert "its results sum to 1 along the dim" in told and "saturated" not in told
    told = str(x.explain_grad(x.log_softmax(0).exp().sum()))
    assert "the exponentials of its results sum to 1" in told and "derivative is 0" not in told


def test_a_softmax_of_one_class_does_not_depend_on_its_operand() -> None:
    x = mg.Var([[1.0], [3.0]])
    for y in (x.softmax(1), x.log_softmax(1)):
        told = str(x.explain_grad(y))
        assert "normalizes each element alone" in told and "saturated" not in told


def test_a_softmax_that_is_saturated_is_called_so() -> None:
    x = mg.Var([0.0, 500.0])
    assert "one class has the whole probability" in str(x.explain_grad(x.softmax(0)[1]))
    x = mg.Var([-500.0, 0.0, 1.0])
    told = str(x.explain_grad(x.softmax(0)[0]))
    assert "each probability whose incoming gradient is not 0 is 0 or 1" in told and "whole" not in told


@pytest.mark.parametrize(
    "normalize",
    [
        lambda x: mg.nn.functional.layer_norm(x, (4,)),
        lambda x: mg.nn.functional.batch_norm(x, None, None, training=True),
        lambda x: mg.nn.functional.group_norm(x, 2),
        lambda x: mg.nn.functional.instance_norm(x.reshape(1, 2, 4)),
    ],
    ids=["layer", "batch", "group", "instance"],
)
def test_a_sum_of_a_normalization_is_constant(normalize: Callable[[mg.Tensor], mg.Tensor]) -> None:
    x = mg.Var([[1.0, 2.5, 4.0, 7.0], [3.0, 5.0, 4.0, 1.0]])
    told = str(x.explain_grad(normalize(x).sum()))
    assert "sum to 0, whatever the operand is" in told and "derivative is 0" not in told
    y = normalize(x)
    told = str(x.explain_grad((y * mg.arange(8.0).reshape(y.shape)).sum()))
    assert "whatever the operand is" not in told


def test_a_relu_is_judged_where_a_gradient_arrives() -> None:
    x = mg.Var([-1.0, 2.0])
    assert "at every element whose incoming gradient is not 0 (a dead relu)" in str(x.explain_grad(x.relu()[0]))


def test_a_product_with_zero_and_a_choice() -> None:
    x = mg.Var([1.0, 2.0])
    assert "derivative is 0" in x.explain_grad((x * 0.0).sum()).reasons[0]
    other = mg.where(mg.tensor([False, False]), x, 1.0)
    assert "chose the other operand" in x.explain_grad(other.sum()).reasons[0]


def test_what_underflows_in_a_short_dtype_is_called_so() -> None:
    x = mg.Var([1.0, 2.0], dtype="float16")
    loss = ((x * 1e-5) * 1e-4).sum()
    found = x.explain_grad(loss)
    assert found.kind == "zero" and "underflow" in found.reasons[0] and "float16" in found.reasons[0]


def test_ways_that_cancel() -> None:
    x = mg.Var([1.0, 2.0])
    assert "add up to zero" in x.explain_grad((x * 3.0 - x * 3.0).sum()).reasons[-1]


# ---- nan and inf ----------------------------------------------------------------------------------------------------


def test_a_where_around_what_is_not_defined() -> None:
    x = mg.Var([-1.0, 4.0])
    with mg.debug():
        root = x.sqrt()
        loss = mg.where(x > 0.0, root, 0.0).sum()  # choice
    found = x.explain_grad(loss)
    assert found.kind == "nan" and len(found.reasons) == 1
    assert found.reasons[0].startswith("sqrt(2,)") and "first at (0,)" in found.reasons[0]
    assert "chose the other branch" in found.reasons[0] and at("choice") in found.reasons[0]


def test_a_slope_that_is_infinite() -> None:
    x = mg.Var([0.0, 4.0])
    found = x.explain_grad(x.sqrt().sum())
    assert found.kind == "inf" and "turns it into inf at 1 of 2 elements, first at (0,)" in found.reasons[0]


def test_a_value_that_was_nan_already() -> None:
    x, w = mg.Var([-1.0, 4.0]), mg.Var([1.0, 1.0])
    plain = w.explain_grad((x.log() * w).sum())
    with mg.debug():
        loss = (x.log() * 2.0 * w).sum()  # log
    for found in (plain, w.explain_grad(loss)):
        assert found.kind == "nan" and "log(2,)" in found.reasons[0] and "already nan or inf" in found.reasons[0]
    assert at("log") in w.explain_grad(loss).reasons[0]


# ---- it flows -------------------------------------------------------------------------------------------------------


def test_a_gradient_that_flows_is_followed() -> None:
    x = mg.Var([1.0, 2.0])
    loss = (x * x).sum()
    found = x.explain_grad(loss)
    assert found.kind == "flows" and found.reasons == ("through sum()", "through mul(2,)")
    loss.backward()  # nothing was freed, and no .grad written
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])  # type: ignore[union-attr]
    with pytest.raises(GradientError, match="freed"):
        x.explain_grad(loss)


def test_results_in_between_are_asked_for_too() -> None:
    x = mg.Var([1.0, -2.0])
    with mg.debug():
        y = x * 3.0
        loss = y.relu().sum()
    assert y.explain_grad(loss).kind == "flows" and "1 of 2 elements are 0" in y.explain_grad(loss).what
    assert "<li>" in y.explain_grad(loss)._repr_html_()


def test_the_journal_dies_with_what_it_is_about() -> None:
    before = set(journal._entries)
    with mg.debug():
        x = mg.Var([1.0])
        loss = (x * 2.0).exp().sum()
        loss.backward()
        assert len(set(journal._entries) - before) >= 2
    del x, loss
    assert {e.op for key, (_, e) in journal._entries.items() if key not in before} <= {""}  # numbers of the program


def test_what_backward_computes_is_not_in_the_journal() -> None:
    with mg.debug():
        x = mg.Var([1.0, 2.0])
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
        assert x.explain_grad() == x.explain_grad(loss)
