"""Linear algebra of complex matrices: factors, solutions and their gradients.

The frozen gradients are those of PyTorch 2.13, so that a conjugate too many or too few is found; finite differences
over pairs check the rules in both modes.  Few tests compile kernels; all others use the reference device.
"""

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad import linalg
from minigrad.errors import ArgumentError, DTypeError, GradientError
from minigrad.testing import gradcheck, gradgradcheck

RNG = np.random.default_rng(3)


def draw(*shape, dtype=np.complex128):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def on_reference(values):
    return mg.tensor(values, device="reference")


def equal(found, wanted, tolerance):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def close(found, wanted, tolerance=1e-12):
    equal(found.numpy(), wanted, tolerance)


def conjugate_transposes(x):
    return x.conj().swapaxes(-1, -2)


# ---- factors ---------------------------------------------------------------------------------------------------------


def check_factors(device, tolerance, *shape, dtype=np.complex128):
    """Compare the factors of random matrices with their definitions and with NumPy, which also multiplies them."""
    a = draw(*shape, dtype=dtype)
    *batch, m, n = shape
    k, x = min(m, n), mg.tensor(a, device=device)
    square = conjugate_transposes(a) @ a + np.eye(n, dtype=dtype)
    y = mg.tensor(square, device=device)
    Q, R = (part.numpy() for part in linalg.qr(x))
    equal(Q @ R, a, tolerance)
    equal(conjugate_transposes(Q) @ Q, np.broadcast_to(np.eye(k), (*batch, k, k)), tolerance)
    assert not np.tril(R, -1).any() and not R.diagonal(0, -2, -1).imag.any()
    U, S, Vh = (part.numpy() for part in linalg.svd(x, full_matrices=False))
    equal(U * S[..., None, :] @ Vh, a, tolerance)
    equal(conjugate_transposes(U) @ U, np.broadcast_to(np.eye(k), (*batch, k, k)), tolerance)
    equal(S, np.linalg.svd(a, compute_uv=False), tolerance)
    W = linalg.cholesky(y, upper=True).numpy()
    equal(conjugate_transposes(W) @ W, square, 10 * tolerance)
    assert (W.diagonal(0, -2, -1).real > 0).all() and not np.tril(W, -1).any()
    equal(square @ linalg.solve(y, y).numpy(), square, 10 * tolerance)
    w, V = (part.numpy() for part in linalg.eigh(y, UPLO="U"))
    equal(V * w[..., None, :] @ conjugate_transposes(V), square, 10 * tolerance)
    equal(conjugate_transposes(V) @ V, np.broadcast_to(np.eye(n), V.shape), tolerance)
    assert S.dtype == w.dtype == a.real.dtype


@over("shape", [(1, 1), (4, 4), (2, 5, 3), (3, 4)])
def test_factors_on_the_reference_device(shape):
    check_factors("reference", 1e-12, *shape)


def test_factors_of_kernels():
    check_factors("cpu", 1e-4, 2, 18, 11, dtype=np.complex64)


@over("values", [np.zeros((3, 3)), np.ones((4, 4)), np.diag([1j, 0, 2, 2])])
def test_matrices_without_full_rank(values):
    hermitian = values + conjugate_transposes(values)
    for device in ("reference", "cpu"):
        x, y = (mg.tensor(each, dtype=mg.complex64, device=device) for each in (values, hermitian))
        U, S, Vh = (part.numpy() for part in linalg.svd(x))
        equal(U * S @ Vh, values, 1e-5)
        equal(conjugate_transposes(U) @ U, np.eye(len(values)), 1e-5)
        w, V = (part.numpy() for part in linalg.eigh(y, UPLO="U"))
        equal(V * w @ conjugate_transposes(V), hermitian, 1e-5)
        assert linalg.slogdet(x.to("reference"))[0].item() == 0


def test_a_triangular_system_with_a_zero_on_its_diagonal_is_infinite():
    x = mg.tensor([[1.0, 1j], [0, 0]], dtype=mg.complex64)
    found = linalg.solve_triangular(x, mg.ones(2, 1, dtype=mg.complex64), upper=True).numpy()
    assert not np.isfinite(found).any()


def test_pivots_are_those_of_lapack():
    # |re| + |im| is 4 in row 0 and 4.1 in row 1; the magnitudes are 4 and 2.9.
    _, pivots = linalg.lu_factor(on_reference([[4, 1], [2.05 + 2.05j, 2]]))
    assert pivots.tolist() == [2, 2]


def test_only_one_triangle_and_the_real_diagonal_are_read():
    a = draw(3, 3)
    whole = np.tril(a, -1) + conjugate_transposes(np.tril(a, -1)) + np.diag(a.real.diagonal()) + 5 * np.eye(3)
    half = np.tril(a) + np.triu(draw(3, 3), 1) + 5 * np.eye(3)
    for function in (linalg.eigvalsh, linalg.cholesky):
        close(function(on_reference(half)), function(on_reference(whole)).numpy())
    close(linalg.eigvalsh(on_reference(conjugate_transposes(half)), UPLO="U"), np.linalg.eigvalsh(whole))


def test_solutions_from_factors():
    a, b = draw(3, 3), draw(3, 2)
    x, y = on_reference(a), on_reference(b)
    LU, pivots = linalg.lu_factor(x)
    close(linalg.lu_solve(LU, pivots, y), np.linalg.solve(a, b))
    close(linalg.lu_solve(LU, pivots, y, adjoint=True), np.linalg.solve(conjugate_transposes(a), b))
    close(linalg.lu_solve(LU, pivots, y.T, left=False), np.linalg.solve(a.T, b).T)
    close(linalg.solve(x, y.T, left=False), np.linalg.solve(a.T, b).T)
    square = a @ conjugate_transposes(a)
    for upper in (False, True):
        factor = linalg.cholesky(on_reference(square), upper=upper)
        close(mg.cholesky_solve(y, factor, upper), np.linalg.solve(square, b), 1e-9)
        close(mg.cholesky_inverse(factor, upper), np.linalg.inv(square), 1e-9)
    with pytest.raises(ArgumentError, match="leading minor of order 2 is not positive"):
        linalg.cholesky(on_reference([[1, 1j], [-1j, 1]]))
    with pytest.raises(DTypeError, match=r"the same for all, got complex128\(3, 3\), float64\(3, 2\)"):
        linalg.solve(x, y.real)


def check_eigenvectors(device, a, tolerance):
    """Compare the definition, and the order of the eigenvalues by their parts with that of NumPy."""
    w, V = (part.numpy() for part in linalg.eig(mg.tensor(a, device=device)))
    equal(a @ V, V * w[..., None, :], tolerance)
    equal(np.linalg.norm(V, axis=-2), np.ones(w.shape), tolerance)
    wanted = np.linalg.eigvals(a).astype(w.dtype)
    order = lambda values: np.take_along_axis(values, np.argsort(values.real + 2 * values.imag, -1), -1)
    equal(order(w), order(wanted), tolerance)


@over("n", [1, 2, 5])
def test_eigenvectors_of_general_matrices(n):
    for a in (draw(2, n, n), RNG.standard_normal((2, n, n))):
        check_eigenvectors("reference", a, 1e-12)


@over("values", [
    draw(2, 9, 9), np.zeros((3, 3)), np.diag([1j, 2, 2]), np.array([[2, 1e4, 0], [1e-4, 3, 1e-4], [0, 1e4, 5]]),
    np.roll(np.eye(4), 1, 0), np.ones((4, 4)), np.ones((7, 7)), np.outer(np.arange(1, 12), np.arange(1, 12)),
])  # fmt: skip
def test_eigenvectors_of_a_kernel(values):
    check_eigenvectors("cpu", values.astype(np.complex64), 2e-3)


GRADED = [
    [[1, 1e8], [-1e-8, 1]], [[0, 1e7], [-1e-7, 0]], [[1, 1e6], [-1e-8, 1]], [[1e8, 0, 0], [0, 0, 1], [0, -1, 0]],
    [[1, 0, 0], [0, 0, 1e-9], [0, -1e-9, 0]], [[1, 2], [2, 4.5]], [[1, 0, 0], [0, 0, 1e-20], [0, -1e-20, 0]],
]  # fmt: skip


@over("values", [np.array(each) for each in GRADED])
def test_eigenvalues_of_elements_of_different_sizes(values):
    w, V = (part.numpy() for part in linalg.eig(mg.tensor(values, dtype=mg.float32)))
    wanted = np.linalg.eigvals(values)
    assert (w.imag == 0).all() == (wanted.imag == 0).all()
    for value, vector in zip(w, V.T, strict=True):
        nearest = wanted[np.abs(wanted - value).argmin()]
        assert abs(value - nearest) <= 1e-5 * abs(nearest)
        sizes = np.abs(values) @ np.abs(vector) + abs(nearest) * np.abs(vector)
        assert (np.abs(values @ vector - nearest * vector) <= 1e-5 * sizes).all()


def test_a_defective_matrix_has_eigenvectors_without_a_gradient():
    w, V = linalg.eig(mg.tensor([[1.0, 1], [0, 1]], dtype=mg.complex64))
    equal(w.numpy(), [1, 1], 1e-6)
    equal(np.abs(V.numpy()), [[1, 1], [0, 0]], 1e-6)
    with pytest.raises(ArgumentError, match="contains nan or inf, so its eigenvalues are not found"):
        linalg.eig(mg.tensor([[np.nan, 1], [0, 1]], dtype=mg.complex64))


def test_a_logarithm_of_a_determinant_beyond_the_dtype():
    a = 1e30 * (draw(12, 12) + 4 * np.eye(12))
    sign, size = np.linalg.slogdet(a)
    close(mg.logdet(on_reference(a.astype(np.complex64))), size + 1j * np.angle(sign), 1e-5)
    x = mg.Var(np.array([[1 + 1j, 2], [0.5j, 3 - 1j]]), device="reference")
    mg.logdet(x).imag.backward()
    wanted = np.array([[-14 + 22j, -4 - 1j], [4 - 16j, 6 + 10j]]) / 34  # the numbers of PyTorch 2.13
    close(x.grad, wanted)
    assert mg.logdet(on_reference(np.zeros((2, 2), complex))).numpy() == -np.inf


def test_functions_of_singular_values():
    a, b = draw(5, 3), draw(5, 2)
    x, y = on_reference(a), on_reference(b)
    close(linalg.pinv(x), np.linalg.pinv(a), 1e-9)
    hermitian = a @ conjugate_transposes(a)
    close(linalg.pinv(on_reference(hermitian), hermitian=True, rtol=1e-9), np.linalg.pinv(hermitian, 1e-9), 1e-7)
    assert linalg.matrix_rank(on_reference(hermitian), rtol=1e-9).item() == 3
    for order in (None, 2, -2):
        close(linalg.cond(x, order), np.linalg.cond(a, order), 1e-9)
    for order in ("fro", "nuc", 1, np.inf, 2, -2):
        close(linalg.matrix_norm(x, order), np.linalg.norm(a, order), 1e-9)
    for driver in (None, "gels", "gelsd"):
        solution = linalg.lstsq(x, y, driver=driver)
        close(solution.solution, np.linalg.lstsq(a, b)[0], 1e-9)
    close(solution.residuals, np.linalg.lstsq(a, b)[1], 1e-9)
    assert solution.residuals.dtype is mg.float64 and solution.singular_values.dtype is mg.float64
    wide, right = draw(3, 5), draw(3, 2)
    solution = linalg.lstsq(on_reference(wide), on_reference(right), driver="gels").solution
    close(solution, np.linalg.pinv(wide) @ right, 1e-9)
    U, S, V = mg.svd(x)
    close(U * S @ V.mH, a)


# ---- gradients -------------------------------------------------------------------------------------------------------

A = np.array([[1 + 2j, 0.5 - 1j], [-1j, 2 + 0.5j], [0.25 + 1j, -1.5j]])
G = np.array([[1 - 1j, 0.5j], [2, 1 + 0.25j], [-1j, 1.5]])
FUNCTIONS = {
    "solve": (2, lambda a: linalg.solve(a, a.mH)),
    "inv": (2, linalg.inv),
    "det": (2, linalg.det),
    "sign": (2, lambda a: linalg.slogdet(a)[0]),
    "logabsdet": (2, lambda a: linalg.slogdet(a)[1]),
    "solve_triangular": (2, lambda a: linalg.solve_triangular(a, a.mH, upper=True)),
    "lu": (3, lambda a: linalg.lu(a)[1] @ linalg.lu(a)[2].conj()),
    "qr": (3, lambda a: linalg.qr(a)[0] @ a.mH[:, :2]),
    "cholesky": (2, lambda a: linalg.cholesky(a @ a.mH)),
    "eigvalsh": (2, lambda a: linalg.eigvalsh(a @ a.mH)),
    "eigh": (2, lambda a: linalg.eigh(a @ a.mH)[1].abs()),
    "svdvals": (3, linalg.svdvals),
    "svd": (3, lambda a: product_of_roots(*linalg.svd(a, full_matrices=False))),
    "pinv": (3, linalg.pinv),
    "matrix_exp": (2, mg.matrix_exp),
    "eigvals": (2, lambda a: linalg.eigvals(a).abs()),
    "eig": (2, lambda a: linalg.eig(a)[1].abs()),
    "nuclear norm": (3, lambda a: linalg.matrix_norm(a, "nuc")),
}
PYTORCH = {
    "solve": [
        1.21269322-0.491973841j, 0.314803805+0.291319857j,
        -0.112812128-0.547116528j, -0.273781213-0.188763377j,
    ],
    "inv": [
        -0.231272295-0.26783591j, -0.159334126+0.0326991677j,
        -0.349881094-0.154875149j, -0.316884661-0.00772889417j,
    ],
    "det": [
        1.5-2.5j, -1-1j,
        -1.5-0.5j, -1-3j,
    ],
    "sign": [
        0.403407114-0.291349582j, -0.0896460253-0.224115063j,
        -0.201703557-0.179292051j, 0.0448230127-0.537876152j,
    ],
    "logabsdet": [
        0.224137931+0.310344828j, 0.172413793-0.0689655172j,
        0.137931034-0.155172414j, 0.413793103+0.0344827586j,
    ],
    "solve_triangular": [
        1.23176471-0.557058824j, 0.905882353+0.288235294j,
        -0.2-0.1j, -0.0851211073-0.424221453j,
    ],
    "lu": [
        -1.07748514+1.74740785j, -0.328834721-1.2470868j,
        -0.979964328+0.823365042j, 1.10665874-1.52990488j,
        2.09310345+0.0827586207j, 1.47931034+0.248275862j,
    ],
    "qr": [
        -0.321277459-0.749452542j, -2.03553875-0.0822018995j,
        -1.42040382-1.16387376j, -1.23980936+1.40653868j,
        -1.3273038+0.79999056j, -0.904228229-0.418605213j,
    ],
    "cholesky": [
        0.730157332+0.363202122j, 2.0950654+0.00409427711j,
        1.09711254+1.26574839j, 1.29133762-0.725721865j,
    ],
    "eigvalsh": [
        1.3721042+0.759652654j, 1.55429524+0.860521019j,
        1.98455575-0.379826327j, 2.24806947-0.430260509j,
    ],
    "eigh": [
        -0.0989051607-0.153233348j, -0.0689550064+0.0487560651j,
        -0.0445769738-0.104477282j, 0.175521834+0.0661689455j,
    ],
    "svdvals": [
        0.0776951458+0.430503146j, -0.0346048883-0.481015933j,
        -0.307164838-0.179193092j, 0.315650207+0.232494971j,
        0.058153266+0.360820996j, -0.0213679887-0.402339568j,
    ],
    "svd": [
        0.505975671-0.440216394j, -0.20678778-0.0362249024j,
        0.895471652-0.0318537261j, 0.372507275+0.303109294j,
        0.135316239-0.347882734j, 0.902593224-0.0164499323j,
    ],
    "pinv": [
        -0.184922863-0.283297885j, -0.225263273+0.0615637042j,
        -0.137171335-0.143650549j, 0.00282893751+0.19807519j,
        0.195751147-0.0801840934j, 0.230457646+0.0636298525j,
    ],
    "matrix_exp": [
        0.85685746+1.49361288j, 3.64905892+2.95291625j,
        6.87918917-5.19226071j, 9.88035033+4.75144488j,
    ],
    "nuclear norm": [
        0.455400101+0.723261868j, 0.277770965-0.180465263j,
        0.20938746-0.386211201j, 0.801554571+0.0956949129j,
        0.0874489977+0.262399486j, 0.0145660841-0.488278776j,
    ],
    "eigvals": [
        0.371390676+0.742781353j, -2.28035323e-17-0.371390676j,
        -0.185695338-0.371390676j, 7.06238164e-17+0.185695338j,
    ],
    "eig": [
        0.0481907896-0.120476974j, -0.114925886+0.181660982j,
        -0.0240953948-0.468030176j, -0.0481907896+0.120476974j,
    ],
}  # fmt: skip


def product_of_roots(U, S, Vh):
    return U * S.sqrt() @ Vh


def seed_of(y):
    g = np.resize(G, y.shape)
    return mg.tensor(g if y.dtype.is_complex else g.real, device="reference")


@over("name", list(FUNCTIONS))
def test_gradients_are_those_of_pytorch(name):
    rows, function = FUNCTIONS[name]
    x = mg.Var(A[:rows], device="reference")
    y = function(x)
    close(mg.grad(y, x, seed_of(y)), np.reshape(PYTORCH[name], (rows, 2)), 1e-7)


@over("name", list(FUNCTIONS))
def test_gradients_of_both_orders_and_modes(name):
    rows, function = FUNCTIONS[name]
    x = mg.Var(A[:rows], device="reference")
    gradcheck(function, x)
    gradgradcheck(function, x)
    batch = on_reference(np.stack([A[:rows], A[:rows] * (1 + 0.5j)]))
    if name != "matrix_exp":  # its loop would have a fixed number of steps
        close(mg.func.vmap(function)(batch), np.stack([function(each).numpy() for each in batch]))


def test_wide_and_square_matrices_have_gradients_of_all_factors():
    for a in (draw(2, 3), draw(2, 2)):
        x = mg.Var(a, device="reference")
        for function in (
            lambda x: linalg.qr(x)[0] @ linalg.qr(x)[1].conj(),
            lambda x: product_of_roots(*linalg.svd(x, full_matrices=False)),
            lambda x: linalg.lu(x)[1] @ linalg.lu(x)[2].conj(),
            lambda x: linalg.lstsq(x, x @ x.mH, driver="gels").solution,
        ):
            gradcheck(function, x)


def test_gradients_that_are_rounding_errors_do_not_depend_on_a_phase():
    def product(x):
        V = linalg.eig(x).eigenvectors
        return V @ linalg.inv(V)

    for n in (2, 3, 5):
        x = mg.Var(draw(n, n), device="reference")
        product(x).real.sum().backward()
        assert np.abs(x.grad.numpy()).max() < 1e-9


PHASES = {
    "eigh": lambda x: linalg.eigh(x @ x.mH)[1].real.sum(), "U": lambda x: linalg.svd(x)[0].imag.sum(),
    "Vh": lambda x: linalg.svd(x)[2].real.sum(), "eig": lambda x: linalg.eig(x)[1].real.sum(),
}  # fmt: skip
NO_PHASE = {
    "eigh": lambda x: abs(linalg.eigh(x @ x.mH)[1])[0].sum(), "U": lambda x: abs(linalg.svd(x)[0])[0].sum(),
    "Vh": lambda x: abs(linalg.svd(x)[2])[:, 0].sum(), "eig": lambda x: abs(linalg.eig(x)[1])[0].sum(),
}  # fmt: skip


@over("function", PHASES.values())
def test_a_loss_that_depends_on_a_phase_has_no_gradient(function):
    x = mg.Var(draw(2, 2), device="reference")
    with pytest.raises(GradientError, match="the loss depends on the phases of complex vectors"):
        function(x).backward()


@over("name", PHASES)
def test_a_jitted_gradient_checks_in_each_call_that_the_loss_depends_on_no_phase(name):
    def gradient(a, share):
        x = a.detach().requires_grad_()
        return mg.grad(NO_PHASE[name](x) + share * PHASES[name](x), x)

    jitted = mg.jit(gradient)
    none, one = on_reference(0.0), on_reference(1.0)
    a, b, c = (on_reference(draw(2, 2)) for _ in range(3))
    close(jitted(a, none), gradient(a, none).numpy())
    for share in (one, none, one):  # the second call records, and later calls run the program
        if share is one:
            with pytest.raises(GradientError, match="the loss depends on the phases of complex vectors"):
                jitted(b, share)
        else:
            close(jitted(c, share), gradient(c, share).numpy())
    with pytest.raises(GradientError, match="phases"):  # in the first call as well
        mg.jit(gradient)(a, one)
