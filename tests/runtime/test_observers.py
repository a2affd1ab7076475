"""One list of observers sees plans, allocations, launches, calls, records, writes and backward passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

import minigrad as mg
from minigrad.core.plans import planned
from minigrad.runtime.observers import EVENTS, Observer, attach, detach, observed
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.plans import forget_plans
from minigrad.runtime.tensor import PLAIN


class Recorder(Observer):
    """Keeps each launch with its buffers, as a compiler of whole functions would."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, Any, tuple[Any, ...]]] = []

    def launching(self, plan: Any, launch: Any, buffers: tuple[Any, ...]) -> None:
        self.launches.append((plan, launch, buffers))


class Counter(Observer):
    """Counts every other event."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(EVENTS, 0)

    def allocated(self, storage: Any) -> None:
        self.counts["allocated"] += 1

    def called(self, op: Any, operands: Any, result: Any, seconds: float) -> None:
        assert seconds >= 0.0
        self.counts["called"] += 1

    def recorded(self, node: Any, operands: Any) -> None:
        self.counts["recorded"] += 1

    def writing(self, name: str, storage: Any) -> None:
        self.counts["writing"] += 1

    def pulling(self, node: Any) -> Any:
        self.counts["pulling"] += 1
        return node


@contextmanager
def watched_by(observer: Observer) -> Iterator[None]:
    attach(observer)
    try:
        yield
    finally:
        detach(observer)


def tensor(*values: float) -> mg.Tensor:
    return mg.tensor(values, device="reference")


def replay(recorder: Recorder) -> None:
    for _, launch, buffers in recorder.launches:
        launch.call(*buffers)


@pytest.mark.parametrize("known", [False, True], ids=["new plans", "known plans"])
@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_a_recorder_can_run_again_what_it_saw(device: str, known: bool) -> None:
    x = mg.tensor([1.0, 2.0, 3.0], dtype="float64", device=device)

    def function() -> mg.Tensor:
        return (x * x).sum()

    forget_plans()
    if known:
        function()
    recorder = Recorder()
    with watched_by(recorder):
        y = function()
    assert y.item() == 14.0
    assert [launch.requests[0].__class__.__name__ for _, launch, _ in recorder.launches] == ["Elementwise", "Reduce"]
    x.storage.buffer[:3] = (2.0, 3.0, 6.0)
    replay(recorder)
    assert y.item() == 49.0


def test_writes_into_what_exists_are_launches_too() -> None:
    x, out = tensor(1.0, 2.0), tensor(0.0, 0.0)
    recorder, counter = Recorder(), Counter()
    with watched_by(recorder), watched_by(counter):
        mg.mul(x, x, out=out)
        out.add_(x)
    assert len(recorder.launches) == counter.counts["writing"] == 2
    assert all(buffers[-1] is out.storage.buffer for _, _, buffers in recorder.launches)
    assert out.tolist() == [2.0, 6.0]


def test_an_op_of_several_results_is_one_launch_and_as_many_allocations() -> None:
    x = tensor(3.0, 1.0, 2.0)
    recorder, counter = Recorder(), Counter()
    with watched_by(recorder), watched_by(counter):
        mg.sort(x)
    assert (len(recorder.launches), counter.counts["allocated"]) == (1, 2)
    (plan, _, buffers), *_ = recorder.launches
    assert len(buffers) == len(plan.specs) + len(plan.outs)


def test_calls_records_and_the_backward_pass_are_seen() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    forget_plans()
    counter = Counter()
    with watched_by(counter):
        y = (x * x).sum()
        assert (counter.counts["called"], counter.counts["recorded"]) == (2, 2)
        y.backward()
    assert counter.counts["pulling"] == 2


def tries() -> list[Callable[[], Any]]:
    x, v = tensor(1.0, 2.0), mg.Var([1.0, 2.0], device="reference")
    return [lambda: x * x, lambda: x.sum(), lambda: mg.sort(x), lambda: (v * v).sum().backward(), lambda: x.add_(1.0)]


def test_nothing_is_told_and_plans_are_as_they_were_once_nobody_watches() -> None:
    calls = tries()
    for call in calls:
        call()

    def facts() -> list[Any]:
        every = [plan for op in planned.values() for plan in op.plans.values() if isinstance(plan, CallPlan)]
        return [(plan.run, plan.kernel, plan.make, plan.makes, plan.into) for plan in every]

    before, plain = facts(), set(PLAIN)
    recorder, counter = Recorder(), Counter()
    with watched_by(recorder), watched_by(counter):
        assert not PLAIN
        assert facts() != before
    told = dict(counter.counts), len(recorder.launches)
    for call in calls:
        call()
    assert (dict(counter.counts), len(recorder.launches)) == told
    assert facts() == before
    assert plain == PLAIN


def test_an_observer_that_is_attached_twice_is_told_once_until_it_is_detached_twice() -> None:
    x, recorder = tensor(1.0, 2.0), Recorder()
    with watched_by(recorder):
        with watched_by(recorder):
            x * x
        assert len(recorder.launches) == 1
        x * x
    assert len(recorder.launches) == 2
    x * x
    detach(recorder)  # it is not there: no harm
    assert len(recorder.launches) == 2


def test_an_observer_sees_each_detach_until_it_is_detached_itself() -> None:
    class Detached(Observer):
        seen: ClassVar[list[tuple[mg.Tensor, mg.Tensor]]] = []

        def detached(self, x: mg.Tensor, y: mg.Tensor) -> None:
            self.seen.append((x, y))

    x = mg.Var([1.0], device="reference")
    with watched_by(Detached()):
        y = x.detach()
    x.detach()
    ((first, second),) = Detached.seen
    assert first is x and second is y


def test_an_observer_that_overrides_nothing_changes_nothing() -> None:
    events = {event: getattr(observed, event) for event in EVENTS}
    with watched_by(Observer()):
        assert {event: getattr(observed, event) for event in EVENTS} == events


def test_a_whole_index_is_a_view_whether_or_not_calls_are_observed() -> None:
    x = mg.Var([[1.0, 2.0]], device="reference") * 1.0
    plain = [x[...], x[:], x[:, ...]]
    observer = Counter()
    attach(observer)
    try:
        watched = [x[...], x[:], x[:, ...]]
    finally:
        detach(observer)
    assert all(y is not x and y.op is not None and y.op.op.name == "index" for y in [*plain, *watched])
