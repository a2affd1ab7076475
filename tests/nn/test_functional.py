"""`mg.nn.functional`: what the arguments mean is what they mean in PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import GradientError, ShapeError, StorageError
from minigrad.testing import gradcheck

pytestmark = pytest.mark.usefixtures("float64")

F = mg.nn.functional
LN2 = math.log(2)

# ---- a dim that is left out


@pytest.mark.parametrize(("shape", "dim"), [((3,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((2, 3, 1, 2), 1)], ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_a_dim_that_is_left_out_is_pytorchs_and_told(name: str, shape: tuple[int, ...], dim: int) -> None:
    x, function = mg.arange(math.prod(shape), dtype=mg.float64).reshape(shape) / 7, getattr(F, name)
    with pytest.warns(
        UserWarning, match=rf"{name}: expected a dim for float64\(.*\), got None, so dim={dim} is taken"
    ) as told:
        found = function(x)
    assert told[0].filename == __file__
    assert found.tolist() == function(x, dim).tolist() == function(x, dim=dim, dtype=mg.float64).tolist()


def test_the_softmax_of_a_scalar_is_1() -> None:
    x = mg.Var(3.0)
    assert [F.softmax(x, 0).item(), F.log_softmax(x, -1).item()] == [1.0, 0.0]
    F.softmax(x, 0).backward()
    assert x.grad is not None and x.grad.item() == 0.0


# ---- in place

IN_PLACE = {
    "relu": (lambda x, **more: F.relu(x, **more), [0.0, 0.0, 1.0, 8.0]),
    "relu6": (lambda x, **more: F.relu6(x, **more), [0.0, 0.0, 1.0, 6.0]),
    "leaky_relu": (lambda x, **more: F.leaky_relu(x, 0.5, **more), [-1.0, 0.0, 1.0, 8.0]),
    "elu": (lambda x, **more: F.elu(x, 2.0, **more), [2 * math.expm1(-2), 0.0, 1.0, 8.0]),
    "silu": (lambda x, **more: F.silu(x, **more), [v / (1 + math.exp(-v)) for v in (-2.0, 0.0, 1.0, 8.0)]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_inplace_writes_into_the_input_and_returns_it(name: str) -> None:
    function, right = IN_PLACE[name]
    x = mg.tensor([-2.0, 0.0, 1.0, 8.0])
    other = function(x)
    assert x.tolist() == [-2.0, 0.0, 1.0, 8.0]
    assert function(x, inplace=True) is x
    assert x.tolist() == other.tolist() == pytest.approx(right)


@pytest.mark.parametrize("name", IN_PLACE)
def test_inplace_never_loses_a_gradient(name: str) -> None:
    function, x = IN_PLACE[name][0], mg.Var([-2.0, 3.0])
    with pytest.raises(GradientError, match="cannot write into a Var"):
        function(x, inplace=True)
    written, other = x * 2.0, x * 2.0
    g = mg.grad(function(written, inplace=True).sum(), x)
    assert g.tolist() == mg.grad(function(other).sum(), x).tolist()
    z = mg.tensor([-2.0, 3.0])
    y = x * z
    function(z, inplace=True)
    with pytest.raises(StorageError, match=r"mul.* changed in place"):
        y.backward()


def test_relu6_learns_nothing_at_its_ends() -> None:
    x = mg.Var([-1.0, 0.0, 0.1, 5.9, 6.0, 7.0])
    F.relu6(x).backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 1, 1, 0, 0]
    assert math.isnan(F.relu6(mg.tensor(math.nan)).item())


# ---- softplus


def test_softplus_is_its_argument_above_the_threshold() -> None:
    x = mg.Var([-30.0, 0.0, 1.0, 3.0], dtype="float64")
    y = F.softplus(x, 2.0, 5.0)
    assert y.tolist() == pytest.approx([math.log1p(math.exp(-60)) / 2, LN2 / 2, math.log1p(math.exp(2)) / 2, 3.0])
    assert y.tolist()[3] == 3.0
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([1 / (1 + math.exp(60)), 0.5, 1 / (1 + math.exp(-2)), 1.0])
    assert (
        F.softplus(mg.tensor(19.0, dtype="float64")).item() > 19.0 == F.softplus(mg.tensor(19.0), threshold=18).item()
    )


# ---- losses


def test_the_flags_before_reduction_still_say_what_they_said() -> None:
    x, target = mg.zeros(2, 4), mg.tensor([0, 3])
    for given, name in (
        ({"size_average": True}, "mean"), ({"size_average": False}, "sum"), ({"reduce": False}, "none"),
        ({"reduce": True}, "mean"), ({"size_average": True, "reduce": False}, "none"),
        ({"size_average": False, "reduce": True}, "sum"),
    ):  # fmt: skip
        for loss in (F.cross_entropy, F.nll_loss):
            with pytest.warns(UserWarning, match=f"write reduction='{name}'") as told:
                found = loss(x, target, **given)
            assert told[0].filename == __file__
            assert found.tolist() == loss(x, target, reduction=name).tolist()


def test_cross_entropy_weighs_ignores_and_smooths() -> None:
    # Rows of zeros have log-probabilities of -log 4, so each loss is log 4 times a weight.
    x, target, weight = mg.zeros(3, 4), mg.tensor([0, 1, 2]), mg.tensor([1.0, 2.0, 4.0, 5.0])
    assert F.cross_entropy(x, target, weight, reduction="none").tolist() == pytest.approx([2 * LN2, 4 * LN2, 8 * LN2])
    assert F.cross_entropy(x, target, weight, None, 2, None, "sum").item() == pytest.approx(6 * LN2)
    assert F.cross_entropy(x, target, weight, ignore_index=2).item() == pytest.approx(2 * LN2)  # 6 log 2 over 1 + 2
    smooth = F.cross_entropy(x, target, weight, reduction="none", label_smoothing=0.5).tolist()
    assert smooth == pytest.approx([2 * LN2 * (0.5 * w + 0.125 * 12) for w in (1, 2, 4)])
    mixed = mg.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert F.cross_entropy(mg.zeros(2, 4), mixed, weight, reduction="none").tolist() == pytest.approx(
        [3 * LN2, 10 * LN2]
    )
    assert F.cross_entropy(mg.zeros(2, 4), mixed, weight).item() == pytest.approx(6.5 * LN2)
    half = F.cross_entropy(mg.zeros(2, 4), mixed, weight, reduction="none", label_smoothing=0.5).tolist()
    assert half == pytest.approx([2 * LN2 * (0.5 * w + 0.125 * 12) for w in (1.5, 5.0)])


def test_nll_loss_takes_what_is_there() -> None:
    logs, target = mg.tensor([[-1.0, -2.0], [-4.0, -8.0]]), mg.tensor([1, 0])
    weight = mg.tensor([1.0, 3.0])
    assert F.nll_loss(logs, target, reduction="none").tolist() == [2.0, 4.0]
    assert F.nll_loss(logs, target, weight).item() == (6.0 + 4.0) / 4
    assert F.nll_loss(logs, target, ignore_index=1).item() == 4.0


# ---- convolution and pooling


def test_padding_same_and_valid() -> None:
    x, w = mg.tensor([[[1.0, 2.0, 4.0, 8.0]]]), mg.tensor([[[1.0, 10.0]]])
    assert F.conv1d(x, w, padding="valid").tolist() == [[[21.0, 42.0, 84.0]]]
    assert F.conv1d(x, w, padding="same").tolist() == [[[21.0, 42.0, 84.0, 8.0]]]  # the odd zero goes to the end
    assert F.conv1d(x, w, dilation=2, padding="same").tolist() == [[[20.0, 41.0, 82.0, 4.0]]]


def test_ceil_mode_and_the_places_of_the_largest() -> None:
    x = mg.tensor([[1.0, 5.0, 2.0, 3.0, 4.0]])
    assert F.max_pool1d(x, 2).tolist() == [[5.0, 3.0]]
    values, places = F.max_pool1d(x, 2, ceil_mode=True, return_indices=True)
    assert (values.tolist(), places.tolist()) == ([[5.0, 3.0, 4.0]], [[1, 3, 4]])
    assert F.max_pool1d(x, 2, 1, 1, 3).tolist() == [[2.0, 3.0, 5.0, 2.0]]


def test_what_a_mean_is_divided_by() -> None:
    x = mg.ones(1, 2, 2)
    assert F.avg_pool2d(x, 2, 2, 1).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]
    assert F.avg_pool2d(x, 2, 2, 1, count_include_pad=False).tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    assert F.avg_pool2d(x, 2, divisor_override=8).tolist() == [[[0.5]]]
    assert F.avg_pool1d(mg.ones(1, 3), 2, ceil_mode=True).tolist() == [[1.0, 1.0]]


def test_a_normalisation_says_which_dims_are_its_own() -> None:
    x = mg.tensor([[1.0, 3.0], [5.0, 7.0]])
    assert F.layer_norm(x, [2], eps=0.0).tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    assert F.layer_norm(x, (2, 2), mg.full((2, 2), 2.0), mg.ones(2, 2), 4.0).tolist() == pytest.approx(
        np.array([[-2.0, -2 / 3], [2 / 3, 2.0]]) + 1
    )
    with pytest.raises(ShapeError):
        F.layer_norm(x, [3])


def test_gradients_of_the_arguments() -> None:
    rng = np.random.default_rng(0)
    x, w = mg.Var(rng.standard_normal((3, 4))), mg.Var(rng.uniform(0.5, 2.0, 4))
    target, mixed = mg.tensor([1, 3, 0]), mg.Var(rng.uniform(0.1, 1.0, (3, 4)))
    gradcheck(lambda x, w: F.cross_entropy(x, target, w, ignore_index=3, label_smoothing=0.2), [x, w])
    gradcheck(lambda x, w, q: F.cross_entropy(x, q, w, label_smoothing=0.2, reduction="sum"), [x, w, mixed])
    gradcheck(lambda x, w: F.nll_loss(x, target, w, ignore_index=1), [x, w])
    gradcheck(lambda x: F.softplus(x, 1.5, 1.0), [x])
    gradcheck(lambda x: F.leaky_relu(x, 0.3) + F.elu(x, 0.7) + F.relu6(x) + F.silu(x), [x])
    gradcheck(lambda x: F.avg_pool1d(x, 3, 2, 1, True, False), [x])
    gradcheck(lambda x: F.max_pool1d(x, 2, 1, 1, 2, True), [x])
