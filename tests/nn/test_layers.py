"""Every layer and loss has PyTorch's signature, output and gradients; without PyTorch, stored sums of them."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from cases import over
from nn.layer_cases import CASES, Case, build, keys, made, measure, signature, stored, sums

import minigrad as mg
from minigrad.errors import StateError

STORED = stored()
LAYERS = mg.nn.modules.public() | {"SyncBatchNorm": mg.nn.SyncBatchNorm}
ROUNDED = {"Hardsigmoid": 1e-7}  # PyTorch's derivative is 1/6 in float32
CONTAINERS = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"}
BASES = {"RNNBase", "RNNCellBase"}
RUNS = [pytest.param(key, each, train, id=key) for key, each, train in keys()]


def test_every_layer_has_a_case() -> None:
    lazy = {name for name in LAYERS if name.startswith("Lazy")}
    assert {each.name for each in CASES} == set(LAYERS) - CONTAINERS - lazy - BASES - {"NLLLoss2d", "DataParallel"}


@over(("key", "each", "train"), RUNS)
def test_numbers_are_those_that_were_stored(key: str, each: Case, train: bool) -> None:
    assert sums(measure(mg.nn, each, "float64", train)) == pytest.approx(STORED["numbers"][key], rel=1e-7, abs=1e-9)


@pytest.mark.torch
@over("dtype", ["float32", "float64"])
@over(("key", "each", "train"), RUNS)
def test_numbers_are_those_of_pytorch(key: str, each: Case, train: bool, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = measure(mg.nn, each, dtype, train), measure(torch.nn, each, dtype, train)
    assert mine.keys() == theirs.keys()
    tolerance = 2e-5 if dtype == "float32" else ROUNDED.get(each.name, 1e-11)
    for name, array in mine.items():
        assert array.shape == theirs[name].shape, name
        np.testing.assert_allclose(array, theirs[name], rtol=tolerance, atol=tolerance, err_msg=name)


@over("name", STORED["signatures"])
def test_a_signature_is_that_of_pytorch(name: str) -> None:
    assert signature(LAYERS[name]) == STORED["signatures"][name]


def words(text: str) -> list[str]:
    """The names, numbers and strings of a text, ints as floats and tuples of one as numbers."""
    text = re.sub(r"\((\w+),\)", r"\1", text.partition("  #")[0])
    return [str(float(w)) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", w) else w for w in re.findall(r"[\w.'-]+", text)]


@pytest.mark.torch
@over("each", CASES, ids=str)
def test_a_repr_has_the_arguments_of_pytorchs(each: Case) -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = (words(repr(build(nn, each, "float64"))) for nn in (mg.nn, torch.nn))
    theirs = [word.removeprefix("NonDynamicallyQuantizable") for word in theirs]  # of attention
    assert mine[0] == theirs[0] == each.name
    assert set(theirs) <= set(mine)


LAZY = [each for each in CASES if f"Lazy{each.name}" in LAYERS and each.args]


@over("each", LAZY, ids=str)
def test_a_lazy_layer_becomes_the_ordinary_one(each: Case) -> None:
    (kind, shape), arguments = each.inputs[0], {**each.kwargs, "device": "reference", "dtype": mg.float64}
    if each.name.startswith("Instance"):
        arguments = {"affine": False, "track_running_stats": False} | arguments
    lazy, loaded = [getattr(mg.nn, f"Lazy{each.name}")(*each.args[1:], **arguments) for _ in range(2)]
    parameters, sized = list(lazy.parameters()), [x for x in lazy.buffers() if isinstance(x, mg.nn.UninitializedBuffer)]
    assert lazy.has_uninitialized_params() == bool(parameters or sized)
    assert all(isinstance(p, mg.nn.UninitializedParameter) for p in parameters)
    assert all(map(mg.nn.parameter.is_lazy, [*parameters, *sized])) and not mg.nn.parameter.is_lazy(mg.ones(2))
    calls: list[Any] = []
    lazy.register_forward_hook(lambda module, args, y: calls.append(type(module).__name__))
    x = mg.tensor(made(kind, shape), device="reference")
    y = lazy.eval()(x)
    ordinary = getattr(mg.nn, each.name)(*each.args, **arguments).eval()
    assert type(lazy) is type(ordinary) and repr(lazy) == repr(ordinary) and calls == [each.name]
    assert all(p is q for p, q in zip(lazy.parameters(), parameters, strict=True))
    if lazy.state_dict():
        loaded.load_state_dict(lazy.state_dict())
        assert np.array_equal(loaded.eval()(x).detach().numpy(), y.detach().numpy())


@pytest.mark.parametrize("make", ["SGD", "Adam", "AdamW", "RMSprop", "NAdam", "LBFGS"])
def test_an_optimizer_made_before_the_first_call_trains_a_lazy_layer(make: str) -> None:
    kwargs = {"device": "reference", "dtype": mg.float64}
    model = mg.nn.Sequential(mg.nn.LazyLinear(3, bias=False, **kwargs), mg.nn.LazyLinear(1, bias=False, **kwargs))
    optimizer = getattr(mg.optim, make)(model.parameters(), lr=0.005)
    x = mg.linspace(-1.0, 1.0, 8, **kwargs).reshape(4, 2)

    def closure() -> mg.Tensor:
        optimizer.zero_grad()
        loss = (model(x) - 1.0).square().mean()
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]


def test_a_lazy_layer_has_no_memory_to_share() -> None:
    lazy = mg.nn.LazyLinear(2, device="reference")
    with pytest.raises(StateError, match="the shape of an uninitialized tensor is not known"):
        lazy.share_memory()
    lazy(mg.ones(1, 3, device="reference"))
    assert lazy.share_memory() is lazy


def test_the_first_call_of_a_lazy_layer_takes_all_arguments_of_forward() -> None:
    lazy = mg.nn.LazyConvTranspose1d(2, 3, stride=2, device="reference")
    x = mg.ones(1, 4, 5, device="reference")
    assert lazy(x, output_size=(12,)).shape == lazy(x, output_size=[12]).shape == (1, 2, 12)


def test_a_state_with_tensors_without_shapes() -> None:
    lazy, full = mg.nn.LazyLinear(2, device="reference"), mg.nn.Linear(3, 2, device="reference")
    for twin in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert twin.weight is not lazy.weight and twin(mg.ones(1, 3, device="reference")).shape == (1, 2)
    with pytest.raises(RuntimeError, match="shape of an uninitialized tensor in the state"):
        full.load_state_dict(lazy.state_dict())
    with pytest.raises(RuntimeError, match="nothing was loaded"):
        lazy.load_state_dict({**full.state_dict(), "other": full.bias})
    assert lazy.has_uninitialized_params()
    lazy.load_state_dict(full.state_dict())
    assert not lazy.has_uninitialized_params() and type(lazy).__name__ == "LazyLinear"
    lazy(mg.ones(1, 3, device="reference"))
    assert type(lazy) is mg.nn.Linear and lazy.in_features == 3 and mg.equal(lazy.weight, full.weight)


def test_ops_refuse_a_parameter_without_a_shape() -> None:
    p = mg.nn.UninitializedParameter(device="reference")
    for use in (lambda: p + 1.0, lambda: p.shape, lambda: mg.zeros_like(p), lambda: p.sum(), lambda: p[0], p.tolist):
        with pytest.raises(RuntimeError, match="UninitializedParameter: the shape of an uninit"):
            use()
    p.requires_grad_(False)
    p.materialize(2, dtype=mg.float64)
    assert isinstance(p, mg.nn.Parameter) and not p.requires_grad and p.dtype is mg.float64 and p.shape == (2,)
    moved = mg.nn.LazyLinear(2, device="reference").double()
    assert moved(mg.ones(3, dtype=mg.float64, device="reference")).dtype is mg.float64


@pytest.mark.parametrize("each", [each for each in CASES if each.random], ids=str)
def test_a_random_layer_draws_in_training_and_repeats_by_the_seed(each: Case) -> None:
    def run(seed: int) -> dict[str, Any]:
        mg.manual_seed(seed)
        return measure(mg.nn, each, "float64", True)

    first, again, other = run(1), run(1), run(2)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["output"], other["output"])
