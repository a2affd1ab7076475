"""Functions of complex numbers that NumPy lacks: identities, numbers of PyTorch 2.13, and gradients by differences.

The frozen numbers are values and gradients of PyTorch, so that another branch of a logarithm and a conjugate too many
or too few are found.  All tests run on the reference device, except one for the text of a kernel.
"""

import math

import numpy as np
import pytest
from cases import over

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import linalg
from minigrad.errors import ArgumentError, DTypeError
from minigrad.kernels import vecmath
from minigrad.testing import gradcheck, gradgradcheck

RNG = np.random.default_rng(4)
X, B = [1 + 2j, -0.5 + 0.25j, 2j], [0.5 - 1j, 1 + 1j, 0j]
REAL_GRADIENT, GRADIENT = [1.0, 2.0, -1.0], [1 - 1j, 2 + 0.5j, -1j]  # of the results


def draw(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def on_reference(values):
    return mg.tensor(np.array(values), device="reference")


def var(values):
    return mg.Var(np.array(values), device="reference")


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found.tolist()), wanted, rtol=tolerance, atol=tolerance)


# For each function of X: the values of PyTorch, and its gradients for the gradients above.
FROZEN = {
    "logaddexp": (lambda x: mg.logaddexp(x, on_reference(B)),
                  [0.104993014 + 1.788959148j, 1.159703285 + 0.869989494j, 0.07752071 + 1j],
                  [1.880388438 - 2.905720499j, 0.254339913 + 0.298415735j, -0.778703862 - 0.5j]),
    "logcumsumexp": (lambda x: mg.logcumsumexp(x, 0),
                     [1 + 2j, 0.9848956 + 1.775213345j, 1.297236144 + 1.836166106j],
                     [2.971337723 - 1.690663437j, 0.073235768 + 0.460289997j, -0.044573492 - 0.26962656j]),
    "sinc": (lambda x: mg.sinc(x * 0.5),
             [1.475933331 - 2.951866662j, 0.921590776 + 0.09808461j, 3.67607791],
             [-2.604934538 + 4.862936951j, 0.722756628 + 0.545030099j, 3.957937683]),
    "softsign": (F.softsign, [0.309016994 + 0.618033989j, -0.320714913 + 0.160357457j, 0.666666667j],
                 [0.351722093 - 0.223606798j, 0.960863007 + 0.481713236j, -0.111111111j]),
    "rms_norm": (lambda x: F.rms_norm(x, (3,)),
                 [1.357743524 - 0.292303797j, 0.073075949 + 0.339435881j, 1.203116338 + 0.309254372j],
                 [-0.09900557 + 0.00403198j, -0.102249463 + 1.494227662j, -0.259754172 - 0.166870018j]),
    "l1_loss": (lambda x: F.l1_loss(x, on_reference(B), reduction="none"), [3.041381265, 1.677050983, 2.0],
                [0.164398987 + 0.986393924j, -1.788854382 - 0.894427191j, -1j]),
    "pairwise_distance": (lambda x: F.pairwise_distance(x, on_reference(B)), 4.007804636,
                          [0.12475683 + 0.74853948j, -0.374269491 - 0.18713487j, 2.5e-07 + 0.49902632j]),
    "add": (lambda x: mg.add(on_reference(B), x, alpha=1 - 2j), [5.5 - 1j, 1 + 2.25j, 4 + 2j],
            [3 + 1j, 1 + 4.5j, 2 - 1j]),
    "addcmul": (lambda x: mg.addcmul(on_reference(B), x, x, value=1 - 2j), [5.5 + 9j, 0.6875 + 0.375j, -4 + 8j],
                [10 - 10j, 1.25 - 5j, -4 - 8j]),
    "float_power": (lambda x: mg.float_power(x, on_reference(B)),
                    [4.38256506 - 1.124397477j, -0.019269044 + 0.033223292j, 1],
                    [-0.348821728 + 3.18023529j, 0.200135807 + 0.008241424j, 0]),
}  # fmt: skip


@over("name", FROZEN)
def test_values_and_gradients_are_those_of_pytorch(name):
    function, values, gradient = FROZEN[name]
    x = var(X)
    y = function(x)
    close(y, values, 1e-8)
    seed = (GRADIENT if y.dtype.is_complex else REAL_GRADIENT)[: y.numel()]
    close(mg.grad(y, x, on_reference(seed).reshape(y.shape).to(y.dtype)), gradient, 1e-8)


@over("function", [
    *[each[0] for each in FROZEN.values()], lambda x: mg.sinc(x * 0.01), lambda x: mg.logcumsumexp(x * (3 - 4j), 0),
    lambda x: F.rms_norm(x, (3,), x.conj(), 0.1), lambda x: F.pairwise_distance(x, x * 2j, p=3, keepdim=True),
    lambda x: F.triplet_margin_loss(x[None], 2j * x[None], x.conj()[None], margin=9.0, swap=True),
    lambda x: F.l1_loss(x, x.conj() + 1, weight=on_reference([0.5, 2.0, 1.0])),
    lambda x: mg.rsub(x, x.conj(), alpha=2j), lambda x: mg.addcdiv(x, x + 3, x - 2j, value=1j),
    lambda x: mg.constant_pad_nd(x, (1, 1), 2j) * x.sum(), lambda x: mg.float_power(2.5, x),
    lambda x: mg.logaddexp(x, x.real), lambda x: mg.float_power(x.real, x),
])  # fmt: skip
def test_gradients_agree_with_finite_differences(function):
    x = var([0.9 + 1.1j, -0.6 + 0.4j, 0.3 + 1.7j])
    assert gradcheck(function, x) and gradgradcheck(function, x)


# ---- sums of exponentials --------------------------------------------------------------------------------------------


def test_logarithms_of_sums_are_those_of_the_exponentials():
    a, b = draw(3, 40), draw(3, 40)
    close(mg.logaddexp(on_reference(a), on_reference(b)).exp(), np.exp(a) + np.exp(b))
    for dim in (0, 1):
        close(mg.logcumsumexp(on_reference(a), dim).exp(), np.cumsum(np.exp(a), dim))
    # The imaginary part is near that of the term with the larger real part, so it may be above pi.
    close(mg.logaddexp(on_reference([40 + 9j]), on_reference([1 + 3j])), [40 + 9j])
    column = [4.5 + 2.7j, 6 - 0.1j, 6.8 + 8.5j, 6.5 - 4.6j, 6.04 + 6.24j]  # each sum begins with the new element
    imaginary = [2.7, -0.005637401, 8.153052656, 8.065221287, 7.762611593]
    close(mg.logcumsumexp(on_reference(column), 0).imag, imaginary, 1e-8)


def test_infinite_terms_of_logarithms_of_sums():
    low, high = complex(-math.inf, 1), complex(math.inf, 2)
    a, b = on_reference([low, 3 + 4j, high, high, low]), on_reference([1 + 1j, low, 5j, complex(math.inf, 1), low])
    assert mg.logaddexp(a, b).tolist() == [1 + 1j, 3 + 4j, high, high, low]
    assert mg.logcumsumexp(on_reference([low, 1 + 1j]), 0).tolist() == [low, 1 + 1j]
    x = var([low, 1 + 1j])
    assert mg.grad(mg.logcumsumexp(x, 0)[1], x, on_reference(1 + 0j)).tolist() == [0, 1]


def test_a_scan_is_not_searched_for_rare_arguments():
    """A search before the loop would add all elements, and the loop would begin with this sum."""
    scan = "    for i in range(n):\n        t = s - x[i]\n        s = s + exp_any_32(t)\n        z[i] = s\n"
    assert vecmath.guarded(scan) == scan
    total = "    for i in range(n):\n        t = x[i]\n        s = s + exp_any_32(t)\n"
    for name in ("cexp", "sin"):
        assert vecmath.guarded(scan.replace("exp", name)) == scan.replace("exp", name)
        assert "if rare" in vecmath.guarded(total.replace("exp", name))


# ---- factors of sums -------------------------------------------------------------------------------------------------

SUMS = {
    "addmm": (draw(3, 3), draw(3, 2), draw(2, 3), lambda a, b: a @ b),
    "addmv": (draw(3), draw(3, 2), draw(2), lambda a, b: a @ b),
    "addr": (draw(3, 2), draw(3), draw(2), np.outer),
    "baddbmm": (draw(2, 3, 3), draw(2, 3, 2), draw(2, 2, 3), lambda a, b: a @ b),
    "addbmm": (draw(3, 3), draw(2, 3, 2), draw(2, 2, 3), lambda a, b: (a @ b).sum(0)),
}


@over("name", SUMS)
def test_factors_of_products_may_be_complex(name):
    *operands, product = SUMS[name]
    c, a, b = operands
    for beta, alpha in ((1 + 2j, 0.5), (0, 1j), (2, -1j), (0.5j, np.complex64(1 + 1j)), (0j, 1)):
        found = getattr(mg, name)(*map(on_reference, operands), beta=beta, alpha=alpha)
        close(found, beta * c + alpha * product(a, b))
    assert gradcheck(lambda *xs: getattr(mg, name)(*xs, beta=1 - 1j, alpha=2j), tuple(map(var, operands)))


def test_factors_of_sums_may_be_complex_next_to_complex_operands():
    x, z = on_reference([1.0, 2.0]), on_reference([1j, 2.0])
    assert mg.add(x, z, alpha=2j).tolist() == [-1, 2 + 4j] and mg.sub(z, x, alpha=0.5).tolist() == [-0.5 + 1j, 1]
    assert mg.rsub(x, z, alpha=1j).tolist() == [0, 2 - 2j] and mg.add(x, 2j, alpha=1j).tolist() == [-1, 0]
    assert z.clone().add_(z, alpha=1j).tolist() == [-1 + 1j, 2 + 2j]
    assert mg.constant_pad_nd(z, (1, 0), 3j).tolist() == [3j, 1j, 2]
    assert mg.constant_pad_nd(x, (1, 0), 3 + 0j).tolist() == [3, 1, 2]
    for refused in (
        lambda: mg.add(x, x, alpha=1j), lambda: mg.rsub(x, x, alpha=1j), lambda: mg.addcmul(x, x, x, value=1j),
        lambda: mg.addmv(x, mg.outer(x, x), x, alpha=1j), lambda: mg.constant_pad_nd(x, (1, 0), 3j),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="real"):
            refused()


def test_spaced_values_on_a_line_of_complex_numbers():
    line = mg.linspace(1j, 6 + 1j, 4, device="reference")
    assert line.dtype is mg.complex64 and line.tolist() == [1j, 2 + 1j, 4 + 1j, 6 + 1j]
    powers = mg.logspace(0, 1j * math.pi / math.log(2), 2, base=2.0, dtype=mg.complex128, device="reference")
    close(powers, [1, -1])
    assert mg.logspace(0, 1j, 2, device="reference").dtype is mg.complex64
    with pytest.raises(DTypeError, match="would lose the imaginary parts"):
        mg.linspace(0, 1j, 3, dtype=mg.float32, device="reference")


# ---- magnitudes ------------------------------------------------------------------------------------------------------


def test_losses_and_distances_are_those_of_magnitudes():
    a, b = on_reference([[3 + 4j, 5 + 12j]]), on_reference([[0j, 0j]])
    assert [F.l1_loss(a, b, reduction=how).item() for how in ("sum", "mean")] == [18, 9]
    assert F.l1_loss(a.to(mg.complex64), b.real.float()).dtype is mg.float32
    for p, wanted in ((1, 18), (2, math.hypot(5, 13)), (math.inf, 13), (0, 2)):
        close(F.pairwise_distance(a, b, p=p, eps=0.0), [wanted])
    assert F.triplet_margin_loss(b, a, b, margin=1.0, p=1, eps=0.0).item() == 19


def test_sinc_is_1_at_0_and_has_a_product():
    z = draw(30)
    close(mg.sinc(on_reference(z)), np.cos(np.pi * z / 2) * np.sin(np.pi * z / 2) / (np.pi * z / 2))
    x = var([0j, 1, 2, -3])
    y = mg.sinc(x)
    close(y, [1, 0, 0, 0])
    close(mg.grad(y, x, on_reference([1j, 1j, 1j, 1j])), [0, -1j, 0.5j, 1j / 3])


# ---- packed reflections ----------------------------------------------------------------------------------------------


@over("shape", [(3, 2), (3, 3), (2, 4), (2, 3, 2), (1, 1), (3, 0)])
def test_reflections_are_those_of_a_factorization(shape):
    A = draw(*shape)
    packed, tau = mg.geqrf(on_reference(A))
    m, n = shape[-2:]
    identity = np.broadcast_to(np.eye(m) + 0j, (*shape[:-2], m, m))
    Q = mg.ormqr(packed, tau, on_reference(identity.copy())).numpy()
    close(on_reference(Q.conj().swapaxes(-1, -2) @ Q), identity)
    R = np.triu(packed.numpy())
    close(on_reference(Q @ R), A)
    assert not R.diagonal(0, -2, -1).imag.any()
    if m >= n:
        close(linalg.householder_product(packed, tau), Q[..., :n])
    C, D = draw(m, 2), draw(2, m)
    for adjoint in (False, True):
        each = Q.conj().swapaxes(-1, -2) if adjoint else Q
        if len(shape) == 2:
            close(mg.ormqr(packed, tau, on_reference(C), transpose=adjoint), each @ C)
            close(mg.ormqr(packed, tau, on_reference(D), left=False, transpose=adjoint), D @ each)


def test_packed_factors_are_those_of_lapack():
    packed, tau = mg.geqrf(on_reference([[1 + 2j, 0.5j], [2 - 1j, 1.0], [0.5, -1 + 1j]]))
    close(packed, [
        [-3.201562119, -0.780868809 - 0.624695048j], [0.295713642 - 0.378770381j, -1.5],
        [0.097019767 - 0.046182712j, -0.621653675 + 0.490512919j],
    ], 1e-8)  # fmt: skip
    close(tau, [1.312347524 + 0.624695048j, 1.228723512 - 0.024545128j], 1e-8)
    packed = var(packed.numpy())
    y, seed = linalg.householder_product(packed, tau), on_reference([[1, 2j], [1j, 1 - 1j], [3, 0]])
    gradient = [[0, 0], [-0.400875551 - 1.919292285j, 0], [-4.1518584 + 4.963645027j, 0.388833551 + 0.15941307j]]
    close(mg.grad(y, packed, seed), gradient, 1e-8)
    # A corner that is not real needs a reflection also above zeros.
    assert mg.geqrf(on_reference([[2j, 1], [0, 3]]))[0].tolist()[0][0] == -2
    assert mg.geqrf(on_reference([[2 + 0j, 1], [0, 3]]))[1].tolist() == [0, 0]


def test_reflections_have_gradients():
    A, C = var(draw(3, 2)), var(draw(3, 2))
    assert gradcheck(lambda A, C: mg.ormqr(*mg.geqrf(A), C, transpose=True), (A, C))
    assert gradcheck(lambda A: linalg.householder_product(*mg.geqrf(A)), A)
    assert gradcheck(lambda A: mg.geqrf(A)[0] * 2j, A)


def test_complex_numbers_with_a_nan_are_close_only_if_asked():
    z = mg.tensor([complex(math.nan, 1), complex(0, math.nan), 1j, complex(math.inf, 0)], device="reference")
    w = mg.tensor([complex(2, math.nan), 1, 1j, complex(math.inf, 0)], device="reference")
    assert mg.isclose(z, w, equal_nan=True).tolist() == [True, False, True, True]
    assert mg.isclose(z, w).tolist() == [False, False, True, True]
    assert mg.allclose(z, z, equal_nan=True) and not mg.allclose(z, z)
