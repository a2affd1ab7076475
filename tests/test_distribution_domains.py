"""Domains of distributions and transforms: bijections, supports, integer parameters, nearly singular matrices."""

from __future__ import annotations

import math

import pytest

import minigrad as mg
from minigrad import distributions as D
from minigrad.distributions import constraints, transforms

pytestmark = pytest.mark.usefixtures("reference")


@pytest.mark.parametrize("name", ["lower_cholesky", "positive_definite", "positive_semidefinite"])
def test_a_map_that_ignores_the_upper_triangle_is_not_a_bijection(name: str) -> None:
    domain = getattr(constraints, name)
    assert not D.transform_to(domain).bijective
    with pytest.raises(NotImplementedError):
        D.biject_to(domain)


def test_a_transform_is_a_bijection_only_if_its_class_says_so() -> None:
    class Square(transforms.Transform):
        pass

    assert not Square().bijective
    assert not Square().inv.bijective
    assert transforms.ExpTransform().inv.bijective
    assert transforms.CatTransform([transforms.ExpTransform()]).bijective


def test_only_transforms_of_elements_have_a_sign() -> None:
    falling = transforms.AffineTransform(0.0, -2.0)
    assert transforms.ComposeTransform([transforms.TanhTransform(), falling]).inv.sign == -1
    assert transforms.IndependentTransform(falling, 1).sign == -1
    for each in (transforms.StickBreakingTransform(), transforms.AbsTransform(), transforms.CorrCholeskyTransform()):
        with pytest.raises(NotImplementedError, match="has no sign"):
            _ = transforms.ComposeTransform([each]).sign


def test_a_support_that_depends_on_parameters_has_no_dims_of_its_class() -> None:
    parts = D.Independent(D.Normal(mg.zeros(3), 1.0), 1)
    assert parts.support.event_dim == 1
    for kind in (D.Independent, D.MixtureSameFamily, D.TransformedDistribution):
        with pytest.raises(NotImplementedError, match="event_dim depends on parameters"):
            _ = kind.support.event_dim
    assert D.TransformedDistribution.support.is_discrete is False
    assert (D.Uniform.support.event_dim, D.Multinomial.support.event_dim) == (0, 1)
    assert constraints.dependent(event_dim=2).event_dim == 2


def test_integer_parameters_have_float_results() -> None:
    assert D.Dirichlet(mg.tensor([2, 2, 1])).mode.tolist() == [0.5, 0.5, 0.0]
    assert D.Dirichlet(mg.tensor([0.5, 0.2, 0.2])).mode.tolist() == [1.0, 0.0, 0.0]
    assert math.isnan(D.Uniform(mg.tensor(1), mg.tensor(3)).mode.item())
    assert D.Exponential(mg.tensor(2)).variance.item() == 0.25


def test_a_density_takes_a_number() -> None:
    assert D.Gamma(2, 1).log_prob(0).item() == -math.inf
    assert D.Normal(0.0, 1.0).cdf(0).item() == 0.5
    assert D.Categorical(mg.tensor([0.25, 0.75])).log_prob(1).exp().item() == 0.75


def test_a_nearly_singular_matrix_with_a_cholesky_factor_is_positive_definite() -> None:
    x = mg.linspace(-2, 2, 7)
    kernel = (-((x - x[:, None]) ** 2) / 4).exp()  # its least eigenvalues are rounding errors
    assert mg.linalg.cholesky_ex(kernel).info.item() == 0
    assert constraints.positive_definite.check(kernel).item()
    assert not constraints.positive_definite.check(-kernel).item()


def test_the_density_of_wishart_has_the_derivative_of_each_element() -> None:
    scale = mg.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=mg.float64)
    value = mg.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=mg.float64, requires_grad=True)
    d = D.Wishart(mg.tensor(4.0, dtype=mg.float64), scale, validate_args=False)
    assert mg.autograd.gradcheck(d.log_prob, value)
    singular = mg.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=mg.float64)
    assert d.log_prob(singular).item() == -math.inf
