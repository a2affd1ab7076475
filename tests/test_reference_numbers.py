"""Numbers that other systems state about themselves, held against minigrad.

They come from the tests of simple-tensor (computed with PyTorch there) and of candle, and from the figures of two
texts on how PyTorch is built.  Where a number follows from two lines of arithmetic, the comment has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.layout import MultipleBlocks, SingleBlock, UniformBlocks, merge
from minigrad.core.shape import broadcast_shapes
from minigrad.core.strides import stretched_strides
from minigrad.errors import DeviceError, DTypeError, IndexOutOfRange, ShapeError

ONE_TO_TWELVE = [float(n) for n in range(1, 13)]
TENS_AND_ONE = [10.0 * n + 1.0 for n in range(1, 13)]


# Numbers of a user are float32: these tests see them from compiled kernels always, the others with --full.
IN_FLOAT32 = (
    "test_simple_grad_is_two_x_plus_five",
    "test_products_of_simple_tensor",
    "test_two_steps_of_gradient_descent_with_momentum",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """On `cpu` use float64, which the op table compiles anyway; a rule does not see which of the two it is."""
    if "device" in metafunc.fixturenames:
        both = metafunc.config.getoption("full") or metafunc.definition.name in IN_FLOAT32
        devices = ["cpu-float64", *["cpu-float32"] * both, "reference-float32"]
        metafunc.parametrize("device", devices, indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every tensor of the test lives there, and its numbers are of that dtype."""
    before = mg.default_device(), mg.default_float()
    name, dtype = request.param.split("-")
    mg.set_default_device(name)
    mg.set_default_float(dtype)
    yield name
    mg.set_default_device(before[0])
    mg.set_default_float(before[1])


def rounded(x: Any, want: Any, digits: float = 4) -> None:
    """x, rounded to so many digits behind the point, is `want`."""
    want = np.asarray(want)
    assert x.shape == want.shape
    np.testing.assert_allclose(x.detach().numpy(), want, rtol=0, atol=0.51 * 10.0**-digits)


def counted(*shape: int) -> Any:
    """0, 1, 2, ... in a shape."""
    return mg.arange(int(np.prod(shape)), dtype=mg.default_float()).reshape(*shape)


# ---- layouts: the figures of the texts ------------------------------------------------------------------------------


def test_strides_of_a_fresh_tensor_are_the_products_of_the_later_sizes(device: str) -> None:
    t = counted(2, 3, 4)
    assert (t.strides, t.offset, t.numel(), t.is_contiguous()) == ((12, 4, 1), 0, 24, True)
    assert t.flatten().tolist() == list(range(24))


def test_an_element_lies_at_offset_plus_indices_times_strides(device: str) -> None:
    t = counted(5, 6, 7)[1:, ::2, 6:0:-3]
    for i, j, k in np.ndindex(t.shape):
        at = t.offset + i * t.strides[0] + j * t.strides[1] + k * t.strides[2]
        assert t[i, j, k].item() == at == t.storage[at]


def test_reading_an_element_checks_count_and_range(device: str) -> None:
    t = counted(2, 3, 4)
    assert t[1, 2, 3].item() == 23.0
    with pytest.raises(IndexOutOfRange, match=r"index: at most 3 indices are allowed for float\d\d\(2, 3, 4\), got 4"):
        t[0, 0, 0, 0]
    with pytest.raises(IndexOutOfRange, match=r"index 3 is out of range for dim 1 of size 3"):
        t[:, 3, :]
    with pytest.raises(ShapeError, match=r"item: expected a tensor of one element, got float\d\d\(3, 4\)"):
        t[0].item()


def test_the_int32_matrix_of_the_stride_demo(device: str) -> None:
    t = mg.tensor([[1, 2], [3, 4]], dtype="int32")
    assert t.strides == (2, 1) and t.dtype.itemsize == 4
    row, column = t[1, :], t[:, 0]
    assert (row.offset, row.tolist()) == (2, [3, 4])
    assert (column.strides, column.tolist()) == ((2,), [1, 3])
    assert row[0].data_ptr() == t.data_ptr() + 2 * 4
    column[1] = 30
    assert t.tolist() == [[1, 2], [30, 4]], "a write to a view is a write to what it shows"


def test_transpose_swaps_two_dims_and_permute_orders_all(device: str) -> None:
    t = counted(2, 3, 4)
    n = t.transpose(0, 1)
    assert (n.shape, n.strides) == ((3, 2, 4), (4, 12, 1))
    assert all(n[i, j, k].item() == t[j, i, k].item() for i, j, k in np.ndindex(3, 2, 4))
    assert t.permute(2, 0, 1).strides == (1, 12, 4)
    with pytest.raises(ShapeError, match=r"permute: dims \(0, 1\) must name each of the 3 dims"):
        t.permute(0, 1)


def test_view_takes_contiguous_tensors_only_and_contiguous_copies(device: str) -> None:
    t = mg.rand(3, 4).transpose(1, 0)
    with pytest.raises(ShapeError, match=r"view: .*without a copy"):
        t.view(3, 4)
    with pytest.raises(ShapeError, match=r"view: cannot view float\d\d\(4, 3\) of 12 elements to \(5, 5\)"):
        t.view(5, 5)
    c = t.contiguous()
    assert c.storage is not t.storage and c.strides == (3, 1) and c.tolist() == t.tolist()
    assert c.view(3, 4).storage is c.storage


def test_an_index_drops_its_dim_and_moves_the_offset(device: str) -> None:
    v = counted(2, 3, 4)[:, 2, :]
    assert (v.shape, v.strides, v.offset) == ((2, 4), (12, 1), 8)
    assert v.tolist() == [[8, 9, 10, 11], [20, 21, 22, 23]]


def test_a_slice_keeps_the_strides_and_moves_the_offset(device: str) -> None:
    v = counted(2, 3, 4)[:, 1:3, :]
    assert (v.shape, v.strides, v.offset) == ((2, 2, 4), (12, 4, 1), 4)


def test_three_by_six_narrowed_to_three_by_four(device: str) -> None:
    a = mg.tensor([[10 * i + j for j in range(6)] for i in range(3)])
    b = a.narrow(1, 0, 4)
    assert (b.shape, b.strides, b.is_contiguous()) == ((3, 4), (6, 1), False)
    assert b.tolist() == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
    assert b.storage.numel > b.numel()
    assert b.contiguous().strides == (4, 1)


def test_dims_of_size_one_do_not_decide_contiguity() -> None:
    assert mg.Layout.make((1, 3), (99, 1)).is_contiguous
    assert not mg.Layout.make((2, 3), (99, 1)).is_contiguous
    gaps = mg.Layout.make((2, 3, 4), (99, 4, 1))
    assert gaps.is_contiguous_range(1, 2) and not gaps.is_contiguous_range(0, 2)


def test_twenty_four_elements_are_four_by_six_or_two_by_three_by_four(device: str) -> None:
    flat = counted(24)
    assert flat.view(4, 6)[3, 5].item() == flat.view(2, 3, 4)[1, 2, 3].item() == 23.0
    row = flat.view(4, 6)[2]
    assert (row.offset, row.shape, row.storage is flat.storage) == (12, (6,), True)


def test_adjacent_dims_merge_where_memory_allows() -> None:
    narrowed = mg.Layout.contiguous((3, 3, 4, 3)).narrow(2, 0, 3)
    assert merge([narrowed]) == ((9, 9), ((12, 1),))
    assert merge([mg.Layout.make((2, 2), (4, 1))]) == ((2, 2), ((4, 1),))
    a = mg.Layout.contiguous((32, 630, 12, 32))
    b = mg.Layout.contiguous((32, 1, 1, 32)).expand(a.shape)
    assert merge([a, b]) == ((32, 7560, 32), ((241920, 32, 1), (32, 0, 1)))


def test_blocks_of_memory_are_found() -> None:
    whole = mg.arange(24).reshape(2, 3, 4)
    assert whole.layout.strided_blocks() == SingleBlock(0, 24)
    assert mg.arange(26)[2:].reshape(2, 3, 4).layout.strided_blocks() == SingleBlock(2, 24)
    assert whole[1].layout.strided_blocks() == SingleBlock(12, 12)
    assert whole[:, 1].layout.strided_blocks() == UniformBlocks(4, 4, 2, 12)
    columns, swapped = whole.mT.layout.strided_blocks(), whole.transpose(0, 1).layout.strided_blocks()
    assert isinstance(columns, MultipleBlocks) and columns.block_len == 1
    assert list(columns) == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23]
    assert isinstance(swapped, MultipleBlocks) and swapped.block_len == 4
    assert list(swapped) == [0, 12, 4, 16, 8, 20]


def test_reordered_dims_read_the_same_numbers_in_another_order(device: str) -> None:
    t = counted(2, 3, 4)
    assert t.mT.tolist() == [[[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]],
                             [[12, 16, 20], [13, 17, 21], [14, 18, 22], [15, 19, 23]]]  # fmt: skip
    flat = t.transpose(0, 1).flatten()
    assert flat.tolist() == [*range(4), *range(12, 16), *range(4, 8), *range(16, 20), *range(8, 12), *range(20, 24)]
    assert t[1:].transpose(0, 1).tolist() == [[[12, 13, 14, 15]], [[16, 17, 18, 19]], [[20, 21, 22, 23]]]
    assert t.transpose(0, 2).contiguous()[0].tolist() == [[0, 12], [4, 16], [8, 20]]


def test_shapes_broadcast_from_the_right() -> None:
    assert broadcast_shapes("add", (8, 1, 6, 1), (7, 1, 5)) == (8, 7, 6, 5)
    assert stretched_strides((3, 1), (1, 1), (2, 3, 4)) == (0, 1, 0)
    with pytest.raises(ShapeError, match=r"add: shapes \(2,\) and \(3,\) do not broadcast"):
        broadcast_shapes("add", (2,), (3,))


def test_simple_tensors_left_aligned_sum_needs_a_reshape_here(device: str) -> None:
    t1 = mg.tensor(ONE_TO_TWELVE)
    t6, t7, t8 = t1.view(2, 1, 1, 2, 3), t1.view(2, 2, 1, 1, 3), t1.view(2, 2, 3)
    with pytest.raises(ShapeError, match="broadcast"):
        t7 + t1.view(3, 4)
    wide = t8.view(2, 2, 3, 1, 1)  # what aligning from the left means
    t9 = (t6 + t7) - (t6 * wide) + (t6 - wide)
    assert t9.shape == (2, 2, 3, 2, 3)
    for i, j, k, m, n in np.ndindex(t9.shape):
        a, b, c = (x.item() for x in (t6[i, 0, 0, m, n], t7[i, j, 0, 0, n], t8[i, j, k]))
        assert t9[i, j, k, m, n].item() == a + b - a * c + a - c


def test_squeeze_and_unsqueeze_and_permute_of_five_dims(device: str) -> None:
    t4 = mg.tensor(ONE_TO_TWELVE).view(3, 2, 2)
    t5 = t4.unsqueeze(0).unsqueeze(2)
    assert t5.shape == (1, 3, 1, 2, 2) and t5.squeeze().tolist() == t4.tolist()
    t7 = t5.permute(0, 2, 3, 4, 1)
    assert t7.shape == (1, 1, 2, 2, 3) and t7[0, 0].tolist() == t4.permute(1, 2, 0).tolist()


def test_transposing_then_contiguous_reorders_the_storage(device: str) -> None:
    t = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (t.shape, t.strides) == ((2, 3), (3, 1))
    c = t.transpose(0, 1).contiguous()
    assert [c.storage[k] for k in range(6)] == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    assert t.reshape(3, 2).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert t.unsqueeze(0).shape == (1, 2, 3) and t.unsqueeze(0).squeeze(0).shape == (2, 3)


def test_bfloat16_keeps_eight_bits_of_a_number(device: str) -> None:
    t = mg.tensor([1.0, 1.00390625, 1.0078125, 3.14159265, 65504.0, 1e38], dtype="bfloat16")
    # 1 + 2**-8 lies halfway and goes to the even neighbour; pi is 3 + 9/64; 1e38 would be inf in float16.
    assert t.tolist()[:5] == [1.0, 1.0, 1.0078125, 3.140625, 65536.0]
    assert abs(t[5].item() / 1e38 - 1.0) < 2.0**-8


def test_zeros_travel_between_devices(device: str) -> None:
    other = "reference" if device == "cpu" else "cpu"
    z = mg.zeros(2, 3).to(other)
    assert str(z.device) == other and z.to(device).tolist() == [[0.0] * 3] * 2


# ---- indexing -------------------------------------------------------------------------------------------------------


def test_integers_select(device: str) -> None:
    t = counted(2, 3)
    assert t[1].tolist() == [3, 4, 5] and t[:, 2].tolist() == [2, 5]
    t = counted(2, 3, 4)
    assert [t[0, 0, 0].item(), t[1, 0, 0].item(), t[0, 1, 0].item(), t[0, 1, 3].item()] == [0, 12, 4, 7]
    assert t[0:2, 0, 0].tolist() == [0, 12]
    assert t[0:2, :, 0].tolist() == [[0, 4, 8], [12, 16, 20]]
    assert t[:2, :, 3].tolist() == [[3, 7, 11], [15, 19, 23]]
    assert t[1, :, 3].tolist() == [15, 19, 23]
    assert t[1].storage is t.storage and t[1].offset == t.narrow(0, 1, 1).squeeze(0).offset == 12


def test_ranges_of_rows(device: str) -> None:
    t = counted(4, 3)
    rows = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert t[1:3].tolist() == rows[1:3] and t[2:].tolist() == rows[2:]
    assert t[:2].tolist() == rows[:2] and t[:1].tolist() == rows[:1]
    assert t[1:1].shape == t[1:0].shape == (0, 3) and t[1:0].tolist() == []


def test_steps_forward_and_backward(device: str) -> None:
    t = counted(11)
    assert t[::2].tolist() == [0, 2, 4, 6, 8, 10] and t[1::2].tolist() == [1, 3, 5, 7, 9]
    assert t[::-1].tolist() == list(range(10, -1, -1)) and t[:5].flip(0).tolist() == [4, 3, 2, 1, 0]


def test_assigning_to_a_region(device: str) -> None:
    t = counted(4, 5)
    t[1:4, 3:5] = counted(3, 2)
    assert t[1:].tolist() == [[5, 6, 7, 0, 1], [10, 11, 12, 2, 3], [15, 16, 17, 4, 5]]
    t = counted(4, 5)
    t[0:3, 0:2] = counted(3, 2)
    assert t[:3].tolist() == [[0, 1, 2, 3, 4], [2, 3, 7, 8, 9], [4, 5, 12, 13, 14]]


def test_constants_written_through_views(device: str) -> None:
    t = mg.zeros(3, 4)
    t.fill_(42.0)
    t[:, 2].fill_(1337.0)
    t[2, :].fill_(1.0)
    assert t.tolist() == [[42.0, 42.0, 1337.0, 42.0], [42.0, 42.0, 1337.0, 42.0], [1.0, 1.0, 1.0, 1.0]]


def test_the_index_forms_of_candles_python_binding(device: str) -> None:
    t = counted(12, 12)
    assert t[-1].tolist() == list(range(132, 144))
    assert t[-4:-2].tolist() == t[8:10].tolist()
    assert t[..., 0].tolist() == list(range(0, 144, 12))
    assert t[:, None, None, :].shape == (12, 1, 1, 12)
    assert t[[0, 2]].tolist() == [t[0].tolist(), t[2].tolist()]
    assert t[:, mg.tensor([0, 2])].tolist() == [[12.0 * i, 12.0 * i + 2.0] for i in range(12)]


def test_a_comparison_that_broadcasts_is_a_causal_mask(device: str) -> None:
    t = mg.tensor([0, 1, 2])
    mask = t < (t + 1).reshape(3, 1)
    assert mask.dtype is mg.bool
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


# ---- matrix products ------------------------------------------------------------------------------------------------


def test_small_products(device: str) -> None:
    m = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (m @ m).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    half = m.to("bfloat16")
    assert (half @ half).float().tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert (mg.tensor([[1.0], [2.0]]) @ mg.tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0], [6.0, 8.0]]
    assert (counted(2, 3) @ (counted(3, 2) + 2.0)).tolist() == [[16.0, 19.0], [52.0, 64.0]]


def test_batches_give_the_same_for_every_order_of_the_operands_memory(device: str) -> None:
    a, b = counted(2, 2, 3), counted(2, 3, 2) + 2.0
    at, bt = a.mT.contiguous().mT, b.mT.contiguous().mT
    assert (at.strides, bt.strides) == ((6, 1, 2), (6, 1, 3)) and not at.is_contiguous()
    for x in (a, at):
        for y in (b, bt):
            assert (x @ y).tolist() == [[[16.0, 19.0], [52.0, 64.0]], [[214.0, 235.0], [304.0, 334.0]]]


def test_batch_dims_broadcast(device: str) -> None:
    mg.manual_seed(0)
    a, b = mg.randn(3, 1, 4, 5), mg.randn(6, 5, 2)
    y = a @ b
    assert y.shape == (3, 6, 4, 2)
    for i, j in np.ndindex(3, 6):
        assert (y[i, j] - a[i, 0] @ b[j]).square().sum().item() < 1e-6


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 6, 4, 5), (1, 1, 5), "transposed"])
def test_a_matrix_on_the_right_meets_every_batch(device: str, shape: Any) -> None:
    a = counted(3, 5, 4).mT if shape == "transposed" else counted(*shape)
    w = counted(5, 2)
    np.testing.assert_allclose((a @ w).numpy(), a.numpy() @ w.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "left, right, result",
    [((2, 0), (0, 3), (2, 3)), ((0, 2), (2, 3), (0, 3)), ((2, 3), (3, 0), (2, 0)), ((0, 2, 3), (0, 3, 4), (0, 2, 4)),
     ((2, 3, 0), (2, 0, 4), (2, 3, 4))],
)  # fmt: skip
def test_products_over_nothing_are_zeros_with_zero_gradients(device: str, left: Any, right: Any, result: Any) -> None:
    a, b = mg.zeros(left, requires_grad=True), mg.zeros(right, requires_grad=True)
    y = a @ b
    assert y.shape == result and not np.any(y.detach().numpy())
    grads = y.sum().backward()
    for x in (a, b):
        assert grads[x].shape == x.shape and not np.any(grads[x].numpy())


def test_a_product_over_nothing_of_a_view_is_zeros(device: str) -> None:
    a, b = mg.zeros(3, 2, 0).permute(1, 2, 0), mg.zeros(0, 2, 3).permute(1, 2, 0)
    assert (a.shape, b.shape) == ((2, 0, 3), (2, 3, 0))
    assert (a @ b).shape == (2, 0, 0) and (b @ a).tolist() == [[[0.0] * 3] * 3] * 2


def test_a_row_of_a_batch_times_a_transposed_weight(device: str) -> None:
    a, w = mg.zeros(1, 8, 16), mg.zeros(32, 16)
    assert (a[:, 7, :] @ w.T).shape == (1, 32)


def test_odd_strides_of_dims_of_size_one_do_not_matter(device: str) -> None:
    a, b = counted(1, 1, 4, 4), counted(1, 1, 4, 2)
    odd = b.transpose(1, 2).contiguous().transpose(1, 2)
    odd = odd.as_strided((1, 1, 4, 2), (8, 77, 2, 1))
    assert (a @ odd).tolist() == (a @ b).tolist()


def test_checks_come_in_the_order_device_dtype_shape() -> None:
    a, b = mg.ones(2, 3, dtype="bool"), mg.ones(4, 5, dtype="bool")
    with pytest.raises(DeviceError, match="sub"):
        a - b.to("reference")
    with pytest.raises(DTypeError, match=r"sub: got bool\(2, 3\), bool\(4, 5\)"):
        a - b
    with pytest.raises(ShapeError, match="sub"):
        a.float() - b.float()
    with pytest.raises(DeviceError, match="matmul"):
        a @ b.to("reference")
    with pytest.raises(ShapeError, match=r"matmul: bool\(2, 3\) @ bool\(4, 5\)"):
        a @ b


def test_dot_and_mv_and_norm(device: str) -> None:
    assert mg.tensor([1.0, 2.0, 3.0]).dot(mg.tensor([4.0, 5.0, 6.0])).item() == 32.0
    assert mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).mv(mg.ones(3)).tolist() == [6.0, 15.0]
    assert mg.tensor([[3.0, 4.0], [0.0, 0.0]]).norm().item() == 5.0


def test_products_of_simple_tensor(device: str) -> None:
    t1, t2 = mg.tensor(ONE_TO_TWELVE).view(2, 6), mg.tensor(TENS_AND_ONE).view(2, 6)
    assert (t1 @ t2.transpose(0, 1)).mT.tolist() == [[931.0, 2227.0], [2191.0, 5647.0]]
    assert (t1.view(3, 2, 2) @ t2.view(3, 2, 2)).mT.tolist() == [
        [[73.0, 157.0], [103.0, 227.0]], [[681.0, 925.0], [791.0, 1075.0]], [[1929.0, 2333.0], [2119.0, 2563.0]],
    ]  # fmt: skip


# ---- gradients: simple-tensor ---------------------------------------------------------------------------------------


def test_gradients_of_views_of_one_leaf_add_up(device: str) -> None:
    t0 = mg.Var(mg.tensor(ONE_TO_TWELVE).view(3, 4))
    t0.view(2, 2, 3)[..., 1:3][:, 1].backward()
    assert t0.grad.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
    t0.view(3, 2, 2).transpose(0, 1)[0:1].permute(1, 2, 0).backward()
    assert t0.grad.tolist() == [[1, 1, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1]]


def test_a_sum_a_product_and_a_difference_of_two_leaves(device: str) -> None:
    t0, t1 = (mg.Var(mg.tensor(ONE_TO_TWELVE).view(3, 4)) for _ in range(2))
    t2 = t0 + t1
    grads = (t0 * -t2 - t2).backward()
    # y = -t0 (t0 + t1) - t0 - t1: dy/dt0 = -2 t0 - t1 - 1 = -3n - 1, dy/dt1 = -t0 - 1 = -n - 1.
    assert grads[t0].flatten().tolist() == [-3.0 * n - 1.0 for n in range(1, 13)]
    assert grads[t1].flatten().tolist() == [-n - 1.0 for n in range(1, 13)]


def test_broadcast_operands_get_the_sum_of_their_gradients(device: str) -> None:
    t0, t1 = mg.Var(mg.tensor(ONE_TO_TWELVE).view(1, 3, 4)), mg.Var(mg.tensor(ONE_TO_TWELVE).view(3, 1, 4))
    grads = ((t0 + t1) * t0 - t1).backward()
    assert grads[t0].tolist() == [[[21, 30, 39, 48], [45, 54, 63, 72], [69, 78, 87, 96]]]
    assert grads[t1].tolist() == [[[12, 15, 18, 21]]] * 3


def test_gradients_of_a_product_and_of_a_batch_of_products_add_up(device: str) -> None:
    t1, t2 = mg.Var(mg.tensor(ONE_TO_TWELVE).view(2, 6)), mg.Var(mg.tensor(TENS_AND_ONE).view(2, 6))
    (t1 @ t2.transpose(0, 1)).backward()
    (t1.view(3, 2, 2) @ t2.view(3, 2, 2)).backward()
    assert t1.grad.tolist() == [[114, 174, 154, 214, 274, 334], [194, 254, 314, 374, 354, 414]]
    assert t2.grad.tolist() == [[12, 14, 18, 20, 28, 30], [22, 24, 32, 34, 38, 40]]


NUMERIC = [[0.585639, 0.612628, 0.241485, 0.097616], [0.035854, 0.723054, 0.131163, 0.884268],
           [0.193597, 0.694748, 0.650687, 0.738797]]  # fmt: skip
SIGNED = [[[0.096237, -0.037, 0.028076], [0.328307, 0.122271, -0.017293]],
          [[0.150791, 0.421008, 0.322066], [-0.321352, 0.319534, -0.424081]]]  # fmt: skip


def negative_log_likelihood(log_probabilities: Any, labels: list[int]) -> Any:
    return -log_probabilities.gather(1, mg.tensor(labels).reshape(-1, 1)).squeeze(1)


def test_log_softmax_and_its_gradient_through_a_gather(device: str) -> None:
    x = mg.Var(NUMERIC)
    y = x.log_softmax(1)
    rounded(y, [[-1.208965, -1.181976, -1.553119, -1.696988], [-1.860054, -1.172853, -1.764744, -1.011639],
                [-1.784239, -1.283088, -1.327148, -1.239038]], 5)  # fmt: skip
    loss = negative_log_likelihood(y, [2, 0, 3])
    rounded(loss, [1.553119, 1.860054, 1.239038], 5)
    rounded(loss.backward()[x], [[0.2985, 0.3067, -0.7884, 0.1832], [-0.8443, 0.3095, 0.1712, 0.3636],
                                 [0.1679, 0.2772, 0.2652, -0.7103]])  # fmt: skip


def test_means_and_extremes_of_activations(device: str) -> None:
    x = mg.Var(SIGNED)
    m = x.relu().sigmoid().mean(1)
    rounded(m, [[0.552694, 0.515265, 0.503509], [0.518813, 0.591467, 0.539914]], 5)
    rounded(m.mean(0).mean(0), 0.536944, 5)
    assert x.argmax(1).tolist() == [[1, 1, 0], [0, 0, 0]]
    assert x.max(1).values.tolist() == x.detach().amax(1).tolist()
    rounded(m.max(1).values.backward()[x], [[[0.1247, 0, 0], [0.1217, 0, 0]], [[0, 0.1196, 0], [0, 0.1219, 0]]])


def test_a_long_chain_over_six_broadcast_dims(device: str) -> None:
    t5 = mg.Var(mg.tensor(ONE_TO_TWELVE).view(1, 3, 1, 2, 1, 2))
    t6 = mg.Var(mg.tensor(ONE_TO_TWELVE).view(2, 1, 3, 2, 1, 1))
    t9 = (t5 * t6).mean(0).squeeze().max(0).values.mean(1)
    rounded(t9.detach(), [[45.5, 50.0], [65.5, 72.0], [85.5, 94.0]])
    y = (t5 + t6).sigmoid() - t9.log_softmax(1).view(1, 3, 1, 2, 1, 1)
    grads = y.backward()
    # One more digit would be float32's noise: the value printed as 2.9989 is 2.998951 in float64.
    rounded(grads[t5].view(3, 2, 2), [[[0.1255, 0.0529], [0.0077, 0.0029]], [[0.0029, 0.0011], [0.0001, 0.0001]],
                                      [[-107.3450, 107.3450], [-125.1927, 125.1927]]], 3)  # fmt: skip
    rounded(grads[t6].view(2, 3, 2), [[[3.0877, 2.9434], [3.0158, 2.9923], [3.0022, 2.9989]],
                                      [[2.9345, 2.9341], [2.9911, 2.9910], [2.9988, 2.9988]]], 3.7)  # fmt: skip


def test_a_linear_layer_with_relu_and_log_softmax(device: str) -> None:
    weight = mg.Var([[0.071760, 0.263576, -0.378940, -0.424306, 0.424915],
                     [0.406897, 0.142503, 0.361772, -0.061179, 0.132496],
                     [0.226302, 0.022161, -0.021480, -0.283614, -0.442592],
                     [0.032238, -0.245419, -0.083803, -0.155786, 0.081459],
                     [-0.104956, 0.009876, 0.175388, 0.024486, -0.188793],
                     [0.262046, -0.425379, -0.263474, 0.102063, -0.067243]])  # fmt: skip
    bias = mg.Var([0.053275, 0.057604, -0.233080, 0.186017, -0.003390, 0.101612])
    x = mg.tensor([[0.524644, 0.069943, 0.090128, 0.390283, 0.264224],
                   [0.360333, 0.167909, 0.272388, 0.330552, 0.947953],
                   [0.735467, 0.036351, 0.184947, 0.862948, 0.818394]])  # fmt: skip
    y = (x @ weight.T + bias).relu().log_softmax(1)
    rounded(y, [[-1.892938, -1.590033, -1.914817, -1.775882, -1.914817, -1.707157],
                [-1.672153, -1.522798, -1.954868, -1.795545, -1.954868, -1.932030],
                [-1.929682, -1.472234, -1.956825, -1.839288, -1.956825, -1.693635]], 5)  # fmt: skip
    grads = y.backward()
    rounded(grads[weight], [[0.099457, -0.009920, -0.002108, 0.106735, 0.010422],
                            [-0.505351, -0.081136, -0.173833, -0.514122, -0.659705],
                            [0, 0, 0, 0, 0], [0.027103, 0.001202, 0.008172, 0.035058, 0.037341], [0, 0, 0, 0, 0],
                            [-0.074985, 0.012053, 0.008624, -0.080164, 0.016362]], 5)  # fmt: skip
    rounded(grads[bias], [0.098009, -0.908593, 0.0, 0.034192, 0.0, -0.060508], 5)


def test_cross_entropy_of_a_linear_layer(device: str) -> None:
    weight = mg.Var([[0.332016, 0.383861, -0.039896, -0.286464, 0.069793],
                     [-0.341369, 0.439378, -0.156823, -0.208273, -0.401472],
                     [0.201601, 0.154146, -0.086722, -0.359864, 0.297248]])  # fmt: skip
    bias = mg.Var([-0.240007, 0.322247, -0.051916])
    x = mg.tensor([[0.521807, 0.487334, 0.844843, 0.366452, 0.744550],
                   [0.861821, 0.102663, 0.949307, 0.086492, 0.588144],
                   [0.788253, 0.402394, 0.554831, 0.984794, 0.170077]])  # fmt: skip
    loss = negative_log_likelihood((x @ weight.T + bias).log_softmax(1), [2, 1, 0]).mean()
    rounded(loss, 1.157702, 5)
    grads = loss.backward()
    rounded(grads[weight], [[-0.011948, -0.021014, 0.086070, -0.164264, 0.116384],
                            [-0.080774, 0.065085, -0.098823, 0.123327, -0.059957],
                            [0.092722, -0.044071, 0.012753, 0.040937, -0.056427]], 5)  # fmt: skip
    rounded(grads[bias], [0.012001, -0.047002, 0.035001], 5)


def test_two_steps_of_gradient_descent_with_momentum(device: str) -> None:
    weight = mg.Var(
        [[0.5437, -0.4394, -0.0307], [-0.3073, 0.4709, 0.1285], [-0.0405, 0.5013, -0.3253], [0.4171, -0.2727, -0.3348]]
    )
    bias = mg.Var([0.1618, -0.4150, 0.1099, 0.2695])
    x = mg.tensor([[0.4746, 0.5383, 0.2668], [0.0405, 0.8955, 0.7365]])
    velocity: dict[Any, Any] = {}

    def step() -> None:
        grads = (x @ weight.T + bias).backward()
        with mg.no_grad():
            for p in (weight, bias):
                velocity[p] = grads[p] if p not in velocity else velocity[p] * 0.9 + grads[p]
                p.sub_(velocity[p] * 0.01)

    # The weights above were printed with four digits too, so the fourth may differ by one.
    step()
    rounded(bias, [0.1418, -0.4350, 0.0899, 0.2495])
    rounded(
        weight,
        [[0.5385, -0.4537, -0.0407], [-0.3125, 0.4566, 0.1185], [-0.0457, 0.4870, -0.3354], [0.4119, -0.2871, -0.3448]],
        3.7,
    )
    step()
    rounded(bias, [0.1038, -0.4730, 0.0519, 0.2115])
    rounded(
        weight,
        [[0.5287, -0.4809, -0.0598], [-0.3223, 0.4293, 0.0994], [-0.0555, 0.4597, -0.3544], [0.4022, -0.3143, -0.3639]],
        3.7,
    )


def test_an_expression_outlives_the_names_of_its_parts(device: str) -> None:
    t1, t2 = mg.Var(ONE_TO_TWELVE), mg.Var(ONE_TO_TWELVE)

    def expression() -> Any:
        total, product = t1 + t2, -t1 * t2
        return t1 * t2 - total - product

    y = expression()
    # n*n - 2n + n*n, and both leaves have 2n - 1.
    assert y.tolist() == [2.0 * n * n - 2.0 * n for n in range(1, 13)]
    grads = y.backward()
    assert grads[t1].tolist() == grads[t2].tolist() == [2.0 * n - 1.0 for n in range(1, 13)]


def test_a_view_is_one_more_user_of_the_storage(device: str) -> None:
    t = mg.tensor(ONE_TO_TWELVE)
    counts = [t.storage.use_count()]
    v = t.view(3, 4)
    counts.append(t.storage.use_count())
    del v
    counts.append(t.storage.use_count())
    assert counts == [1, 2, 1]


# ---- gradients: candle ----------------------------------------------------------------------------------------------


def test_simple_grad_is_two_x_plus_five(device: str) -> None:
    x = mg.Var([3.0, 1.0, 4.0])
    y = x * x + x * 5.0 + 4.0
    grads = y.backward()
    assert (y.tolist(), grads[x].tolist(), x.tolist()) == ([28.0, 10.0, 40.0], [11.0, 7.0, 13.0], [3.0, 1.0, 4.0])


@pytest.mark.parametrize("keepdim", [True, False])
def test_sum_of_squares_doubled_has_gradient_four_x(device: str, keepdim: bool) -> None:
    x = mg.Var([3.0, 1.0, 4.0])
    y = x.sqr().sum(0, keepdim=keepdim) * 2.0
    assert y.tolist() == ([52.0] if keepdim else 52.0)
    assert y.backward()[x].tolist() == [12.0, 4.0, 16.0]


def test_expanding_a_middle_dim_threefold_triples_the_gradient(device: str) -> None:
    x = mg.Var(counted(1, 1, 4, 6))
    loss = x.unsqueeze(2).expand(1, 1, 3, 4, 6).sqr().sum_all() * 0.5
    assert loss.backward()[x].flatten().tolist() == [3.0 * n for n in range(24)]


def test_gradients_of_a_batch_of_products(device: str) -> None:
    x, y = mg.Var(counted(2, 2, 3)), mg.Var(counted(2, 3, 2))
    grads = x.matmul(y).backward()
    assert grads[x].tolist() == [[[1, 5, 9]] * 2, [[13, 17, 21]] * 2]
    assert grads[y].tolist() == [[[3, 3], [5, 5], [7, 7]], [[15, 15], [17, 17], [19, 19]]]


def test_a_hundred_steps_of_gradient_descent_end_at_the_same_float(device: str) -> None:
    x = mg.Var(0.0, dtype="float32")
    for _ in range(100):
        c = (x - 4.2) * (x - 4.2)
        x.set(x - c.backward()[x] * 0.1)
    assert np.float32(x.item()) == np.float32(4.199999)


Unary = tuple[str, Callable[[Any], Any], float, list[float], float, list[float]]
UNARY: list[Unary] = [
    ("log plus 1", lambda x: x.log() + 1.0, 4, [2.0986, 1, 2.3863, -0.8971], 4, [0.3333, 1, 0.25, 6.6667]),
    # exp(4) is 54.59815003: the fourth digit hangs on the last bit of a float32.
    ("exp", lambda x: x.exp(), 3.9, [20.0855, 2.7183, 54.5982, 1.1618], 3.9, [20.0855, 2.7183, 54.5982, 1.1618]),
    ("exp squared", lambda x: x.exp().sqr(), 3, [403.429, 7.389, 2980.958, 1.35], 2, [806.86, 14.78, 5961.92, 2.7]),
    ("sin", lambda x: x.sin(), 4, [0.1411, 0.8415, -0.7568, 0.1494], 4, [-0.99, 0.5403, -0.6536, 0.9888]),
    ("cos", lambda x: x.cos(), 4, [-0.99, 0.5403, -0.6536, 0.9888], 4, [-0.1411, -0.8415, 0.7568, -0.1494]),
    ("square", lambda x: x.sqr(), 6, [9, 1, 16, 0.0225], 6, [6, 2, 8, 0.3]),
    ("sqrt of square", lambda x: x.sqr().sqrt(), 6, [3, 1, 4, 0.15], 4, [1, 1, 1, 1]),
    ("neg", lambda x: x.neg(), 6, [-3, -1, -4, -0.15], 6, [-1, -1, -1, -1]),
    ("affine", lambda x: x.affine(0.2, 1.0), 6, [1.6, 1.2, 1.8, 1.03], 6, [0.2, 0.2, 0.2, 0.2]),
    ("1 over x", lambda x: mg.tensor(1.0).broadcast_div(x), 4, [0.3333, 1, 0.25, 6.6667], 5,
     [-0.11111111, -1, -0.0625, -44.444443]),
    ("x over a half", lambda x: x.broadcast_div(mg.tensor(0.5)), 6, [6, 2, 8, 0.3], 6, [2, 2, 2, 2]),
    ("power 2.5", lambda x: x.powf(2.5), 2, [15.59, 1, 32, 0.01], 2, [12.99, 2.5, 20, 0.15]),
    ("tanh", lambda x: x.tanh(), 2, [1, 0.76, 1, 0.15], 2, [0.01, 0.42, 0, 0.98]),
    ("gelu by tanh", lambda x: x.gelu("tanh"), 4, [2.9964, 0.8412, 3.9999, 0.0839], 4, [1.0116, 1.083, 1.0003, 0.6188]),
    ("erf", lambda x: x.erf(), 4, [1, 0.8427, 1, 0.168], 4, [0.0001, 0.4151, 0, 1.1033]),
    ("gelu by erf", lambda x: x.gelu_erf(), 4, [2.9960, 0.8413, 3.9999, 0.0839], 4, [1.0119, 1.0833, 1.0005, 0.6188]),
    ("silu", lambda x: x.silu(), 4, [2.8577, 0.7311, 3.9281, 0.0806], 4, [1.0881, 0.9277, 1.0527, 0.5747]),
]  # fmt: skip


@over("case", UNARY, ids=[case[0].replace(" ", "-") for case in UNARY])
def test_unary_functions_and_their_gradients_at_four_points(device: str, case: Unary) -> None:
    _, function, digits, values, gradient_digits, gradient = case
    x = mg.Var([3.0, 1.0, 4.0, 0.15])
    y = function(x)
    rounded(y, values, digits)
    rounded(y.backward()[x], gradient, gradient_digits)


def test_elu_and_its_gradient(device: str) -> None:
    x = mg.Var([-1.0, 0.0, -2.0, 3.0])
    y = x.elu(2.0)
    rounded(y, [-1.2642, 0.0, -1.7293, 3.0])
    rounded(y.backward()[x], [0.7358, 2.0, 0.2707, 1.0])


def test_leaky_relu_written_with_maximum(device: str) -> None:
    x = mg.Var([3.0, 1.0, -4.0, -1.0])
    y = x.maximum(x * 0.1)
    rounded(y, [3.0, 1.0, -0.4, -0.1], 6)
    rounded(y.backward()[x], [1.0, 1.0, 0.1, 0.1], 6)
    y = x.minimum(x * 0.1)
    rounded(y, [0.3, 0.1, -4.0, -1.0], 6)
    rounded(y.backward()[x], [0.1, 0.1, 1.0, 1.0], 6)


def test_the_minimum_of_x_and_x_is_the_identity(device: str) -> None:
    x = mg.Var([3.0, 1.0, -4.0, -1.0])
    y = x.minimum(x)
    assert y.tolist() == [3.0, 1.0, -4.0, -1.0] and y.backward()[x].tolist() == [1.0] * 4


def test_slice_scatter_gives_each_operand_the_gradient_of_its_part(device: str) -> None:
    x, y = mg.Var([3.0, 1.0, -4.0, -1.0, 5.0, 9.0]), mg.Var([2.0, 7.0, 1.0])
    z = x.reshape(2, 3).slice_scatter(y.reshape(1, 3), 0, 1).sqr()
    assert z.tolist() == [[9.0, 1.0, 16.0], [4.0, 49.0, 1.0]]
    grads = z.backward()
    assert grads[x].tolist() == [6.0, 2.0, -8.0, 0.0, 0.0, 0.0] and grads[y].tolist() == [4.0, 14.0, 2.0]


def test_the_gradient_through_a_flip_is_ones_times_the_flipped_weight(device: str) -> None:
    x, w = mg.ones(2, 2, dtype="float64", requires_grad=True), mg.arange(1.0, 5.0, dtype="float64").reshape(2, 2)
    y = x @ w
    assert y.tolist() == [[4.0, 6.0], [4.0, 6.0]]
    z = y.flip(1)
    assert z.tolist() == [[6.0, 4.0], [6.0, 4.0]]
    assert z.sum().backward()[x].tolist() == (mg.ones(2, 2, dtype="float64") @ w.flip(1).T).tolist() == [[3.0, 7.0]] * 2


def test_constants_get_no_gradient_and_gradients_keep_no_graph(device: str) -> None:
    x = mg.ones(2, 2, dtype="float64", requires_grad=True)
    a, b = mg.ones_like(x), mg.ones_like(x)
    r = x * x + a
    y = r * r + b
    grads = y.backward()
    assert grads.get(a) is None and grads.get(b) is None and list(grads) == [x]
    assert not grads[x].requires_grad
    assert grads[x].tolist() == [[8.0, 8.0]] * 2  # 2 (x*x + 1) * 2x


def test_kinks_and_ties(device: str) -> None:
    x = mg.Var([-1.0, 0.0, 2.0])
    assert x.relu().backward()[x].tolist() == [0.0, 0.0, 1.0]
    assert x.abs().backward()[x].tolist() == [-1.0, 0.0, 1.0]
    t = mg.Var([5.0, 1.0, 5.0])
    assert t.amax().backward()[t].tolist() == [0.5, 0.0, 0.5]
    assert t.max(0).values.backward()[t].tolist() == [1.0, 0.0, 0.0]
    assert t.sum().shape == ()
