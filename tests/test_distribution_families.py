"""Every distribution against its own density by quadrature and sums, and its samples by moments and by their cdf."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import distributions as D
from minigrad.distributions import constraints, utils
from minigrad.distributions.sampling import beta_derivative, binomial, gamma_derivative, poisson
from minigrad.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("reference")


def f64(values):
    return mg.tensor(values, dtype="float64")


def continuous() -> list:
    a, b = f64(1.7), f64(2.6)
    return [
        D.Normal(a, b), D.Laplace(a, b), D.Gumbel(a, b), D.StudentT(f64(9.0), a, b), D.Uniform(a, b + a),
        D.Exponential(a), D.Gamma(a, b), D.Chi2(b), D.InverseGamma(f64(9.0), a), D.FisherSnedecor(b, f64(30.0)),
        D.HalfNormal(a), D.Pareto(a, f64(15.0)), D.Weibull(a, b), D.GeneralizedPareto(a, b, f64(0.05)),
        D.GeneralizedPareto(a, b, f64(-0.5)), D.GeneralizedPareto(a, b, f64(0.0)), D.LogNormal(a, f64(0.4)),
        D.Beta(a, b), D.Kumaraswamy(a, b), D.ContinuousBernoulli(f64(0.9)), D.ContinuousBernoulli(f64(0.5)),
        D.ContinuousBernoulli(logits=f64(-2.0)),
    ]  # fmt: skip


def discrete() -> list:
    return [
        D.Bernoulli(f64(0.3)), D.Binomial(7, f64(0.3)), D.Geometric(f64(0.3)), D.NegativeBinomial(f64(3.5), f64(0.4)),
        D.Poisson(f64(4.2)), D.Binomial(7, logits=f64(0.3)), D.Geometric(logits=f64(0.3)),
        D.NegativeBinomial(f64(3.5), logits=f64(-0.4)),
    ]  # fmt: skip


def grid(d) -> np.ndarray:
    """Points of the support: between two bounds, or from the mean to far in the tails."""
    middle, width = d.mean.item(), d.stddev.item()
    low, high = getattr(d.support, "lower_bound", -math.inf), getattr(d.support, "upper_bound", math.inf)
    low, high = max(float(low), middle - 40 * width), min(float(high), middle + 80 * width)
    t = np.linspace(0, 1, 20001)[1:-1]
    return low + (high - low) * t**3 * (10 - 15 * t + 6 * t * t)  # dense at both ends


def test_densities_have_the_mass_and_the_moments_that_are_returned() -> None:
    for d in continuous():
        x = grid(d)
        p = np.exp(d.log_prob(f64(x)).numpy())
        assert np.trapezoid(p, x) == pytest.approx(1, rel=2e-4), d
        mean = np.trapezoid(p * x, x)
        assert mean == pytest.approx(d.mean.item(), rel=1e-3), d
        assert np.trapezoid(p * (x - mean) ** 2, x) == pytest.approx(d.variance.item(), rel=3e-3), d
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.trapezoid(np.where(p > 0, p * np.log(p), 0), x)
        try:
            assert entropy == pytest.approx(d.entropy().item(), abs=2e-3), d
        except NotImplementedError as error:
            assert type(error) is NotImplementedError
            assert isinstance(d, D.FisherSnedecor)
    for d in discrete():
        k = np.arange(2.0 if isinstance(d, D.Bernoulli) else 8.0 if isinstance(d, D.Binomial) else 200.0)
        p = np.exp(d.log_prob(f64(k)).numpy())
        assert p.sum() == pytest.approx(1), d
        assert (p * k).sum() == pytest.approx(d.mean.item()), d
        assert (p * (k - d.mean.item()) ** 2).sum() == pytest.approx(d.variance.item()), d
        if isinstance(d, (D.Bernoulli, D.Binomial, D.Geometric)):
            assert -(p * np.log(p)).sum() == pytest.approx(d.entropy().item()), d
        assert k[p.argmax()] == d.mode.item(), d
    d = D.Multinomial(3, f64([0.2, 0.3, 0.5]))
    counts = f64([[i, j, 3 - i - j] for i in range(4) for j in range(4 - i)])
    p = d.log_prob(counts).exp()
    assert p.sum().item() == pytest.approx(1) and -(p * p.log()).sum().item() == pytest.approx(d.entropy().item())


def test_distribution_functions_are_integrals_and_have_inverses() -> None:
    for d in [*continuous(), D.Cauchy(f64(1.0), f64(2.0)), D.HalfCauchy(f64(2.0))]:
        try:
            values = d.icdf(f64([0.05, 0.3, 0.9]))
            np.testing.assert_allclose(d.cdf(values).numpy(), [0.05, 0.3, 0.9], rtol=1e-9)
        except NotImplementedError as error:
            assert type(error) is NotImplementedError
            values = f64([0.2, 0.5, 0.8]) if isinstance(d, D.Beta) else f64([1.7, 2.0, 2.5])
        x = values.detach().requires_grad_()
        try:
            d.cdf(x).sum().backward()
        except NotImplementedError as error:
            assert type(error) is NotImplementedError
            continue
        np.testing.assert_allclose(x.grad.numpy(), np.exp(d.log_prob(values).numpy()), rtol=1e-6, err_msg=str(d))


def test_divergences_are_means_of_the_difference_of_log_densities() -> None:
    first = [d for d in continuous() if not isinstance(d, (D.StudentT, D.FisherSnedecor, D.GeneralizedPareto))]
    others = [
        D.Normal(f64(0.5), f64(3.0)), D.Laplace(f64(0.5), f64(3.0)), D.Gumbel(f64(0.5), f64(3.0)),
        D.Exponential(f64(0.7)),
        D.Gamma(f64(2.2), f64(0.8)), D.Beta(f64(1.2), f64(0.8)), D.ContinuousBernoulli(f64(0.3)),
        D.Uniform(f64(-1.0), f64(9.0)), D.Pareto(f64(1.1), f64(3.0)), D.HalfNormal(f64(3.0)),
        D.Weibull(f64(2.0), f64(1.4)),
        D.InverseGamma(f64(3.0), f64(2.0)), D.LogNormal(f64(0.2), f64(1.3)),
    ]  # fmt: skip
    found = 0
    for p in first:
        x = grid(p)
        density = p.log_prob(f64(x)).numpy()
        for q in others:
            try:
                ours = D.kl_divergence(p, q).item()
            except NotImplementedError as error:
                assert type(error) is NotImplementedError
                continue
            q._validate_args = False
            inside = q.support.check(f64(np.linspace(x[0] + 1e-9, x[-1] - 1e-9, 99))).all().item()
            if not inside:
                assert ours == math.inf or isinstance(q, D.Uniform), (p, q)
                continue
            with np.errstate(all="ignore"):
                terms = np.exp(density) * (density - q.log_prob(f64(x)).numpy())
            expected = np.trapezoid(np.where(np.isfinite(terms), terms, 0), x)
            assert ours == pytest.approx(expected, abs=4e-3, rel=3e-3), (p, q)
            found += 1
    assert found > 45
    p, q = D.Poisson(f64(3.0)), D.Poisson(f64(5.0))
    assert D.kl_divergence(p, q).item() == pytest.approx(3 * math.log(0.6) + 2)
    p, q = D.Dirichlet(f64([1.0, 1.0])), D.Dirichlet(f64([2.0, 1.0]))
    assert D.kl_divergence(p, q).item() == pytest.approx(1 - math.log(2))
    with pytest.raises(TypeError, match="a subclass of Distribution"):
        D.register_kl(int, D.Normal)


def test_divergences_of_vectors_and_matrices() -> None:
    loc, matrix = f64([0.3, -0.2]), f64([[2.0, 0.3], [0.3, 1.0]])
    low = D.LowRankMultivariateNormal(loc, f64([[0.5], [0.7]]), f64([1.0, 0.5]))
    same = D.MultivariateNormal(loc, low.covariance_matrix)
    other = D.MultivariateNormal(f64([1.0, 0.0]), precision_matrix=matrix)
    x = f64([[0.1, 0.2], [3.0, -1.0]])
    np.testing.assert_allclose(low.log_prob(x).numpy(), same.log_prob(x).numpy())
    np.testing.assert_allclose(low.precision_matrix.numpy(), np.linalg.inv(low.covariance_matrix.numpy()))
    for p in (low, same):
        assert D.kl_divergence(p, same).item() == pytest.approx(0, abs=1e-12) == D.kl_divergence(p, low).item()
        assert D.kl_divergence(p, other).item() == pytest.approx(D.kl_divergence(same, other).item())
        assert p.entropy().item() == pytest.approx(same.entropy().item())
    # In one dim, a Wishart distribution is a gamma distribution.
    p, q = (D.Wishart(f64(df), f64([[v]])) for df, v in ((3.0, 0.7), (4.5, 1.1)))
    a, b = (D.Gamma(f64(df / 2), f64(0.5 / v)) for df, v in ((3.0, 0.7), (4.5, 1.1)))
    assert D.kl_divergence(p, q).item() == pytest.approx(D.kl_divergence(a, b).item())
    assert p.entropy().item() == pytest.approx(a.entropy().item())
    assert p.log_prob(f64([[1.3]])).item() == pytest.approx(a.log_prob(f64(1.3)).item())


def test_implicit_gradients_are_those_of_the_distribution_function() -> None:
    a = f64([0.01, 0.3, 1.0, 7.5, 300.0, 1e4])
    for factor in (0.2, 0.97, 1.0, 1.05, 3.0):
        x, h = a * factor, 1e-5 * a
        density = ((a - 1) * x.log() - x - a.lgamma()).exp()
        slope = (mg.igamma(a + h, x) - mg.igamma(a - h, x)) / (2 * h)
        kept = (density * x > 1e-8).numpy()
        np.testing.assert_allclose(
            gamma_derivative(a, x).numpy()[kept], (-slope / density).numpy()[kept], rtol=2e-4, atol=1e-7
        )
    # For Beta(a, 1), F(x) = x**a, so the derivative is -x * log(x) / a; Beta(1, b) is its mirror image, without b.
    a, x = f64([0.05, 0.5, 3.0, 40.0]), f64([1e-3, 0.2, 0.7, 0.99])
    np.testing.assert_allclose(beta_derivative(a, a + 1, x).numpy(), (-x * x.log() / a).numpy(), rtol=1e-7)
    c = f64([2.0, 3.0]).requires_grad_()
    assert mg.func.grad(lambda c: D.Dirichlet(c).rsample().sum())(c.detach()).abs().max().item() < 1e-12


def test_samples_have_the_moments_and_the_distribution_function() -> None:
    mg.manual_seed(5)
    n = 600
    for d in [*continuous(), *discrete()]:
        x = f64(np.asarray(d.sample((n,)).tolist()))
        assert d.support.check(x).all().item(), d
        assert x.mean().item() == pytest.approx(d.mean.item(), abs=5 * d.stddev.item() / math.sqrt(n)), d
        assert x.var().item() == pytest.approx(d.variance.item(), rel=0.4), d
        try:
            below = np.sort(d.cdf(x).numpy())
        except NotImplementedError as error:
            assert type(error) is NotImplementedError
            continue
        distance = np.abs(below - (np.arange(n) + 0.5) / n).max()
        assert distance * math.sqrt(n) < 2.0, (d, distance)
    angle = np.array(D.VonMises(f64(0.5), f64(2.0)).sample((n,)).tolist())
    assert np.angle(np.exp(1j * angle).mean()) == pytest.approx(0.5, abs=0.1)
    assert 1 - abs(np.exp(1j * angle).mean()) == pytest.approx(D.VonMises(f64(0.5), f64(2.0)).variance.item(), abs=0.05)


def test_large_counts_are_drawn_by_rejection() -> None:
    mg.manual_seed(5)
    x = poisson(mg.full((1000,), 400.0))
    assert x.mean().item() == pytest.approx(400, abs=3) and x.var().item() == pytest.approx(400, rel=0.25)
    for p in (0.3, 0.8):
        x = binomial(mg.full((1000,), 500.0), mg.full((1000,), p))
        assert x.mean().item() == pytest.approx(500 * p, abs=2) and x.var().item() == pytest.approx(
            500 * p * (1 - p), rel=0.25
        )
    assert binomial(mg.tensor([7.0, 7.0, 0.0]), mg.tensor([0.0, 1.0, 0.5])).tolist() == [0, 7, 0]
    assert poisson(mg.tensor([0.0])).tolist() == [0]
    with pytest.raises(ArgumentError, match="poisson: the means must be at least 0"):
        poisson(mg.tensor([-1.0]))
    with pytest.raises(ArgumentError, match="binomial: the counts must be at least 0"):
        binomial(mg.tensor([2.0]), mg.tensor([1.5]))


def test_extreme_parameters_have_finite_values() -> None:
    assert D.Beta(mg.tensor(1e-3), mg.tensor(1e-3)).sample((50,)).isfinite().all().item()
    assert D.Dirichlet(mg.full((3,), 1e-4)).sample((50,)).sum(-1).tolist() == pytest.approx([1.0] * 50, abs=1e-5)
    assert D.Poisson(mg.tensor(0.0)).log_prob(mg.tensor([0.0, 1.0])).tolist() == [0.0, -math.inf]
    assert D.Binomial(3, mg.tensor([0.0, 1.0])).log_prob(mg.tensor([0.0, 3.0])).tolist() == pytest.approx([0, 0])
    assert D.Binomial(3, logits=mg.tensor([-100.0, 100.0])).log_prob(mg.tensor([0.0, 3.0])).abs().max().item() < 1e-5
    assert D.VonMises(0.0, 1e4).log_prob(mg.tensor(0.0)).isfinite().item()
    assert D.Normal(0.0, 1.0).icdf(mg.tensor([0.0, 1.0])).tolist() == [-math.inf, math.inf]
    assert D.Multinomial(2, mg.tensor([1.0, 0.0])).log_prob(mg.tensor([2.0, 0.0])).item() == 0.0
    gamma = D.Gamma(f64([1e-8, 1e10]), f64(1.0))
    assert gamma.entropy().isfinite().all().item() and gamma.rsample().isfinite().all().item()


def every() -> list:
    p = f64([0.2, 0.3, 0.5])
    return [
        *continuous(), *discrete(), D.Categorical(p), D.OneHotCategorical(p), D.Multinomial(4, p), D.Dirichlet(p),
        D.MultivariateNormal(p, mg.eye(3, dtype="float64")), D.LowRankMultivariateNormal(p, p[:, None], p),
        D.Wishart(f64(4.0), mg.eye(3, dtype="float64")), D.LKJCholesky(3, f64(1.5)), D.LogisticNormal(p, p),
        D.RelaxedBernoulli(f64(0.5), p[0]), D.RelaxedOneHotCategorical(f64(0.5), p), D.VonMises(p[0], p[1]),
        D.Independent(D.Normal(p, p), 1), D.MixtureSameFamily(D.Categorical(p), D.Normal(p, p)), D.Cauchy(p[0], p[1]),
        D.MixtureSameFamily(D.Categorical(p), D.Independent(D.Normal(mg.ones(3, 2, dtype="float64"), 1.0), 1)),
        D.TransformedDistribution(D.Normal(p, p), [D.ExpTransform(), D.AffineTransform(1.0, p)]), D.HalfCauchy(p[0]),
    ]  # fmt: skip


def test_expanded_distributions_are_the_same_at_each_index() -> None:
    for d in every():
        wide = d.expand((2, *d.batch_shape))
        assert type(wide) is type(d) and (wide.batch_shape, wide.event_shape) == ((2, *d.batch_shape), d.event_shape)
        x = wide.sample((3,))
        assert x.shape == (3, *wide.batch_shape, *wide.event_shape), d
        np.testing.assert_allclose(wide.log_prob(x).numpy(), d.log_prob(x).numpy(), err_msg=str(d))
        assert d.support.check(x).all().item(), d
        try:
            assert wide.mean.shape == (*wide.batch_shape, *wide.event_shape) and wide.stddev.shape == wide.mean.shape
        except NotImplementedError as error:
            assert type(error) is NotImplementedError
            assert isinstance(d, (D.LKJCholesky, D.RelaxedBernoulli, D.RelaxedOneHotCategorical, D.LogisticNormal)) or (
                type(d) is D.TransformedDistribution
            )
        if d.has_enumerate_support:
            values = wide.enumerate_support()
            assert values.shape[1:] == x.shape[1:] and d.enumerate_support(expand=False).shape[0] == values.shape[0]
            assert wide.log_prob(values).exp().sum(0).tolist() == pytest.approx(np.ones(wide.batch_shape)), d


def test_values_and_parameters_are_checked_unless_it_is_switched_off() -> None:
    for make in (
        lambda: D.Gamma(-1.0, 1.0), lambda: D.Beta(1.0, 0.0), lambda: D.Poisson(-1.0), lambda: D.StudentT(0.0),
        lambda: D.Dirichlet(mg.tensor([1.0, 0.0])), lambda: D.Binomial(-1, 0.5), lambda: D.Binomial(2, 1.5),
        lambda: D.Geometric(0.0), lambda: D.NegativeBinomial(1.0, 1.0), lambda: D.HalfNormal(0.0),
        lambda: D.Normal(math.nan, 1.0), lambda: D.Exponential(1.0).log_prob(mg.tensor(-1.0)),
        lambda: D.Bernoulli(0.5).log_prob(mg.tensor(0.5)), lambda: D.Normal(0.0, 1.0).log_prob(mg.tensor(math.nan)),
        lambda: D.Uniform(0.0, 1.0).cdf(mg.tensor(2.0)), lambda: D.Normal(0.0, 1.0).log_prob("2"),
        lambda: D.Wishart(1.0, mg.eye(3)),
        lambda: D.MultivariateNormal(mg.zeros(2), mg.tensor([[1.0, 2.0], [0.0, 1.0]])),
        lambda: D.Distribution.set_default_validate_args(3), lambda: D.LKJCholesky(1),
        lambda: D.Multinomial(-1, mg.ones(2)),
        lambda: utils.broadcast_all("a"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError):
            make()
    with pytest.raises(ShapeError, match="must broadcast to"):
        D.Normal(mg.zeros(3), 1.0).log_prob(mg.zeros(2))
    assert D.Gamma(-1.0, 1.0, validate_args=False).mean.item() == -1
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Exponential(-1.0).mean.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)


def test_jitted_functions_draw_and_score_samples() -> None:
    step = mg.jit(lambda c: (D.Gamma(c, c).rsample(), D.Poisson(c).sample(), D.Beta(c, c).log_prob(c / 4)))
    for _ in range(3):
        g, k, density = step(mg.ones(3))
        assert (g > 0).all().item() and (k >= 0).all().item() and density.tolist() == pytest.approx([0, 0, 0], abs=1e-6)


def test_transforms_are_equal_if_they_were_constructed_with_equal_arguments() -> None:
    maps = D.transforms

    def joined(scale: float, cache_size: int = 0) -> D.transforms.Transform:
        return maps.CatTransform([maps.ExpTransform(), maps.AffineTransform(0.0, scale)], cache_size=cache_size)

    assert joined(1.0) == joined(1.0, cache_size=1)
    assert joined(1.0) != joined(2.0)


def test_constraints_have_transforms_that_reach_them() -> None:
    mg.manual_seed(1)
    bounds = f64([-4.0, 0.0, 2.0]), f64([-3.0, 1.0, 5.0])
    sets = [
        constraints.real, constraints.positive, constraints.nonnegative, constraints.unit_interval, constraints.simplex,
        constraints.greater_than(bounds[0]), constraints.greater_than_eq(2), constraints.less_than(-1.0),
        constraints.interval(*bounds), constraints.half_open_interval(-2, 1), constraints.corr_cholesky,
        constraints.lower_cholesky, constraints.positive_definite, constraints.real_vector,
        constraints.independent(constraints.positive, 1), constraints.stack([constraints.real, constraints.positive],
        -1),
        constraints.cat([constraints.real, constraints.positive], -1, [1, 2]),
    ]  # fmt: skip
    for each in sets:
        n = 2 if isinstance(each, constraints.stack) else 3
        partial = each in (constraints.lower_cholesky, constraints.positive_definite)
        for registry in (D.transform_to,) if partial else (D.biject_to, D.transform_to):
            t = registry(each)
            x = mg.randn(n, n, dtype="float64")
            y = t(x)
            assert each.check(y).all().item(), each
            np.testing.assert_allclose(t(t.inv(y)).numpy(), y.numpy(), atol=1e-9, err_msg=str(each))
            assert t.inv.inv is t and (t == registry(each)) and t.forward_shape(x.shape) == y.shape
    assert not constraints.boolean.check(f64([0.5])).any().item() and constraints.one_hot.check(f64([0.0, 1.0])).item()
    assert constraints.is_dependent(constraints.dependent) and constraints.is_dependent(D.Uniform.support)
    with pytest.raises(NotImplementedError, match="no transform to"):
        D.biject_to(constraints.boolean)


def test_log_determinants_are_those_of_the_jacobian() -> None:
    mg.manual_seed(2)
    vector = [
        (D.StickBreakingTransform(), 3, slice(0, 3)), (D.CorrCholeskyTransform(), 3, None),
        (D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()]), 3, slice(0, 3)),
        (D.ComposeTransform([D.SoftplusTransform(), D.PowerTransform(f64(1.5))]), 1, slice(None)),
        (D.CumulativeDistributionTransform(D.Gumbel(f64(0.0), f64(1.0))), 1, slice(None)),
        (D.IndependentTransform(D.TanhTransform(), 1), 4, slice(None)), (D.ReshapeTransform((4,), (2, 2)), 4,
        slice(None)),
        (D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)], -1, [1, 0]), 1, slice(None)),
    ]  # fmt: skip
    for t, n, kept in vector:
        x = mg.randn(n, dtype="float64")
        y = t(x)
        jacobian = mg.func.jacrev(t)(x).numpy().reshape(-1, n)
        if kept is None:  # the elements below the diagonal are free
            rows, columns = np.tril_indices(3, -1)
            jacobian = jacobian.reshape(3, 3, n)[rows, columns]
        else:
            jacobian = jacobian[kept]
        ours = t.log_abs_det_jacobian(x, y)
        assert ours.sum().item() == pytest.approx(np.linalg.slogdet(jacobian)[1], rel=1e-9), t
        np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-9)
        assert t.inv.log_abs_det_jacobian(y, x).sum().item() == pytest.approx(-ours.sum().item())


def test_helpers_of_pytorch_are_there_under_its_module_names() -> None:
    from minigrad.distributions.normal import Normal
    from minigrad.distributions.relaxed_bernoulli import LogitRelaxedBernoulli

    from minigrad.distributions.kl import kl_divergence

    assert (Normal, kl_divergence, LogitRelaxedBernoulli) == (D.Normal, D.kl_divergence, D.LogitRelaxedBernoulli)
    m = f64([[1.0, 0.0], [2.0, 3.0]])
    for diag in (-1, 0):
        vec = utils.tril_matrix_to_vec(m, diag)
        assert utils.vec_to_tril_matrix(vec, diag).tolist() == m.tril(diag).tolist()
    with pytest.raises(ShapeError, match="as many elements as a triangle"):
        utils.vec_to_tril_matrix(f64([1.0, 2.0]))
    assert utils.logits_to_probs(utils.probs_to_logits(f64([0.2, 0.8]))).tolist() == pytest.approx([0.2, 0.8])

    class Rayleigh(D.ExponentialFamily):
        """Density x / s * exp(-x**2 / (2 s)), with the natural parameter -1 / (2 s) and the carrier log(x)."""

        def __init__(self, s):
            self.s = s
            super().__init__(s.shape, (), False)

        _natural_params = property(lambda self: (-0.5 / self.s,))
        _mean_carrier_measure = property(lambda self: 0.5 * (2 * self.s).log() - 0.5 * np.euler_gamma)

        def _log_normalizer(self, x):
            return -(-2 * x).log()

    p, q = Rayleigh(f64(2.0)), Rayleigh(f64(3.0))
    expected = D.Weibull(f64(2.0), f64(2.0)), D.Weibull(f64(math.sqrt(6)), f64(2.0))
    assert p.entropy().item() == pytest.approx(expected[0].entropy().item())
    assert D.kl_divergence(p, q).item() == pytest.approx(D.kl_divergence(*expected).item())
