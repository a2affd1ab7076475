"""Distributions: densities, entropies, divergences and gradients next to PyTorch, and samples by their moments."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import distributions as D
from minigrad.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("reference")
LOC, SCALE = [[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]], [[1.0, 0.5, 2.0], [0.1, 3.0, 1.5]]
P, WEIGHTS = [[0.2, 0.7], [0.5, 0.9]], [[1.0, 2.0, 5.0], [0.3, 0.3, 0.4]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
X, BITS, CLASSES = [[0.3, 0.1, 1.5], [0.05, 1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]], [2, 0]

# name, arguments, value: the class is called with tensors of float64 by keyword.
CASES = {
    "normal": ("Normal", {"loc": LOC, "scale": SCALE}, X),
    "uniform": ("Uniform", {"low": LOC, "high": [[1.0, 2.0, 3.0]] * 2}, X),
    "bernoulli": ("Bernoulli", {"probs": P}, BITS),
    "bernoulli logits": ("Bernoulli", {"logits": [[-1.0, 0.3], [2.0, 4.0]]}, BITS),
    "categorical": ("Categorical", {"probs": WEIGHTS}, CLASSES),
    "categorical logits": ("Categorical", {"logits": WEIGHTS}, CLASSES),
    "exponential": ("Exponential", {"rate": SCALE}, [[0.3, 0.1, 1.5], [0.05, 1.0, 2.0]]),
    "laplace": ("Laplace", {"loc": LOC, "scale": SCALE}, X),
    "gumbel": ("Gumbel", {"loc": LOC, "scale": SCALE}, X),
    "cauchy": ("Cauchy", {"loc": LOC, "scale": SCALE}, X),
    "log normal": ("LogNormal", {"loc": LOC, "scale": SCALE}, [[0.3, 0.1, 1.5], [0.05, 1.0, 2.0]]),
    "one hot": ("OneHotCategorical", {"probs": WEIGHTS}, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "multivariate": ("MultivariateNormal", {"loc": LOC, "covariance_matrix": COVARIANCE}, X),
    "multivariate precision": ("MultivariateNormal", {"loc": LOC, "precision_matrix": COVARIANCE}, X),
}  # fmt: skip


def made(library, name: str, arguments, space):
    """The distribution of a case in one of the libraries, and its parameters."""
    parameters = {
        key: library.tensor(value, dtype=library.float64, requires_grad=True) for key, value in arguments.items()
    }
    return getattr(space, name)(**parameters, **({"validate_args": False} if name == "Uniform" else {})), parameters


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
@pytest.mark.parametrize("case", CASES)
def test_densities_entropies_and_gradients_are_those_of_pytorch(case: str) -> None:
    torch = pytest.importorskip("torch")
    name, arguments, value = CASES[case]
    results = []
    for library, space in ((mg, D), (torch, torch.distributions)):
        d, parameters = made(library, name, arguments, space)
        x = library.tensor(value) if name == "Categorical" else library.tensor(value, dtype=library.float64)
        density, entropy = d.log_prob(x), d.entropy()
        (library.where(density.isinf(), 0.0, density).sum() + entropy.sum()).backward()
        gradients = [p.grad.numpy() for p in parameters.values()]
        results.append([density.detach().numpy(), entropy.detach().numpy(), *gradients])
        assert (tuple(d.batch_shape), tuple(d.event_shape)) == (
            (2,) if name in ("Categorical", "MultivariateNormal", "OneHotCategorical") else density.shape,
            (3,) if name in ("MultivariateNormal", "OneHotCategorical") else (),
        )
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
@pytest.mark.parametrize("name", [
    "Normal", "Uniform", "Bernoulli", "Categorical", "Exponential", "Laplace", "LogNormal", "OneHotCategorical",
])  # fmt: skip
def test_divergences_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    arguments = next(parameters for cls, parameters, _ in CASES.values() if cls == name)
    results = []
    for library, space in ((mg, D), (torch, torch.distributions)):
        p, parameters = made(library, name, arguments, space)
        others = {
            key: x.detach() * 1.25 if key != "probs" or name == "Categorical" else 1 - x.detach()
            for key, x in parameters.items()
        }
        q = getattr(space, name)(**others, **({"validate_args": False} if name == "Uniform" else {}))
        results.append(space.kl_divergence(p, q).detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-10, atol=1e-12)


def test_a_density_is_the_formula() -> None:
    d = D.Normal(mg.tensor(1.0, dtype="float64"), 2.0)
    expected = -0.5 * (1.5 / 2) ** 2 - math.log(2.0) - 0.5 * math.log(2 * math.pi)
    assert d.log_prob(mg.tensor(2.5, dtype="float64")).item() == pytest.approx(expected, rel=1e-12)
    assert D.Categorical(mg.tensor([1.0, 3.0])).log_prob(mg.tensor(1)).item() == pytest.approx(math.log(0.75))
    independent = D.Independent(D.Normal(mg.zeros(4, 3), 1.0), 1)
    assert independent.log_prob(mg.zeros(4, 3)).tolist() == pytest.approx([-1.5 * math.log(2 * math.pi)] * 4)


def test_samples_have_the_moments_of_their_distribution() -> None:
    mg.manual_seed(3)
    n = 20_000
    for d in (D.Normal(1.0, 2.0), D.Uniform(-1.0, 3.0), D.Bernoulli(0.3)):
        x = d.sample((n,))
        assert not x.requires_grad and x.shape == (n,)
        error = 5 * d.stddev.item() / math.sqrt(n)
        assert x.mean().item() == pytest.approx(d.mean.item(), abs=error)
        assert x.var().item() == pytest.approx(d.variance.item(), rel=0.05)
    counts = np.bincount(D.Categorical(mg.tensor([0.1, 0.6, 0.3])).sample((n,)).numpy(), minlength=3)
    np.testing.assert_allclose(counts / n, [0.1, 0.6, 0.3], atol=0.02)
    rows = D.MultivariateNormal(mg.zeros(3), mg.tensor(COVARIANCE)).sample((n,))
    np.testing.assert_allclose(np.cov(rows.numpy().T), COVARIANCE, atol=0.08)


@pytest.mark.usefixtures("reference")
def test_values_that_are_made_of_uniform_ones_have_the_moments_too() -> None:
    mg.manual_seed(3)
    for d in (D.Exponential(0.5), D.Laplace(1.0, 0.5), D.Gumbel(-1.0, 2.0), D.LogNormal(0.1, 0.2)):
        x = d.sample((4000,))
        assert not x.requires_grad and x.mean().item() == pytest.approx(d.mean.item(), abs=5 * d.stddev.item() / 63)
        assert x.var().item() == pytest.approx(d.variance.item(), rel=0.15)


def test_gradients_flow_through_rsample_and_not_through_sample() -> None:
    loc, scale = mg.tensor([0.0, 1.0], requires_grad=True), mg.tensor([1.0, 2.0], requires_grad=True)
    x = D.Normal(loc, scale).rsample((5,))
    x.sum().backward()
    assert loc.grad.tolist() == [5.0, 5.0]
    np.testing.assert_allclose(scale.grad.numpy(), ((x.detach() - loc) / scale).sum(0).detach().numpy(), rtol=1e-5)
    assert not D.Normal(loc, scale).sample().requires_grad
    with pytest.raises(NotImplementedError, match="use sample"):
        D.Categorical(mg.ones(3)).rsample()


def test_samples_of_classes_have_the_shape_of_the_request_and_the_batch() -> None:
    d = D.Categorical(logits=mg.zeros(2, 3, 4))
    assert d.sample().shape == (2, 3) and d.sample((5, 6)).shape == (5, 6, 2, 3)
    assert d.log_prob(d.sample((5,))).shape == (5, 2, 3)
    rows = D.Categorical(mg.tensor([[1.0, 0.0], [0.0, 1.0]])).sample((7,))
    assert rows.tolist() == [[0, 1]] * 7


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: D.Normal(0.0, -1.0), ArgumentError, "scale to be positive"),
        (lambda: D.Uniform(1.0, 0.0), ArgumentError, "low to be below high"),
        (lambda: D.Bernoulli(1.5), ArgumentError, "from 0 to 1"),
        (lambda: D.Bernoulli(), ArgumentError, "both or neither"),
        (lambda: D.Categorical(mg.tensor([-1.0, 2.0])), ArgumentError, "weights of at least 0"),
        (lambda: D.Categorical(mg.tensor(1.0)), ShapeError, "the number of classes"),
        (lambda: D.MultivariateNormal(mg.zeros(2)), ArgumentError, "expected exactly one of covariance_matrix"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ArgumentError, "at most 0"),
        (lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5)), NotImplementedError, "no formula"),
    ],
)  # fmt: skip
def test_a_parameter_that_is_none_is_named(make, error, said: str) -> None:
    with pytest.raises(error, match=said):
        make()


REALS = [-30.0, -1.5, -0.1, 0.2, 2.0, 25.0]
MAPS = {
    "tanh": lambda D: D.TanhTransform(), "exp": lambda D: D.ExpTransform(), "sigmoid": lambda D: D.SigmoidTransform(),
    "affine": lambda D: D.AffineTransform(1.0, -2.0),
    "two": lambda D: D.ComposeTransform([D.AffineTransform(0.5, 0.1), D.TanhTransform()]),
    "inverse": lambda D: D.AffineTransform(1.0, 4.0).inv,
}  # fmt: skip


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
@pytest.mark.parametrize("name", MAPS)
def test_maps_and_their_derivatives_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for library, space in ((mg, D), (torch, torch.distributions)):
        x = library.tensor(REALS, dtype=library.float64, requires_grad=True)
        each = MAPS[name](space)
        y = each(x)
        stretch = each.log_abs_det_jacobian(x, y)
        (y.sum() + stretch.sum()).backward()
        inner = each.inv(each(x[1:5]))
        results.append([v.detach().numpy() for v in (y, stretch, x.grad, inner)])
        assert each.sign == (-1 if name == "affine" else 1)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
def test_a_squashed_policy_is_that_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    results = []
    for library, space in ((mg, D), (torch, torch.distributions)):
        loc = library.tensor(LOC, dtype=library.float64, requires_grad=True)
        base = space.Independent(space.Normal(loc, 0.5), 1)
        maps = [space.TanhTransform(cache_size=1), space.AffineTransform(0.5, 2.0, cache_size=1)]
        d = space.TransformedDistribution(base, maps)
        density = d.log_prob(library.tanh(library.tensor(X, dtype=library.float64)) * 2.0 + 0.5)
        density.sum().backward()
        plain = space.TransformedDistribution(space.Laplace(0.0, 1.0), [space.AffineTransform(1.0, -3.0)])
        results.append([density.detach().numpy(), loc.grad.numpy(), plain.cdf(library.tensor([0.0, 2.0])).numpy()])
        assert (tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample) == ((2,), (3,), True)
        action = d.rsample((4,))
        assert action.requires_grad and bool(d.log_prob(action).isfinite().all()), "the cache keeps what was drawn"
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def stretched_pair(library, space, event: bool) -> tuple:
    """A distribution whose map has more dims than its base, and the base."""
    loc = library.tensor([[1.0], [2.0]], dtype=library.float64)
    base = space.Normal(loc[0], 0.5)
    base = space.Independent(base, 1) if event else base
    scale = loc if event else library.tensor([1.0, 2.0, 3.0], dtype=library.float64)
    maps = [space.ExpTransform().inv.inv, space.AffineTransform(loc, 2.0), space.AffineTransform(0.5, scale).inv]
    return space.TransformedDistribution(base, maps), base


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
@pytest.mark.parametrize("event", [False, True])
def test_maps_with_more_dims_stretch_their_base(event: bool) -> None:
    torch = pytest.importorskip("torch")
    shape = (2, 1) if event else (2, 3)
    numbers = np.linspace(0.7, 1.9, 4 * 2 * shape[1]).reshape(4, *shape)
    results = []
    for library, space in ((mg, D), (torch, torch.distributions)):
        d, _ = stretched_pair(library, space, event)
        x = d.sample((4,))
        results.append(d.log_prob(library.tensor((numbers + 1.5).tolist(), dtype=library.float64)).numpy())
        assert (tuple(x.shape), tuple(d.batch_shape)) == ((4, *shape), shape[:-1] if event else shape)
        assert tuple(d.event_shape) == (shape[-1:] if event else ())
    np.testing.assert_allclose(*results, rtol=1e-6)


@pytest.mark.usefixtures("reference")
def test_values_of_a_stretched_base_are_drawn_for_each_position() -> None:
    x = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(mg.zeros(3), 1.0)).sample((5,))
    assert len(set(np.array(x.tolist()).ravel())) == 15, "no number was drawn for two positions"
    base = D.Normal(mg.tensor([[0.0], [100.0]], requires_grad=True), 1.0)
    y = D.TransformedDistribution(base, D.AffineTransform(mg.zeros(4, 2, 3), 1.0)).rsample((5,))
    assert y.shape == (5, 4, 2, 3) and len(set(np.array(y.tolist()).ravel())) == 120
    assert y[:, :, 0].abs().max().item() < 20 < 80 < y[:, :, 1].min().item(), "each has the mean of its position"
    y.sum().backward()
    assert base.loc.grad.tolist() == [[60.0], [60.0]]
    one = D.Independent(D.Normal(mg.zeros(1), 1.0), 1)
    with pytest.raises(ArgumentError, match="change the shape of a value"):
        D.TransformedDistribution(one, D.AffineTransform(mg.zeros(3), 1.0))


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("u", [0.0, 0.5, "largest"])
def test_values_are_finite_whatever_number_is_drawn(monkeypatch, dtype: str, u) -> None:
    from minigrad.ops import random

    u = 1 - float(mg.finfo(dtype).eps) / 2 if u == "largest" else u
    monkeypatch.setattr(random, "rand", lambda shape, **kind: mg.full(shape, u, **kind))
    zero, one = mg.zeros(2, dtype=dtype), mg.ones(2, dtype=dtype)
    for d in (D.Laplace(zero, one), D.Gumbel(zero, one), D.Cauchy(zero, one), D.Exponential(one), D.Uniform(zero, one)):
        assert bool(d.sample().isfinite().all()), d


@pytest.mark.usefixtures("reference")
@pytest.mark.torch
def test_divergences_of_certain_outcomes_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    p, q = np.meshgrid([0.0, 0.3, 1.0], [0.0, 0.6, 1.0])
    ours = D.kl_divergence(*[D.Bernoulli(mg.tensor(each)) for each in (p, q)])
    theirs = torch.distributions.kl_divergence(*[torch.distributions.Bernoulli(torch.tensor(e)) for e in (p, q)])
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("reference")
def test_distribution_functions_have_inverses() -> None:
    p = mg.tensor([0.1, 0.5, 0.9], dtype="float64")
    for d in (D.Exponential(2.0), D.Laplace(1.0, 2.0), D.Gumbel(1.0, 2.0), D.Cauchy(1.0, 2.0)):
        assert d.cdf(d.icdf(p)).tolist() == pytest.approx([0.1, 0.5, 0.9], rel=1e-6)
    assert D.Cauchy(0.0, 1.0).mean.isnan().item() and D.Cauchy(0.0, 1.0).variance.item() == math.inf


@pytest.mark.usefixtures("reference")
def test_vectors_with_a_single_one_have_the_gradient_of_the_probabilities() -> None:
    logits = mg.tensor(WEIGHTS, requires_grad=True)
    d = D.OneHotCategoricalStraightThrough(logits=logits)
    x = d.rsample((5,))
    assert x.shape == (5, 2, 3) and x.detach().sum(-1).tolist() == pytest.approx(np.ones((5, 2)))
    (x * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    expected = mg.tensor(WEIGHTS, requires_grad=True)
    (5 * mg.nn.functional.softmax(expected, -1) * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    np.testing.assert_allclose(logits.grad.numpy(), expected.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert d.mean.shape == d.variance.shape == (2, 3) and d.log_prob(x.detach()).shape == (5, 2)


@pytest.mark.usefixtures("reference")
def test_maps_that_are_none_are_named() -> None:
    with pytest.raises(ArgumentError, match="transforms must be a Transform"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [abs])
    with pytest.raises(ArgumentError, match="cache_size must be 0 or 1, got 2"):
        D.TanhTransform(cache_size=2)
    with pytest.raises(ArgumentError, match="rate to be positive"):
        D.Exponential(-1.0)
    with pytest.raises(ArgumentError, match="require at least 1 dims"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(0.0, 1.0, event_dim=1))
