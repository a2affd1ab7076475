"""nn.utils: limits of gradients, parameters as a vector, parametrizations, and sequences of different lengths."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, GradientError, ShapeError

nn, utils = mg.nn, mg.nn.utils
HERE = {"device": "reference", "dtype": mg.float64}


def tensor(values: Any) -> Any:
    return mg.tensor(np.asarray(values, np.float64), **HERE)


def with_gradients(*gradients: Any) -> list[Any]:
    parameters = []
    for g in gradients:
        p = nn.Parameter(tensor(np.zeros_like(np.asarray(g, np.float64))))
        p.grad = tensor(g)
        parameters.append(p)
    return [*parameters, nn.Parameter(tensor([9.0]))]


# ---- gradients and vectors


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_clipping_by_the_norm_of_all(p: float) -> None:
    each = with_gradients([3.0, -4.0], [[12.0]])
    norm = float(np.linalg.norm([3.0, -4.0, 12.0], p))
    assert utils.clip_grad_norm_(each, 1.0, p).item() == pytest.approx(norm)
    np.testing.assert_allclose([*each[0].grad.tolist(), each[1].grad.item()], np.array([3.0, -4.0, 12.0]) / norm,
                               rtol=1e-6)  # fmt: skip
    assert utils.clip_grad_norm_(iter(each), 5.0, p).item() == pytest.approx(1.0) and each[2].grad is None
    assert utils.clip_grad_norm_(each[2], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite_raises_if_asked() -> None:
    each = with_gradients([math.inf, 1.0])
    with pytest.raises(GradientError, match=r"a finite norm of order 2.0, got inf"):
        utils.clip_grad_norm_(each, 1.0, error_if_nonfinite=True)
    assert utils.get_total_norm([p.grad for p in each[:1]]).item() == math.inf


def test_clipping_by_value() -> None:
    each = with_gradients([3.0, -0.5, -4.0])
    utils.clip_grad_value_(each, 1)
    assert each[0].grad.tolist() == [1.0, -0.5, -1.0]


def test_parameters_as_a_vector_and_back() -> None:
    net = nn.Linear(2, 2, **HERE)
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.requires_grad and vector.shape == (6,)
    utils.vector_to_parameters(tensor(np.arange(6.0)), net.parameters())
    assert net.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]] and net.bias.tolist() == [4.0, 5.0]
    with pytest.raises(ShapeError, match=r"a vector of 6 elements, got float64\(5,\)"):
        utils.vector_to_parameters(tensor(np.zeros(5)), net.parameters())


# ---- parametrizations


class Exponential(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.exp()

    def right_inverse(self, y: Any) -> Any:
        return y.log()


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2.0


parametrize = utils.parametrize


def test_a_parametrized_tensor_is_computed_and_trained() -> None:
    layer = nn.Linear(2, 1, **HERE)
    layer.weight.detach().copy_(tensor([[1.0, 2.0]]))
    original = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Exponential()) is layer
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[1.0, 2.0]])
    assert layer.parametrizations.weight.original is original and type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear) and parametrize.is_parametrized(layer, "weight")
    layer(tensor([[1.0, 1.0]])).sum().backward()
    np.testing.assert_allclose(layer.parametrizations.weight.original.grad.numpy(), [[1.0, 2.0]])
    layer.weight = tensor([[3.0, 4.0]])
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[3.0, 4.0]])
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[6.0, 8.0]])
    assert len(layer.parametrizations.weight) == 2 and list(layer.state_dict()) == [
        "bias", "parametrizations.weight.original",
    ]  # fmt: skip


def test_a_parametrization_is_removed() -> None:
    layer = parametrize.register_parametrization(nn.Linear(2, 1, **HERE), "weight", Doubled())
    value, original = layer.weight.tolist(), layer.parametrizations.weight.original
    parametrize.register_parametrization(layer, "bias", Doubled())
    parametrize.remove_parametrizations(layer, "weight")
    assert (
        layer.weight.tolist() == value and layer.weight is original and not parametrize.is_parametrized(layer, "weight")
    )
    before = layer.parametrizations.bias.original.tolist()
    parametrize.remove_parametrizations(layer, "bias", leave_parametrized=False)
    assert layer.bias.tolist() == before and type(layer) is nn.Linear and not list(layer.children())
    with pytest.raises(ArgumentError, match="Linear has no parametrization 'weight'"):
        parametrize.remove_parametrizations(layer, "weight")


def test_a_parametrization_that_changes_the_shape_needs_unsafe() -> None:
    class Half(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    layer = nn.Linear(2, 2, **HERE)
    with pytest.raises(ArgumentError, match=r"'weight' must not change float64\(2, 2\), got float64\(1, 2\)"):
        parametrize.register_parametrization(layer, "weight", Half())
    assert type(layer) is nn.Linear and layer.weight.shape == (2, 2)
    parametrize.register_parametrization(layer, "weight", Half(), unsafe=True)
    assert layer.weight.shape == (1, 2)
    with pytest.raises(ArgumentError, match="has no parameter or buffer 'none'"):
        parametrize.register_parametrization(layer, "none", Half())


@pytest.mark.parametrize("wrong", [lambda x: (x, x), lambda x: x[:1], lambda x: x > 0.0])
def test_the_inverse_of_a_further_parametrization_keeps_shape_and_dtype(wrong: Any) -> None:
    class WithInverse(Doubled):
        def right_inverse(self, x: Any) -> Any:
            return wrong(x)

    layer = parametrize.register_parametrization(nn.Linear(2, 2, **HERE), "weight", Doubled())
    with pytest.raises(ArgumentError, match=r"right_inverse of the parametrization of 'weight' must return"):
        parametrize.register_parametrization(layer, "weight", WithInverse())
    assert len(layer.parametrizations.weight) == 1
    parametrize.register_parametrization(layer, "weight", WithInverse(), unsafe=True)


def test_within_cached_a_tensor_is_computed_once() -> None:
    layer = parametrize.register_parametrization(nn.Linear(2, 1, **HERE), "weight", Doubled())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_a_parametrized_buffer_and_copies() -> None:
    layer = nn.BatchNorm1d(2, **HERE)
    parametrize.register_parametrization(layer, "running_mean", Doubled())
    assert "parametrizations.running_mean.original" in dict(layer.named_buffers())
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        other.parametrizations.running_mean.original.fill_(4.0)
        assert other.running_mean.tolist() == [8.0, 8.0] and layer.running_mean.tolist() == [0.0, 0.0]
        parametrize.remove_parametrizations(other, "running_mean")
        assert type(other) is nn.BatchNorm1d and parametrize.is_parametrized(layer)


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_second_parametrization_is_applied_to_the_first(library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    parametrize = lib.nn.utils.parametrize

    class Double(lib.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, y: Any) -> Any:
            return y / 2

    class Shift(lib.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x + 1

    class Unwilling(Shift):
        def right_inverse(self, y: Any) -> Any:
            raise NotImplementedError

    layer = lib.nn.Linear(2, 1, bias=False, device=HERE["device"] if lib is mg else None).eval()
    weight, optimizer = layer.weight, lib.optim.SGD(layer.parameters(), lr=1.0)
    layer.weight.data.fill_(4.0)
    parametrize.register_parametrization(layer, "weight", Double())
    assert layer.weight.tolist() == [[4.0, 4.0]] and layer.parametrizations.weight.original.tolist() == [[2.0, 2.0]]
    assert layer.parametrizations.weight.original is weight, "the optimizer goes on to train it"
    parametrize.register_parametrization(layer, "weight", Double())
    assert layer.weight.tolist() == [[8.0, 8.0]], "not inverted"
    assert not any(module.training for module in layer.parametrizations.weight)
    layer.weight = lib.ones(1, 2, device=HERE["device"] if lib is mg else None)
    assert layer.parametrizations.weight.original.tolist() == [[0.25, 0.25]]
    layer.weight.sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[-15.0, -15.0]]
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is weight and weight.tolist() == [[-15.0, -15.0]]
    parametrize.register_parametrization(layer, "weight", Shift())
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = weight.detach()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.register_parametrization(layer, "weight", Unwilling())
    assert layer.weight.tolist() == [[-14.0, -14.0]] and weight.tolist() == [[-15.0, -15.0]]


def test_a_refused_parametrization_changes_nothing() -> None:
    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.sum()

        def right_inverse(self, y: Any) -> Any:
            return y * 0.0

    layer = nn.Linear(2, 1, **HERE)
    weight, values = layer.weight, layer.weight.tolist()
    with pytest.raises(ArgumentError, match="pass unsafe=True to"):
        parametrize.register_parametrization(layer, "weight", Wrong())
    assert layer.weight is weight and weight.tolist() == values and type(layer) is nn.Linear


def test_weight_norm_splits_length_and_direction() -> None:
    layer = nn.Linear(3, 2, **HERE)
    before = layer.weight.detach().numpy().copy()
    utils.parametrizations.weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-12)
    layer.parametrizations.weight.original0.detach().fill_(2.0)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach().numpy(), axis=1), [2.0, 2.0])
    layer.load_state_dict({"bias": layer.bias, "weight_g": tensor([[1.0], [3.0]]), "weight_v": tensor(before)})
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach().numpy(), axis=1), [1.0, 3.0])
    assert type(utils.remove_weight_norm(layer)) is nn.Linear


def test_spectral_norm_finds_the_largest_singular_value() -> None:
    layer = nn.Linear(4, 3, **HERE)
    largest = np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)[0]
    original = layer.weight.detach().numpy().copy()
    utils.parametrizations.spectral_norm(layer, n_power_iterations=20)
    for _ in range(5):
        layer(tensor(np.ones((1, 4))))
    np.testing.assert_allclose(layer.eval().weight.detach().numpy(), original / largest, rtol=1e-6)
    assert layer.weight.tolist() == layer.weight.tolist(), "evaluation does not move the vectors"


def test_spectral_norm_of_complex_weights_has_the_largest_singular_value_1() -> None:
    layer = nn.Linear(4, 3, dtype=mg.complex128, device="reference")
    utils.parametrizations.spectral_norm(layer, n_power_iterations=50)
    assert np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)[0] == pytest.approx(1.0)


OLD = {
    "weight_norm": {"g": "original0", "v": "original1"},
    "spectral_norm": {"orig": "original", "u": "0._u", "v": "0._v"},
}


@pytest.mark.parametrize("name", OLD)
def test_a_normalized_weight_loads_the_keys_of_older_files(name: str) -> None:
    saved, layer = (getattr(utils, name)(nn.Linear(3, 2, **HERE)) for _ in range(2))
    new = getattr(utils.parametrizations, name)(nn.Linear(3, 2, **HERE))
    state = saved.state_dict()
    assert list(state) == ["bias", *[f"weight_{ending}" for ending in OLD[name]]]
    assert all(mg.equal(getattr(saved, key), value) for key, value in state.items())
    new.load_state_dict(state)
    saved.load_state_dict(new.state_dict())
    assert not hasattr(new, "weight_v") and set(new.state_dict()).isdisjoint(set(state) - {"bias"})
    around = nn.Sequential(copy.deepcopy(layer))
    around.load_state_dict({f"0.{key}": value for key, value in state.items()})
    layer.load_state_dict(state)
    assert layer.eval().weight.tolist() == around.eval()[0].weight.tolist() == saved.eval().weight.tolist()
    assert sorted(state) == sorted(["bias", *[f"weight_{ending}" for ending in OLD[name]]]), "the state stays as it was"


@pytest.mark.torch
@pytest.mark.parametrize("name", OLD)
@pytest.mark.filterwarnings("ignore")
def test_a_normalized_weight_loads_the_state_of_pytorchs_hooks(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.utils, name)(torch.nn.ConvTranspose1d(3, 2, 2).double())
    theirs(torch.ones(1, 3, 4).double())
    mine = getattr(utils, name)(nn.ConvTranspose1d(3, 2, 2, **HERE))
    mine.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
    x = np.sin(np.arange(12.0)).reshape(1, 3, 4)
    want = theirs.eval()(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(mine.eval()(tensor(x)).detach().numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal_rows_or_columns(shape: tuple[int, int], kind: str) -> None:
    layer = utils.parametrizations.orthogonal(nn.Linear(*shape, **HERE), orthogonal_map=kind)
    layer.parametrizations.weight.original.detach().add_(tensor(np.sin(np.arange(8.0 + (shape[0] == 3)))).reshape(
        layer.weight.shape))  # fmt: skip
    before = layer.weight.detach().numpy()
    w = before if before.shape[0] < before.shape[1] else before.T
    np.testing.assert_allclose(w @ w.T, np.eye(len(w)), atol=1e-12)
    layer.weight = 2.0 * layer.weight
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, atol=1e-12)
    a = mg.Var(np.sin(np.arange(9.0)).reshape(3, 3) * 2, device="reference")
    assert mg.testing.gradcheck(utils.orthogonal_matrices.matrix_exp, a)


def test_orthogonal_without_a_base_starts_at_the_weight() -> None:
    layer = nn.Linear(3, 3, **HERE)
    before = layer.weight.tolist()
    utils.parametrizations.orthogonal(layer, use_trivialization=False)
    assert layer.parametrizations.weight.original.tolist() == before
    with pytest.raises(ArgumentError, match="only if the parametrization has use_trivialization=True"):
        layer.weight = tensor(np.eye(3))
    with pytest.raises(ArgumentError, match="must be 'matrix_exp' or 'cayley', got 'householder'"):
        utils.parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="householder")
    with pytest.raises(ShapeError, match=r"weight must have 2 dims, got float32\(3,\)"):
        utils.parametrizations.orthogonal(nn.Linear(3, 3), "bias")


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal_weights_are_pytorchs(shape: tuple[int, int], kind: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(*shape).double(), orthogonal_map=kind)
    mine = utils.parametrizations.orthogonal(nn.Linear(*shape, **HERE), orthogonal_map=kind)
    with torch.no_grad():
        theirs.parametrizations.weight.original.add_(
            torch.arange(float(shape[0] * shape[1])).sin().reshape(shape[::-1])
        )
    mine.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    x = np.cos(np.arange(2.0 * shape[0])).reshape(2, -1)
    y, z = mine(tensor(x)), theirs(torch.tensor(x))
    y.square().sum().backward()
    z.square().sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-9, atol=1e-12)
    got, want = [each.parametrizations.weight.original.grad.numpy() for each in (mine, theirs)]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize(("kind", "arguments"), [("Linear", (3, 4)), ("ConvTranspose2d", (3, 4, 2))])
def test_normed_weights_have_pytorchs_keys_and_numbers(name: str, kind: str, arguments: Any) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.utils.parametrizations, name)(getattr(torch.nn, kind)(*arguments).double())
    mine = getattr(utils.parametrizations, name)(getattr(nn, kind)(*arguments, **HERE))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    x = np.sin(np.arange(2 * 3 * (1 if kind == "Linear" else 9)).reshape(2, 3, *(() if kind == "Linear" else (3, 3))))
    for _ in range(2):
        y, z = mine(tensor(x)), theirs(torch.tensor(x))
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-10, atol=1e-12)
    y.square().sum().backward()
    z.square().sum().backward()
    for (key, p), q in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10, err_msg=key)


# ---- sequences

LENGTHS = (2, 4, 1)


def sequences() -> list[Any]:
    return [tensor(np.arange(2.0 * n).reshape(n, 2) + 10 * k) for k, n in enumerate(LENGTHS)]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_padding(batch_first: bool, side: str) -> None:
    each = [x.requires_grad_() for x in sequences()]
    y = utils.rnn.pad_sequence(each, batch_first, -1.0, side)
    table = y.detach().numpy() if batch_first else y.detach().numpy().swapaxes(0, 1)
    for k, x in enumerate(each):
        own = table[k, : LENGTHS[k]] if side == "right" else table[k, 4 - LENGTHS[k] :]
        np.testing.assert_array_equal(own, x.detach().numpy())
    assert (table == -1.0).sum() == 2 * (2 + 0 + 3)
    y.sum().backward()
    assert all(x.grad.numpy().all() for x in each)


@pytest.mark.parametrize("batch_first", [True, False])
def test_packing_and_back(batch_first: bool) -> None:
    x = utils.rnn.pad_sequence(sequences(), batch_first).requires_grad_()
    packed = utils.rnn.pack_padded_sequence(x, mg.tensor(LENGTHS), batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.data[:3].tolist() == [[10.0, 11.0], [0.0, 1.0], [20.0, 21.0]]
    assert packed.to(packed.data.device) is packed and packed.double().data.dtype is mg.float64
    y, lengths = utils.rnn.pad_packed_sequence(packed, batch_first, 0.0, total_length=4)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    assert lengths.tolist() == list(LENGTHS)
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())


def test_sequences_that_do_not_fit() -> None:
    x = utils.rnn.pad_sequence(sequences())
    with pytest.raises(ArgumentError, match="enforce_sorted=False"):
        utils.rnn.pack_padded_sequence(x, LENGTHS)
    with pytest.raises(ArgumentError, match=r"must contain 3 lengths from 1 to 4, got \[5, 1, 1\]"):
        utils.rnn.pack_padded_sequence(x, [5, 1, 1])
    with pytest.raises(ArgumentError, match="total_length must be at least 4, got 3"):
        utils.rnn.pad_packed_sequence(utils.rnn.pack_sequence(sequences(), False), total_length=3)
    with pytest.raises(ShapeError, match="equal shapes except in dim 0"):
        utils.rnn.pad_sequence([tensor([1.0]), tensor([[1.0]])])


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["Conv2d", "ConvTranspose2d", "Linear"])
def test_a_normalization_is_folded_into_the_layer_before_it(kind: str, affine: bool, library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    made = {"device": "reference"} if lib is mg else {}
    layer = getattr(lib.nn, kind)(3, 4, **({} if kind == "Linear" else {"kernel_size": 2}), bias=affine, **made)
    bn = (lib.nn.BatchNorm1d if kind == "Linear" else lib.nn.BatchNorm2d)(4, affine=affine or kind == "Linear", **made)
    x = lib.tensor(
        np.sin(np.arange(54.0)).astype("float32").reshape((18, 3) if kind == "Linear" else (2, 3, 3, 3)), **made
    )
    for _ in range(3):
        bn(layer(x))
    layer.eval(), bn.eval()
    fused = (lib.nn.utils.fuse_linear_bn_eval(layer, bn) if kind == "Linear" else
             lib.nn.utils.fuse_conv_bn_eval(layer, bn, kind == "ConvTranspose2d"))  # fmt: skip
    np.testing.assert_allclose(fused(x).detach().numpy(), bn(layer(x)).detach().numpy(), atol=1e-5)
    assert type(fused) is type(layer) and fused.weight is not layer.weight and fused.bias.requires_grad == affine
    assert list(fused.state_dict()) == ["weight", "bias"]


def test_layers_that_cannot_be_folded_have_a_sentence() -> None:
    conv, bn = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
    with pytest.raises(ArgumentError, match="fuse_conv_bn_eval: both layers must be in evaluation mode"):
        utils.fuse_conv_bn_eval(conv.eval(), bn)
    with pytest.raises(ArgumentError, match="have running statistics"):
        utils.fuse_conv_bn_eval(conv, nn.BatchNorm2d(4, track_running_stats=False).eval())
    with pytest.raises(ArgumentError, match=r"bn must have 5 features, .*, or 1 feature, got 4"):
        utils.fuse_linear_bn_eval(nn.Linear(3, 5).eval(), nn.BatchNorm1d(4).eval())


def test_a_skipped_initialization_leaves_the_generator_alone() -> None:
    mg.manual_seed(1)
    first = mg.rand(2, **HERE).tolist()
    mg.manual_seed(1)
    assert utils.skip_init(nn.Linear, 3, 2, device="reference").weight.shape == (2, 3)
    assert mg.rand(2, **HERE).tolist() == first


def test_layers_return_the_memory_format_of_their_input() -> None:
    mg.manual_seed(0)
    cases = {
        4: [nn.Conv2d(2, 3, 2, **HERE), nn.MaxPool2d(2, return_indices=True), nn.AdaptiveAvgPool2d(2),
            nn.BatchNorm2d(2, **HERE), nn.GroupNorm(2, 2, **HERE), nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1),
            nn.Dropout2d()],
        5: [nn.Conv3d(2, 3, 2, **HERE), nn.AvgPool3d(2), nn.InstanceNorm3d(2),
            nn.Upsample(scale_factor=2, mode="trilinear")],
    }  # fmt: skip
    for rank, layers in cases.items():
        form = mg.channels_last if rank == 4 else mg.channels_last_3d
        for layer in [each.eval() for each in layers]:
            for x in (mg.rand(2, 2, *[4] * (rank - 2), **HERE), mg.rand(2, 4, *[4] * (rank - 2), **HERE)[:, ::2]):
                last = x.contiguous(memory_format=form).requires_grad_()
                plain = mg.Var(x.detach().clone())
                y, wanted = layer(last), layer(plain)
                for each, other in zip(*[z if isinstance(z, tuple) else (z,) for z in (y, wanted)]):
                    assert each.is_contiguous(memory_format=form) and other.is_contiguous()
                    np.testing.assert_allclose(each.tolist(), other.tolist(), rtol=1e-5, atol=1e-6)
                if not isinstance(y, tuple):
                    y.sum().backward()
                    wanted.sum().backward()
                    assert last.grad.strides == last.strides, "a gradient has the strides of its leaf"
                    np.testing.assert_allclose(last.grad.tolist(), plain.grad.tolist(), rtol=1e-5, atol=1e-6)
                    layer(last).sum().backward()
                    assert last.grad.strides == last.strides, "a second backward pass adds in place"
                    np.testing.assert_allclose(last.grad.tolist(), 2 * plain.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_modules_convert_their_parameters_to_a_memory_format() -> None:
    for convert in (
        lambda net: net.to(memory_format=mg.channels_last),
        lambda net: utils.convert_conv2d_weight_memory_format(net, mg.channels_last),
    ):
        net = nn.Sequential(nn.Conv2d(2, 3, 2, **HERE), nn.Linear(2, 2, **HERE))
        weight, values = net[0].weight, net[0].weight.tolist()
        assert convert(net) is net and net[0].weight is weight and weight.tolist() == values
        assert weight.is_contiguous(memory_format=mg.channels_last) and net[1].weight.is_contiguous()
    with pytest.raises(mg.ArgumentError, match="copy must be False"):
        net.to("reference", copy=True)
    for layer, x in ((nn.MaxPool2d(2), mg.rand(1, 0, 4, 4, **HERE)), (nn.ReflectionPad1d(1), mg.rand(2, 0, 4, **HERE))):
        with pytest.raises(mg.ShapeError, match="no empty inner dim"):
            layer(x)


def test_packed_sequences_as_lists() -> None:
    packed = utils.rnn.pack_sequence(sequences(), enforce_sorted=False).to(mg.float32)
    each = utils.rnn.unpack_sequence(packed)
    assert packed.data.dtype == mg.float32 and not packed.is_cuda
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(each, sequences(), strict=True))


@pytest.mark.torch
def test_signatures_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    pairs = [(utils, torch.nn.utils), (utils.rnn, torch.nn.utils.rnn), (utils.parametrize, torch.nn.utils.parametrize),
             (utils.parametrizations, torch.nn.utils.parametrizations)]  # fmt: skip
    compared = 0
    for mine, theirs in pairs:
        for name, function in vars(mine).items():
            other = getattr(theirs, name, None)
            old = mine is utils and name in ("weight_norm", "spectral_norm", "remove_weight_norm")
            if inspect.isfunction(function) and inspect.isfunction(other) and not old:
                ours, torchs = [inspect.signature(f).parameters.values() for f in (function, other)]
                assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in torchs], name
                compared += 1
    assert compared >= 18


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d"])
def test_gradients_of_convolutions_from_the_gradient_of_the_result(name: str) -> None:
    dims, arguments = int(name[-2]), (2, 1, 1, 2)
    x = mg.Var(np.sin(np.arange(8.0 * 5**dims)).reshape(2, 4, *[5] * dims), device="reference")
    w = mg.Var(np.cos(np.arange(12.0 * 3**dims)).reshape(6, 2, *[3] * dims), device="reference")
    y = getattr(nn.functional, name)(x, w, None, *arguments)
    g = tensor(np.sin(np.arange(float(y.numel())))).reshape(y.shape)
    want = mg.grad(y, [x, w], g)
    got = (getattr(nn.grad, f"{name}_input")(x.shape, w, g, *arguments),
           getattr(nn.grad, f"{name}_weight")(x, w.shape, g, *arguments))  # fmt: skip
    for a, b in zip(got, want, strict=True):
        assert a.requires_grad
        np.testing.assert_allclose(a.detach().numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
    assert not getattr(nn.grad, f"{name}_input")(x.shape, w.detach(), g, *arguments).requires_grad


def test_packed_sequences_are_converted() -> None:
    packed = utils.rnn.pack_sequence([mg.tensor([1.5, 2.5]), mg.tensor([3.0])])
    for name, dtype in (("double", "float64"), ("half", "float16"), ("long", "int64"), ("byte", "uint8")):
        assert str(getattr(packed, name)().data.dtype).endswith(dtype)
    assert packed.cpu().data.device == mg.device("cpu") and not packed.is_cuda and not packed.is_pinned()


def test_backward_hooks_get_none_for_arguments_that_are_no_tensors() -> None:
    class Mixed(nn.Module):
        def forward(self, flag: bool, x: mg.Tensor, other: mg.Tensor) -> Any:
            return x * 2.0, flag

    seen: list[Any] = []
    module, x = Mixed(), mg.Var([1.0, 2.0], device="reference")
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    module(True, x, mg.ones(1, device="reference"))[0].sum().backward()
    ((grad_input, grad_output),) = seen
    assert grad_input[0] is None and grad_input[1].tolist() == [2.0, 2.0] and grad_input[2].tolist() == [0.0]
    assert grad_output[0].tolist() == [1.0, 1.0] and grad_output[1] is None


def test_a_step_of_the_older_spectral_norm_begins_with_v() -> None:
    layer = utils.spectral_norm(nn.Linear(2, 2, **HERE))
    state = {
        "bias": [0.0, 0.0],
        "weight_orig": [[3.0, 1.0], [0.0, 1.0]],
        "weight_u": [1.0, 0.0],
        "weight_v": [0.0, 1.0],
    }
    layer.load_state_dict({name: tensor(value) for name, value in state.items()})
    # v = (3, 1) / sqrt(10), u = (10, 1) / sqrt(101), so u.W.v = 101 / sqrt(1010)
    want = np.array([[3.0, 0.0], [1.0, 1.0]]) / (101 / math.sqrt(1010))
    np.testing.assert_allclose(layer(tensor(np.eye(2))).detach().numpy(), want, rtol=1e-12)
