"""Mixed precision: which ops cast, what gradients are, what it costs when it is off, and scaled losses."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.amp.autocast import FLOAT32, LOWER, WIDEST
from minigrad.declare.record import schema
from minigrad.runtime.observers import observed
from minigrad.runtime.tensor import PLAIN

F = mg.nn.functional
DEVICE = "reference"


def ones(*shape: int, dtype: str = "float32") -> Any:
    """Return ones on the reference device, which compiles nothing."""
    return mg.ones(*shape, dtype=dtype, device=DEVICE)


def test_the_lists_name_ops_that_exist() -> None:
    lists = (LOWER, FLOAT32, WIDEST)
    known = {op.name for op in schema.values()}
    assert all(names <= known for names in lists), [names - known for names in lists]
    assert len(frozenset().union(*lists)) == sum(map(len, lists))


def test_products_are_cast_down_and_losses_up() -> None:
    x, w = ones(2, 3), mg.Var(ones(4, 3))
    with mg.autocast(DEVICE) as block:
        y = F.linear(x, w)
        h = F.relu(y)
        loss = F.mse_loss(h, ones(2, 4))
        assert (x @ x.T).dtype is y.dtype is h.dtype is mg.bfloat16 and loss.dtype is mg.float32
        assert F.cross_entropy(h, mg.tensor([0, 1], device=DEVICE)).dtype is mg.float32
        assert F.conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2)).dtype is mg.bfloat16
        assert mg.cat([x, y], 1).dtype is mg.float32 and mg.cat([y, y]).dtype is mg.bfloat16
        assert mg.exp(x).dtype is mg.float32 and (x @ ones(3, 1, dtype="float64").to("float64")).dtype is mg.float64
        with mg.autocast(DEVICE, enabled=False):
            assert (x @ x.T).dtype is mg.float32
        assert block.fast_dtype is mg.bfloat16
    assert (x @ x.T).dtype is mg.float32
    loss.backward()
    assert w.grad.dtype is mg.float32


def test_it_decorates_functions_and_other_devices_are_left_alone() -> None:
    @mg.amp.autocast("cpu", dtype="float16")
    def product(a: Any) -> Any:
        return a @ a.T

    assert product(mg.ones(2, 2)).dtype is mg.float16 and product(ones(2, 2)).dtype is mg.float32
    with pytest.warns(UserWarning, match="dtype must be mg.bfloat16 or mg.float16"):
        block = mg.autocast(DEVICE, dtype="float64")
    with block:
        assert (ones(2, 2) @ ones(2, 2)).dtype is mg.float32
    with pytest.raises(mg.ArgumentError, match="device_type to be a str"):
        mg.autocast(mg.float16)  # type: ignore[arg-type]


def test_a_parameter_is_cast_once_until_it_is_written() -> None:
    w, x = mg.Var(ones(2, 2)), ones(2, 2)
    with mg.autocast(DEVICE):
        first, second = x @ w, x @ w
        assert first.grad_fn.parents[1] is second.grad_fn.parents[1]
        with mg.no_grad():
            w.mul_(2.0)
        assert (x @ w).tolist() == [[4, 4], [4, 4]]
    with mg.autocast(DEVICE, cache_enabled=False):
        assert (x @ w).grad_fn.parents[1] is not (x @ w).grad_fn.parents[1]


def test_a_backward_pass_inside_of_a_block_casts_nothing() -> None:
    x, w = ones(2, 3), mg.Var(ones(3, 2))
    with mg.autocast(DEVICE):
        outside = (x.to("float32").exp() * 1.0).sum()
        loss = ((x @ w) @ ones(2, 2)).float().sum() + outside
        loss.backward()
    assert w.grad.dtype is mg.float32 and w.grad.tolist() == [[4, 4]] * 3


def test_a_backward_pass_casts_nothing_in_a_block_of_no_grad_either() -> None:
    dtypes = []

    class Product(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with mg.no_grad():
                dtypes.append((g @ ones(2, 2)).dtype)
            return g * 2

    x = mg.Var(ones(3, 2))
    with mg.autocast(DEVICE):
        Product.apply(x).sum().backward()
        mg.func.grad(lambda x: Product.apply(x).sum())(x)
    assert dtypes == [mg.float32, mg.float32]


def test_a_block_is_of_its_thread_and_costs_nothing_when_it_is_closed() -> None:
    assert not observed.calling and mg.Tensor in PLAIN
    result = []
    with mg.autocast(DEVICE):
        assert mg.Tensor not in PLAIN
        thread = threading.Thread(target=lambda: result.append((ones(2, 2) @ ones(2, 2)).dtype))
        thread.start()
        thread.join()
    assert result == [mg.float32] and not observed.calling and mg.Tensor in PLAIN
    assert mg.amp.is_autocast_available("cpu")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_network_has_pytorchs_dtypes_and_nearly_its_gradients(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    data = [rng.standard_normal(shape).astype(np.float32) for shape in ((8, 6), (5, 6), (3, 5))]
    labels = rng.integers(0, 3, 8)

    def run(m: Any, tensors: list[Any], target: Any) -> tuple[list[str], list[Any]]:
        x, *weights = tensors
        functional = m.nn.functional
        with m.autocast("cpu", dtype=getattr(m, dtype)):
            h = functional.linear(x, weights[0])
            a = m.tanh(h)
            y = a @ weights[1].T
            values = [h, a, y, functional.softmax(y, -1), functional.mse_loss(y, y * 2), y.sum(), y + x[:, :3]]
            loss = functional.cross_entropy(y, target)
        loss.backward()
        names = [str(v.dtype).removeprefix("torch.") for v in (*values, loss)]
        return names, [w.grad for w in weights]

    ours = run(mg, [mg.tensor(data[0]), *map(mg.Var, data[1:])], mg.tensor(labels))
    parameters = [torch.nn.Parameter(torch.tensor(a)) for a in data[1:]]
    theirs = run(torch, [torch.tensor(data[0]), *parameters], torch.tensor(labels))
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1], theirs[1]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=2e-2)


# ---- scaled losses


def scaler(**options: Any) -> tuple[Any, Any, Any]:
    """Return a parameter, its optimizer and a scaler."""
    p = mg.Var([1.0], dtype="float32", device=DEVICE)
    return p, mg.optim.SGD([p], lr=1.0), mg.amp.GradScaler("cpu", **{"init_scale": 4.0, "growth_interval": 2} | options)


def test_gradients_are_scaled_back_before_a_step() -> None:
    p, optimizer, scale = scaler()
    scale.scale((p * 3).sum()).backward()
    assert p.grad.item() == 12
    scale.unscale_(optimizer)
    assert p.grad.item() == 3
    scale.step(optimizer)
    scale.update()
    assert p.item() == -2 and scale.get_scale() == 4
    first, (second, third) = scale.scale([p, (p, p)])
    assert first.item() == second.item() == third.item() == -8


def test_the_scale_follows_the_gradients() -> None:
    p, optimizer, scale = scaler()
    scales = []
    for value in (1.0, 1.0, 1.0, np.inf, 1.0, np.nan, 1.0, 1.0):
        before = p.item()
        p.grad = mg.tensor([value], dtype="float32", device=DEVICE)
        scale.step(optimizer)
        assert (p.item() == before) == (not np.isfinite(value))
        scale.update()
        scales.append(scale.get_scale())
    assert scales == [4, 8, 8, 4, 4, 2, 2, 4]
    scale.update(16.0)
    assert scale.get_scale() == 16


@pytest.mark.torch
def test_states_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    *_, scale = scaler()
    other = torch.amp.GradScaler("cpu", init_scale=32.0, growth_interval=7)
    assert scale.state_dict().keys() == other.state_dict().keys()
    scale.load_state_dict(other.state_dict())
    assert scale.state_dict() == other.state_dict()
    other.load_state_dict(scale.state_dict())


def test_what_is_out_of_order_is_refused() -> None:
    p, optimizer, scale = scaler()
    with pytest.raises(mg.GradientError, match="but none was taken"):
        scale.update()
    p.grad = ones(1)
    scale.unscale_(optimizer)
    with pytest.raises(mg.GradientError, match="unscaled already"):
        scale.unscale_(optimizer)
    scale.step(optimizer)
    for call in (scale.unscale_, scale.step):
        with pytest.raises(mg.GradientError, match="update"):
            call(optimizer)
    with pytest.raises(mg.ArgumentError, match="closure"):
        scale.step(optimizer, closure=lambda: 0)
    with pytest.raises(mg.ArgumentError, match="growth_factor above 1"):
        scaler(growth_factor=0.5)
    with pytest.raises(mg.ArgumentError, match="empty dict"):
        scale.load_state_dict({})
    with pytest.raises(mg.ArgumentError, match="outputs must be a tensor or an iterable"):
        scale.scale(3.0)
    half = mg.Var(ones(1, dtype="float16"))
    half.grad = ones(1, dtype="float16")
    with pytest.raises(mg.GradientError, match="keep the parameters of the optimizer in float32"):
        mg.amp.GradScaler("cpu").unscale_(mg.optim.SGD([half]))


def test_a_scaler_that_is_not_enabled_steps_as_the_optimizer_does() -> None:
    p, optimizer, scale = scaler(enabled=False)
    assert scale.scale(p) is p and scale.get_scale() == 1 and scale.state_dict() == {} and not scale.is_enabled()
    p.grad = ones(1)
    scale.unscale_(optimizer)
    scale.step(optimizer)
    scale.update()
    assert p.item() == 0


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", None])
def test_a_checkpoint_casts_in_its_second_run_as_in_its_first(dtype: str | None, inside: bool) -> None:
    def steps(x: Any) -> Any:
        return F.softmax(F.linear(x @ w, w).tanh(), 1) @ w

    gradients = []
    for run in (steps, lambda x: mg.checkpoint(steps, x), lambda x: mg.utils.checkpoint.checkpoint(steps, x)):
        w = mg.Var(mg.arange(9.0, device=DEVICE).reshape(3, 3) / 7)
        x = mg.Var(mg.arange(6.0, device=DEVICE).reshape(2, 3).sin())
        with mg.autocast(DEVICE, dtype, enabled=dtype is not None):
            y = run(x)
        assert y.dtype is (mg.float32 if dtype is None else mg.as_dtype(dtype))
        with mg.autocast(DEVICE, "bfloat16", enabled=inside):
            y.float().square().sum().backward()
        gradients.append((w.grad.tolist(), x.grad.tolist()))
    assert gradients[0] == gradients[1] == gradients[2]
    assert not observed.calling


@pytest.mark.parametrize("inside", [False, True])
def test_a_function_casts_its_inputs_and_nothing_inside(inside: bool) -> None:
    seen: list[Any] = []

    class Product(mg.Function):
        @staticmethod
        @mg.amp.custom_fwd(device_type=DEVICE, cast_inputs="float32")
        def forward(ctx: Any, x: Any, w: Any, more: Any) -> Any:
            ctx.save_for_backward(x, w)
            y = x @ w
            seen.append((x.dtype, more["index"].dtype, more["wide"].dtype, y.dtype))
            return y

        @staticmethod
        @mg.amp.custom_bwd(device_type=DEVICE)
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g @ w.T, x.T @ g, None

    x, w = mg.Var(ones(2, 3)), mg.Var(ones(3, 2))
    more = {"index": mg.tensor([1], device=DEVICE), "wide": ones(1, dtype="float64")}
    with mg.autocast(DEVICE, enabled=inside):
        y = Product.apply(x.bfloat16(), w.bfloat16(), more)
    assert seen == [
        (mg.float32 if inside else mg.bfloat16, mg.int64, mg.float64, mg.float32 if inside else mg.bfloat16)
    ]
    y.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2 and w.grad.tolist() == [[2.0] * 2] * 3


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_a_sequence_is_checkpointed_in_segments(segments: int) -> None:
    wide: list[Any] = []

    class Square(mg.nn.Module):
        def forward(self, x: Any) -> Any:
            wide.append(x.shape)
            return x.sin() * x

    mg.manual_seed(0)  # other weights overflow: exp is applied three times
    layers = [mg.nn.Linear(2, 2, device=DEVICE), Square(), Square(), mg.nn.Linear(2, 2, device=DEVICE), Square()]
    net, x = mg.nn.Sequential(*layers), mg.Var(ones(1, 2))
    net(x).sum().backward()
    plain = [p.grad.tolist() for p in (x, *net.parameters())]
    for p in (x, *net.parameters()):
        p.grad = None
    wide.clear()
    mg.utils.checkpoint.checkpoint_sequential(net, segments, x, use_reentrant=False).sum().backward()
    assert [p.grad.tolist() for p in (x, *net.parameters())] == plain
    assert len(wide) == {1: 3, 2: 4, 3: 4}[segments], "all segments but the last run again"
    with pytest.raises(mg.ArgumentError, match=r"segments must be from 1 to 5, .*, got 6"):
        mg.utils.checkpoint.checkpoint_sequential(net, 6, x)
