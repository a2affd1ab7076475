"""A device that implements four requests is complete: it passes the backend contract and the whole op table.

The toy is `examples/toy_device.py`; what it does not serve is made by `minigrad/backends/lowering/`.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from backends import test_contract
from cases import over
from launches import check_record, host_functions, launches_of, plans_of
from op_support import arrays, operands
from ops import test_forward, test_gradients
from selection import base_dtype, over_rows
from strided import arrange, blank

import minigrad as mg
from minigrad.backends import registry
from minigrad.backends.base import Backend, serves, services
from minigrad.config import announce
from minigrad.core import requests
from minigrad.core.dtype import f32, i64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import DeviceError, IndexOutOfRange
from minigrad.ops.reduction import scan
from minigrad.testing import gradcheck

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "toy_device.py"
LONG = {"test_long_scans"}  # thirty thousand steps one after the other, where a place is kept


@pytest.fixture(scope="module", autouse=True)
def toy():
    """The example's module; its device goes when these tests end."""
    spec = importlib.util.spec_from_file_location("toy_device", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for known in (registry._factories, registry._backends):
        known.pop("toy", None)
    registry._by_device.pop(mg.device("toy"), None)
    announce()


# ---- what every backend promises: the same cases, held against `reference`


def pytest_generate_tests(metafunc):
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", ["toy"])


globals().update({n: test for n, test in vars(test_contract).items() if n.startswith("test_") and n not in LONG})


@pytest.mark.parametrize("shape", [(70,), (3, 200), (200, 3)], ids=str)
def test_scans_of_many_positions(shape):
    for name in (*test_contract.LONG_SCANS, "positions"):
        test_contract.test_long_scans("toy", shape, 1 << 60, name)


def test_a_scan_of_halves_accumulates_in_the_compute_dtype():
    # 256 + 1 is 256 in bfloat16, which has eight bits.
    one = mg.ones(300, dtype="bfloat16", device="toy")
    assert scan.recurrence(one, one, dim=0)[-1].item() == 300.0


# ---- the whole op table

rows = over_rows(items=40)


@rows
def test_every_op_gives_the_right_values_in_every_dtype(row):
    for dtype in row.dtypes:
        test_forward.test_dtypes(row, "toy", dtype)


@over("layout", ["transposed", "broadcast"])
@rows
def test_every_op_gives_the_right_values_on_other_layouts(row, layout):
    test_forward.test_values_do_not_depend_on_the_layout(row, "toy", layout)


@over_rows(test_gradients.SMOOTH, items=40)
def test_every_gradient_is_right(row):
    gradcheck(row.fn, test_gradients.variables(row, "toy"), names=test_gradients.names(row))


# ---- what is served and what is not


def test_it_serves_four_requests_in_160_lines(toy):
    assert {kind.__name__ for kind in toy.Toy.served()} == {"Elementwise", "Reduce", "Gather", "Scatter"}
    assert len(EXAMPLE.read_text().splitlines()) <= 160


@pytest.fixture
def scant(toy):
    """A device that computes element by element and can do nothing else."""

    class Scant(Backend):
        allocate, from_host, to_host = toy.Toy.allocate, toy.Toy.from_host, toy.Toy.to_host

    serves(Scant, requests.Elementwise)(toy.elementwise)
    yield Scant()
    del services[requests.Elementwise][Scant]


SPEC, ONE, INDEX = (Spec(Layout.contiguous(s), d) for s, d in (((3, 4), f32), ((3, 1), f32), ((3, 4), i64)))
LONG, WIDE = (Spec(Layout.contiguous(shape), f32) for shape in ((197,), (99, 99)))


@pytest.mark.parametrize(
    ("request_", "outs", "operands", "missing"),
    [
        (requests.Gather(1), SPEC, (SPEC, INDEX), "Gather"),
        (requests.PutBack(Layout.make((99, 99), (1, 1))), LONG, (WIDE,), "Scatter"),
        (requests.Product(), SPEC, (Spec(Layout.contiguous((3, 3)), f32), SPEC), "Reduce"),
        (requests.Extreme(scan.NOT_LESS, 1), (ONE, Spec(ONE.layout, i64)), (SPEC,), "Gather"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, requests.Request) else "",
)
def test_what_neither_is_served_nor_can_be_made_is_an_error_that_names_it(scant, request_, outs, operands, missing):
    with pytest.raises(DeviceError, match=rf"Scant does not implement {missing}, .*; it implements Elementwise$"):
        scant.prepare(request_, outs, *operands)


def test_what_needs_nothing_but_elements_runs_on_a_device_that_has_nothing_else(scant):
    a, out = arrange(np.float32([3, 1, 2])), blank((3,), i64)
    scant.prepare(requests.RunningExtreme(scan.NOT_LESS, 0), out[1], a[1])(a[0], out[0])
    assert out[0][:3].tolist() == [0, 0, 0]
    scant.prepare(requests.Sort(0, False), out[1], a[1])(a[0], out[0])
    assert out[0][:3].tolist() == [1, 2, 0]


def test_a_request_of_a_users_own_can_be_made_of_others(toy, monkeypatch):
    class Twice(requests.Request):
        pass

    def twice(steps, request):
        steps.each(mg.schema["add"].scalar, steps.outs[0], *steps.operands * 2)

    monkeypatch.setitem(services, Twice, {Backend: twice})
    a, out = arrange(np.float32([3, 1, 2])), blank((3,), f32)
    toy.Toy().prepare(Twice(), out[1], a[1])(a[0], out[0])
    assert out[0][:3].tolist() == [6, 2, 4]


def test_a_product_may_be_added_to_the_memory_that_it_is_written_to(toy):
    a, b, c = (arrange(np.float32(x)) for x in ([[1, 2]], [[3], [4]], [[5]]))
    toy.Toy().prepare(requests.Product(2, 3), c[1], a[1], b[1], Spec(c[1].layout, f32))(a[0], b[0], c[0], c[0])
    assert c[0][0] == 2 * 11 + 3 * 5


@pytest.mark.parametrize("part", ["output", "input", "weight"])
def test_what_lies_in_the_padding_of_a_convolution_is_left_out_even_next_to_infinities(part):
    x, w, y = (arrange(np.full(shape, np.inf, np.float32)) for shape in ((1, 1, 3), (1, 1, 3), (1, 1, 5)))
    bias = arrange(np.zeros(1, np.float32))
    out, operands = {"output": (y, (x, w, bias)), "input": (x, (y, w)), "weight": (w, (y, x))}[part]
    request, specs = requests.Convolve(part, (1,), (2,), (1,), 1), [spec for _, spec in operands]
    out = blank(out[1].shape, f32)
    got = test_contract.on("toy", lambda b: b.prepare(request, out[1], *specs), out, operands)
    assert got.tolist() == np.full(out[1].shape, np.inf).tolist()


@over_rows(items=40)
def test_every_launch_is_a_flat_list_of_the_four_requests(row):
    given = operands(row, arrays(row), base_dtype(row), "toy")
    for name, plan in plans_of(lambda: row.fn(*given)):
        for launch in launches_of(plan):
            check_record(name, launch, plan)
            others = {"Copy"} if row.name == "transfer" else set()  # the device that a tensor goes to makes the copy
            assert host_functions(launch) <= {"Elementwise", "Reduce", "Gather", "Scatter"} | others, name


def like_the_reference(request, out, *operands):
    """Assert that the toy and the reference give the same."""
    specs = [spec for _, spec in operands]
    test_contract.hold("toy", lambda b: b.prepare(request, out[1], *specs), out, operands)


@pytest.mark.parametrize("part", ["values", "pick", "back"])
def test_windows_that_lie_in_the_padding_have_no_largest_element(part):
    image, found = arrange(np.float32([[[3, 1, 2]]])), arrange(np.float32([[[5, 6, 7, 8, 9]]]))
    operands = {"values": (image,), "pick": (image, image), "back": (found, image)}[part]
    request = requests.MaxPool(part, (1,), (1,), (1,), (1,))
    like_the_reference(request, blank((1, 1, 3 if part == "back" else 5), f32), *operands)


def test_what_is_put_back_counts_from_the_beginning_of_the_buffer():
    for strides in ((1, 1), (2, -1)):  # with places that are added to twice, and without
        request = requests.PutBack(Layout.make((3, 2), strides, 4))
        like_the_reference(request, blank((6,), f32, "offset"), arrange(np.float32([[1, 2], [3, 4], [5, 6]])))


def test_the_bounds_of_no_index_are_an_empty_range():
    like_the_reference(requests.Bounds(), blank((2,), i64), arrange(np.zeros((2, 0), np.int32)))


def test_a_request_made_of_steps_says_that_an_index_was_out_of_range(toy, monkeypatch):
    class Twice(requests.Request):
        pass

    def twice(steps, request):
        found = steps.work(steps.outs[0].shape, f32)
        steps.ask(requests.Gather(0), found, *steps.operands)
        steps.each(mg.schema["add"].scalar, steps.outs[0], found, found)

    monkeypatch.setitem(services, Twice, {Backend: twice})
    a, out = arrange(np.float32([3, 1, 2])), blank((2,), f32)
    for index, wrong in (([0, 2], False), ([0, 3], True), ([-4, 0], True)):
        chosen = arrange(np.int64(index))
        assert toy.Toy().prepare(Twice(), out[1], a[1], chosen[1])(a[0], chosen[0], out[0]) is wrong


@pytest.mark.parametrize("wrong", [3, -4])
def test_an_index_out_of_range_is_an_error_on_it_too(wrong):
    x, index = mg.tensor([1.0, 2.0, 3.0], device="toy"), mg.tensor([0, wrong], device="toy")
    for use in (
        lambda: mg.gather(x, 0, index),
        lambda: mg.index_select(x, 0, index),
        lambda: mg.scatter_add(x, 0, index, x[:2]),
        lambda: mg.index_add(x, 0, index, x[:2]),
        lambda: mg.index_copy(x, 0, index, x[:2]),
    ):
        with pytest.raises(IndexOutOfRange, match=f"index {wrong} is out of range for dim 0 of size 3"):
            use()


def test_two_launches_of_one_plan_do_not_share_what_is_in_between(toy):
    # The second launch runs from beginning to end between two steps of the first.
    class Nested(toy.Toy):
        between = None

        def prepare(self, request, outs, *operands):
            launch = super().prepare(request, outs, *operands)

            def run(*buffers):
                if self.between is not None:
                    next(self.between, None)
                return launch(*buffers)

            return run

    backend = Nested()
    a, b = arrange(np.float32([1, 2, 3, 4])), arrange(np.float32([10, 20, 30, 40]))
    first, second = blank((4,), f32), blank((4,), f32)
    launch = backend.prepare(requests.Scan(scan.SUM, np.dtype(np.float64), 0), first[1], a[1])

    def between():
        yield from range(3)
        backend.between = None
        launch(b[0], second[0])

    backend.between = between()
    launch(a[0], first[0])
    assert first[0][:4].tolist() == [1, 3, 6, 10]
    assert second[0][:4].tolist() == [10, 30, 60, 100]


def test_a_tensor_goes_to_it_and_comes_back():
    x = mg.arange(6, device="reference").reshape(2, 3).t()
    assert x.to("toy").to("reference").tolist() == x.tolist() == x.to("toy").tolist()
