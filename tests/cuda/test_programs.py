"""Programs of `mg.jit` on `device="cuda"`: lists of launches that take no memory and that the host does not interrupt.

Each function is made twice from the same values, and its program gives the bits of eager mode.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import IndexOutOfRange
from minigrad.nn import functional as F
from tests.programs import generator, written

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "toy_device.py"
Made = tuple[Callable[..., Any], list[mg.Tensor], list[mg.Tensor]]  # a function, its arguments, tensors that it writes


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


def network(device: str, *sizes: int) -> tuple[list[mg.Var], list[mg.Tensor]]:
    """Weights and biases of a network, and a speed for each."""
    arrays = [a for m, n in pairwise(sizes) for a in (normal(m, n), np.zeros(n, np.float32))]
    weights = [mg.Var(a, device=device) for a in arrays]
    return weights, [mg.zeros_like(w.as_tensor()) for w in weights]


def update(weights: list[mg.Var], speeds: list[mg.Tensor], slopes: list[mg.Tensor]) -> None:
    with mg.no_grad():
        for w, speed, slope in zip(weights, speeds, slopes):
            speed.mul_(0.9).add_(slope)
            w.sub_(speed * 0.05)


def mlp_step(device: str = "cuda") -> Made:
    """Cross entropy, and SGD with momentum."""
    weights, speeds = network(device, 5, 7, 3)

    def step(x, target):
        w1, b1, w2, b2 = weights
        loss = F.cross_entropy(mg.relu(x @ w1 + b1) @ w2 + b2, target)
        update(weights, speeds, mg.grad(loss, weights))
        return loss

    return step, [mg.tensor(normal(4, 5), device=device), mg.tensor([0, 2, 1, 1], device=device)], [*weights, *speeds]


def digits_step() -> Made:
    """The step of examples/digits_mlp.py: a batch by its index, log_softmax and gather."""
    weights, speeds = network("cuda", 6, 5, 3)
    images, labels = mg.tensor(normal(9, 6), device="cuda"), mg.tensor([0, 2, 1, 0, 2, 1, 0, 1, 2], device="cuda")

    def step(batch):
        w1, b1, w2, b2 = weights
        scores = mg.log_softmax(mg.relu(images[batch] @ w1 + b1) @ w2 + b2, dim=1)
        loss = -scores.gather(1, labels[batch].unsqueeze(1)).mean()
        update(weights, speeds, mg.grad(loss, weights))
        return loss

    return step, [mg.tensor([7, 0, 8, 3], device="cuda")], [*weights, *speeds]


def attention() -> Made:
    q, k, v = (mg.Var(normal(2, 1, 3, 4, seed=n), device="cuda") for n in range(3))

    def step(q, k, v):
        y = F.gelu(F.softmax((q @ k.mT) * 0.5, -1) @ v)
        loss = (y * y).mean()
        return (loss, *mg.grad(loss, [q, k, v]))

    return step, [q, k, v], []


def computed_index() -> Made:
    """An index that only the program has, in memory that later launches use for other values."""
    table, total = mg.tensor(normal(6, 8), device="cuda"), mg.zeros(8, device="cuda")

    def step(index):
        rows = mg.relu(table[index * 2] * 3.0)
        total.add_(mg.softmax(mg.relu(rows @ rows.T), 0).sum(0) @ rows)
        return total * 2.0

    return step, [mg.tensor([0, 2, 1, 1], device="cuda")], [total]


def bits(*results: Any) -> list[bytes]:
    return [x.detach().numpy().tobytes() for x in mg.func.trees.flatten(results)[0]]


def same_bits(make: Callable[[], Made], calls: int = 3) -> Any:
    """Compare some calls of a function with those of its program; return the program."""
    (eager, args, written), (function, same_args, same_written) = make(), make()
    jitted = mg.jit(function)
    for _ in range(calls):
        assert bits(eager(*args), *written) == bits(jitted(*same_args), *same_written)
    assert jitted.last is not None
    return jitted


class Log:
    """What the simulator does in lists, by name, and how many launches run outside of them."""

    def __init__(self, backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inside, self.outside, self.lists = list[str](), list[str](), 0
        self.running = False
        for name in ("take", "copy_to_host", "copy_to_device", "run"):
            monkeypatch.setattr(backend.runtime, name, self.noted(name, getattr(backend.runtime, name)))
        listed = backend.listed
        monkeypatch.setattr(backend, "listed", lambda calls: self.list(listed(calls)))

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            (self.inside if self.running else self.outside).append(name)
            return function(*args)

        return call

    def list(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(buffers: Any) -> None:
            self.lists, self.running = self.lists + 1, True
            run(buffers)
            self.running = False

        return call

    def clear(self) -> None:
        self.inside, self.outside, self.lists = [], [], 0


WORKLOADS = [(mlp_step, 2, 1), (digits_step, 2, 1), (attention, 1, 0)]


@pytest.mark.parametrize(("make", "lists", "reads"), WORKLOADS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_list_takes_no_memory_and_the_host_reads_nothing(make, lists, reads, simulator, cuda, monkeypatch):
    log = Log(cuda, monkeypatch)
    step = same_bits(make)
    _, args, _ = make()
    log.clear()
    step.last.call(*args)
    assert set(log.inside) == {"run"}, "launches and nothing else"
    assert "run" not in log.outside
    assert log.lists == lists
    assert log.outside.count("copy_to_host") == reads, "the flags of index checks, by one copy"
    assert log.outside.count("take") == 1 + len(step.last.fresh), "the arena, and each result"


class Replayed:
    """A graph of the simulator: what a driver does with its nodes."""

    changed = 0

    def __init__(self, launches: Any) -> None:
        self.runs = [kernel.bound(kernel.numbers) for kernel, _ in launches]
        self.addresses = [addresses for _, addresses in launches]

    def change(self, node: int, addresses: list[int]) -> None:
        self.addresses[node] = addresses
        Replayed.changed += 1

    def launch(self) -> None:
        for run, addresses in zip(self.runs, self.addresses):
            run(*addresses)


def test_graphs_launch_what_lists_launch(simulator, monkeypatch):
    def containing(address: int) -> Any:
        regions = [r for r in simulator.regions.values() if r.address <= address < r.address + r.bytes.size]
        return regions[0].part(address - regions[0].address, regions[0].bytes.size, "memory of a graph")

    monkeypatch.setattr(simulator, "region_at", containing)
    monkeypatch.setattr(simulator, "has_graphs", True, raising=False)
    monkeypatch.setattr(simulator, "graph", Replayed, raising=False)
    monkeypatch.setattr(Replayed, "changed", 0)
    with mg.override(cuda_graphs=True):
        step = same_bits(digits_step, calls=5)
    assert Replayed.changed and step.last.tape.lists


@pytest.mark.gpu
@pytest.mark.parametrize("cublas", [False, True])
@pytest.mark.parametrize("make", [mlp_step, digits_step, attention], ids=lambda make: make.__name__)
def test_graphs_of_a_device_have_the_bits_of_eager_mode(make, cublas, cuda):
    if not cuda.runtime.has_graphs:
        pytest.skip("the simulator has no graphs; make test-gpu runs this test on a device")
    with mg.override(cuda_graphs=True, cublas=cublas):
        same_bits(make, calls=6)


@pytest.fixture
def toy() -> str:
    specification = importlib.util.spec_from_file_location("toy_of_programs", EXAMPLE)
    specification.loader.exec_module(importlib.util.module_from_spec(specification))  # type: ignore[union-attr]
    return "toy"


@pytest.mark.parametrize("device", ["reference", "toy", "cuda"])
def test_the_fused_step_of_a_network_runs_on_each_device(device, toy):
    step = same_bits(lambda: mlp_step(device))
    assert any(getattr(item, "fused", ()) for item in step.last.tape.items)


def test_a_wrong_index_is_the_error_of_eager_mode_and_nothing_is_written():
    for make, wrong in ((mlp_step, [0, 3, 1, 1]), (digits_step, [7, 9, 8, 3]), (computed_index, [0, 5, 1, 1])):
        eager, args, written = make()
        function = mg.jit(eager)
        for _ in range(2):
            function(*args)
        args[-1] = mg.tensor(wrong, device="cuda")
        before = bits(*written)
        with pytest.raises(IndexOutOfRange) as expected:
            eager(*args)
        with pytest.raises(IndexOutOfRange) as found:
            function(*args)
        assert str(found.value) == str(expected.value)
        assert bits(*written) == before


def test_an_index_lasts_until_its_check_is_read():
    tape = same_bits(computed_index).last.tape
    checked = next(k for k, item in enumerate(tape.items) if item.launch.limits is not None)
    index = tape.items[checked].slots[tape.items[checked].launch.limits.slot]
    assert max(k for k, slots in enumerate(tape.uses()) if index in slots) > checked


def test_slices_share_a_program_if_their_loads_are_aligned_alike():
    data = mg.tensor(normal(48), device="cuda")
    double = mg.jit(lambda x: x * 2.0 + 1.0)
    for start in (0, 0, 8, 20, 1, 1, 9):
        x = data[start : start + 16]
        assert bits(double(x)) == bits(x * 2.0 + 1.0)
    assert len(double.programs) == 2


def test_floats_and_random_numbers_are_those_of_each_call():
    def make() -> Made:
        mg.manual_seed(5)
        w = mg.Var(normal(6), device="cuda")

        def step(x):
            y = F.dropout(x * w, 0.5) + mg.rand(6, device="cuda")
            slope = mg.grad(y.sum(), w)
            with mg.no_grad():
                w.sub_(slope * 0.1)
            return y.detach()

        return step, [mg.tensor(normal(6, seed=1), device="cuda")], [w]

    (eager, args, w), (function, same_args, same_w) = make(), make()
    jitted, scaled = mg.jit(function), mg.jit(lambda x, rate: x * rate + rate)
    mg.manual_seed(7)
    wanted = [bits(eager(*args), *w) for _ in range(4)]
    mg.manual_seed(7)
    assert [bits(jitted(*same_args), *same_w) for _ in range(4)] == wanted
    x = args[0]
    for rate in (0.5, 0.25, 3.0, -1.5):
        assert bits(scaled(x, rate)) == bits(x * rate + rate)
    assert len(scaled.programs) == 1


def test_other_devices_and_own_kernels_are_steps_of_a_program():
    @mg.cuda.kernel
    def double(out, x, n):
        i = cuda.grid(1)  # noqa: F821  a name that every kernel has
        if i < n:
            out[i] = x[i] * 2.0

    def step(x):
        y = mg.empty(5, device="cuda")
        double[1, 32](y, (x + 1.0).to("cuda"), 5)
        return (y * 3.0).cpu() - x

    x, jitted = mg.tensor(normal(5)), mg.jit(step)
    wanted = bits(step(x))
    assert [bits(jitted(x)) for _ in range(3)] == [wanted] * 3
    assert "1 list" in jitted.report() and "2 tables" in jitted.report()


def test_an_optimizer_and_a_gradient_from_outside():
    def make() -> Made:
        mg.manual_seed(2)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to("cuda")
        optimizer = mg.optim.Adam(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, [mg.tensor(normal(4, 3), device="cuda")], [*model.parameters()]

    same_bits(make, calls=4)
    mg.manual_seed(2)
    model, x = nn.Linear(3, 2).to("cuda"), mg.tensor(normal(4, 3), device="cuda")
    jitted, slopes = mg.jit(model), []
    for function in (model, jitted, jitted, jitted):
        model.weight.grad = None
        (function(x) ** 2).sum().backward()
        slopes += bits(model.weight.grad)
    assert len(set(slopes)) == 1


@pytest.fixture
def on_cuda() -> Iterator[None]:
    """New tensors are on the device."""
    before = mg.default_device()
    mg.set_default_device("cuda")
    yield
    mg.set_default_device(before)


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_have_the_bits_of_eager_mode(seed, on_cuda):
    made = written.program(seed, flips=False) if seed % 2 else generator.program(seed)

    def make() -> Made:
        leaves = [mg.Var(a) for a in made.leaves]

        def step(*leaves):
            total = made.run(mg, [x * 1.0 for x in leaves])
            return total.detach(), [g for g in mg.grad(total, leaves, allow_unused=True) if g is not None]

        return step, leaves, []

    same_bits(make)


def test_verification_and_the_text_of_a_program_reach_the_memory_of_the_device():
    step, args, _ = digits_step()
    jitted = mg.jit(step, verify=1)
    for _ in range(3):
        jitted(*args)
    half = mg.jit(lambda x: (x * 2.0).half() @ x.half())
    x = mg.tensor(normal(3, 3), device="cuda")
    for _ in range(3):
        y = half(x)
    space: dict[str, Any] = {}
    exec(half.source(), space)
    result = np.zeros((3, 3), np.uint16)  # how float16 is stored
    space["run"](x.numpy(), result, launch=half.launch)
    assert result.view(np.float16).tolist() == y.tolist()
