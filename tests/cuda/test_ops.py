"""The op table on `device="cuda"`: values in the dtypes and layouts that `selection.py` chooses, all of them with
`--full`; what is elementwise, a cast or a view in every layout, with threads in both orders."""

import contextlib

import numpy as np
import pytest
from backends import test_contract
from cases import over, unless_full
from layouts import LAYOUTS
from op_rows.row import ALL
from op_table import ROWS
from ops import test_forward, test_gradients
from selection import dtype_once_a_family, layout_once_a_family, over_rows
from strided import WAYS

import minigrad as mg
from minigrad.errors import IndexOutOfRange
from minigrad.testing import gradcheck

rows = over_rows(items=80)
LAID = [*LAYOUTS, "broadcast"]


@pytest.fixture(params=["forward", "reverse"])
def order(request, cuda):
    """Blocks, warps and lanes run in this order, where that can be chosen."""
    ordered = getattr(cuda.runtime, "ordered", lambda kind: contextlib.nullcontext())
    with ordered(request.param):
        yield


def by_dtype(row, dtype):
    return dtype in row.dtypes and dtype_once_a_family(row, "cuda", dtype)


def by_layout(row, layout):
    return layout_once_a_family(row, "cuda", layout)


@rows
@unless_full(by_dtype)
@over("dtype", ALL)
def test_every_op_gives_the_right_values(row, dtype):
    if dtype not in row.dtypes:
        pytest.skip(f"{row.name} takes no {dtype}")
    test_forward.test_dtypes(row, "cuda", dtype)


@rows
@unless_full(by_layout)
@over("layout", LAID)
def test_values_do_not_depend_on_the_layout(row, layout):
    test_forward.test_values_do_not_depend_on_the_layout(row, "cuda", layout)


@over("way", WAYS)
@over("shape", [(), (5,), (3, 4), (3, 40), (2, 1, 3), (2, 3, 2, 2, 3)], ids=str)
def test_loops_over_every_layout_with_threads_in_both_orders(order, shape, way):
    a = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    test_contract.hold_elementwise("cuda", mg.schema["sub"], [a, a * 10], way)


# More than a wave of blocks takes at once is done by a second turn of their loops: on the simulator 16,384 float32.
@over("n", [1, 3, 4, 255, 1024, 1027, 17_001])
@over("dtype", ["bool", "uint8", "float16", "bfloat16", "float32", "float64"])
@unless_full(lambda dtype, n: dtype == "float32" or n == 1027)
def test_runs_of_odd_lengths_are_done_to_their_ends(order, dtype, n):
    x = mg.tensor(np.arange(n) % 2, dtype=dtype, device="cuda")
    assert np.float64((x * x).numpy()).sum() == n // 2


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_operands_that_begin_between_two_wide_loads_are_read_narrower(order, shift):
    x = mg.arange(64, dtype="float32", device="cuda")
    part = x.narrow(0, shift, 32)
    assert (part + part).tolist() == [2.0 * (shift + i) for i in range(32)]


def test_broadcast_operands(order):
    test_contract.test_broadcast_operands("cuda")


@over_rows([row for row in ROWS if row.name in ("add", "where")], items=80)
@over("layout", LAID)
def test_operands_in_every_layout_with_threads_in_both_orders(order, row, layout):
    test_forward.test_values_do_not_depend_on_the_layout(row, "cuda", layout)


@pytest.mark.parametrize("name", ["add", "exp", "where", "matmul", "softmax-0"])
def test_gradients_flow_on_it(name):
    for row in test_gradients.SMOOTH:
        if row.name == name:
            gradcheck(row.fn, test_gradients.variables(row, "cuda"), names=test_gradients.names(row))


def test_a_tensor_goes_there_and_back_in_every_layout():
    x = mg.arange(24).reshape(4, 6)
    for view in (x, x.t(), x[::2, 1:4], x.flip(0), x[:1].expand(3, 6)):
        there = view.to("cuda")
        assert str(there.device) == "cuda:0" and there.tolist() == view.tolist()
        assert there.t().cpu().tolist() == view.t().tolist()
        assert there.to("reference").tolist() == view.tolist()


def test_an_index_out_of_range_is_an_error_on_it():
    x = mg.tensor([1.0, 2.0, 3.0], device="cuda")
    with pytest.raises(IndexOutOfRange, match="index 3 is out of range for dim 0 of size 3"):
        mg.gather(x, 0, mg.tensor([0, 3], device="cuda"))


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_class_that_does_not_exist_is_an_error_on_it(wrong):
    x = mg.zeros(3, 3, device="cuda")
    with pytest.raises(IndexOutOfRange, match=rf"cross_entropy: class {wrong} of int64\(3,\) is out of range"):
        mg.nn.functional.cross_entropy(x, mg.tensor([0, wrong, -100], device="cuda"))


def test_random_numbers_are_those_of_the_cpu():
    mg.manual_seed(7)
    wanted = mg.rand(9, dtype="float64")
    mg.manual_seed(7)
    assert mg.rand(9, dtype="float64", device="cuda").tolist() == wanted.tolist()
