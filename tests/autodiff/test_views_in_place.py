"""Views in place, such as `x.t_()`, of recorded results and of values of transforms."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import GradientError, StorageError

HERE = {"device": "reference"}
CALLS: dict[str, tuple[Any, ...]] = {
    "squeeze": (1,), "unsqueeze": (-1,), "t": (), "transpose": (0, 1), "as_strided": ((2, 2), (1, 2), 1),
    "swapaxes": (1, 0), "swapdims": (0, 1),
}  # fmt: skip


def matrix() -> Any:
    """Return 0 to 5 in two rows."""
    return mg.arange(6.0, **HERE).reshape(2, 3)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_flow_through_a_recorded_result(name: str, part: bool) -> None:
    def loss(w: Any, in_place: bool) -> Any:
        whole = w * w
        x = whole[:] if part else whole
        row = whole[1]
        x = getattr(x, name + "_" * in_place)(*CALLS[name])
        y = x * mg.arange(float(x.numel()), **HERE).reshape(x.shape)
        return (y * y).sum() + (row * 3.0).sum() + (whole * 5.0).sum() * part

    w = mg.Var(matrix())
    first, expected = mg.grad(loss(w, True), w, create_graph=True), mg.grad(loss(w, False), w, create_graph=True)
    assert first.tolist() == expected.tolist()
    assert mg.grad(first.sum(), w).tolist() == mg.grad(expected.sum(), w).tolist()


def test_writes_reach_views_that_were_made_before_and_after() -> None:
    w = mg.Var(matrix())
    x = w * 2.0
    row = x[0]
    x.t_().unsqueeze_(0)
    column = x[0, :, 1]
    x.mul_(mg.arange(6.0, **HERE).reshape(3, 2))
    assert row.tolist() == [0.0, 4.0, 16.0] and column.tolist() == [6.0, 24.0, 50.0]
    assert mg.grad(row.sum(), w, retain_graph=True).tolist() == [[0.0, 4.0, 8.0], [0.0, 0.0, 0.0]]
    assert mg.grad(column.sum(), w, retain_graph=True).tolist() == [[0.0, 0.0, 0.0], [2.0, 6.0, 10.0]]
    row.zero_()
    assert x[0, :, 0].tolist() == [0.0, 0.0, 0.0]
    assert mg.grad(x.sum(), w).tolist() == [[0.0, 0.0, 0.0], [2.0, 6.0, 10.0]]


def test_a_graph_that_saved_a_recorded_result_reports_it() -> None:
    w = mg.Var(matrix())
    x = w * 2.0
    y = (x * x).sum()
    x.t_()
    with pytest.raises(StorageError, match="changed in place since"):
        y.backward()


def test_a_view_knows_the_new_owner_of_its_memory() -> None:
    x = mg.Var(matrix()) * 2.0
    row = x[0]
    assert row._base is x and x._base is None
    x.t_()
    assert row._base is x._base is not None
    mg.func.vmap(lambda x: x if x[0]._base is None else x.fail)(matrix())  # a value of a transform owns no memory


def turned(x: Any) -> Any:
    """Write into a value after a view in place."""
    y = x * x
    y.t_()
    y.mul_(mg.arange(6.0, **HERE).reshape(3, 2))
    return y


def test_a_value_of_a_transform_takes_the_value_of_the_view() -> None:
    x = matrix()
    expected = [[0.0, 9.0], [2.0, 48.0], [16.0, 125.0]]
    assert mg.func.vmap(turned)(mg.stack([x, x])).tolist() == [expected, expected]
    y, tangent = mg.func.jvp(turned, (x,), (mg.ones_like(x),))
    assert y.tolist() == expected and tangent.tolist() == [[0.0, 6.0], [4.0, 24.0], [16.0, 50.0]]
    gradient = [[0.0, 4.0, 16.0], [6.0, 24.0, 50.0]]
    assert mg.func.vmap(mg.func.grad(lambda x: turned(x).sum()))(mg.stack([x, x])).tolist() == [gradient] * 2


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_a_view_from_before_cannot_be_written_inside_a_transform(shape: tuple[int, int]) -> None:
    def written(x: Any) -> Any:
        y = x * 2.0
        row = y[0]
        y.t_()
        row.mul_(3.0)
        return y

    with pytest.raises(GradientError, match="another tensor or a saved value shares its memory"):
        mg.func.vmap(written)(mg.ones(4, *shape, **HERE))


def test_a_result_that_an_op_saved_stays_readable() -> None:
    w = mg.Var(matrix())
    x = w * 1.0
    x.exp_()  # saves its result, which the change of the layout counts as written
    x.t_()
    assert mg.grad(x[0].sum(), w).tolist() == [[1.0, 0.0, 0.0], [mg.exp(w[1, 0]).item(), 0.0, 0.0]]


def test_no_layout_of_a_leaf_and_of_what_gradients_do_not_reach_is_changed() -> None:
    w = mg.Var(matrix())
    with mg.no_grad():
        hidden = (w * 1.0)[:]
        unseen = w[:]
    for x in (w, w[:], unseen):
        with pytest.raises(GradientError, match="t_: the tensor must be a recorded result"):
            x.t_()
    assert hidden.t_().shape == (3, 2) and not hidden.requires_grad
