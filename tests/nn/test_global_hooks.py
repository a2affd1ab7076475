"""Hooks of all modules, and `nn.Buffer`: what they see, in which order, and that calls without them pay nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad as mg

nn = mg.nn
HERE = {"device": "reference", "dtype": mg.float64}
HOOKS = mg.nn.modules.module


@pytest.fixture(autouse=True)
def _no_hook_stays() -> Iterator[None]:
    plain = nn.Module.__call__
    yield
    assert nn.Module.__call__ is plain and nn.Module.__call__.__name__ == "__call__"


def net(nn: Any) -> Any:
    """A network of a library with fixed weights."""
    made = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    made = made.double() if nn is not mg.nn else made.double().to("reference")
    made.load_state_dict({k: leaf(nn, np.sin(np.arange(v.numel()) + len(k)).reshape(tuple(v.shape)))
                          for k, v in made.state_dict().items()})  # fmt: skip
    return made


def leaf(nn: Any, values: Any) -> Any:
    """A tensor of a library."""
    if nn is mg.nn:
        return mg.tensor(values, **HERE)
    import torch

    return torch.tensor(values)


def watched_run(nn: Any, hooks: Any) -> tuple[list[Any], list[Any]]:
    """The events and numbers of a pass with hooks of all modules and of one."""
    model, events = net(nn), []
    x = leaf(nn, np.cos(np.arange(4.0)).reshape(2, 2)).requires_grad_()

    def say(kind: str, change: Any = None) -> Any:
        def hook(module: Any, *values: Any) -> Any:
            parts = [list(v[0].shape) if isinstance(v, tuple) and v[0] is not None else None for v in values]
            events.append((kind, type(module).__name__, parts))
            return None if change is None else change(module, *values)

        return hook

    is_tanh = lambda module: type(module).__name__ == "Tanh"
    handles = [
        hooks.register_module_forward_pre_hook(say("pre", lambda m, a: (a[0] * 2,) if is_tanh(m) else None)),
        hooks.register_module_forward_hook(say("forward", lambda m, a, y: y + 1 if is_tanh(m) else None)),
        hooks.register_module_full_backward_pre_hook(say("backward pre")),
        hooks.register_module_full_backward_hook(
            say("backward", lambda m, gi, go: (gi[0] * 3,) if is_tanh(m) else None)
        ),
        model[0].register_forward_pre_hook(say("own pre")), model[0].register_forward_hook(say("own forward")),
        model[2].register_full_backward_pre_hook(say("own backward pre")),
        model[2].register_full_backward_hook(say("own backward")),
    ]  # fmt: skip
    y = model(x)
    y.sum().backward()
    for handle in handles:
        handle.remove()
    silent = len(events)
    model(x)
    assert len(events) == silent
    return events, [v.detach().numpy().tolist() for v in (y, x.grad, *[p.grad for p in model.parameters()])]


def test_hooks_of_all_modules_run_before_those_of_one() -> None:
    events, _ = watched_run(nn, HOOKS)
    assert [event[:2] for event in events[:8]] == [
        ("pre", "Sequential"), ("pre", "Linear"), ("own pre", "Linear"), ("forward", "Linear"),
        ("own forward", "Linear"), ("pre", "Tanh"), ("forward", "Tanh"), ("pre", "Linear"),
    ]  # fmt: skip


@pytest.mark.torch
def test_hooks_of_all_modules_are_called_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = watched_run(nn, HOOKS), watched_run(torch.nn, torch.nn.modules.module)
    assert mine[0] == theirs[0]
    for one, other in zip(mine[1], theirs[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_hook_of_all_modules_sees_keywords_and_errors() -> None:
    class Part(nn.Module):
        def forward(self, x: Any, scale: float = 1.0) -> Any:
            if scale < 0:
                raise ValueError("scale")
            return x * scale

    seen: list[Any] = []
    hook = lambda module, args, kwargs, y: seen.append((kwargs, y is None))
    with HOOKS.register_module_forward_hook(hook, with_kwargs=True, always_call=True):
        Part()(mg.ones(1, **HERE), scale=2.0)
        with pytest.raises(ValueError, match="scale"):
            Part()(mg.ones(1, **HERE), scale=-1.0)
    assert seen == [({"scale": 2.0}, False), ({"scale": -1.0}, True)]


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_registrations_are_seen_and_replaced(library: str) -> None:
    nn = mg.nn if library == "minigrad" else pytest.importorskip("torch").nn
    hooks, seen = nn.modules.module, []
    other = nn.Tanh()
    handles = [
        hooks.register_module_parameter_registration_hook(lambda m, name, p: seen.append(("parameter", name))),
        hooks.register_module_buffer_registration_hook(lambda m, name, b: seen.append(("buffer", name))),
        hooks.register_module_module_registration_hook(
            lambda m, name, child: other if isinstance(child, nn.ReLU) else seen.append(("module", name))
        ),
    ]
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    model.norm = nn.BatchNorm1d(1, affine=False)
    for handle in handles:
        handle.remove()
    model.last = nn.ReLU()
    assert model[1] is other and isinstance(model.last, nn.ReLU)
    names = ["running_mean", "running_var", "num_batches_tracked"]
    assert seen == [("parameter", "weight"), ("parameter", "bias"), ("module", "0"),
                    *[("buffer", name) for name in names], ("module", "norm")]  # fmt: skip


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_exchanged_members_and_none_are_seen_too(library: str) -> None:
    array, nn = (mg, mg.nn) if library == "minigrad" else [pytest.importorskip("torch")] * 2
    nn = nn if library == "minigrad" else nn.nn
    hooks, seen = nn.modules.module, []
    model = nn.Module()
    handles = [
        hooks.register_module_parameter_registration_hook(lambda m, name, p: seen.append((name, p is None))),
        hooks.register_module_buffer_registration_hook(lambda m, name, b: seen.append((name, b is None))),
        hooks.register_module_module_registration_hook(lambda m, name, child: seen.append((name, child is None))),
    ]
    model.register_parameter("p", None)
    model.register_buffer("b", None)
    model.register_module("c", None)
    model.p, model.b, model.c = nn.Parameter(array.ones(1)), array.ones(1), nn.ReLU()
    model.b = array.zeros(1)
    model.p, model.b, model.c = None, None, None
    for handle in handles:
        handle.remove()
    changed = hooks.register_module_buffer_registration_hook(lambda m, name, b: None if b is None else b + 1)
    model.b = array.zeros(2)
    model.b = array.ones(2)
    changed.remove()
    assert model.b.tolist() == [2.0, 2.0] and [*dict(model.named_buffers())] == ["b"]
    assert seen == [("b", True), ("c", True), ("p", False), ("b", False), ("c", False), ("b", False), ("b", True),
                    ("c", True)]  # fmt: skip


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_buffer_is_registered_by_assignment(library: str) -> None:
    torch: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    nn, x = torch.nn, torch.ones(2)

    def names(module: Any) -> tuple[list[str], list[str], list[str]]:
        parameters, buffers = ([name for name, _ in f()] for f in (module.named_parameters, module.named_buffers))
        return parameters, buffers, list(module.state_dict())

    model = nn.Module()
    model.kept, model.passing = nn.Buffer(x), nn.Buffer(torch.zeros(1), persistent=False)
    assert isinstance(model.kept, nn.Buffer) and not isinstance(x, nn.Buffer)
    assert not isinstance(nn.Parameter(x), nn.Buffer)
    assert names(model) == ([], ["kept", "passing"], ["kept"])
    model.kept, model.passing = torch.zeros(3), torch.ones(4)  # buffers stay buffers
    assert names(model) == ([], ["kept", "passing"], ["kept"]) and model.kept.shape == (3,)
    model.kept = nn.Parameter(torch.ones(1))
    assert names(model) == (["kept"], ["passing"], ["kept"])
    del model.kept
    model.kept = nn.Buffer(torch.ones(1))
    model.passing = nn.Buffer(torch.ones(1))
    assert names(model) == ([], ["passing", "kept"], ["passing", "kept"])
    x.fill_(5.0)
    assert nn.Buffer(x).tolist() == [5.0, 5.0] and nn.Buffer(x).data_ptr() == x.data_ptr()
    assert names(copy.deepcopy(model)) == names(pickle.loads(pickle.dumps(model))) == names(model)


def test_backward_hooks_see_the_gradients_of_a_dict_of_results() -> None:
    class Heads(nn.Module):
        def forward(self, v: Any) -> Any:
            return {"double": 2.0 * v, "text": "none", "square": v * v}

    net, seen = Heads(), []
    net.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    v = mg.tensor([3.0], requires_grad=True)
    result = net(v)
    assert list(result) == ["double", "text", "square"] and result["text"] == "none"
    (result["double"] + 5.0 * result["square"]).sum().backward()
    ((grad_input,), (double, text, square)) = seen[0]
    assert (grad_input.tolist(), double.tolist(), text, square.tolist()) == ([32.0], [1.0], None, [5.0])
    assert v.grad.tolist() == [32.0]
