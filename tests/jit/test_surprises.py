"""What surprises users of other tracing compilers, with the outcome that one would expect here."""

from __future__ import annotations

import copy
import pickle
import random
import threading
import warnings
from collections import deque
from functools import partial
from queue import SimpleQueue
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.host_memory import GAP
from minigrad.errors import StorageError
from minigrad.jitting.guards import REFUSED
from minigrad.jitting.turns import turn
from minigrad.runtime.observers import Observer, attach, detach

pytestmark = pytest.mark.usefixtures("reference")


def t(*values: float) -> mg.Tensor:
    """A tensor of some numbers."""
    return mg.tensor([float(v) for v in values])


def calls(function: Any, *tensors: Any) -> list[float]:
    """The results of calls with one tensor each."""
    return [function(x).item() for x in tensors]


def test_a_result_is_not_overwritten_by_later_calls() -> None:
    f = mg.jit(lambda x: x.sum())
    results = [f(t(k, k)) for k in range(4)]
    assert [y.item() for y in results] == [0, 2, 4, 6]


def test_a_result_may_be_the_next_argument() -> None:
    f = mg.jit(lambda x: x + 1.0)
    x = t(10)
    for _ in range(5):
        x = f(x)
    assert x.item() == 15


def test_a_number_of_an_enclosing_function_may_change() -> None:
    scale = 1.0

    @mg.jit
    def f(x):
        return x * scale

    results = []
    for k in [1, 1, 2, 2, 1]:
        scale = float(k)
        results.append(f(t(10)).item())
    assert results == [10, 10, 20, 20, 10]


def test_a_tensor_of_an_enclosing_function_may_be_another_one() -> None:
    w = t(1)

    @mg.jit
    def f(x):
        return x * w

    before = calls(f, t(10), t(10), t(10))
    w = t(2)
    assert before + calls(f, t(10), t(10)) == [10, 10, 10, 20, 20]


def test_a_list_of_tensors_may_grow() -> None:
    ws = [t(1)]

    @mg.jit
    def f(x):
        for w in ws:
            x = x + w
        return x

    before = calls(f, t(10), t(10))
    ws.append(t(5))
    assert before + calls(f, t(10), t(10)) == [11, 11, 16, 16]


def test_a_branch_may_depend_on_an_argument() -> None:
    f = mg.jit(lambda x, square: x * x if square else x * 2)
    assert [f(t(3), square).item() for square in [True, False] * 3] == [9, 6] * 3


def test_the_two_zeros_are_two_numbers() -> None:
    f = mg.jit(lambda x, sign: x * sign)
    assert [str(f(t(1), zero).item()) for zero in [0.0, 0.0, 0.0, -0.0, -0.0, -0.0, 0.0]] == ["0.0"] * 3 + [
        "-0.0"
    ] * 3 + ["0.0"]
    sign = 0.0
    g = mg.jit(lambda x: x * sign)
    before = [str(g(t(1)).item()) for _ in range(3)]
    sign = -0.0
    assert before + [str(g(t(1)).item()) for _ in range(3)] == ["0.0"] * 3 + ["-0.0"] * 3


def test_a_method_has_programs_for_each_object() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = t(scale)

        @mg.jit
        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return x * self.scale

    a, b = Model(2), Model(3)
    assert [model.forward(t(5)).item() for model in [a, b] * 3] == [10, 15] * 3


def test_one_tensor_twice_is_not_two_tensors() -> None:
    @mg.jit
    def f(a, b):
        a.add_(1.0)
        return a + b

    x = t(1)
    results = [f(x, x).item(), f(t(1), t(1)).item(), f(x, x).item(), f(t(1), t(1)).item(), f(x, x).item()]
    assert results == [4, 3, 6, 3, 8]


def test_reports_name_arguments_that_are_one_tensor_or_share_memory() -> None:
    def f(w, x, v):
        return w * x + v

    f = mg.jit(f)
    w, x, both = (mg.tensor([1.0, 2.0, 3.0][:n], device="reference") for n in (2, 2, 3))
    sources = {}
    for name, args in {"two": (w, x, w), "three": (w, x, x + 1.0), "parts": (both[:2], both[1:], x)}.items():
        f(*args)
        f(*args)
        sources[name] = f.source()
    kinds = [line.partition(": ")[0] for line in f.report().splitlines() if line.startswith("(")]
    one = "float32(2,)"
    assert kinds == [
        f"({one}, {one}, tensor 0 again)", f"({one}, {one}, {one})", f"({one}, {one} in the memory of tensor 0, {one})",
    ]  # fmt: skip
    assert "def run(w, x, result)" in sources["two"]
    assert "  * arguments without a parameter: v (in the memory of w)\n" in sources["two"]
    assert "without a parameter" not in sources["three"]
    assert "  * arguments without a parameter: x (in the memory of w)\n" in sources["parts"]


def test_an_argument_may_be_a_tensor_that_the_function_reads_anyway() -> None:
    w = t(1)

    @mg.jit
    def f(x):
        w.add_(1.0)
        return x + w

    assert calls(f, t(1), w, t(1), w, t(1)) == [3, 6, 5, 10, 7]


def test_an_argument_may_be_written() -> None:
    @mg.jit
    def f(x):
        x.add_(1.0)
        return x * 1.0

    x = t(0)
    for _ in range(5):
        f(x)
    assert x.item() == 5 and x.storage.version == 5


def test_slices_of_one_tensor_share_a_program() -> None:
    data = mg.arange(32, dtype="f32").reshape(8, 4)
    f = mg.jit(lambda x: (x.sum(), x.T))
    for k in range(0, 8, 2):
        total, turned = f(data[k : k + 2])
        assert total.item() == data[k : k + 2].sum().item()
        assert turned.tolist() == data[k : k + 2].T.tolist()
    assert [len(entries) for entries in f.programs.values()] == [1]


def test_random_numbers_go_on() -> None:
    mg.manual_seed(0)
    eager = [mg.rand(2).tolist() for _ in range(5)]
    f = mg.jit(lambda x: x + mg.rand(2))
    mg.manual_seed(0)
    assert [f(t(0, 0)).tolist() for _ in range(5)] == eager


def test_a_graph_that_saved_a_written_tensor_is_stale() -> None:
    w = mg.Var([1.0, 2.0])

    @mg.jit
    def f(g):
        with mg.no_grad():
            w.sub_(g)
        return w.detach().sum()

    f(t(1, 1))
    y = (w * w).sum()
    f(t(1, 1))
    with pytest.raises(mg.StorageError, match="changed"):
        y.backward()


def test_an_index_out_of_range_raises_the_sentence_of_eager_mode() -> None:
    w = t(1, 2, 3)

    def f(i):
        return w[i] * 1.0

    g = mg.jit(f)
    assert calls(g, mg.tensor([2]), mg.tensor([1]), mg.tensor([0])) == [3, 2, 1]
    with pytest.raises(mg.IndexOutOfRange) as eager:
        f(mg.tensor([7]))
    with pytest.raises(mg.IndexOutOfRange) as jitted:
        g(mg.tensor([7]))
    assert str(jitted.value) == str(eager.value)
    assert calls(g, mg.tensor([2])) == [3], "the program still runs"


def test_a_jitted_function_may_call_another() -> None:
    inner = mg.jit(lambda x: x + 1.0)
    outer = mg.jit(lambda x: inner(x) * 3.0)
    assert calls(outer, t(1), t(2), t(3)) == [6, 9, 12]


def test_a_jitted_function_may_be_transformed() -> None:
    f = mg.jit(lambda x: (x * x).sum())
    for _ in range(3):
        f(t(1, 2))
    assert mg.func.grad(f)(t(1, 2)).tolist() == [2, 4]
    assert mg.func.vmap(f)(mg.ones(2, 2)).tolist() == [2, 2]


def test_gradients_flow_through_a_call_whose_argument_has_a_graph() -> None:
    f = mg.jit(lambda x: (x * x).sum())
    w = mg.Var([1.0, 2.0])
    for _ in range(3):
        assert mg.grad(f(w * 2.0), w).tolist() == [8, 16]


def test_programs_follow_the_mode_of_a_module() -> None:
    model = mg.nn.Dropout(0.5)
    f = mg.jit(lambda x: model(x))
    x = mg.ones(64)
    assert all(f(x).tolist() != x.tolist() for _ in range(3))
    model.eval()
    assert all(f(x).tolist() == x.tolist() for _ in range(3))
    model.train()
    model.p = 0.0
    assert f(x).tolist() == x.tolist(), "an attribute of a module is read again"


def test_a_hook_that_comes_later_is_called() -> None:
    w = mg.Var([1.0, 2.0])

    @mg.jit
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1.0

    assert [step(t(3, 4)).tolist() for _ in range(3)] == [[3, 4]] * 3
    handle = w.register_hook(lambda g: g * 2)
    assert [step(t(3, 4)).tolist() for _ in range(3)] == [[6, 8]] * 3
    handle.remove()
    assert step(t(3, 4)).tolist() == [3, 4]


def test_a_parameter_that_is_frozen_has_no_gradient() -> None:
    w, v = mg.Var([1.0]), mg.Var([1.0])

    @mg.jit
    def step(x):
        w.grad = v.grad = None
        (w * v * x).sum().backward()
        return x * 1.0

    for _ in range(3):
        step(t(2))
    v.requires_grad_(False)
    for _ in range(3):
        step(t(2))
        assert w.grad is not None and v.grad is None


def test_a_gradient_that_somebody_holds_is_added_to_as_any_other() -> None:
    w = mg.Var([1.0])

    @mg.jit
    def step(x):
        (w * x).sum().backward()
        return x * 1.0

    held = []
    for _ in range(5):
        step(t(2))
        held.append(w.grad)
    assert [g.item() for g in held] == [10] * 5 and held[0] is held[4] is w.grad
    assert sum(map(len, step.programs.values())) <= 2


SHARED: dict[str, Any] = {
    "other parts": lambda k: (lambda f: (f[:2], f[2:4]))(mg.zeros(4)),
    "other buffers": lambda k: (mg.zeros(4)[:2], mg.zeros(4)[2:]),
    "the same": lambda k: (lambda g: (g, g))(mg.zeros(2)),
    "the same at last": lambda k: (mg.zeros(2),) * 2 if k > 3 else (mg.zeros(2), mg.zeros(2)),
    "in turn": lambda k: (lambda f, g: (f[:2], g[2:4] if k % 2 else f[2:4]))(mg.zeros(4), mg.zeros(4)),
    "stores": lambda k: None,
    "graphs": lambda k: ((mg.Var([1.0, 2.0]) * 2.0), mg.zeros(2)) if k % 2 else (mg.zeros(2), mg.zeros(2)),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_program_writes_into_the_gradients_of_each_call(name: str) -> None:
    results = []
    for wrap in (lambda f: f, mg.jit):
        p, q, x = mg.Var([1.0, 2.0]), mg.Var([3.0, 4.0]), mg.tensor([10.0, 20.0])
        step = wrap(lambda x, p=p, q=q: (p * x + q * x * 2.0).sum().backward() and None)
        p.grad, q.grad = mg.zeros(2), mg.zeros(2)
        seen: list[Any] = []
        for k in range(6):
            if name == "stores":
                p.grad = q.grad = None
                grads = (p * 3.0 + q * 5.0).sum().backward()
                held = [grads[p]] if k % 2 else [p.grad]
                step(x)
                seen += [grads[p].tolist(), grads[q].tolist(), held[0].tolist(), p.grad.tolist(), q.grad.tolist()]
            else:
                p.grad, q.grad = held = SHARED[name](k)
                step(x)
                step(x)
                seen += [[g.tolist() for g in held], p.grad.tolist(), q.grad.tolist()]
        results.append(seen)
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", ["view", "part", "whole", "itself", "closure"])
def test_an_argument_may_be_the_memory_of_a_gradient(kind: str) -> None:
    results = []
    for wrap in (lambda f: f, mg.jit):
        p, x, big = mg.Var([1.0, 2.0]), mg.tensor([10.0, 20.0]), mg.zeros(6)
        p.grad = big[1:3]
        step = wrap(lambda x, g, p=p, big=big: ((p * x).sum().backward(), (big if kind == "closure" else g) * 1.0)[1])
        seen = []
        for k in range(5):
            passed = {"view": big[1:3], "part": big[k : k + 2], "whole": big}.get(kind, p.grad)
            seen += [step(x, passed).tolist(), big.tolist()]
        other = mg.zeros(6)
        p.grad = other[1:3]
        seen += [step(x, other[1:3]).tolist(), big.tolist(), other.tolist()]
        p.grad = mg.zeros(2)
        seen += [step(x, p.grad).tolist(), p.grad.tolist()]
        results.append(seen)
    assert results[0] == results[1]


def test_a_gradient_of_a_store_that_a_program_returns_lasts() -> None:
    p, x = mg.Var([1.0, 2.0]), mg.tensor([10.0, 20.0])

    @mg.jit
    def step(x: Any) -> Any:
        p.grad = None
        return (p * x).sum().backward()[p]

    for _ in range(4):
        g = step(x)
        (p * x).sum().backward()
        assert g.tolist() == [10.0, 20.0] and p.grad.tolist() == [20.0, 40.0]


def test_an_observer_sees_every_call() -> None:
    f = mg.jit(lambda x: x * 2)
    for _ in range(3):
        f(t(1))
    seen = []

    class Names(Observer):
        def called(self, op: Any, operands: Any, result: Any, seconds: float) -> None:
            seen.append(op.name)

    observer = Names()
    attach(observer)
    try:
        f(t(1))
    finally:
        detach(observer)
    assert seen == ["mul"]


def test_threads_may_share_a_function() -> None:
    w = t(3)
    f = mg.jit(lambda x: (x * w + 1.0).sum())
    wrong: list[Any] = []

    def work(k: int) -> None:
        try:
            for j in range(50):
                y = f(t(k, j)).item()
                if y != 3 * k + 3 * j + 2:
                    wrong.append(y)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_program_without_a_lock_does_not_run_while_another_thread_records() -> None:
    w = mg.ones(3, device="cpu")
    f = mg.jit(lambda x: x * w)
    x = mg.ones(3, device="cpu")
    for _ in range(3):
        f(x)
    entry = f.last
    assert entry.is_atomic()
    make = entry.bound["make0"]

    def interrupted() -> Any:
        # Threads may be switched here: another one begins to record, and `w` refers to a twin.
        turn.recording += 1
        return make()

    entry.bound["make0"] = interrupted
    try:
        assert entry.attempt(x) is REFUSED
    finally:
        turn.recording = 0
    assert f(x).tolist() == [1.0, 1.0, 1.0]
    turn.recording = 0


def test_a_program_with_random_numbers_holds_the_lock() -> None:
    f = mg.jit(lambda x: x * mg.rand(3, device="cpu"))
    for _ in range(3):
        f(mg.ones(3, device="cpu"))
    assert not f.last.is_atomic()


@pytest.mark.parametrize("wrong", [(), (None,), (mg.ones(3), mg.ones(3)), (mg.ones(4),)])
def test_other_arguments_are_refused_and_then_looked_up(wrong: Any) -> None:
    def size(x: Any = (), *more: Any) -> Any:
        return x is not None and len(x) + len(more)

    f = mg.jit(size)
    for _ in range(4):
        f(mg.ones(3))
    assert f.last.attempt(*wrong) is REFUSED
    assert f(*wrong) == size(*wrong)


@pytest.mark.parametrize("scale", [2.0, [3.0, 4.0]])
def test_an_item_of_a_list_may_be_replaced(scale: Any) -> None:
    items = [t(1, 1), 1.0, t(0, 0)]
    f = mg.jit(lambda x: x * items[0] * items[1] + items[-1])
    assert [f(t(1, 2)).tolist() for _ in range(4)] == [[1.0, 2.0]] * 4
    items[1] = float("1.0")  # an equal number that is another object
    assert f(t(1, 2)).tolist() == [1.0, 2.0]
    items[0] = mg.tensor(scale) if isinstance(scale, list) else scale
    wanted = (t(1, 2) * items[0]).tolist()
    assert [f(t(1, 2)).tolist() for _ in range(4)] == [wanted] * 4
    items.append(t(10, 10))
    assert f(t(1, 2)).tolist() == [y + 10 for y in wanted]
    del items[2:]
    items[1] = 0.0
    assert [f(t(1, 2)).tolist() for _ in range(4)] == [[0.0, 0.0]] * 4


def test_the_layout_and_the_class_of_an_outside_tensor_may_change() -> None:
    w = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    f = mg.jit(lambda x: (x * w).sum(0))
    x = mg.tensor([[1.0, 1.0], [10.0, 10.0]])
    assert [f(x).tolist() for _ in range(4)] == [[31.0, 42.0]] * 4
    w.transpose_(0, 1)
    assert [f(x).tolist() for _ in range(4)] == [[21.0, 43.0]] * 4
    w.resize_(1, 2)
    assert [f(x).tolist() for _ in range(4)] == [[11.0, 22.0]] * 4
    w.requires_grad_(True)
    assert [f(x).requires_grad for _ in range(4)] == [True] * 4


def test_a_report_counts_kernels_and_memory() -> None:
    w = mg.Var(np.ones(4), dtype="float32", device="cpu")
    optimizer = mg.optim.SGD([w], lr=0.5)

    @mg.jit
    def step(x):
        optimizer.zero_grad()
        (w * x.flip(0)).sum().backward()
        optimizer.step()
        return (x.cumsum(0) * 2.0 - w.detach()).cumsum(0)

    x = mg.ones(4, device="cpu")
    assert "no program yet" in step.report()
    for _ in range(3):
        step(x)
    report = step.report()
    assert report.startswith("(float32(4,)): ") and "2 tables" in report
    assert "1 call of an optimizer or a schedule" in report
    small, large = map(
        int, report.splitlines()[0].partition("temporaries in ")[2].replace(" without sharing", "").split(" bytes, ")
    )
    assert 0 < small <= 320 * 4
    head, *lines = step.memory().split("\n")
    assert head.startswith(f"(float32(4,)): {small} bytes for {len(lines)} temporaries of {large} bytes together")
    assert large == (64 + GAP) * len(lines)
    assert all(f"{__file__.rpartition('/')[2]}:" in line and "#" in line for line in lines)


# ---- errors ---------------------------------------------------------------------------------------------------------


def refused(function: Any, *args: Any) -> str:
    """The sentence with which the second call is refused."""
    f = mg.jit(function)
    f(*args)
    with pytest.raises(mg.RecordingError) as error:
        f(*args)
    return str(error.value)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * x.sum().item(), lambda x: x * 2 if x.sum() > 0 else x, lambda x: x[x > 0], lambda x: np.array(x)],
    ids=["item", "bool", "mask", "numpy"],
)
def test_a_value_does_not_exist_while_recording(function: Any) -> None:
    sentence = refused(function, t(1, 2))
    assert "test_surprises.py" in sentence and "return the tensor" in sentence and "mg.where" in sentence


def test_a_tensor_that_is_hidden_is_named() -> None:
    hidden = iter([t(1)] * 9)
    assert "neither an argument nor found" in refused(lambda x: x + next(hidden), t(1))


def test_a_tensor_that_outlives_the_recording_is_refused() -> None:
    kept: SimpleQueue[mg.Tensor] = SimpleQueue()

    def f(x):
        kept.put(x * 2)
        return x + 1.0

    g = mg.jit(f)
    g(t(1))
    kept.get()
    g(t(1))
    with pytest.raises(mg.RecordingError, match="after the recording"):
        kept.get() + 1.0


def test_a_number_that_the_function_changes_is_refused() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count, self.w = 0, t(1)

        def step(self, g: mg.Tensor) -> mg.Tensor:
            self.count += 1
            self.w.sub_(g * (0.1 / self.count))
            return self.w * 1.0

    assert "self.count from 1 to 2" in refused(Counter().step, t(1))


def test_a_list_that_the_function_extends_is_refused() -> None:
    losses: list[mg.Tensor] = []
    assert "losses, which holds 2 objects" in refused(lambda x: losses.append(x.sum()), t(1))


def test_everything_is_as_before_after_an_error() -> None:
    w = mg.Var([1.0, 2.0])
    w.grad = t(5, 6)
    refused(lambda x: (w * x).sum().item(), t(1, 2))
    assert w.tolist() == [1, 2] and w.grad.tolist() == [5, 6] and w.device is mg.default_device()
    assert (w * t(1, 2)).tolist() == [1, 4]


def test_arrays_are_refused_as_arguments() -> None:
    with pytest.raises(mg.ArgumentError, match="from_numpy"):
        mg.jit(lambda x: mg.tensor(x))(np.ones(2))


def test_many_kinds_of_arguments_are_reported_once() -> None:
    f = mg.jit(lambda x, rate: x * rate)
    with pytest.warns(UserWarning, match="kinds of arguments.*0-d tensors") as warned:
        for k in range(20):
            f(t(1), k)
    assert len(warned) == 1
    assert f(t(1), 5).item() == 5


def test_a_refusal_that_the_function_catches_counts() -> None:
    def guarded(x):
        try:
            return x * x.sum().item()
        except Exception:
            return x

    f = mg.jit(guarded)
    f(t(1, 2))
    with pytest.raises(mg.RecordingError, match="value of a tensor"):
        f(t(1, 2))


def test_a_container_among_the_arguments_may_not_change() -> None:
    changes: list[tuple[Any, Any]] = [
        (lambda box: box.append(box[0] * 2.0), lambda: [t(1)]),
        (lambda box: box.pop("x"), lambda: {"x": t(1)}),
        (lambda box: box.update(x=box["x"] * 2.0), lambda: {"x": t(1)}),
    ]
    for change, make in changes:
        f = mg.jit(change)
        f(make())
        with pytest.raises(mg.RecordingError, match="among its arguments"):
            f(make())


def test_a_function_may_change_a_container_of_its_own() -> None:
    def f(batch):
        mine = dict(batch)
        return mine.pop("x") * 2.0

    jitted = mg.jit(f)
    assert [jitted({"x": t(k)}).item() for k in range(4)] == [0, 2, 4, 6]


def test_a_generator_that_is_seeded_again_with_its_seed_is_refused() -> None:
    def draw(x):
        mg.manual_seed(3)
        return x + mg.rand(1)

    f = mg.jit(draw)
    f(t(1))
    with pytest.raises(mg.RecordingError, match="generator was seeded"):
        f(t(1))


def test_an_object_without_a_name_is_called_by_its_class() -> None:
    f = mg.jit(mg.nn.Identity())
    with pytest.warns(UserWarning, match="jit: Identity has been called with 9 kinds"):
        for k in range(12):
            f(mg.zeros(k))
    assert repr(f).startswith("<jit Identity: ")


def test_a_report_names_what_made_a_program_necessary() -> None:
    options, model = {"scale": 1.0}, mg.nn.Dropout(0.5)

    @mg.jit
    def step(x):
        return model(x) * options["scale"]

    for scale, train in ((1.0, True), (1.0, True), (2.0, True), (2.0, False)):
        options["scale"] = scale
        model.train(train)
        step(t(1, 2))
    causes = [line for line in step.report().split("\n") if line.startswith("recorded again")]
    assert causes[0] == "recorded again after a change of options['scale'] from 1.0 to 2.0"
    assert causes[1].startswith("recorded again after a change of model.training from True to False")


@pytest.mark.parametrize("held", [deque([1.0, 2.0, 3.0]), {1.0, 2.0, 3.0}])
def test_a_function_that_takes_from_a_deque_or_a_set_is_refused(held: Any) -> None:
    f = mg.jit(lambda x: x * held.pop())
    f(t(1))
    left = set(held)
    with pytest.raises(mg.RecordingError, match=r"test_surprises.py:\d+: jit: the function changes held"):
        f(t(1))
    assert set(held) == left


def another_key(held: Any) -> int:
    """Replace the only key of a dict."""
    held[held.popitem()[0] + 1] = 1
    return len(held)


def another_element(held: Any) -> int:
    """Replace one of two elements of a set."""
    held.add(held.pop() + 9.0)
    return len(held)


@pytest.mark.parametrize(("held", "change"), [({0: 1}, another_key), ({1.0, 2.0}, another_element)])
def test_a_dict_or_a_set_of_the_same_size_has_changed(held: Any, change: Any) -> None:
    f = mg.jit(lambda x: x * change(held))
    f(t(1))
    with pytest.raises(mg.RecordingError, match="changes held, which holds other keys or elements"):
        f(t(1))


def test_a_program_is_recorded_again_for_another_set() -> None:
    tensors = deque([t(1)])
    f = mg.jit(lambda x: sum([x * each for each in tensors], x))
    assert [f(t(2)).tolist() for _ in range(3)] == [(t(2) * t(1) + t(2)).tolist()] * 3
    tensors.append(t(3))
    assert f(t(2)).tolist() == (t(2) + t(2) * t(1) + t(2) * t(3)).tolist()


def test_a_partial_holds_tensors_and_what_its_function_reads() -> None:
    w = mg.Var(t(2))
    for f in (mg.jit(partial(lambda a, x: a * x * w, t(3))), mg.jit(partial(lambda x, a: a * x * w, a=t(3)))):
        assert [f(t(1)).item() for _ in range(3)] == [6, 6, 6]
        f(t(1)).backward()
    assert w.grad.item() == 6


def test_a_transform_reads_what_its_function_reads() -> None:
    scale, w = 1.0, t(2, 3)

    def function(x):
        return (x * x * w * scale).sum()

    for transform in (mg.func.grad, mg.func.jacrev, mg.func.hessian, mg.func.vmap, mg.func.value_and_grad):
        f = mg.jit(transform(function))
        for k in [1, 1, 1, 5]:
            scale = float(k)
            results = [y if isinstance(y, tuple) else (y,) for y in (f(t(1, 4)), transform(function)(t(1, 4)))]
            assert [y.tolist() for y in results[0]] == [y.tolist() for y in results[1]]


@pytest.mark.parametrize("name", ["vjp", "linearize"])
def test_a_derivative_that_was_made_outside_is_refused(name: str) -> None:
    pull = getattr(mg.func, name)(lambda x: x * x, t(3))[1]
    assert f"call mg.func.{name} in the jitted function" in refused(lambda g: mg.func.tree_map(mg.sum, pull(g)), t(1))


def test_a_custom_vjp_reads_what_its_rule_reads() -> None:
    factor, kept = t(3), t(2)

    @mg.custom_vjp
    def same(x):
        return x * 1.0

    same.defvjp(lambda x: (x * 1.0, kept * 1.0), lambda kept, g: (g * kept * factor,))
    f = mg.jit(mg.func.grad(lambda x: same(x).sum()))
    results = [f(t(1)).tolist() for _ in range(3)]
    factor = t(4)
    assert [*results, f(t(1)).tolist()] == [[6], [6], [6], [8]]


def test_hooks_and_properties_may_read_another_number() -> None:
    scale = 1.0

    class Scaled:
        factor = property(lambda self: scale)

        def __call__(self, x):
            return x * self.factor

    layer = mg.nn.Identity()
    layer.register_forward_hook(lambda module, args, y: y * scale)
    for f in (mg.jit(Scaled()), mg.jit(layer)):
        results = []
        for k in [1, 1, 1, 5]:
            scale = float(k)
            results.append(f(t(2)).item())
        assert results == [2, 2, 2, 10]


class Base:
    scale = 1.0


def test_modules_and_base_classes_may_have_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = ModuleType("helpers")
    exec("scale = 1.0\ndef scaled(x):\n    return x * scale", helpers.__dict__)
    monkeypatch.setitem(globals(), "helpers", helpers)

    class Heir(Base):
        def __call__(self, x):
            return x * self.scale

    functions = (lambda x: x * helpers.scale, lambda x: helpers.scaled(x), Heir())
    for f in map(mg.jit, functions):
        results = []
        for k in [1, 1, 1, 5]:
            monkeypatch.setattr(helpers, "scale", float(k))
            monkeypatch.setattr(Base, "scale", float(k))
            results.append(f(t(2)).item())
        assert results == [2, 2, 2, 10]


def test_a_node_has_the_name_and_the_place_of_the_function() -> None:
    @mg.jit
    def scaled(x):
        return x * 2.0

    class Twice:
        def __call__(self, x):
            return x * 2.0

    for f, name in ((scaled, "scaled"), (mg.jit(Twice()), "Twice"), (mg.jit(mg.nn.Tanh()), "Tanh")):
        x = mg.Var(t(1))
        y = [f(x + 1.0) for _ in range(3)][-1]
        assert y.op.op.label == name and ("modules" if name == "Tanh" else "test_surprises") in y.op.op.where


def test_a_default_argument_that_changes_has_its_name() -> None:
    def f(x, made=[]):  # noqa: B006
        made.append(1)
        return x * len(made)

    g = mg.jit(f)
    g(t(1))
    with pytest.raises(mg.RecordingError, match="changes made, which holds 2 objects instead of 1"):
        g(t(1))


def test_classes_with_weights_are_checked_by_the_program() -> None:
    x, weight = mg.randn(4, 3, device="reference"), mg.rand(3, device="reference")
    good, bad = (mg.tensor(classes, device="reference") for classes in ([0, 2, 1, -100], [0, 3, 1, 2]))

    def loss(x: mg.Tensor, target: mg.Tensor) -> mg.Tensor:
        return mg.nn.functional.cross_entropy(x, target, weight=weight)

    step = mg.jit(loss)
    for _ in range(3):
        assert mg.equal(step(x, good), loss(x, good))
    with pytest.raises(IndexError, match="class 3 of int64"):
        step(x, bad)


@pytest.mark.parametrize("later", [False, True], ids=["a step at the end", "launches after the step"])
def test_the_memory_of_replaced_gradients_is_used_again(later: bool) -> None:
    """While a program refers to the memory of a gradient that it replaces, the allocator must not take it back."""
    w = mg.Var(np.ones(1000, np.float32), device="cpu")
    optimizer = mg.optim.SGD([w], lr=0.5)

    @mg.jit
    def step(x: mg.Tensor) -> mg.Tensor:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return (w.detach() * x).sum() if later else loss.detach()

    x = mg.tensor(np.ones(1000, np.float32), device="cpu")
    for _ in range(4):
        step(x)
    before = mg.memory_stats().misses
    for _ in range(10):
        step(x)
    assert step.last is not None and mg.memory_stats().misses == before


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda w: mg.distributions.Normal(w, mg.ones(2, device="cpu")), lambda d, x: d.log_prob(x)),
        (lambda w: mg.distributions.Independent(mg.distributions.Categorical(logits=w), 0), lambda d, x: d.entropy()),
        (lambda w: mg.data.TensorDataset(w.detach()), lambda d, x: d.tensors[0] * x),
    ],
    ids=["distribution", "nested distribution", "dataset"],
)
def test_tensors_in_objects_of_the_library_are_found(make: Any, use: Any) -> None:
    w = mg.Var(np.array([0.5, 1.0], np.float32), device="cpu")
    made = make(w)
    f = mg.jit(lambda x: use(made, x).detach())
    x = mg.tensor([1.0, 2.0], device="cpu")
    for _ in range(3):
        assert np.array_equal(f(x).numpy(), use(made, x).detach().numpy())
    with mg.no_grad():
        w.mul_(2.0)
    assert f.last is not None and np.array_equal(f(x).numpy(), use(made, x).detach().numpy())


def test_numbers_of_numpy_are_read_at_each_call() -> None:
    f = mg.jit(lambda x, s: x * s)
    x = mg.ones(2, device="reference")
    numbers = [np.float32(2), np.float32(2), np.float32(2), np.float32(3), np.int64(4), np.float32(0.1), np.float32(2)]
    for number in numbers:
        assert f(x, number).tolist() == (x * number).tolist()


def test_a_number_from_a_global_generator_is_reported() -> None:
    draws = {"Python's module random": random.random, "np.random": np.random.rand}
    for name, draw in draws.items():
        step, x = mg.jit(lambda x, draw=draw: x * draw()), mg.ones(2)
        step(x)
        with pytest.warns(UserWarning, match=f"draws a number from {name}") as warned:
            step(x)
        assert warned[0].filename == __file__
        assert np.array_equal(step(x).numpy(), step(x).numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step = mg.jit(lambda x: x * mg.rand(2))
        [step(x) for _ in range(3)]


def test_a_jitted_module_has_the_attributes_of_the_module() -> None:
    model = mg.nn.Sequential(mg.nn.Linear(3, 2), mg.nn.Dropout(0.5))
    step, x = mg.jit(model), mg.ones(4, 3)
    assert step.eval() is step and not model.training and step.train() is step and model.training
    assert [*map(id, step.parameters())] == [*map(id, model.parameters())]
    assert step.state_dict().keys() == model.state_dict().keys() and step.get_submodule("0") is model[0]
    step.training = False
    assert model.training is False and "training" not in vars(step)
    step.to(mg.float64)
    assert model[0].weight.dtype is mg.float64
    optimizer = mg.optim.SGD(step.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        step(x.to(mg.float64)).sum().backward()
        optimizer.step()
    with pytest.raises(AttributeError, match="absent"):
        _ = step.absent
    assert copy.copy(step).function is model and mg.jit(lambda x: x).__name__ == "<lambda>"


@pytest.mark.usefixtures("reference")
def test_a_jitted_layer_is_a_child_of_a_module() -> None:
    net, x = mg.nn.Sequential(mg.nn.Tanh()), mg.ones(4, 3)
    net.layer = layer = mg.jit(mg.nn.Linear(3, 2))
    net.add_module("part", mg.jit(mg.nn.Sequential(mg.nn.Linear(2, 2))))
    assert isinstance(layer, mg.nn.Module) and not isinstance(mg.jit(len), mg.nn.Module)
    keys = ["layer.weight", "layer.bias", "part.0.weight", "part.0.bias"]
    assert [name for name, _ in net.named_parameters()] == keys == [*net.state_dict()]
    assert net.get_submodule("part.0").weight is net.get_parameter("part.0.weight")
    assert net.eval() is net and not layer.training
    net.load_state_dict({key: value * 0 + 1 for key, value in net.state_dict().items()})
    twin = copy.deepcopy(net)
    step, optimizer = mg.jit(lambda x: net.part(net.layer(x)).sum()), mg.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (step(x) + net.part(net.layer(x)).sum()).backward()
        optimizer.step()
    assert net.layer.weight[0, 0].item() != 1.0 and twin.layer.weight[0, 0].item() == 1.0
    with pytest.raises(AttributeError, match=r"Linear has no parameter 'wrong', only weight, bias"):
        net.get_parameter("layer.wrong")


@pytest.mark.usefixtures("reference")
def test_a_jitted_module_is_copied_pickled_and_takes_new_attributes() -> None:
    model = mg.nn.Linear(2, 3)
    jitted, x = mg.jit(model), mg.ones(1, 2)
    for _ in range(3):
        wanted = jitted(x).detach()
    for other in (copy.deepcopy(jitted), pickle.loads(pickle.dumps(jitted))):
        assert other(x).detach().equal(wanted) and other.weight is not model.weight
    jitted.extra = mg.nn.Parameter(mg.ones(1))
    assert "extra" in model.state_dict()
    del jitted.extra
    assert "extra" not in dict(jitted.named_parameters())
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level is copy.copy(at_module_level)


@mg.jit
def at_module_level(x: mg.Tensor) -> mg.Tensor:
    return x * 2


def test_the_marks_of_pytorchs_compiler_change_nothing() -> None:
    @mg.jit.ignore
    @mg.jit.unused
    @mg.jit.export
    def doubled(x: Any) -> Any:
        return x if mg.jit.is_scripting() or mg.jit.is_tracing() else x * 2

    assert doubled(3) == 6


def test_an_overwritten_value_is_an_error_of_the_backward_pass_and_not_of_the_call() -> None:
    w, state = mg.Var([2.0, 3.0]), mg.tensor([1.0, 1.0])

    def step(x: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
        spoiled, kept = (state * w).sum(), (x * w).sum()
        with mg.no_grad():
            state.mul_(2.0)
        return spoiled, kept

    jitted = mg.jit(step)
    for call in range(4):
        spoiled, kept = jitted(mg.tensor([1.0, 10.0]))
        assert spoiled.requires_grad and spoiled.item() == 5.0 * 2**call
        with pytest.raises(StorageError, match=r"backward: mul.* saved its operand 'input'.* changed in place since"):
            spoiled.backward()
        w.grad = None
        kept.backward()
        assert w.grad is not None and w.grad.tolist() == [1.0, 10.0]


def test_parts_of_complex_numbers_are_views_in_effect_or_refused() -> None:
    start = mg.tensor([1 + 2j, 0.5 - 1j])

    def used(z: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
        w = z * z
        shown = w.real + 0
        w.mul_(2)
        return shown, w.imag

    def loss(z: mg.Tensor) -> mg.Tensor:
        w = z * z
        return (w.real * w.imag.exp()).sum()

    def write_part(z: mg.Tensor) -> mg.Tensor:
        z.real.mul_(2)
        return z * 1

    def write_whole(z: mg.Tensor) -> mg.Tensor:
        w = z * 1
        part = w.imag
        w.mul_(2)
        return part + 1

    jitted = mg.jit(used)
    for _ in range(3):
        assert [y.tolist() for y in jitted(start)] == [y.tolist() for y in used(start)]
    plain, fused, jitted_loss = mg.Var(start), mg.Var(start), mg.jit(loss)
    for _ in range(3):
        loss(plain).backward()
        jitted_loss(fused).backward()
    assert plain.grad.tolist() == fused.grad.tolist()
    both, twice = (lambda z: (w := z * 2, w.real)), (lambda z: (lambda w: (w.real, w.real))(z * 2))
    target = mg.Var([1.0, 1.0])

    def into_gradient(z: mg.Tensor) -> mg.Tensor:
        w = z * 2
        target.grad = w.real
        w.mul_(2)
        return w

    for function in (write_part, write_whole, lambda z: z.real, both, twice, into_gradient):
        refused = mg.jit(function)
        with pytest.raises(mg.RecordingError, match=r"while x\.real or x.imag shows them"):
            [refused(start.clone()) for _ in range(3)]


def test_a_tensor_that_is_passed_twice_gets_its_gradient_once() -> None:
    w, v = mg.Var([1.0, 2.0]), mg.Var([4.0, 5.0])
    product, attention = mg.jit(lambda x, y: x * y * y), mg.nn.MultiheadAttention(4, 2, batch_first=True)
    for x, y in [(w, w)] * 3 + [(w, v)] * 3 + [(w, w)] * 2:
        w.grad = None
        product(x, y).sum().backward()
        assert w.grad.tolist() == ([3.0, 12.0] if y is w else [16.0, 25.0])
    for _ in range(3):
        (g,) = mg.grad(product(w, w).sum(), [w], create_graph=True)
        assert mg.grad(g.sum(), [w])[0].tolist() == [6.0, 12.0]
    h, results = mg.Var(mg.randn(1, 3, 4)), []
    for function in (attention, *[mg.jit(attention)] * 3):
        h.grad = None
        function(h, h, h)[0].square().sum().backward()
        results.append(h.grad.numpy())
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-6)


def test_a_function_may_write_a_var_whose_new_value_its_gradient_needs() -> None:
    w = mg.Var([8.0])

    @mg.jit
    def halving(x: mg.Tensor) -> mg.Tensor:
        with mg.no_grad():
            w.mul_(0.5)
        return (x * w).sum()

    for call in range(4):
        x = mg.Var([3.0])
        halving(x).backward()
        assert w.tolist() == x.grad.tolist() == [8.0 / 2 ** (call + 1)]


def test_a_result_that_is_overwritten_through_detach_fails_in_the_backward_pass() -> None:
    w = mg.Var([1.0])

    @mg.jit
    def step(x: mg.Tensor) -> mg.Tensor:
        y = x * w
        y.detach().mul_(2.0)
        return y.exp()

    for _ in range(3):
        y = step(mg.tensor([0.0]))
        with pytest.raises(mg.GradientError, match=r"backward: the result of mul.* was changed in place"):
            y.backward()
