"""Factors on the device are made of elementwise steps, sums, products and gathers: values, errors and gradients."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError

A = np.random.default_rng(0).normal(size=(2, 3, 3))


def on_device(a):
    return mg.tensor(a, dtype="float64", device="cuda")


def test_factors_multiply_to_the_matrix():
    Q, R = (x.numpy() for x in mg.linalg.qr(on_device(A)))
    np.testing.assert_allclose(Q @ R, A, atol=1e-13)
    w, V = (x.numpy() for x in mg.linalg.eigh(on_device(A + A.swapaxes(1, 2))))
    np.testing.assert_allclose(V * w[:, None] @ V.swapaxes(1, 2), A + A.swapaxes(1, 2), atol=1e-13)
    U, S, Vh = (x.numpy() for x in mg.linalg.svd(on_device(A[0, :2])))
    np.testing.assert_allclose(U * S @ Vh[:2], A[0, :2], atol=1e-13)


def test_a_system_and_its_gradient():
    a = mg.Var(A, device="cuda")
    x = mg.linalg.solve(a, on_device(np.eye(3)))
    np.testing.assert_allclose(x.detach().numpy(), np.linalg.inv(A), rtol=1e-10)
    y = np.linalg.inv(A).swapaxes(1, 2)
    np.testing.assert_allclose(mg.grad(x.sum(), a).numpy(), -y @ np.ones((3, 3)) @ y, rtol=1e-9)
    with pytest.raises(ArgumentError, match=r"the matrix \[1\] of the batch float64\(2, 2, 2\) is singular"):
        mg.linalg.inv(on_device(np.stack([np.eye(2), np.ones((2, 2))])))
