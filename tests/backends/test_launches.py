"""A launch is a record: every plan of the op table shows its steps, and the function made of it runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import unless_full
from launches import check_record, host_functions, launches_of, plans_of
from op_rows.row import Row
from op_support import arrays, operands
from selection import base_dtype, over_rows, with_kernels

import minigrad as mg
from minigrad.backends.cpu.family import NativeKernel
from minigrad.backends.launch import Constant, Flag, HostFunction, Launch, Scratch, Step, remapped
from minigrad.backends.limits import IndexLimits
from minigrad.backends.registry import backend_of
from minigrad.core import requests
from minigrad.core.device import CPU, as_device
from minigrad.core.dtype import float32, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.storage import Storage
from minigrad.errors import IndexOutOfRange
from minigrad.runtime.plans import forget_plans

KINDS = {kind.__name__ for kind in requests.Request.__subclasses__()}
rows = over_rows(items=40)


@rows
@pytest.mark.parametrize("device", ["reference", "cpu"])
@unless_full(with_kernels)
def test_every_plan_of_the_op_table_shows_its_steps(row: Row, device: str) -> None:
    given = operands(row, arrays(row), base_dtype(row), device)
    for name, plan in plans_of(lambda: row.fn(*given)):
        for launch in launches_of(plan):
            check_record(name, launch, plan)
            if plan.device.kind == "reference":
                assert host_functions(launch) <= KINDS, "a loop in Python is named after the request that it serves"
                continue
            assert not host_functions(launch), name
            for step in launch.steps:
                assert isinstance(step.kernel, NativeKernel)
                assert step.kernel.address, f"{name}: a recorder calls {step.kernel.name} by its address"
                assert step.kernel.path.endswith(".py")
                assert step.numbers.dtype == np.int64


# ---- records of functions that write down what they are given --------------------------------------------------------


class Told(HostFunction):
    """A kernel that writes down its buffers."""

    def __init__(self, name: str, calls: list[Any], answer: bool = False) -> None:
        def run(*buffers: Any) -> bool:
            calls.append((name, *buffers))
            return answer

        super().__init__(name, run, answer)


class Memory:
    """Scratch memory that counts itself."""

    def __init__(self, name: str, alive: list[str]) -> None:
        self.buffer, self.alive = name, alive
        alive.append(name)

    def __del__(self) -> None:
        self.alive.remove(self.buffer)


def scratch(name: str, alive: list[str]) -> Scratch:
    return Scratch(4, float32, lambda: Memory(name, alive))


def test_a_step_receives_operands_results_temporaries_and_constants_by_slot() -> None:
    calls: list[Any] = []
    constant = Constant(Storage(np.ones(1), int64, CPU))
    launch = Launch(
        2, [Step(Told("a", calls), (0, 2)), Step(Told("b", calls), (2, 3, 1))], [scratch("s", []), constant]
    )
    assert not launch("x", "y")
    assert calls == [("a", "x", "s"), ("b", "s", constant.storage.buffer, "y")]


def test_scratch_memory_lives_from_its_first_to_its_last_step() -> None:
    alive: list[str] = []
    seen: list[list[str]] = []
    look = HostFunction("look", lambda *buffers: seen.append(sorted(alive)))
    steps = [Step(look, (0, 2)), Step(look, (2, 3)), Step(look, (3, 4)), Step(look, (4, 1))]
    launch = Launch(2, steps, [scratch(name, alive) for name in "stu"])
    assert launch.lifetimes() == {2: (0, 1), 3: (1, 2), 4: (2, 3)}
    assert [launch.temporary(k).nbytes for k in (2, 3, 4)] == [16, 16, 16]  # type: ignore[union-attr]
    launch("x", "y")
    assert seen == [["s"], ["s", "t"], ["t", "u"], ["u"]]
    assert not alive


def test_a_launch_in_other_slots_is_the_same_steps() -> None:
    calls: list[Any] = []
    inner = Launch(2, [Step(Told("a", calls), (0, 2)), Step(Told("b", calls), (2, 1))], [scratch("s", [])])
    outer = remapped(inner, (3, 1), 4)
    assert [step.slots for step in outer.steps] == [(3, 4), (4, 1)]
    outer("w", "x", "y", "z")
    assert calls == [("a", "z", "s"), ("b", "s", "x")]


def test_a_step_may_be_left_out_where_two_buffers_are_one() -> None:
    calls: list[Any] = []
    launch = Launch(2, [Step(Told("copy", calls), (0, 1), None, (0, 1)), Step(Told("put", calls), (1,))])
    x, y = object(), object()
    launch(x, y)
    launch(y, y)
    assert calls == [("copy", x, y), ("put", y), ("put", y)]


@pytest.mark.parametrize(("numbers", "done"), [([0, 3], ["look", "put"]), ([-4, 3], ["look"]), ([0, 4], ["look"])])
def test_a_check_between_steps_ends_the_launch(numbers: list[int], done: list[str]) -> None:
    calls: list[Any] = []

    class Numbers:
        buffer = np.array(numbers)

    flag = Flag(2, 1, 2, -3, 3, lambda storage: storage.buffer)
    steps = [Step(Told("look", calls), (0, 2)), Step(Told("put", calls), (0, 1))]
    launch = Launch(2, steps, [Scratch(2, int64, Numbers)], [flag])
    assert launch("x", "y") is (len(done) == 1)
    assert [name for name, *_ in calls] == done


def test_a_kernel_that_raises_its_flag_does_not_stop_those_after_it() -> None:
    calls: list[Any] = []
    launch = Launch(2, [Step(Told("gather", calls, True), (0, 1)), Step(Told("copy", calls), (0, 1))])
    assert launch("x", "y")
    assert [name for name, *_ in calls] == ["gather", "copy"]


def test_the_function_of_a_launch_with_limits_raises_for_an_index_out_of_range() -> None:
    device = as_device("reference")
    x, index = Spec(Layout.contiguous((3,)), float32), Spec(Layout.contiguous((1,)), int64)
    backend = backend_of(device)
    launch = backend.prepare(requests.Gather(0), Spec(Layout.contiguous((1,)), float32), x, index)
    watched = launch.within(IndexLimits(backend, "pick", 1, index, x, 0))
    values, out = np.zeros(3, np.float32), np.zeros(1, np.float32)
    assert launch(values, np.array([3]), out)
    with pytest.raises(IndexOutOfRange, match=r"pick: index 3 is out of range for dim 0 of size 3 of float32\(3,\)"):
        watched(values, np.array([3]), out)


def test_a_composed_op_keeps_the_requests_that_it_asked_for_with_their_slots() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")
    bias, index = mg.tensor([1.0, 2.0], device="reference"), mg.tensor([0, 1], device="reference")

    def parts(function: Any) -> list[tuple[str, tuple[int, ...]]]:
        (launch,) = [plan.launch for _, plan in plans_of(function)]
        assert launch is not None
        return [(type(part.request).__name__, part.slots) for part in launch.parts]

    # Operands of the op: bias last; of the request: what is added last.
    assert parts(lambda: mg.nn.functional.linear(x, x, bias)) == [("Product", (0, 1, 2, 3))]
    assert parts(lambda: mg.addmm(bias, x, x)) == [("Product", (1, 2, 0, 3))]
    copied = parts(lambda: mg.index_copy(x, 0, index, x))
    assert copied == [("Bounds", (1, 4)), ("Copy", (0, 3)), ("SelectPut", (1, 2, 3))]


def test_two_index_errors_of_one_plan_name_their_own_positions() -> None:
    forget_plans()
    x = mg.tensor([1.0, 2.0, 3.0], device="reference")
    for wrong in (3, -4):
        with pytest.raises(IndexOutOfRange, match=f"index_select: index {wrong} is out of range"):
            mg.index_select(x, 0, mg.tensor([0, wrong], device="reference"))
