"""Writes into tensors that gradients flow through: 25 small programs with PyTorch's result, or the correct one.

`y` is `x * 1` where nothing else is shown; the numbers are those of the study of which the programs are the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from points import leaf, row

import minigrad as mg
from minigrad.errors import GradientError, ShapeError, StorageError

DTYPE: Any = {"dtype": "float64", "device": "reference"}


def zeros(*shape: int) -> Any:
    return mg.zeros(*shape, **DTYPE)


def quietly(write: Callable[[], Any]) -> Any:
    with mg.no_grad():
        return write()


def slopes(y: Any, *xs: Any) -> list[Any]:
    """The gradients of the sum of y as lists."""
    return [g.tolist() for g in mg.grad(y.sum(), xs, retain_graph=True)]


def test_1_an_element_is_replaced() -> None:
    x, v = leaf(1, 2, 3), leaf(5)
    y = x * 2.0
    y[0] = v[0]
    assert y.tolist() == [5, 4, 6] and slopes(y * y, x, v) == [[0, 16, 24], [10]]


def test_2_a_leaf_and_its_views_refuse() -> None:
    x = leaf(1, 2)
    with pytest.raises(GradientError, match="index: cannot write into a Var"):
        x[0] = 5.0
    with pytest.raises(GradientError, match="add_: cannot write into a Var"):
        x += 1.0
    with pytest.raises(GradientError, match="mul_: cannot write into a view of a Var"):
        x[:1].mul_(2.0)
    with pytest.raises(GradientError, match="fill_: cannot write into a view of a Var"):
        x.reshape(2, 1).T.zero_()


def test_3_a_leaf_that_was_written_under_no_grad_is_still_a_leaf() -> None:
    x = leaf(1, 2)
    with mg.no_grad():
        x += 10.0
    assert x.is_variable and slopes(x * x, x) == [[22, 24]]


@pytest.mark.parametrize("write", [lambda x: x.add_(1.0), lambda x: x.detach().add_(1.0)], ids=["no_grad", "detach"])
def test_4_what_was_saved_and_written_since_raises(write: Callable[[Any], Any]) -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    quietly(lambda: write(x))
    with pytest.raises(StorageError, match=r"mul\(2,\) saved its operand 'input', .* at version 0, .* at version 1"):
        y.backward()


def test_5_what_was_written_and_not_saved_does_no_harm() -> None:
    x = leaf(1, 2)
    y = (x * 3.0).sum()
    quietly(x.zero_)
    assert slopes(y, x) == [[3, 3]]


def test_6_a_saved_output_may_not_be_written_a_saved_operand_is_another() -> None:
    x = leaf(0, 0)
    y = x.exp()
    y.add_(1.0)
    with pytest.raises(StorageError, match=r"exp\(2,\) saved its output"):
        y.sum().backward()
    y = x.sin()
    y.add_(1.0)
    assert slopes(y, x) == [[1, 1]]


def test_7_a_write_through_a_view_rebases_the_whole() -> None:
    x = leaf(1, 2, 3)
    y = x * 2.0
    y[:2].mul_(10.0)
    assert y.op.name == "put" and y.tolist() == [20, 40, 6] and slopes(y, x) == [[20, 20, 2]]


def test_8_a_view_from_before_the_write_shows_it() -> None:
    x = leaf(1, 2, 3)
    y = x * 2.0
    v = y[:2]
    y.mul_(10.0)
    assert v.tolist() == [20, 40] and slopes(v, x) == [[20, 20, 0]]


def test_9_a_view_of_a_leaf_may_be_written_under_no_grad() -> None:
    x = leaf(1, 2)
    v = x[:1]
    quietly(lambda: v.mul_(2.0))
    assert x.tolist() == [2, 2] and slopes(x * x, x) == [[4, 4]]


def test_10_a_view_that_was_made_under_no_grad_is_not_written_outside() -> None:
    y = leaf(1, 2) * 1.0
    v = quietly(lambda: y[:1])
    for write in (lambda: v.mul_(10.0), lambda: v[:1].zero_(), lambda: v.__setitem__(0, leaf(1)[0])):
        with pytest.raises(GradientError, match=r"view that was made under mg\.no_grad\(\).*make the view outside"):
            write()
    assert y.tolist() == [1, 2] and not v.requires_grad and not (v * 2.0).requires_grad
    # PyTorch refuses this as well; the view is one of y all the same, and the gradient is right.
    b, w = row(1, 2), leaf(10)
    part = quietly(lambda: b[:1])
    part.mul_(w)
    assert slopes(b, w) == [[1]]


def test_11_a_detached_one_shares_the_memory_and_is_no_view() -> None:
    y = leaf(1, 2) * 1.0
    d = y.detach()
    d.zero_()
    assert y.tolist() == [0, 0] and y.storage.version == d.storage.version == 1 and d.base is None


def test_12_a_write_through_detach_is_noticed() -> None:
    y = leaf(1, 2) * 2.0
    z = y * y
    y.detach().zero_()
    with pytest.raises(StorageError, match="version 0"):
        z.sum().backward()


def test_13_a_buffer_tracks_from_a_write_on() -> None:
    b, w = zeros(3), leaf(7)
    b[1] = w[0] * 2.0
    assert b.requires_grad and not b.is_leaf and slopes(b * row(1, 2, 3), w) == [[4]]


def test_14_so_do_the_views_that_were_there_before() -> None:
    b, w = zeros(3), leaf(7)
    v, u = b[:2], b[1:][::-1]
    b[1] = w[0]
    assert v.requires_grad and not v.is_leaf and v.grad_fn is not None
    assert slopes(v * row(1, 5), w) == [[5]] and slopes(u * row(3, 8), w) == [[8]]
    assert not b.detach().requires_grad and not (b.detach()[:2] * 1.0).requires_grad


def test_15_and_the_whole_when_a_view_is_written() -> None:
    b, w = zeros(3), leaf(7)
    v = b[:2]
    v[1] = w[0]
    assert b.requires_grad and slopes(b * row(1, 5, 9), w) == [[5]]


def test_16_a_loop_that_fills_a_buffer() -> None:
    x, out = leaf(2), mg.empty(4, **DTYPE)
    a = x
    for k in range(4):
        out[k] = a[0]
        a = a * x
    assert out.tolist() == [2, 4, 8, 16] and slopes(out, x) == [[49]]


def test_17_shifted_onto_itself() -> None:
    weights = row(1, 10, 100)
    for copy in (lambda t: t.clone(), lambda t: t):  # PyTorch wants the clone
        x = leaf(1, 2, 3)
        y = x * 1.0
        y[1:] = copy(y[:-1])
        assert y.tolist() == [1, 1, 2] and slopes(y * weights, x) == [[11, 100, 0]]


def test_18_data_and_numpy_do_not_write_in_silence() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    x.data.add_(1.0)
    with pytest.raises(StorageError, match="saved its operand"):
        y.backward()
    y = (x * x).sum()
    x.data = row(5, 6)
    assert x.tolist() == [5, 6]
    with pytest.raises(StorageError, match="saved its operand"):
        y.backward()
    with pytest.raises(ValueError, match="read-only"):
        x.detach().numpy()[0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray((x * 2.0).detach())[0] = 9.0
    with pytest.raises(
        ShapeError, match=r"^from_numpy: .* got ndarray float64\(2,\), which is read-only, as x\.detach"
    ):
        mg.from_numpy(x.detach().numpy())
    with pytest.raises(ShapeError, match="which is byte-swapped; copy it with"):
        mg.from_numpy(np.ones(2).byteswap().view(np.dtype("f8").newbyteorder()))
    assert x.numpy(force=True).tolist() == x.tolist()
    free = x.detach().clone().numpy()
    free[0] = 9.0
    assert x.tolist() == [5, 6]


def test_19_what_a_rule_reads_and_the_write_destroys_is_kept() -> None:
    for write, wanted in (
        (lambda y: y.mul_(y), [2 * 3.0, 2 * 0.5]),  # an error in PyTorch, as the next
        (lambda y: y[:1].mul_(y[1:]), [0.5, 3.0 + 1.0]),
        (lambda y: y.sin_(), [np.cos(3.0), np.cos(0.5)]),
        (lambda y: y.mul_(row(2, 4)), [2.0, 4.0]),
    ):
        x = leaf(3, 0.5)
        y = x * 1.0
        write(y)
        assert slopes(y, x)[0] == pytest.approx(wanted)
    x, w = leaf(3), leaf(4)
    y = x * 1.0
    y.mul_(w)
    assert slopes(y, x, w) == [[4], [3]]


def test_20_each_of_several_views_may_be_written() -> None:
    for parts in (lambda y: y.unbind(0), lambda y: y.chunk(2), lambda y: y.split(1)):
        x = leaf(1, 2)
        y = x * 1.0
        parts(y)[0].mul_(2.0)
        assert y.tolist() == [2, 2] and slopes(y, x) == [[2, 1]]
        first = quietly(lambda y=y, parts=parts: parts(y)[0])
        quietly(lambda first=first: first.mul_(5.0))
        with pytest.raises(GradientError, match="was changed in place"):
            y.sum().backward()


def test_21_elements_that_share_memory_are_refused() -> None:
    with pytest.raises(StorageError, match="whose elements share memory"):
        (leaf(1) * 1.0).expand(3).add_(1.0)


def test_22_overlapping_views() -> None:
    x = leaf(1, 2, 3)
    y = x * 1.0
    a, b = y[:2], y[1:]
    a.mul_(2.0)
    assert slopes(b, x) == [[0, 2, 1]]
    b.mul_(3.0)
    assert slopes(y, x) == [[2, 6, 3]] and a.tolist() == [2, 12] and b.tolist() == [12, 9]


def test_23_second_derivatives() -> None:
    x = leaf(2)
    y = x * x
    y.mul_(x)
    first = mg.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [12] and slopes(first, x) == [[12]]
    x = leaf(2, 3)
    y = x * x
    y[0:1].mul_(x[0:1])
    first = mg.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [12, 6] and slopes(first, x) == [[12, 2]]


def test_24_a_mask_and_an_index_tensor() -> None:
    x, v = leaf(1, 2, 3), leaf(10, 20)
    y = x * 1.0
    y[mg.tensor([True, False, True], device="reference")] = v
    assert y.tolist() == [10, 2, 20] and slopes(y * y, x, v) == [[0, 4, 0], [20, 40]]
    y = x * 1.0
    y[[0, 0]] = v
    assert y.tolist() == [20, 2, 3]
    assert slopes(y, x, v) == [[0, 1, 1], [0, 1]], "the last write stands; in PyTorch both have a gradient of 1"


def test_25_a_write_beside_a_saved_part_keeps_it_and_old_uses_keep_their_gradient() -> None:
    for part in (1, slice(0, 1), slice(None)):  # only the first is beside the element that is saved
        x = leaf(1, 2)
        y = x * 1.0
        z = (y[:1] * y[:1]).sum()
        y[1] = 7.0
        y[part] = 7.0
        if part == 1:
            assert slopes(z + y.sum(), x) == [[3, 0]]
        else:
            with pytest.raises(StorageError, match="saved its operand"):
                z.backward()
    x = leaf(1, 2)
    y = x * 1.0
    old = y.sum()
    y.mul_(5.0)
    assert slopes(old + y.sum(), x) == [[6, 6]]


# ---- what else a write may be ----------------------------------------------------------------------------------------


def test_what_is_overwritten_as_a_whole_is_no_longer_reached() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = x * 1.0
    y.copy_(w * w)
    first, second = mg.grad(y.sum(), (x, w), allow_unused=True)
    assert first is None and second.tolist() == [6, 8]
    y = x * 1.0
    y.zero_()
    assert y.requires_grad
    y.sum().backward()
    assert x.grad is None
    y[0] = w[1]
    assert slopes(y, w) == [[0, 1]]


def test_a_whole_write_mends_what_a_write_under_no_grad_has_cut() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = x * 1.0
    quietly(y.zero_)
    y[...] = w
    assert slopes(y, w) == [[1, 1]]
    quietly(y.zero_)
    y[0] = w[0]
    with pytest.raises(GradientError, match=r"the result of put\(2,\) was changed in place"):
        y.sum().backward()


def test_a_write_that_saved_its_result_gets_a_copy_when_the_next_one_comes() -> None:
    x, w = leaf(0.5, 2), leaf(3, 4)
    y = x * 1.0
    y.exp_().div_(w).mul_(2.0)
    y[:1].tanh_()
    first = mg.grad(y.sum(), (x, w), create_graph=True)
    u = np.array([2 * np.exp(0.5) / 3, np.e**2 / 2])
    inner = np.array([1 - np.tanh(u[0]) ** 2, 1.0])
    assert first[0].tolist() == pytest.approx(inner * u) and first[1].tolist() == pytest.approx(-inner * u / [3, 4])
    y = (x * 1.0).exp_()
    with mg.no_grad():
        y.add_(1.0)
    with pytest.raises((GradientError, StorageError), match="changed in place"):
        y.sum().backward()


def test_out_forms_are_recorded() -> None:
    x, buffer = leaf(1, 2), zeros(2)
    assert mg.exp(x, out=buffer) is buffer
    assert slopes(buffer, x)[0] == pytest.approx([np.e, np.e**2])
    y = x * 2.0
    mg.mul(x, x, out=y[::-1])
    assert y.tolist() == [4, 1] and slopes(y * row(1, 10), x) == [[20, 4]]


def test_values_are_cast_into_the_buffer_and_gradients_back() -> None:
    w = leaf(1.5, 2.5)
    b = mg.zeros(2, dtype="float32", device="reference")
    b[:] = w
    b[0] = w[1] * 2.0
    g = mg.grad((b * b).sum(), w)
    assert b.dtype is mg.float32 and g.dtype is mg.float64 and g.tolist() == [0, 25]


def test_nothing_is_lost_in_integers_or_in_lists() -> None:
    w, b = leaf(1, 2), mg.zeros(2, dtype="int64", device="reference")
    for write in (lambda: b.__setitem__(0, w[0]), lambda: b.copy_(w), lambda: b.fill_(w[0])):
        with pytest.raises(GradientError, match=r"would lose these gradients; write x\.detach\(\)"):
            write()
    b.copy_(w.detach())
    with pytest.raises(GradientError, match=r"would be lost; join the values with mg\.stack"):
        zeros(2)[:] = [w[0], w[1]]
    assert b.tolist() == [1, 2]
    flags = mg.zeros(2, dtype="bool", device="reference")
    mg.gt(w, 1.5, out=flags)  # a comparison passes none to begin with
    assert flags.tolist() == [False, True]


def test_scalars_and_no_elements() -> None:
    x = mg.Var(3.0, **DTYPE)
    y = x * 1.0
    y.mul_(y)
    y[...] = y + x
    y.fill_(y * 2.0)
    assert y.item() == 24.0 and mg.grad(y, x).item() == 2 * (2 * 3 + 1)
    v = mg.Var(np.zeros((0, 2)), device="reference")
    e = v * 1.0
    e.add_(1.0)
    e[:, 0] = 5.0
    assert e.sum().backward()[v].shape == (0, 2)


def test_a_buffer_that_lies_otherwise_than_row_by_row() -> None:
    base = mg.tensor(np.arange(6.0).reshape(2, 3), device="reference").T.detach()
    below, w = base[1:], leaf(7, 8)
    base[1] = w
    base[0, 0] = w[0] * 2.0
    assert base.tolist() == [[14, 3], [7, 8], [2, 5]]
    assert slopes(base * mg.tensor([[1, 2], [3, 4], [5, 6]], **DTYPE), w) == [[5, 4]] and slopes(below, w) == [[1, 1]]


def test_a_buffer_that_begins_elsewhere_in_memory() -> None:
    part = zeros(3, 3).T[1:].detach()
    w = leaf(1, 2, 3)
    part[0] = w * 2.0
    part.mul_(3.0)
    assert part.tolist() == [[6, 12, 18], [0, 0, 0]]
    assert slopes(part * part, w) == [[72, 144, 216]]


class Shown(mg.Function):
    """Twice its operand, as a view that `show` returns."""

    @staticmethod
    def forward(ctx: Any, x: Any, show: Any) -> Any:
        ctx.show = show
        return show(x * 2.0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = mg.zeros(2, 3, dtype=g.dtype, device=g.device)
        ctx.show(x).copy_(g * 2.0)
        return x, None


def test_a_result_in_another_order_can_be_written() -> None:
    x = mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **DTYPE)
    y = Shown.apply(x, lambda y: y.T)
    y[0].mul_(3.0)
    y[1:, 1] = x[0, 1:]
    assert y.tolist() == [[6, 24], [4, 2], [6, 3]]
    assert slopes(y * mg.tensor([[1, 2], [3, 4], [5, 6]], **DTYPE), x) == [[[6, 10, 16], [12, 0, 0]]]


def test_a_result_with_gaps_is_not_written() -> None:
    y = Shown.apply(mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **DTYPE), lambda y: y[:, ::2])
    with pytest.raises(
        StorageError, match=r"mul_: cannot write into float64\(2, 2\) with strides \(3, 2\), whose layout"
    ):
        y.mul_(3.0)


def test_copies_of_the_object_are_views_of_one_memory() -> None:
    import copy

    x = leaf(1, 2)
    y = x * 1.0
    twin = copy.copy(y)
    y.mul_(3.0)
    assert slopes(twin, x) == [[3, 3]]
    with pytest.raises(GradientError, match="deepcopy"):
        copy.deepcopy(twin)


def test_a_value_keeps_the_history_that_it_had_when_it_was_saved() -> None:
    x = leaf(2)
    y = x * 3.0
    z = y * y
    y.detach_()
    first = mg.grad(z, x, create_graph=True)
    assert first.tolist() == [36] and slopes(first, x) == [[18]]


def test_hooks_stay_with_the_value_that_they_were_registered_on() -> None:
    x, seen = leaf(1), []
    y = x * 1.0
    v = y[:1]
    y.register_hook(lambda g: seen.append(("A", g.item())))
    v.register_hook(lambda g: seen.append(("v", g.item())))
    y.mul_(5.0)
    y.register_hook(lambda g: seen.append(("B", g.item())))
    (y.sum() + v.sum()).backward()
    assert seen == [("B", 2.0), ("A", 10.0)] and x.grad.tolist() == [10]


# ---- in functions that are transformed -------------------------------------------------------------------------------


def filled(x: Any) -> Any:
    b = zeros(3)
    v = b[:2]
    b[0] = x[0] * x[1]
    b[1:].copy_(x)
    b.mul_(b)
    return v


def test_a_function_that_writes_into_its_own_tensors_is_differentiated() -> None:
    x = row(2, 3)
    assert mg.func.grad(lambda x: filled(x).sum())(x).tolist() == [2 * 6 * 3 + 4, 2 * 6 * 2]
    assert mg.func.jacrev(filled)(x).tolist() == [[36, 24], [4, 0]]
    outer = leaf(2, 3)
    g = mg.func.grad(lambda x: filled(x).sum())(outer)
    assert slopes(g, outer) == [[18 + 24 + 2, 24 + 8]]
    x.numpy()[0] = 5.0  # it was no leaf, for a while only
    assert x.tolist() == [5, 3] and not x.requires_grad


def test_a_function_that_writes_into_its_input_is_refused() -> None:
    def greedy(x: Any) -> Any:
        x[:1].mul_(2.0)
        return x.sum()

    for x, message in ((row(2, 3), "a view of a Var"), (leaf(2, 3), "is an input of a transform"),
                       (leaf(2, 3) * 1.0, "is an input of a transform")):  # fmt: skip
        with pytest.raises(GradientError, match=message):
            mg.func.grad(greedy)(x)
        assert x.tolist() == [2, 3]
