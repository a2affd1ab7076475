"""The backward pass: simple_grad on every device, .grad, retained and freed graphs, depth, memory."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import over, unless_full
from op_rows.row import FLOATS
from op_table import DEVICES

import minigrad as mg
from minigrad.autodiff.engine import pull_back
from minigrad.errors import GradientError, StorageError
from minigrad.runtime.graph import BackpropOp

pytestmark = pytest.mark.usefixtures("float64")
devices = pytest.mark.parametrize("device", DEVICES)


def wide_or_reference(device: str, dtype: str) -> bool:
    return device == "reference" or dtype in ("float32", "float64")


def widest_or_reference(device: str, dtype: str) -> bool:
    return device == "reference" or dtype == "float64"


def polynomial(x: Any) -> Any:
    return x * x + x * 5.0 + 4.0


@unless_full(wide_or_reference)
@devices
@pytest.mark.parametrize("dtype", FLOATS)
def test_simple_grad(device: str, dtype: str) -> None:
    x = mg.Var([3.0, 1.0, 4.0], dtype=dtype, device=device)
    y = polynomial(x)
    grads = y.backward()
    assert y.tolist() == [28.0, 10.0, 40.0]
    assert grads[x].tolist() == [11.0, 7.0, 13.0]
    assert grads[x].dtype is x.dtype and grads[x].device is x.device
    assert x.tolist() == [3.0, 1.0, 4.0]


BETWEEN: dict[str, tuple[Callable[[Any], Any], list[float], Any]] = {
    "narrow": (lambda x: x.narrow(0, 1, 2), [10.0, 40.0], [0.0, 7.0, 13.0]),
    "flipped": (lambda x: x[::-1], [40.0, 10.0, 28.0], [11.0, 7.0, 13.0]),
    "transpose": (lambda x: x.reshape(3, 1).T, [[28.0, 10.0, 40.0]], [11.0, 7.0, 13.0]),
    "broadcast": (lambda x: x.expand(2, 3), [[28.0, 10.0, 40.0]] * 2, [22.0, 14.0, 26.0]),
}


@unless_full(widest_or_reference)
@devices
@over("dtype", FLOATS)
@over("between", BETWEEN)
def test_simple_grad_through_a_view(device: str, dtype: str, between: str) -> None:
    view, values, gradient = BETWEEN[between]
    x = mg.Var([3.0, 1.0, 4.0], dtype=dtype, device=device)
    y = polynomial(view(x))
    assert y.tolist() == values
    assert y.backward()[x].tolist() == gradient
    assert x.tolist() == [3.0, 1.0, 4.0]


# ---- .grad and GradStore --------------------------------------------------------------------------------------------


def test_grad_starts_as_none_and_adds_up_and_may_be_reset() -> None:
    x = mg.Var([3.0, 1.0, 4.0])
    assert x.grad is None
    (x * 2.0).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    first = x.grad
    (x * x).backward()
    assert x.grad is first and x.grad.tolist() == [8.0, 4.0, 10.0], "a second backward adds in place, as in PyTorch"
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_two_leaves_do_not_share_one_gradient() -> None:
    x, z = mg.Var([1.0, 2.0]), mg.Var([3.0, 4.0])
    grads = (x + z).backward()
    grads[x].mul_(0.0)
    assert grads[z].tolist() == [1.0, 1.0]


def test_the_gradient_argument_is_not_shared_with_the_leaf() -> None:
    x, seed = mg.Var([1.0, 2.0]), mg.tensor([5.0, 6.0])
    grads = (x + 0.0).backward(seed)
    grads[x].mul_(0.0)
    assert seed.tolist() == [5.0, 6.0]


def test_gradient_argument_weighs_the_outputs() -> None:
    x = mg.Var([3.0, 1.0, 4.0])
    assert (x * x).backward(mg.tensor([1.0, 0.0, 10.0]))[x].tolist() == [6.0, 0.0, 80.0]


def test_gradstore_explains_a_miss() -> None:
    x, unused, c = mg.Var([1.0], name="x"), mg.Var([1.0]), mg.tensor([1.0])
    y = x * 2.0
    grads = (y + c).backward()
    for miss, reason in ((y, "not a leaf but the result of mul"), (unused, "no gradient"), (c, "make it a mg.Var"),
                         (3, "is not a tensor")):  # fmt: skip
        with pytest.raises(GradientError, match=reason):
            grads[miss]
    assert grads.get(y) is None and x in grads and list(grads) == [x] and len(grads) == 1


# ---- keeping and freeing the graph ----------------------------------------------------------------------------------


def test_a_second_backward_needs_a_retained_graph() -> None:
    x = mg.Var([3.0])
    y = x * x
    y.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        y.backward()
    z = x * x
    z.backward(retain_graph=True)
    assert z.backward()[x].tolist() == [6.0]


def test_a_graph_that_saved_nothing_is_walked_as_often_as_one_likes() -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference")
    y = (x + 1.0).reshape(4)[1:].sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [[0.0, 2.0], [2.0, 2.0]]
    assert mg.grad(y, x).tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_a_view_of_a_freed_result_names_the_op_that_saved() -> None:
    y = mg.Var([1.0, 2.0], device="reference").exp().reshape(2, 1)
    y.backward()
    with pytest.raises(GradientError, match=r"the graph of exp\(2,\) was freed"):
        y.backward()


def test_a_failed_second_backward_leaves_grad_alone() -> None:
    x = mg.Var([3.0])
    y = x * x
    y.backward()
    before = x.grad
    with pytest.raises(GradientError):
        (y + x).backward()
    assert x.grad is before and x.grad.tolist() == [6.0]


def test_create_graph_gives_the_third_derivative() -> None:
    x = mg.Var([2.0], dtype="float64")
    (first,) = (mg.grad(x * x * x * x, x, create_graph=True),)
    second = mg.grad(first, x, create_graph=True)
    third = mg.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (32.0, 48.0, 48.0)
    assert x.grad is None
    with pytest.raises(GradientError, match=r"or is a gradient computed without create_graph=True; call"):
        mg.grad(third, x)


def test_create_graph_through_a_saved_output() -> None:
    x = mg.Var([0.5], dtype="float64")
    first = mg.grad(x.exp(), x, create_graph=True)
    assert first.requires_grad
    np.testing.assert_allclose(mg.grad(first, x).item(), np.exp(0.5))


def test_grad_of_a_value_in_between() -> None:
    x = mg.Var([2.0])
    y = x * x
    z = y * 3.0
    gy, gx = mg.grad(z, [y, x])
    assert (gy.item(), gx.item()) == (3.0, 12.0)


def test_grad_evaluates_only_what_leads_to_the_inputs() -> None:
    x, w = mg.Var([2.0]), mg.Var([3.0])
    branch = mg.where((w > 0.0), w, w)
    z = x * 2.0 + branch
    assert mg.grad(z, x).item() == 2.0
    with pytest.raises(GradientError, match="allow_unused"):
        mg.grad(x * 2.0, w)
    assert mg.grad(x * 2.0, [w], allow_unused=True) == (None,)


def test_a_diamond_visits_each_node_once() -> None:
    x = mg.Var([1.5], dtype="float64")
    y = x * 2.0
    for _ in range(40):
        y = y + y
    assert y.backward()[x].item() == 2.0 * 2**40


def test_a_chain_of_100000_ops_differentiates_and_dies() -> None:
    x = mg.Var([1.0])
    y: Any = x
    for _ in range(100_000):
        y = y + 1.0
    assert y.item() == 100_001.0
    assert y.backward()[x].item() == 1.0
    del y


# ---- recording ------------------------------------------------------------------------------------------------------


def test_no_grad_records_nothing_and_nests() -> None:
    x = mg.Var([1.0])
    with mg.no_grad():
        assert not (x * 2.0).requires_grad
        with mg.enable_grad():
            assert (x * 2.0).requires_grad
        assert not (x * 2.0).requires_grad
    assert mg.is_grad_enabled()

    @mg.no_grad()
    def frozen(v: Any) -> Any:
        return v * 2.0

    assert not frozen(x).requires_grad


def test_detach_shares_memory_and_cuts_history() -> None:
    x = mg.Var([1.0, 2.0])
    d = (x * 3.0).detach()
    assert not d.requires_grad and d.is_leaf
    assert x.detach().storage is x.storage
    assert (x * d).backward()[x].tolist() == [3.0, 6.0]


def test_var_set_writes_and_is_noticed_by_an_older_graph() -> None:
    x = mg.Var([1.0, 2.0])
    y = x * x
    assert x.set([5.0, 6.0]) is x and x.tolist() == [5.0, 6.0]
    with pytest.raises(StorageError, match=r"mul\(2,\) saved its operand 'input'.*version 0.*version 1"):
        y.backward()
    with pytest.raises(StorageError, match="must not share memory"):
        x.set(x.detach()[::-1])
    with pytest.raises(mg.ShapeError, match=r"must have the shape of the Var float64\(2,\), got shape \(3,\)"):
        x.set([1.0, 2.0, 3.0])
    assert x.tolist() == [5.0, 6.0]


def test_a_change_of_what_no_rule_saved_is_harmless() -> None:
    x, c = mg.Var([1.0]), mg.tensor([2.0])
    y = x + c
    c.add_(1.0)
    assert y.backward()[x].item() == 1.0


def test_writing_into_a_var_raises() -> None:
    x = mg.Var([1.0, 2.0])
    for write in (lambda: x.add_(1.0), lambda: x.fill_(0.0), lambda: x.__setitem__(0, 5.0), lambda: x[:1].zero_(),
                  lambda: mg.exp(x, out=x)):  # fmt: skip
        with pytest.raises(GradientError, match="no_grad"):
            write()
    assert x.tolist() == [1.0, 2.0]
    with mg.no_grad():
        x.add_(1.0)
        x[0] = 7.0
    assert x.tolist() == [7.0, 3.0]


def test_debug_names_the_users_line() -> None:
    x = mg.Var([1.0])
    with mg.debug():
        y = x * x
    with mg.no_grad():
        x.add_(1.0)
    with pytest.raises(StorageError, match=r"test_backward\.py:\d+"):
        y.backward()


# ---- memory ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def live() -> int:
    return mg.memory_stats().live


def test_dropping_the_loss_frees_every_storage(collector_off: None) -> None:
    x = mg.Var(np.ones((8, 8)))
    w = mg.Var(np.ones((8, 8)))

    def loss() -> Any:
        h = ((x @ w).relu() * x.exp() + w.T[::2].sum()).log_softmax(1)
        return (h.sigmoid() - h.mean(0)).square().sum()

    loss().backward(create_graph=True)  # the numbers in the rules are kept from here on
    x.grad = w.grad = None
    before = live()
    y = loss()
    assert live() > before + 5
    del y
    assert live() == before

    y = loss()
    grads = y.backward(create_graph=True)
    del y, grads
    x.grad = w.grad = None
    assert live() == before


def test_backward_frees_saved_values_as_it_goes(collector_off: None) -> None:
    x = mg.Var(np.ones(64))
    y: Any = x
    for _ in range(20):
        y = (y * 1.01).sin()
    held = live()
    y.backward()
    assert live() < held - 15


def test_no_reference_cycles(collector_off: None) -> None:
    def step() -> None:
        x = mg.Var([1.0, 2.0])
        y = (x.exp() * x).sum()
        mg.grad(mg.grad(y, x, create_graph=True).sum(), x)

    def nodes() -> list[BackpropOp]:
        return [o for o in gc.get_objects() if issubclass(type(o), BackpropOp)]  # a dead proxy has no class

    step()
    gc.collect()
    held = nodes()  # by tests that ran before
    step()
    assert {id(node) for node in nodes()} <= {id(node) for node in held}


def test_transpose_matmul_allocates_nothing_but_the_output() -> None:
    x, w = mg.tensor(np.ones((5, 3), np.float32)), mg.tensor(np.ones((5, 4), np.float32))
    _ = x.T @ w
    before = mg.memory_stats()
    y = x.T @ w
    after = mg.memory_stats()
    assert after.allocations == before.allocations + 1
    assert y.tolist() == [[5.0] * 4] * 3


def test_an_operand_without_a_rule_is_refused_before_anything_is_freed() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, b: g * b, None))
    def half_known(a, b):
        """A product that knows one of its derivatives."""
        return a * b

    x, w = mg.Var([2.0], name="x"), mg.Var([3.0], name="w")
    y = (x * x) + half_known(x, w)
    with pytest.raises(
        GradientError, match=r"half_known\(1,\) is not differentiable with respect to its operand 'b'.*detach"
    ):
        y.backward()
    assert x.grad is None
    assert mg.grad(y, x).item() == 7.0, "what does not pass that operand still has a gradient"


def test_a_number_of_the_program_cannot_be_written() -> None:
    x = mg.Var([3.0])
    y = x * 2.0
    (two,) = y.op.saved
    with mg.no_grad(), pytest.raises(StorageError, match=r"float64\(\), a constant"):
        two.fill_(5.0)
    assert (mg.tensor([1.0]) * 2.0).item() == 2.0
    y.backward()
    x.grad.mul_(0.0)
    assert (x * 2.0).backward()[x].item() == 2.0


def test_the_second_operand_of_cat_alone_has_a_gradient_in_a_fresh_process() -> None:
    program = (
        "import minigrad as mg; x = mg.Var([1.0, 2.0]); y = mg.cat([mg.ones(3), x, mg.ones(1)], 0)\n"
        "y.backward(mg.arange(6, dtype=mg.float32)); assert x.grad.tolist() == [3.0, 4.0]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_engine_alone_passes_gradients_from_node_to_node() -> None:
    summing = {
        path.name
        for path in Path(mg.__file__).parent.rglob("*.py")
        if re.search(r"\baccumulate\(table\b|\btable\.pop\(node\.id\b", path.read_text(encoding="utf-8"))
    }
    assert summing == {"engine.py"}, "call pull_back instead"


def test_the_seeds_of_a_traversal_are_used_up() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    y = x * 3.0
    seeds = [(y.op, mg.tensor([1.0, 10.0], device="reference")), (y.op, mg.tensor([1.0, 1.0], device="reference"))]
    with mg.no_grad():
        found, table = pull_back([y.op], seeds, targets={y.op.id: y.op})
    assert seeds == [] and [g.tolist() for _, g in found] == [[2.0, 11.0]]
    assert {key: g.tolist() for key, g in table.items()} == {x.id: [6.0, 33.0]}
