"""Recurrent layers, attention and transformers: packed sequences, transforms of their calls, copies, narrow dtypes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from cases import over
from nn.layer_cases import listed, wave

import minigrad as mg
from minigrad.errors import ArgumentTypeError, DTypeError
from minigrad.nn.utils import rnn
from minigrad.ops.nn.sequences import gru_sequence

nn = mg.nn
HERE = {"device": "reference", "dtype": mg.float64}
LENGTHS = [1, 4, 2]


def real(*shape: int, k: int = 0) -> Any:
    return mg.tensor(wave(shape, k), device="reference")


def close(mine: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    """Compare all tensors of two results."""
    assert len(listed(mine)) == len(listed(theirs))
    for x, y in zip(listed(mine), listed(theirs), strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=tolerance, atol=tolerance)


def layer(name: str, **options: Any) -> Any:
    mg.manual_seed(0)
    return getattr(nn, name)(3, 2, 2, **HERE, **options)


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_packed_batch_gives_the_result_of_each_sequence_and_its_gradients(name: str, sort: bool) -> None:
    lengths = sorted(LENGTHS, reverse=True) if sort else LENGTHS
    module, x, h = layer(name, bidirectional=True), real(4, 3, 3), [real(4, 3, 2, k=k + 1) for k in range(2)]
    first = tuple(h) if name == "LSTM" else h[0]
    packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=sort)
    y, last = module(packed, first)
    y, counts = rnn.pad_packed_sequence(y, total_length=5)
    assert counts.tolist() == lengths and y.shape == (5, 3, 4)
    (y * real(5, 3, 4, k=3)).sum().backward()
    together = [p.grad for p in module.parameters()]
    module.zero_grad()
    for k, n in enumerate(lengths):
        own = tuple(part[:, k] for part in first) if name == "LSTM" else first[:, k]
        one, end = module(x[:n, k], own)
        close(y[:n, k], one)
        close([part[:, k] for part in listed(last)], end)
        assert not y[n:, k].detach().numpy().any()
        (one * real(5, 3, 4, k=3)[:n, k]).sum().backward()
    close(together, [p.grad for p in module.parameters()])


def modules() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """A module of each kind, and the inputs of its call."""
    mg.manual_seed(1)
    long, short, one = real(4, 2, 4), real(3, 2, 4), real(2, 4)
    return {
        "RNN": (nn.RNN(4, 3, 2, bidirectional=True, **HERE), (long,)),
        "LSTM": (nn.LSTM(4, 3, proj_size=2, **HERE), (long,)),
        "GRU": (nn.GRU(4, 3, batch_first=True, **HERE), (long,)),
        "RNNCell": (nn.RNNCell(4, 3, **HERE), (one,)),
        "LSTMCell": (nn.LSTMCell(4, 3, **HERE), (one,)),
        "GRUCell": (nn.GRUCell(4, 3, **HERE), (one,)),
        "MultiheadAttention": (nn.MultiheadAttention(4, 2, add_bias_kv=True, **HERE), (short, long, long)),
        "TransformerEncoderLayer": (nn.TransformerEncoderLayer(4, 2, 5, 0.0, **HERE), (long,)),
        "Transformer": (nn.Transformer(4, 2, 1, 1, 5, 0.0, **HERE), (long, short)),
    }


@pytest.fixture(params=modules())
def network(request: pytest.FixtureRequest) -> tuple[Any, tuple[Any, ...]]:
    return modules()[request.param]


def test_copies_compute_the_same(network: Any) -> None:
    module, inputs = network
    y = module(*inputs)
    close(pickle.loads(pickle.dumps(module))(*inputs), y)
    close(copy.deepcopy(module)(*inputs), y)
    other = copy.deepcopy(module)
    for p in other.parameters():
        p.data = p.data * 0.0
    other.load_state_dict(module.state_dict())
    close(other(*inputs), y)


def test_gradients_of_a_functional_call_are_those_of_backward_and_vmap_gives_each(network: Any) -> None:
    module, inputs = network
    values = {name: p.detach() for name, p in module.named_parameters()}

    def loss(parameters: Any, x: Any) -> Any:
        parts = listed(mg.func.functional_call(module, parameters, (x, *inputs[1:])))
        return sum((y * y).sum() for y in parts)

    gradients = mg.func.grad(loss)(values, inputs[0])
    loss(dict(module.named_parameters()), inputs[0]).backward()
    close([gradients[name] for name in values], [p.grad for p in module.parameters()])
    both = mg.func.vmap(mg.func.grad(loss), in_dims=(None, 0))(values, mg.stack([inputs[0], 2 * inputs[0]]))
    other = mg.func.grad(loss)(values, 2 * inputs[0])
    close([both[name] for name in values], [mg.stack([gradients[name], other[name]]) for name in values], 1e-10)


@over("dtype", [mg.float16, mg.bfloat16], ids=str)
def test_narrow_modules_have_narrow_results_and_gradients(network: Any, dtype: Any) -> None:
    module, inputs = network
    wide = [y.detach() for y in listed(module.double()(*inputs))]
    results = listed(module.to(dtype)(*[x.to(dtype) for x in inputs]))
    assert {y.dtype for y in results} == {dtype}
    sum(y.sum() for y in results).backward()
    assert {p.grad.dtype for p in module.parameters()} == {dtype}
    close([y.to(mg.float64) for y in results], wide, 0.02 if dtype is mg.float16 else 0.15)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_long_sequence_is_several_launches_that_follow_each_other(
    name: str, bidirectional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, x = layer(name, bidirectional=bidirectional), real(7, 2, 3)

    def values() -> list[Any]:
        y, *last = listed(module(x))
        return [y, *last, *mg.grad((y * y).sum() + last[-1].sum(), list(module.parameters()))]

    whole = values()
    monkeypatch.setattr("minigrad.nn.modules.cells.LONGEST", 3)
    close(values(), whole)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_layer_under_autocast_has_results_and_gradients_of_its_own_dtype(name: str) -> None:
    module = layer(name).float()
    x = mg.Var(real(5, 2, 3).detach().numpy().astype(np.float32), device="reference")
    whole, _ = module(x)
    with mg.autocast("cpu", dtype=mg.bfloat16), mg.autocast("reference", dtype=mg.bfloat16):
        y, _ = module(x)
    assert y.dtype is mg.float32 and 0 < (y - whole).abs().max().item() < 0.02
    y.sum().backward()
    assert x.grad.dtype is mg.float32


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("frozen", ["", "weight_hh", "weight_ih"])
def test_all_times_of_a_gru_in_one_op_give_what_its_steps_give(
    frozen: str, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, x, first = layer("GRU", bias=bias, bidirectional=True), real(4, 2, 3), real(4, 2, 2, k=1)
    for name, p in module.named_parameters():
        p.requires_grad_(not frozen or frozen not in name)
    asked = [mg.Var(x), mg.Var(first), *[p for p in module.parameters() if p.requires_grad]]

    def values() -> list[Any]:
        y, last = module(asked[0], asked[1])
        found = mg.grad((y * y).sum() + (last * last * last).sum(), asked, create_graph=True)
        return [y, last, *found, *mg.grad(sum((g * g).sum() for g in found), asked)]

    one = values()
    calls: list[Any] = []
    monkeypatch.setattr("minigrad.nn.modules.cells.is_sequence", lambda *a: bool(calls.append(a)))
    close(values(), one)
    assert len(calls) == 4  # two layers, two directions


@pytest.mark.parametrize("backwards", [False, True])
def test_times_with_the_same_sequences_of_a_packed_batch_are_one_op(
    backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, x = layer("GRU", bidirectional=backwards), rnn.pack_padded_sequence(real(5, 3, 3), [5, 5, 2])
    seen: list[Any] = []
    call = gru_sequence
    monkeypatch.setattr("minigrad.nn.modules.cells.gru_sequence", lambda *a: (seen.append(a[0].shape), call(*a))[1])
    module(x)
    there, back = [(2, 3, 6), (3, 2, 6)], [(3, 2, 6), (2, 3, 6)]
    assert seen == [*there, *(back if backwards else [])] * 2  # layers


def test_a_sequence_has_at_least_one_step() -> None:
    for kind, shape, first in (("LSTM", (0, 2, 3), False), ("GRU", (2, 0, 3), True), ("RNN", (0, 3), True)):
        with pytest.raises(mg.ShapeError, match="the sequence must have a length of at least 1"):
            getattr(mg.nn, kind)(3, 4, batch_first=first, device="reference")(mg.ones(*shape, device="reference"))
    assert mg.nn.RNN(3, 4, device="reference")(mg.ones(3, 0, 3, device="reference"))[0].shape == (3, 0, 4)


@pytest.mark.parametrize("kind", [mg.nn.RNN, mg.nn.LSTM, mg.nn.GRU])
def test_an_input_has_the_dtype_of_the_parameters_and_flags_are_bools(kind: Any) -> None:
    module = kind(3, 5, device="reference")
    with pytest.raises(DTypeError, match=rf"{kind.__name__}: input must have the dtype of the parameters, float32"):
        module(mg.zeros(2, 4, 3, dtype=mg.float64, device="reference"))
    for flag in ("bias", "batch_first"):
        with pytest.raises(ArgumentTypeError, match=f"{flag} must be True or False, got 1"):
            kind(3, 5, **{flag: 1})
