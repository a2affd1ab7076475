"""An unrecorded write into a result of a graph: the gradient fits the values, or backward raises an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import over
from points import leaf

import minigrad as mg
from minigrad.errors import GradientError, StorageError

NOTICED = r"the result of mul\(\d?,?\) was changed in place.*before it was used.*compute a new tensor instead"


def under_no_grad(write: Callable[..., Any]) -> Callable[..., Any]:
    return mg.no_grad()(write)


WRITES: dict[str, Callable[[Any], Any]] = {
    "the value": under_no_grad(lambda y: y.mul_(10.0)),
    "a view": under_no_grad(lambda y: y[:1].mul_(10.0)),
    "a view made under no_grad": under_no_grad(lambda y: under_no_grad(lambda y: y[:1])(y).mul_(10.0)),
    "detach": lambda y: y.detach().add_(1.0),
    "a view of detach": lambda y: y.detach()[1:].zero_(),
    "out": under_no_grad(lambda y: mg.exp(y.detach().clone(), out=y)),
    "item assignment": under_no_grad(lambda y: y.__setitem__(0, 5.0)),
    "a mask": under_no_grad(lambda y: y.__setitem__(y > 2.0, 0.0)),
    "copy_": under_no_grad(lambda y: y.copy_(mg.zeros(2, dtype="float64", device="reference"))),
    "masked_fill_": under_no_grad(lambda y: y.masked_fill_(y > 2.0, 0.0)),
    "a piece of split": under_no_grad(lambda y: y.split(1)[0].mul_(10.0)),
}
USES: dict[str, Callable[[Any], Any]] = {
    "saved": lambda y: (y * y).sum(),
    "not saved": lambda y: y.sum(),
    "one operand of two": lambda y: (mg.ones(2, dtype="float64", device="reference") - y).sum(),
    "a view of it": lambda y: (y[::-1] * 2.0).sum(),
    "itself": lambda y: y,
    "several operands": lambda y: mg.cat([y, y], 0),
    "a saved output": lambda y: y.exp(),
}


@over("write", WRITES)
@over("use", USES)
def test_a_value_that_is_used_after_a_write_passes_no_gradient(write: str, use: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    WRITES[write](y)
    z = USES[use](y)
    for _ in range(2):
        with pytest.raises(GradientError, match=NOTICED):
            z.backward()
        with pytest.raises(GradientError, match=NOTICED):
            mg.grad(z, x)
    assert x.grad is None


@pytest.mark.parametrize("write", WRITES)
def test_a_value_that_was_used_before_the_write_keeps_its_gradient(write: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    z = y.sum() + y[:1].sum()
    WRITES[write](y)
    assert z.backward()[x].tolist() == [4.0, 2.0]


@pytest.mark.parametrize("write", WRITES)
def test_a_saved_value_that_was_written_is_refused(write: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    z, v = (y * y).sum(), x.exp()
    u = v.sum()
    WRITES[write](y)
    with pytest.raises(StorageError, match=r"saved its operand 'input'.*version 0"):
        z.backward()
    WRITES[write](v)
    with pytest.raises(StorageError, match="saved its output"):
        u.backward()


def test_a_view_from_before_the_write_shows_it_too() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2.0
    v = y[:2]
    with mg.no_grad():
        y.mul_(10.0)
    assert v.tolist() == [20.0, 40.0]
    with pytest.raises(GradientError, match=NOTICED):
        v.sum().backward()


def test_the_gradient_of_the_written_value_itself_is_right() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    with mg.no_grad():
        y.add_(1.0)
    z = (y * y).sum()
    assert mg.grad(z, y).tolist() == [6.0, 10.0]
    w = leaf(3.0, 4.0)
    assert mg.grad((y * w).sum(), w).tolist() == [3.0, 5.0]


def test_a_second_write_is_noticed_as_well() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    with mg.no_grad():
        y.add_(1.0)
    first = y.sum()
    with mg.no_grad():
        y.add_(1.0)
    second = y * 1.0
    assert mg.grad(second, y, retain_graph=True).tolist() == [1.0, 1.0]
    for z in (first, second):
        with pytest.raises(GradientError, match=NOTICED):
            z.backward()


def test_what_the_message_advises_works() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    assert ((y + 1.0) * (y + 1.0)).sum().backward()[x].tolist() == [12.0, 20.0]
    free = y.detach().clone()
    free.add_(1.0)
    assert (free * x).sum().backward()[x].tolist() == [3.0, 5.0]
    with mg.no_grad():
        y.add_(1.0)
    assert (y.detach() * x).sum().backward()[x].tolist() == [3.0, 5.0]


def test_the_message_for_a_var_and_its_views_is_no_grad() -> None:
    x = leaf(1.0, 2.0)
    for write, what in ((lambda: x.add_(1.0), "into a Var"), (lambda: x[:1].mul_(2.0), "into a view of a Var"),
                        (lambda: x.reshape(2, 1).T.zero_(), "into a view of a Var")):  # fmt: skip
        with pytest.raises(GradientError, match=rf"cannot write {what}, .*; write under mg\.no_grad\(\)"):
            write()
        with mg.no_grad():
            write()
    assert x.tolist() == [0.0, 0.0]


# ---- Vars may be written; their views show what they are now --------------------------------------------------------


def test_a_view_of_a_var_shows_its_new_value_and_passes_its_gradient() -> None:
    x = leaf(1.0, 2.0)
    v = x[:1]
    with mg.no_grad():
        v.mul_(2.0)
    assert x.tolist() == [2.0, 2.0]
    assert (x * x).sum().backward()[x].tolist() == [4.0, 4.0]
    x.set([5.0, 6.0])
    assert (v * v).sum().backward(retain_graph=True)[x].tolist() == [10.0, 0.0]
    x.as_tensor().add_(1.0)
    assert (v.reshape(1, 1).T * 3.0).backward()[x].tolist() == [3.0, 0.0]


def test_a_training_step_between_two_graphs_is_no_matter() -> None:
    w = leaf(1.0, 2.0)
    for _ in range(3):
        y = (w.reshape(2, 1).T * 2.0).square().sum()
        g = mg.grad(y, w)
        with mg.no_grad():
            w.sub_(g * 0.1)
    assert w.tolist() == pytest.approx([0.2**3, 2.0 * 0.2**3])


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.set([0.0, 0.0]),
        lambda x: x.as_tensor().zero_(),
        lambda x: x.detach()[1:].zero_(),
        under_no_grad(lambda x: x.zero_()),
    ],
    ids=["set", "as_tensor", "view of detach", "no_grad"],
)
def test_a_var_that_was_written_since_is_noticed_where_it_was_saved(write: Callable[..., Any]) -> None:
    x = leaf(1.0, 2.0)
    saved, not_saved = (x * x).sum(), (x * 3.0).sum()
    write(x)
    assert not_saved.backward()[x].tolist() == [3.0, 3.0]
    with pytest.raises(StorageError, match="version 1"):
        saved.backward()


def test_a_write_into_an_untracked_buffer_is_only_a_write() -> None:
    x, b = leaf(1.0, 2.0), mg.zeros(2, dtype="float64", device="reference")
    b.add_(3.0)
    assert ((x + b) * 2.0).sum().backward()[x].tolist() == [2.0, 2.0]
    y = x * b
    b.detach().add_(1.0)
    with pytest.raises(StorageError, match="saved its operand 'other'"):
        y.backward()


def test_higher_orders_notice_as_well() -> None:
    x = leaf(1.0, 2.0)
    first = mg.grad((x * x * x).sum(), x, create_graph=True)
    with mg.no_grad():
        first.mul_(2.0)
    with pytest.raises(GradientError, match="was changed in place"):
        first.sum().backward()


def test_a_written_value_is_drawn_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    with mg.no_grad():
        y.add_(1.0)
    mg.explain((y * y).sum())
    assert "write: " in capsys.readouterr().out
