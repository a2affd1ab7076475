"""Every layer and loss has PyTorch's signature, output and gradients; without PyTorch, stored sums of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cases import over
from nn.layer_cases import CASES, Case, build, keys, made, measure, signature, stored, sums

import minigrad as mg

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
    assert lazy.has_uninitialized_params() and not list(lazy.parameters())
    calls: list[Any] = []
    lazy.register_forward_hook(lambda module, args, y: calls.append(type(module).__name__))
    x = mg.tensor(made(kind, shape), device="reference")
    y = lazy.eval()(x)
    ordinary = getattr(mg.nn, each.name)(*each.args, **arguments).eval()
    assert type(lazy) is type(ordinary) and repr(lazy) == repr(ordinary) and calls == [each.name]
    if lazy.state_dict():
        loaded.load_state_dict(lazy.state_dict())
        assert np.array_equal(loaded.eval()(x).detach().numpy(), y.detach().numpy())


@pytest.mark.parametrize("each", [each for each in CASES if each.random], ids=str)
def test_a_random_layer_draws_in_training_and_repeats_by_the_seed(each: Case) -> None:
    def run(seed: int) -> dict[str, Any]:
        mg.manual_seed(seed)
        return measure(mg.nn, each, "float64", True)

    first, again, other = run(1), run(1), run(2)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["output"], other["output"])
