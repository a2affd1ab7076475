"""Complex numbers in ops: values as in NumPy, gradients by finite differences over pairs, refusals, views of parts.

Most tests run on the reference device, where every op is a plain loop; the kernels of the CPU are compared with NumPy
in one precision.
"""

import copy
import io
import pickle

import numpy as np
import pytest
from cases import over

import minigrad as mg
import minigrad.nn.functional as F
from minigrad.errors import DTypeError, RecordingError, ShapeError
from minigrad.kernels.vecmath import complexes
from minigrad.testing import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
UNARY = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "log1p": np.log1p, "expm1": np.expm1, "log2": np.log2, "log10": np.log10,
    "exp2": np.exp2, "abs": np.abs, "angle": np.angle, "conj": np.conj, "square": np.square,
    "reciprocal": np.reciprocal,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)), "sgn": lambda z: z / np.where(z == 0, 1, np.abs(z)), "neg": np.negative,
    "rsqrt": lambda z: 1 / np.sqrt(z), "isfinite": np.isfinite, "isreal": np.isreal, "real": np.real, "imag": np.imag,
    "logical_not": np.logical_not, "nan_to_num": np.nan_to_num,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "eq": np.equal,
    "ne": np.not_equal, "logical_and": np.logical_and,
}  # fmt: skip
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, np.inf, -np.inf, np.nan]
GRID = np.array([complex(a, b) for a in VALUES for b in VALUES])
# Signs of zeros and of infinities that annex G of C99 leaves open.
PARTS = np.random.default_rng(3).normal(size=(3, 4)) + 1j * np.random.default_rng(4).normal(size=(3, 4))
OPEN = {"sinh": "real", "sin": "imag", "cosh": "imag", "cos": "imag", "exp": ""}


def draw(*shape, dtype=np.complex128):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def on_reference(values):
    return mg.tensor(values, device="reference")


# ---- values ----------------------------------------------------------------------------------------------------------


@over(("name", "dtype"), [(name, dtype) for name in UNARY for dtype in (np.complex64, np.complex128)])
def test_functions_of_one_operand_are_those_of_numpy(name, dtype):
    z = np.concatenate([draw(20, dtype=dtype), np.array([0, 1, -1, 1j, -2j, 3], dtype)])
    with np.errstate(all="ignore"):
        found, wanted = getattr(mg, name)(on_reference(z)).numpy(), UNARY[name](z)
    assert found.dtype == wanted.dtype
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype is np.complex64 else 1e-12, atol=1e-15)


@over("name", list(BINARY))
def test_functions_of_two_operands_are_those_of_numpy(name):
    a, b, c = draw(3, 4), draw(4), RNG.standard_normal((3, 1))
    for x, y in ((a, b), (a, c), (c, b), (a, a)):
        found = getattr(mg, name)(on_reference(x), on_reference(y)).numpy()
        wanted = BINARY[name](x, y)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_python_numbers_keep_the_width_of_a_tensor():
    z, x = on_reference(draw(3, dtype=np.complex64)), on_reference(np.float32([1, 2, 3]))
    for y in (z * 2, 2 / z, z**2, z + 1j, x * 1j, 1j - x, x**1j):
        assert y.dtype is mg.complex64
    np.testing.assert_allclose((1j**z).numpy(), 1j ** z.numpy(), rtol=1e-5)
    assert ((z == z.tolist()[0]).tolist(), (z != 0).all().item()) == ([True, False, False], True)


@over("name", sorted({*UNARY} & {"exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos",
                                 "atan", "asinh", "acosh", "atanh", "abs", "angle"}))  # fmt: skip
def test_special_values_of_the_kernels_are_those_of_c99(name):
    grid = GRID.astype(np.complex64)  # its kernels are those of the test of errors below
    with np.errstate(all="ignore"):
        wanted = UNARY[name](grid)
    found = getattr(mg, name)(mg.tensor(grid)).numpy()
    for part in ("real", "imag"):
        got, right = getattr(found, part), getattr(wanted, part)
        np.testing.assert_allclose(np.abs(got), np.abs(right), rtol=1e-5)
        signed = ~(np.isnan(right) | (np.isnan(wanted.real) | np.isnan(wanted.imag) | (name == "exp")))
        assert (np.signbit(got) == np.signbit(right))[signed].all(), name


@over("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_parts_of_very_different_sizes(name):
    """The values are repeated to the length of GRID, so that the kernels of the test above run."""
    few = [1e-30j, 1e-30, 0.5 - 1e-30j, 1e-30 + 0.5j, -1e-30 - 1e-30j, 1e30 + 1j, complex(np.nan, 1e30), 1e30j,
           1 + 1e-30j, -1 - 1e-30j, 1e-30 - 1j, 1, 1j]  # fmt: skip
    grid = np.resize(np.array(few, np.complex64), len(GRID))
    with np.errstate(all="ignore"):
        found, wanted = getattr(mg, name)(mg.tensor(grid)).numpy(), UNARY[name](grid)
    np.testing.assert_allclose(found.real, wanted.real, rtol=1e-5)
    np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-5)


def test_expm1_has_the_special_values_of_exp(monkeypatch):
    """NumPy's expm1 lacks them.  The function of the kernels is tested as plain Python, because it has no branches."""
    for name, value in {"exp": np.exp, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "INFINITY": np.inf,
                        "SPLIT_FROM": complexes.SPLIT_FROM_64}.items():  # fmt: skip
        monkeypatch.setattr(complexes, name, value, raising=False)
    grid = np.concatenate([GRID, [complex(710.0, 1e-5), 710, 90 + 1j]])
    with np.errstate(all="ignore"):
        wanted, scalars = np.exp(grid) - 1.0, [complexes.cexpm1(z) for z in grid]
        for found in (mg.expm1(on_reference(grid)).numpy(), np.array(scalars)):
            np.testing.assert_allclose(found.real, wanted.real, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-12, atol=1e-15)


def test_quotients_of_special_values_are_those_of_numpy_on_each_device():
    a, b = (x.ravel() for x in np.meshgrid(GRID, GRID))
    with np.errstate(all="ignore"):
        wanted = a / b
    for device in ("cpu", "reference"):
        found = (mg.tensor(a, device=device) / mg.tensor(b, device=device)).numpy()
        np.testing.assert_allclose(found.real, wanted.real, rtol=1e-14)
        np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-14)


def test_log1p_keeps_the_real_part_of_small_numbers():
    z = np.array([1e-30 + 1e-30j, -1e-20 + 0j, 1e-9 + 1e-5j])
    wanted = [1e-30 + 1e-30j, -1e-20 + 0j, complex(1e-9 + 5e-11, 1e-5)]
    np.testing.assert_allclose(mg.log1p(on_reference(z)).numpy(), wanted, rtol=1e-8)


def test_division_by_zero_and_infinity():
    def quotient(a, b):  # of operands of one shape: one kernel
        return (mg.tensor(np.array(a)) / mg.tensor(np.full(len(a), b) if np.isscalar(b) else np.array(b))).numpy()

    one = [1 + 1j, 0j, complex(np.inf, 1)]
    by_zero, by_infinity = quotient(one, 0j), quotient(one, complex(np.inf, 0))
    assert by_zero[0] == complex(np.inf, np.inf) and np.isnan(by_zero[1]) and by_infinity[:2].tolist() == [0, 0]
    assert np.isnan(by_infinity[2])
    unknown = [complex(np.nan, 0), complex(0, np.nan), complex(np.nan, 2), complex(np.nan, np.nan)]
    assert np.isnan(quotient([1 - 2j] * 4, unknown)).all()
    small = np.array([5e-324j, 1e-310 + 1e-310j])
    np.testing.assert_allclose(quotient(small, small), [1, 1])
    large = np.array([1.7e308 + 1.7e308j, 1e308 - 1.7e308j, 5e-324 + 1e-320j])  # whose sums of products would overflow
    np.testing.assert_allclose(quotient(large, large), [1, 1, 1], rtol=1e-15)
    found = quotient([1e308, complex(1e300, 1e-300), 1.5e308 + 1e308j], [1e-200, 1e-100, complex(1e308, np.inf)])
    assert found[0] == np.inf and found[1].real == np.inf and found[2] == 0
    assert found[1].imag == pytest.approx(1e-200)
    np.testing.assert_allclose(quotient([1e308], [0.49 + 0.49j]), [1e308 / (0.49 + 0.49j)])


@over("name", ["exp", "log", "sqrt", "tan", "tanh", "asin", "acos", "atan", "asinh", "abs"])
def test_errors_of_kernels_in_ulp(name):
    sizes = 10.0 ** RNG.uniform(-1.3, 1.3, 4000)
    near = RNG.choice([1, -1, 1j, -1j, 0.5], 1000) + 10.0 ** RNG.uniform(-6, -1, 1000) * np.exp(1j * np.arange(1000))
    z = np.concatenate([sizes * np.exp(1j * RNG.uniform(-np.pi, np.pi, 4000)), near]).astype(np.complex64)
    with np.errstate(all="ignore"):
        wanted = UNARY[name](z.astype(np.complex128))
    found = getattr(mg, name)(mg.tensor(z)).numpy()
    error = np.abs(found - wanted) / (np.abs(wanted) * 2.0**-23)
    assert error[np.isfinite(wanted) & (np.abs(wanted) > 0)].max() < 4, name  # in ulp of the magnitude


# ---- refusals --------------------------------------------------------------------------------------------------------

ORDERED = {
    "lt": "compares the order", "maximum": "compares the order", "remainder": "computes input % other",
    "floor_divide": "computes input // other", "bitwise_and": "works on bits", "atan2": "calls atan2",
    "hypot": "calls hypot", "copysign": "calls copysign",
}  # fmt: skip
ALONE = {
    "erf": "calls erf", "floor": "calls floor", "sign": "compares the order", "relu": "compares the order",
    "amax": "have no order", "sort": "not defined for complex", "argmax": "not defined for complex",
    "i0": "expected real operands", "median": "not defined for complex", "cummax": "not defined for complex",
}  # fmt: skip


@over(("name", "why"), [*ORDERED.items(), *ALONE.items()])
def test_what_has_no_complex_form_refuses_and_says_why(name, why):
    z = on_reference(draw(3))
    operands = (z, z) if name in ORDERED else (z, 0) if name in ("cummax",) else (z,)
    with pytest.raises(DTypeError, match=why) as caught:
        getattr(mg, name)(*operands)
    assert str(caught.value).startswith(f"{name}: got complex128(3,)")


@over("loses", [
    lambda z: mg.zeros(3, device="reference").copy_(z), lambda z: mg.zeros(3, device="reference").__setitem__(0, 1j),
    lambda z: mg.add(z, z, out=mg.zeros(3, device="reference")), lambda z: mg.zeros(3, device="reference").add_(z),
    lambda z: z.sum(dtype=mg.float32), lambda z: mg.full((2,), 1j, dtype=mg.float32),
    lambda z: mg.zeros(2).fill_(1j), mg.special.i0e,
    lambda z: mg.tensor(z.numpy(), dtype=mg.int64), lambda z: mg.softmax(z, 0),
])  # fmt: skip
def test_no_imaginary_part_is_lost(loses):
    with pytest.raises(DTypeError):
        loses(on_reference(draw(3)))


def test_to_takes_the_real_part():
    z = on_reference([1.5 + 2j, -1j])
    assert z.to(mg.float64).tolist() == z.double().tolist() == [1.5, 0] and z.long().tolist() == [1, 0]
    assert z.bool().tolist() == [True, True] and z.cdouble().dtype is mg.complex128


def test_a_dtype_rule_may_not_store_a_complex_result_as_a_real_one():
    @mg.elementwise(dtype=lambda op, specs: (np.dtype(np.complex64), mg.float32))
    def lost(x):
        return x * x

    @mg.elementwise(dtype=lambda op, specs: (np.dtype(np.complex64), mg.float32))
    def kept(x):
        return x.real * x.real + x.imag * x.imag

    z = on_reference(np.complex64([3 + 4j]))
    assert kept(z).tolist() == [25]
    with pytest.raises(mg.DeclarationError, match="must return a complex dtype for a complex result"):
        lost(z)


def test_rules_are_derived_from_parts():
    @mg.elementwise(dtype=lambda op, specs: (specs[0].dtype.compute, specs[0].dtype.to_real()), vjp="derived")
    def product_of_parts(x):
        return x.real * x.imag

    gradcheck(product_of_parts, mg.Var(draw(3), device="reference"))
    with pytest.raises(mg.DeclarationError, match="no rule of squared_magnitude can be derived"):

        @mg.elementwise(dtype=mg.rules.promote, vjp="derived")
        def squared_magnitude(x):
            return x * x.conjugate()


# ---- gradients -------------------------------------------------------------------------------------------------------

GRADIENTS = {
    **{name: getattr(mg, name) for name in UNARY if UNARY[name] not in (np.isfinite, np.isreal, np.logical_not)},
    "holomorphic and not": lambda z: z.conj() * z * z.exp() + z.abs() * z,
    "sum": lambda z: z.sum(), "mean": lambda z: z.mean(0), "prod": lambda z: z.prod(), "var": lambda z: z.var(),
    "std": lambda z: z.std(), "norm": lambda z: z.norm(), "norm of order 3": lambda z: z.norm(3),
    "cumsum": lambda z: z.cumsum(0), "cumprod": lambda z: z.cumprod(0), "index": lambda z: z[[0, 1, 1]],
    "where": lambda z: mg.where(z.real > 0, z * z, z), "to real": lambda z: z.to(mg.float64) * 2,
    "flip": lambda z: z.flip(0),
    "view_as_real": lambda z: mg.view_as_real(z) ** 2, "pow": lambda z: z ** (1 + 2j),
    "vdot": lambda z: mg.vdot(z, z * z),
    "product": lambda z: z.unsqueeze(1) @ z.unsqueeze(0), "cov": lambda z: mg.cov(mg.stack([z, z * z])),
    "gather": lambda z: z.scatter_add(0, mg.tensor([0, 0], device=z.device), z[:2]),
    "pad": lambda z: mg.nn.functional.pad(z, (1, 1)),
}  # fmt: skip


@over("name", list(GRADIENTS))
def test_gradients_agree_with_finite_differences(name):
    z = mg.Var(draw(3) + 0.5, device="reference")
    gradcheck(GRADIENTS[name], z)
    gradgradcheck(GRADIENTS[name], z)


@over("function", [mg.mul, mg.div, mg.pow, mg.matmul, mg.vdot])
def test_gradients_of_two_operands(function):
    for a, b in ((draw(3), draw(3)), (draw(3), RNG.random(3) + 0.5), (RNG.random(3) + 0.5, draw(3))):
        gradcheck(function, [mg.Var(x, device="reference") for x in (a, b)])


@over("function", [mg.complex, mg.polar])
def test_gradients_with_respect_to_parts(function):
    parts = [mg.Var(RNG.random(3) + 0.5, device="reference") for _ in range(2)]
    gradcheck(function, parts)
    gradgradcheck(function, parts)
    with pytest.raises(DTypeError, match="expected float32 or float64"):
        function(mg.ones(1, dtype=mg.float16), mg.ones(1, dtype=mg.float16))


def test_gradients_at_zero():
    z = mg.Var([0j, 1j], device="reference")
    assert mg.grad(z.abs().sum(), z).tolist() == [0, 1j]
    assert mg.grad(z.angle().sum(), z).tolist() == [0, -1]
    assert mg.grad(z.sgn().real.sum(), z).tolist()[0] == 0


# ---- compositions ----------------------------------------------------------------------------------------------------


@over(("groups", "stride"), [(1, 1), (2, 2)])
def test_convolutions_are_those_of_the_parts(groups, stride):
    x, w, b = draw(2, 4, 6), draw(2, 4 // groups, 3), draw(2)
    a, v, c = (on_reference(each) for each in (x, w, b))
    real = lambda x, w: F.conv1d(x, w, stride=stride, padding=1, groups=groups).numpy()
    wanted = real(a.real, v.real) - real(a.imag, v.imag) + 1j * (real(a.real, v.imag) + real(a.imag, v.real))
    found = F.conv1d(a, v, c, stride=stride, padding=1, groups=groups)
    np.testing.assert_allclose(found.numpy(), wanted + b[:, None], rtol=1e-12)
    mixed = F.conv1d(a, v.real, stride=stride, padding=1, groups=groups).numpy()
    np.testing.assert_allclose(mixed, real(a.real, v.real) + 1j * real(a.imag, v.real), rtol=1e-12)
    # A transposed convolution is the transpose, so sum(conv(a) * y) = sum(a * conv_transpose(y)), without conjugates.
    y = on_reference(draw(*found.shape))
    back = F.conv_transpose1d(y, v, stride=stride, padding=1, groups=groups, output_padding=stride - 1)
    left = ((found - c.unsqueeze(-1)) * y).sum().item()
    np.testing.assert_allclose(left, (a * back).sum().item(), rtol=1e-12)


@over("function", [F.conv1d, lambda x, w: F.conv_transpose1d(x, w.transpose(0, 1))])
def test_convolutions_are_recorded(function):
    x, w = mg.Var(draw(1, 2, 5), device="reference"), mg.Var(draw(3, 2, 3), device="reference")
    loss = lambda x, w: (function(x, w).abs() ** 2).sum()
    wanted, step = mg.grad(loss(x, w), [x, w]), mg.jit(loss)
    for _ in range(3):
        for found, each in zip(mg.grad(step(x, w), [x, w]), wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), each.numpy(), rtol=1e-12)


@over("function", [
    lambda z: F.conv2d(z.reshape(1, 2, 2, 2), z.reshape(2, 1, 2, 2), z[:2], groups=2, padding=1),
    lambda z: F.conv_transpose2d(z.reshape(1, 2, 2, 2), z.reshape(2, 2, 2, 1), z[:2]),
    lambda z: mg.logsumexp(z.reshape(2, 4), 1), lambda z: mg.corrcoef(z.reshape(2, 4)),
    lambda z: F.unfold(z.reshape(1, 2, 2, 2), 2, padding=1), lambda z: mg.addcdiv(z, z, z * z + 2.0),
    lambda z: F.fold(z.reshape(1, 4, 2), (2, 3), 2),
])  # fmt: skip
def test_compositions_have_gradients(function):
    z = mg.Var(draw(8) + 1.0, device="reference")
    gradcheck(function, z)
    gradgradcheck(function, z)


def test_logsumexp_and_corrcoef_are_those_of_numpy():
    z = draw(3, 5)
    wanted = np.log(np.exp(z).sum(1))
    np.testing.assert_allclose(mg.logsumexp(on_reference(z), 1).numpy(), wanted, rtol=1e-12)
    far = mg.logsumexp(on_reference(z + 1000), (1,), keepdim=True)
    np.testing.assert_allclose(far.numpy()[:, 0], wanted + 1000, rtol=1e-12)
    np.testing.assert_allclose(mg.corrcoef(on_reference(z)).numpy(), np.corrcoef(z), rtol=1e-12)


def test_layers_and_random_numbers_of_complex_dtypes():
    mg.manual_seed(0)
    layer = mg.nn.Linear(3, 2, dtype=mg.complex64, device="reference")
    y = layer(on_reference(draw(4, 3, dtype=np.complex64)))
    assert y.dtype is mg.complex64 and layer.weight.imag.abs().sum().item() > 0
    drawn = mg.zeros(4000, dtype=mg.complex128, device="reference").normal_(3.0, 2.0).numpy()
    assert abs(drawn.mean() - 3) < 0.1 and abs((abs(drawn - 3) ** 2).mean() - 4) < 0.3
    parts = mg.view_as_real(mg.zeros(400, dtype=mg.complex64, device="reference").uniform_(-1.0, 2.0)).numpy()
    assert parts.min() < -0.9 and parts.max() > 1.9 and -1 <= parts.min() <= parts.max() < 2


# ---- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_parts_are_views(device):
    z = mg.tensor(draw(2, 3), device=device)
    z.real[0] = 7.0
    z.imag = mg.ones(2, 3, dtype=mg.float64, device=device)
    mg.view_as_real(z)[1, 2] = mg.tensor([5.0, 6.0], dtype=mg.float64, device=device)
    assert z.tolist()[0] == [7 + 1j] * 3 and z.tolist()[1][2] == 5 + 6j
    assert (z.real.storage is z.imag.storage, z.T.real.tolist() == z.real.T.tolist()) == (True, True)
    assert mg.view_as_complex(mg.view_as_real(z.T)).tolist() == z.T.tolist()
    copied = mg.view_as_real_copy(z)
    assert copied.tolist() == mg.view_as_real(z).tolist() and mg.view_as_complex_copy(copied).tolist() == z.tolist()
    copied.zero_()
    assert z.tolist() == mg.view_as_complex(mg.view_as_real(z)).tolist() != mg.view_as_complex(copied).tolist()
    z.real.copy_(z.imag.flip(0))  # operands in the memory of the result are read before it is written
    assert z.real.tolist() == [[1, 1, 6], [1, 1, 1]]
    z.add_(z.flip(0).real)
    assert z.tolist()[0] == [2 + 1j, 2 + 1j, 7 + 1j]
    assert mg.ones(2).real.tolist() == [1, 1] and z.is_complex() and not z.is_conj()


def test_a_write_through_a_part_is_seen_by_backward():
    w = mg.Var(draw(2), device="reference")
    z = w * 1.0
    y = z * z
    with mg.no_grad():
        z.real.mul_(2.0)
    with pytest.raises(mg.StorageError, match="changed in place"):
        y.abs().sum().backward()


def test_views_of_pairs_need_neighbours():
    pairs = mg.ones(3, 5, 2)
    assert mg.view_as_complex(pairs[:, ::2]).shape == (3, 3)
    for wrong in (pairs[..., :1], pairs.mT, mg.ones(7)[1:].reshape(3, 2)):
        with pytest.raises(ShapeError, match="length 2 and stride 1"):
            mg.view_as_complex(wrong)
    with pytest.raises(DTypeError, match="expected float32 or float64"):
        mg.view_as_complex(mg.ones(2, dtype=mg.int64))
    with pytest.raises(RecordingError, match="views of complex numbers as pairs"):
        jitted = mg.jit(lambda z: mg.view_as_real(z) * 2)
        for _ in range(2):
            jitted(mg.tensor([1j]))


def test_transposes_conjugate():
    z = on_reference(draw(2, 3))
    for found in (z.mH, z.H, z.adjoint(), mg.adjoint(z)):
        assert found.tolist() == z.numpy().conj().T.tolist()
    assert mg.linalg.vecdot(z, z).tolist() == pytest.approx(np.sum(np.abs(z.numpy()) ** 2, 1).tolist())


# ---- products, reductions and data movement --------------------------------------------------------------------------

SHAPES = [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
          ((3, 0), (0, 2))]  # fmt: skip


@over(("one", "other"), SHAPES)
def test_products_are_those_of_numpy(one, other):
    a, b = draw(*one), draw(*other)
    for x, y in ((a, b), (a.real, b), (a, b.real)):
        np.testing.assert_allclose((mg.tensor(x) @ mg.tensor(y)).numpy(), x @ y, rtol=1e-12)
        np.testing.assert_allclose((on_reference(x) @ on_reference(y)).numpy(), x @ y, rtol=1e-12)


def test_products_of_transposed_operands_and_sums():
    a, b, c = draw(4, 3), draw(5, 4), draw(5)
    np.testing.assert_allclose((mg.tensor(a).T @ mg.tensor(b).mH).numpy(), a.T @ b.conj().T, rtol=1e-12)
    found = mg.addmm(mg.tensor(c), mg.tensor(a).T, mg.tensor(b).T, beta=2, alpha=3)
    np.testing.assert_allclose(found.numpy(), 2 * c + 3 * a.T @ b.T, rtol=1e-12)
    found = mg.nn.functional.linear(mg.tensor(a.T.copy()), mg.tensor(b), mg.tensor(c))
    np.testing.assert_allclose(found.numpy(), a.T @ b.T + c, rtol=1e-12)
    np.testing.assert_allclose(
        mg.einsum("ij,kj->ik", mg.tensor(a.T.copy()), mg.tensor(b)).numpy(), a.T @ b.T, rtol=1e-12
    )


def test_reductions_are_those_of_numpy():
    z = draw(3, 4)
    x = on_reference(z)
    for name in ("sum", "mean", "prod"):
        np.testing.assert_allclose(getattr(x, name)(0).numpy(), getattr(z, name)(0), rtol=1e-12)
    for name in ("cumsum", "cumprod"):
        np.testing.assert_allclose(getattr(x, name)(1).numpy(), getattr(z, name)(1), rtol=1e-12)
    assert x.var().item() == pytest.approx(z.var(ddof=1)) and x.std(0).numpy() == pytest.approx(z.std(0, ddof=1))
    assert [y.item() for y in mg.var_mean(x)] == [pytest.approx(z.var(ddof=1)), pytest.approx(z.mean())]
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        assert mg.linalg.vector_norm(x, order).item() == pytest.approx(np.linalg.norm(z.ravel(), order))
    np.testing.assert_allclose(mg.cov(x).numpy(), np.cov(z), rtol=1e-12)
    assert (x.any().item(), x.all().item(), x.count_nonzero().item()) == (True, True, 12)


def test_data_movement_keeps_both_parts():
    z = draw(3, 4)
    x = on_reference(z)
    index = np.array([2, 0])
    pairs = [
        (x[1:, ::2], z[1:, ::2]), (x[on_reference(index)], z[index]), (x.flip(0), z[::-1]),
        (mg.cat([x, x.real], 0), np.concatenate([z, z.real])), (mg.stack([x, x]), np.stack([z, z])),
        (mg.where(x.real > 0, x, 0), np.where(z.real > 0, z, 0)), (x[x.real > 0], z[z.real > 0]),
        (x.roll(1, 0), np.roll(z, 1, 0)), (x.tril(), np.tril(z)), (x.tile(2), np.tile(z, 2)),
        (x.masked_fill(x.real > 0, 1j), np.where(z.real > 0, 1j, z)), (x.T.reshape(-1), z.T.reshape(-1)),
        (x.diagonal(), z.diagonal()), (mg.kron(x, x), np.kron(z, z)), (x.nonzero(), np.argwhere(z)),
    ]  # fmt: skip
    for found, wanted in pairs:
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-15)


def test_the_gradient_of_a_complex_exponent_over_a_negative_number_is_finite():
    x, y = (mg.tensor(v, device="reference", dtype=kind, requires_grad=True)
            for v, kind in ((-0.7, mg.float64), (0.3 + 0.4j, mg.complex128)))  # fmt: skip
    (g,) = mg.autograd.grad((x**y * (1 + 0.5j)).real, [y])
    assert g.item() == pytest.approx(np.conj((1 + 0.5j) * (-0.7 + 0j) ** (0.3 + 0.4j) * np.log(-0.7 + 0j)))


def test_random_numbers_have_the_mean_square_one():
    mg.manual_seed(0)
    z = mg.randn(20000, dtype=mg.complex64)
    assert z.abs().square().mean().item() == pytest.approx(1, abs=0.05)
    assert mg.randn_like(z[:3]).dtype is mg.rand(3, dtype=mg.complex64).dtype is mg.complex64


def test_files_pickles_numpy_and_dlpack(tmp_path):
    z = mg.tensor(draw(2, 2))
    for name in ("a.safetensors", "a.npz"):
        mg.save({"z": z, "part": z.real.clone()}, tmp_path / name)
        found = mg.load(tmp_path / name)
        assert found["z"].dtype is mg.complex128 and found["z"].tolist() == z.tolist()
        assert found["part"].tolist() == z.real.tolist()
    assert np.from_dlpack(z).tolist() == z.tolist() and mg.from_dlpack(z.numpy()).tolist() == z.tolist()
    assert mg.from_numpy(z.numpy()).dtype is mg.complex128 and np.asarray(z.imag).tolist() == z.imag.tolist()
    np.testing.assert_allclose(np.exp(z).numpy(), np.exp(z.numpy()), rtol=1e-15)


def test_parts_of_slices_and_of_memory_that_is_written_later():
    x = mg.tensor(np.random.default_rng(0).normal(size=(8, 3, 2)), device="reference")
    whole = mg.view_as_complex(x)
    for t in range(8):  # the fifth of such views shares the plan of the others
        assert mg.view_as_complex(x[t]).tolist() == whole[t].tolist()
    assert mg.zeros(6, dtype=mg.complex64).real.storage.numel == 12
    z, v = mg.zeros(2, dtype=mg.complex64, device="reference"), mg.tensor([1j, 2], device="reference").requires_grad_()
    early = z.real
    z.copy_(v)
    assert mg.autograd.grad((early * 2 + z.real).sum(), v)[0].tolist() == [3, 3]


def test_copies_and_files_know_that_a_part_shares_memory():
    z = on_reference(PARTS)
    for copied in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        whole, part = copied((z, z.real))
        part.mul_(10.0)
        assert whole.tolist() == (PARTS.real * 10 + 1j * PARTS.imag).tolist() and z.tolist() == PARTS.tolist()
        assert copied(z.imag).tolist() == PARTS.imag.tolist()
    with pytest.raises(mg.ArgumentError, match="b and a share a part of their memory"):
        mg.save({"a": z, "b": z.real}, io.BytesIO())
    with pytest.raises(mg.StorageError, match="must not share memory"):
        mg.linalg.eigh(on_reference(np.eye(3) + 0j), out=(z.real[:, 0], z[:, :3]))
    w = mg.Var(PARTS, device="reference")
    with pytest.raises(mg.StorageError, match="must not share memory"):
        w.set(w.detach().real)
