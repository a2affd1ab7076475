"""What a training step may contain: each idiom is made twice from one seed, and gives the same bits with `mg.jit`.

Each runs four times: the first call is eager, the second records, the others run the program.  On `reference` all
launches run as Python functions; those that are not only there run as kernels in one table, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F

RNG = np.random.default_rng(0)
Idiom = tuple[Callable[..., Any], list[Any], list[Any]]  # a function, its arguments, and tensors that it changes


def normal(*shape: int) -> np.ndarray:
    """Normal numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


A, W, X, TABLE, WEIGHT = normal(4), normal(4, 4), normal(8, 4), normal(6, 4), normal(3, 2, 3, 3)
IMAGES, CLASSES, ROWS = normal(2, 2, 8, 8), RNG.integers(0, 4, 8), RNG.integers(0, 6, 8)


def backward_and_update() -> Idiom:
    w = mg.Var(W)

    def step(x):
        loss = ((x @ w) ** 2).mean()
        w.grad = None
        loss.backward()
        with mg.no_grad():
            w.sub_(w.grad * 0.1)
        return loss

    return step, [mg.tensor(X)], [w]


def gradients_add_up() -> Idiom:
    w = mg.Var(W)
    w.grad = mg.zeros(4, 4)

    def step(x):
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        return loss

    return step, [mg.tensor(X)], [w, lambda: w.grad]


def gradient_set_to_zero() -> Idiom:
    w = mg.Var(W)
    w.grad = mg.zeros(4, 4)

    def step(x):
        w.grad.zero_()
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        with mg.no_grad():
            w.sub_(w.grad * 0.1)
        return loss

    return step, [mg.tensor(X)], [w]


def elements_at_pairs_of_indices() -> Idiom:
    w = mg.Var(W)

    def step(x, i, j):
        loss = (x @ w)[i, j].sum()
        loss.backward()
        return loss

    return step, [mg.tensor(X), mg.tensor([0, 1, -1]), mg.tensor([3, -4, 0])], [w, lambda: w.grad]


def set_a_var() -> Idiom:
    w = mg.Var(W)

    def step(x):
        g = mg.grad(((x @ w) ** 2).mean(), w)
        w.set(w.detach() - 0.1 * g)
        return g

    return step, [mg.tensor(X)], [w]


def dropout() -> Idiom:
    w = mg.Var(W)

    def step(x):
        y = mg.where(mg.rand(8, 4) < 0.8, x @ w, 0.0) / 0.8
        noise = mg.randn(8, 4)
        return (y * noise).sum().detach(), mg.grad((y * noise).sum(), w), mg.randperm(6)

    return step, [mg.tensor(X)], []


def views() -> Idiom:
    w = mg.Var(W)

    def step(x):
        y = x.T[1:3].flip(0).reshape(-1)[::2].unsqueeze(0).expand(3, 8)
        z = (w.T @ x.T)[:, 1].squeeze()
        return (y * 2).sum() + z.sum().detach(), mg.grad((w.T * w[1]).sum() + z.sum(), w)

    return step, [mg.tensor(X)], []


def writes_through_views() -> Idiom:
    w = mg.Var(W)

    def step(x):
        with mg.no_grad():
            w[0].mul_(0.5)
            w.T[1].add_(x[0])
            w[1:3, ::2] = 0.25
        return w.detach().sum()

    return step, [mg.tensor(X)], [w]


def item_assignment() -> Idiom:
    buffer = mg.zeros(8, 4)

    def step(x):
        buffer[2] = x[0] * 2
        buffer[mg.tensor([1, 3])] = x[:2]
        y = mg.zeros(8, 4)
        y[:, 1] = x[:, 0]
        return y.sum() + buffer.sum()

    return step, [mg.tensor(X)], [buffer]


def recorded_assignment() -> Idiom:
    w = mg.Var(W)

    def step(x):
        y = x @ w
        y[0] = y[1] * 2
        y.mul_(2)
        return mg.grad((y * y).sum(), w)

    return step, [mg.tensor(X)], []


def masked_assignment() -> Idiom:
    def step(x):
        y = x * 1.0
        y[y > 0] = 0.5
        return y

    return step, [mg.tensor(X)], []


def indices() -> Idiom:
    table = mg.Var(TABLE)

    def step(i):
        y = table[i]
        return y.sum(0).detach(), mg.grad((y * y).sum(), table), mg.zeros(6).scatter_add(0, i, mg.ones(8))

    return step, [mg.tensor(ROWS)], []


def losses() -> Idiom:
    w, b = mg.Var(W), mg.Var(A)

    def step(x, t):
        loss = F.cross_entropy(F.layer_norm(F.gelu(F.linear(x, w, b)), (4,)), t)
        return loss.detach(), *mg.grad(loss, [w, b])

    return step, [mg.tensor(X), mg.tensor(CLASSES)], []


def moments_by_hand() -> Idiom:
    w, m, v, t = mg.Var(W), mg.zeros(4, 4), mg.zeros(4, 4), mg.tensor(0.0)

    def step(x):
        g = mg.grad(((x @ w) ** 2).mean(), w)
        with mg.no_grad():
            t.add_(1.0)
            m.mul_(0.9).add_(g * 0.1)
            v.mul_(0.999).add_(g * g * 0.001)
            w.sub_(0.01 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
        return t * 1.0

    return step, [mg.tensor(X)], [w, m, v, t]


def second_order() -> Idiom:
    def step(x):
        g = mg.grad((x.tanh() ** 3).sum(), x, create_graph=True)
        return mg.grad((g * g).sum(), x)

    return step, [mg.Var(X)], []


def transforms() -> Idiom:
    w = mg.Var(W)

    def step(x):
        of_rows = mg.func.vmap(mg.func.grad(lambda row: ((row @ w) ** 2).sum()))(x)
        return of_rows.detach(), mg.func.jvp(lambda x: x.sin(), (x,), (x,))[1]

    return step, [mg.tensor(X)], []


def checkpoints() -> Idiom:
    w = mg.Var(W)

    def step(x):
        y = mg.checkpoint(lambda x: F.dropout((x @ w).tanh(), 0.5), x)
        return mg.grad(y.sum(), w)

    return step, [mg.tensor(X)], []


def convolution() -> Idiom:
    w, b = mg.Var(WEIGHT), mg.Var(A[:3])

    def step(x):
        y = F.max_pool2d(mg.relu(F.conv2d(x, w, b, padding=1)), 2)
        return y.mean().detach(), *mg.grad(y.mean(), [w, b])

    return step, [mg.tensor(IMAGES)], []


def order_and_scans() -> Idiom:
    def step(x):
        return x.sort(1)[0], x.cumsum(0), x.max(1)[0], x.argmax(1), mg.topk(x, 2, 1)[0], x.amax(0)

    return step, [mg.tensor(X)], []


def one_tensor_twice() -> Idiom:
    def step(a, b):
        a.add_(1.0)
        return a + b

    x = mg.tensor(X)
    return step, [x, x], [x]


def arguments_returned() -> Idiom:
    def step(a):
        return a, a.T, a[1:]

    return step, [mg.tensor(X)[2:]], []


def a_literal_is_written() -> Idiom:
    def step(x):
        y = mg.tensor([1.0, 2.0, 3.0, 4.0])
        y.add_(x[0])
        return y, {"nested": [x.sum(), None, 3]}

    return step, [mg.tensor(X)], []


def optimizer_schedule_and_clipping() -> Idiom:
    model = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.BatchNorm1d(8), mg.nn.Dropout(0.25), mg.nn.Linear(8, 4))
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.1)
    schedule = mg.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step(x, t):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        norm = mg.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        schedule.step()
        return loss, norm

    states = [*model.parameters(), *model.buffers(), lambda: mg.tensor(optimizer.param_groups[0]["lr"])]
    return step, [mg.tensor(X), mg.tensor(CLASSES)], states


def gradients_reset_after_the_step() -> Idiom:
    model = mg.nn.Linear(4, 8)
    optimizer = mg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, t):
        F.cross_entropy(model(x), t).backward()
        optimizer.step()
        optimizer.zero_grad()
        return model(x).detach()

    gradients = [lambda: [p.grad for p in model.parameters()]]
    return step, [mg.tensor(X), mg.tensor(CLASSES)], [*model.parameters(), *gradients]


def two_optimizers_in_turns() -> Idiom:
    model, critic = mg.nn.Linear(4, 8), mg.nn.Linear(8, 1)
    optimizers = [mg.optim.Adam(each.parameters(), lr=0.1) for each in (model, critic)]

    def step(x):
        critic(model(x)).sum().backward()
        optimizers[1].step()
        optimizers[1].zero_grad()
        critic(model(x)).square().sum().backward()
        optimizers[0].step()
        optimizers[0].zero_grad(set_to_none=False)
        return model(x).detach()

    parameters = [*model.parameters(), *critic.parameters()]
    return step, [mg.tensor(X)], [*parameters, lambda: [p.grad for p in parameters]]


def a_gradient_reset_between_two_steps() -> Idiom:
    model, w = mg.nn.Linear(4, 4), mg.Var(np.full((4, 4), 0.5, np.float32))
    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        model(x @ w).square().mean().backward()
        optimizer.step()
        y = w.detach() * 2.0 + 1.0  # a fused loop, so the steps of the program are renumbered
        w.grad = None
        optimizer.step()
        return y

    return step, [mg.tensor(X)], [*model.parameters(), lambda: [p.grad for p in (*model.parameters(), w)]]


def a_gradient_is_written_and_then_reset() -> Idiom:
    w, v = mg.Var(np.full((4, 4), 0.5, np.float32)), mg.Var(np.ones(4, np.float32))
    optimizer = mg.optim.SGD([v], lr=0.1)
    w.grad = mg.ones(4, 4)

    def step(x):
        with mg.no_grad():
            w.grad.mul_(0.5)
            v.sub_(w.grad.sum(0))
        w.grad = None
        optimizer.step()
        (x @ w).sum().backward()
        return v.detach() * 1.0

    return step, [mg.tensor(X)], [v, lambda: [w.grad, v.grad]]


def an_average_of_a_model() -> Idiom:
    model = mg.nn.Sequential(mg.nn.Linear(4, 4), mg.nn.BatchNorm1d(4))
    optimizer, average = mg.optim.SGD(model.parameters(), lr=0.1), mg.optim.swa_utils.AveragedModel(model)

    def step(x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        average.update_parameters(model)
        return average(x).detach()

    return step, [mg.tensor(X)], [*average.parameters(), *average.buffers(), lambda: average.n_averaged]


def a_frozen_parameter_with_a_gradient() -> Idiom:
    model = mg.nn.Linear(4, 4)
    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
    model.bias.requires_grad_(False)

    def step(x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        return model.bias * 1.0

    def restored() -> Any:
        model.bias.grad = mg.ones(4)  # the next call resets it
        return model.bias

    model.bias.grad = mg.ones(4)
    return step, [mg.tensor(X)], [model.weight, lambda: model.bias.grad, restored]


def statistics_over_all_batches() -> Idiom:
    norm = mg.nn.BatchNorm1d(4, momentum=None)
    return norm, [mg.tensor(X)], list(norm.buffers())


def values_that_numpy_computes() -> Idiom:
    def step(x):
        rows, columns = mg.tril_indices(80, 80)  # more values than a factory stores for later calls
        return mg.linspace(-1.0, 1.0, 5000)[:4] * x, (rows - columns).sum()

    return step, [mg.tensor(X)], []


IDIOMS = [
    backward_and_update, gradients_add_up, gradient_set_to_zero, set_a_var, dropout, views, writes_through_views,
    item_assignment, recorded_assignment, masked_assignment, indices, elements_at_pairs_of_indices, losses,
    moments_by_hand, second_order, transforms,
    checkpoints, convolution, order_and_scans, one_tensor_twice, arguments_returned, a_literal_is_written,
    optimizer_schedule_and_clipping, gradients_reset_after_the_step, two_optimizers_in_turns,
    a_gradient_reset_between_two_steps, a_gradient_is_written_and_then_reset, an_average_of_a_model,
    a_frozen_parameter_with_a_gradient, statistics_over_all_batches, values_that_numpy_computes,
]  # fmt: skip
KERNELS = [
    backward_and_update, gradients_add_up, views, indices, one_tensor_twice, a_literal_is_written,
    optimizer_schedule_and_clipping,
]  # fmt: skip
CASES = [(make, "reference") for make in IDIOMS] + [(make, "cpu") for make in KERNELS]


@pytest.mark.parametrize(("make", "device"), CASES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_program_gives_the_bits_of_eager_mode(make: Callable[[], Idiom], device: str) -> None:
    before = mg.default_device()
    mg.set_default_device(device)
    try:
        # Loops that are fused are kernels of their own, so most of them are run by the device that compiles nothing.
        eager, (jitted, function) = outcomes(make, None), outcomes(make, mg.jit(fuse=device == "reference"))
    finally:
        mg.set_default_device(before)
    assert [len(each) for each in function.programs.values()] == [1], "recorded once"
    assert len(eager[0]) == len(jitted)
    for k, (a, b) in enumerate(zip(eager[0], jitted, strict=True)):
        assert a.tobytes() == b.tobytes(), f"value {k}: {a} and {b}"


def outcomes(make: Callable[[], Idiom], jit: Any) -> tuple[list[np.ndarray], Any]:
    """The results and changed tensors of four calls, and the function that was called."""
    mg.manual_seed(3)
    step, args, changed = make()
    function = step if jit is None else jit(step)
    found: list[np.ndarray] = []
    for _ in range(4):
        found += [*values(function(*args)), *[value for x in changed for value in values(x() if callable(x) else x)]]
    return found, function


def values(x: Any) -> Iterator[np.ndarray]:
    """The elements of all tensors in a result."""
    for leaf in mg.func.trees.flatten(x)[0]:
        yield np.array(leaf.detach().numpy() if isinstance(leaf, mg.Tensor) else 0 if leaf is None else leaf)


def test_a_tree_of_modules_needs_one_guard(reference: None) -> None:
    def parts(depth: int) -> int:
        model = mg.nn.Sequential(*[mg.nn.Sequential(mg.nn.Linear(2, 2), mg.nn.BatchNorm1d(2)) for _ in range(depth)])
        model.eval()
        step = mg.jit(lambda x: model(x).detach())
        for _ in range(3):
            step(mg.ones(2, 2))
        return len(step.last.outside.parts)

    assert parts(1) == parts(8)


def test_a_member_that_is_added_or_replaced_by_its_name_is_used(reference: None) -> None:
    model = mg.nn.Sequential(mg.nn.Identity())
    step = mg.jit(lambda x: model(x) + 0.0)
    x = mg.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[1.0, 1.0]] * 3
    model.add_module("1", mg.nn.Threshold(2.0, 5.0))
    assert step(x).tolist() == [5.0, 5.0]
    model._modules["1"] = mg.nn.Threshold(2.0, 7.0)
    assert [step(x).tolist() for _ in range(3)] == [[7.0, 7.0]] * 3
    del model._modules["1"]
    assert [step(x).tolist() for _ in range(3)] == [[1.0, 1.0]] * 3


def test_quantiles_of_a_number_need_no_value_of_a_tensor() -> None:
    f = mg.jit(lambda x: mg.quantile(x, 0.25) + mg.nanquantile(x, 0.5))
    x = mg.tensor([4.0, 0.0, 2.0, 1.0, 3.0], device="reference")
    assert [f(x).item() for _ in range(4)] == [3.0] * 4


@pytest.mark.parametrize(("first", "second"), [("reference", "cpu"), ("cpu", "reference")])
def test_a_copy_to_another_device_of_the_host(first: str, second: str) -> None:
    f = mg.jit(lambda x: (x * x).to(second).clone().to(first) * x, fuse=False)
    x = mg.tensor([1.0, 2.0], device=first)
    for _ in range(4):
        y = f(x)
        assert y.tolist() == [1.0, 8.0] and str(y.device) == first


def test_samples_of_a_multinomial_need_no_value_of_a_tensor() -> None:
    weights = mg.tensor([[0.0, 0.0, 1.0], [1.0, 2.0, 0.0]], device="reference")
    for replacement in (True, False):
        f = mg.jit(lambda w, again=replacement: mg.multinomial(w, 1, replacement=again))
        for _ in range(4):
            (first,), (second,) = f(weights).tolist()
            assert first == 2 and second in (0, 1)
    with pytest.raises(mg.ArgumentError, match="multinomial"):
        mg.multinomial(-weights, 1)
