"""Complex numbers on CUDA: values and gradients are those of the reference device, whatever the order of threads."""

import numpy as np
import pytest
from cases import over

import minigrad as mg
import minigrad.nn.functional as F
from minigrad.errors import DeviceError

RNG = np.random.default_rng(0)
OPERANDS = [RNG.normal(size=shape) + 1j * RNG.normal(size=shape) for shape in ((3, 4), (3, 4), (4, 4))]
UNARY = (
    "exp log sqrt sin cos tan tanh sinh cosh abs angle conj asin acos atan asinh acosh atanh sigmoid log1p expm1 log2 "
    "log10 exp2 sgn isnan isfinite isinf square reciprocal rsqrt view_as_real real imag"
).split()
VALUES = [0.0, -0.0, 1.0, -3.0, 90.0, np.inf, -np.inf, np.nan]
GRID = np.array([complex(a, b) for a in VALUES for b in VALUES])


def of_device(x, values):
    return mg.tensor(values, device=x.device)


def written(x, write):
    result = x.clone()
    write(result)
    return result


FUNCTIONS = {
    **{name: (lambda a, b, m, name=name: getattr(mg, name)(a)) for name in UNARY},
    "arithmetic": lambda a, b, m: (a + b * 2 - 1j) / (b * a) - a**b + a**2,
    "transposed": lambda a, b, m: a.t() + b[:, :1].t() * 2,
    "parts": lambda a, b, m: mg.complex(a.real, b.imag) * mg.polar(a.abs(), b.angle()),
    "casts": lambda a, b, m: a.to("complex64") + b.real.to("complex128") + (a == b),
    "reductions": lambda a, b, m: a.sum() + a.mean(0) + b.prod(1)[0] + a.var(0) + mg.linalg.vector_norm(b),
    "long": lambda a, b, m: a.repeat(50, 20).sum(1)[:3, None] + a.repeat(200, 2).sum(0)[:4] + a.repeat(9, 90).sum(),
    "scans": lambda a, b, m: a.cumsum(1) + b.cumprod(0) + a.repeat(1, 20).cumsum(1)[:, 40:44],
    "products": lambda a, b, m: mg.einsum("ij,kj->ik", a @ m.mH, b.conj()) + mg.vdot(a[0], b[0]),
    "factors": lambda a, b, m: mg.linalg.solve(m, m + 1) @ mg.linalg.cholesky(m @ m.mH + 4 * of_device(m, np.eye(4))),
    "qr": lambda a, b, m: mg.linalg.qr(m)[0] @ mg.linalg.qr(m)[1] + mg.linalg.det(m) + mg.linalg.inv(m),
    "values": lambda a, b, m: mg.linalg.eigvalsh(m + m.mH) + mg.linalg.svdvals(m),
    "indices": lambda a, b, m: a.gather(1, of_device(a, [[0, 1, 3, 3]])) + b[of_device(a, [0, 2, 0])],
    "masks": lambda a, b, m: a[a.real > 0],
    "additions": lambda a, b, m: (
        a.index_add(0, of_device(a, [0, 2, 0]), b) * a.scatter_add(1, of_device(a, [[1, 1]]), b)
    ),
    "moves": lambda a, b, m: mg.cat([a, mg.stack([b, a])[0]]).flip(0).roll(1, 1)[:4] + F.pad(m.tril(), (1, 0))[:, 1:],
    "choice": lambda a, b, m: mg.where(a.real > 0, a, b).masked_fill(b.real > 0, 1j),
    "writes": lambda a, b, m: written(a, lambda x: x[:, 1].fill_(1j)) ,
    "convolution": lambda a, b, m: F.conv1d(a[None], m[:2, :3, None]),
    "transforms": lambda a, b, m: mg.fft.fft2(a) + mg.fft.ifft(b, dim=0) + mg.fft.fft(a, 22)[:, :4],
    "real transforms": lambda a, b, m: mg.fft.rfft(a.real)[:, :3] + mg.fft.irfft(b, 7)[:, :3],
}  # fmt: skip
# Transforms of the parts of a sum: kernels with the same words in both widths.
BOTH_WIDTHS = ("exp", "pow", "arithmetic", "reductions", "scans", "additions", "products", "transforms", "casts")


def found(name, device, dtype, gradients=True):
    """Return the result of a function on a device, and the gradients of a real loss of it."""
    operands = [mg.Var(x, dtype=dtype, device=device) for x in OPERANDS]
    y = FUNCTIONS[name](*operands)
    results = [y.detach().cpu().numpy()]
    if y.requires_grad and gradients:
        pairs = mg.view_as_real(y) if y.dtype.is_complex else y
        (pairs * pairs * pairs).sum().backward()
        results += [np.asarray(x.grad.cpu().numpy()) for x in operands if x.grad is not None]
    return results


@over("name", list(FUNCTIONS))
def test_values_and_gradients_are_those_of_the_reference_device(name):
    for dtype in ("complex128", "complex64") if name in BOTH_WIDTHS else ("complex128",):
        wide = dtype == "complex128" and name != "casts"
        for ours, theirs in zip(found(name, "cuda", dtype), found(name, "reference", dtype), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-9 if wide else 2e-4, atol=1e-9 if wide else 2e-4)


@over("name", ["arithmetic", "reductions", "long", "scans", "additions", "transforms"])
def test_the_order_of_threads_does_not_matter(order, name):
    (ours,), (theirs,) = found(name, "cuda", "complex64", False), found(name, "reference", "complex64", False)
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@over("name", ["exp", "log", "sqrt", "tanh", "asin", "acos", "atan", "abs", "sigmoid"])
def test_special_values_are_those_of_the_reference_device(name):
    with np.errstate(all="ignore"):
        found = [getattr(mg, name)(mg.tensor(GRID, device=device)).cpu().numpy() for device in ("cuda", "reference")]
    ours, theirs = (np.stack([values.real, values.imag]) for values in found)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_part_shares_memory_and_a_dense_run_is_read_in_pairs():
    x = mg.tensor(OPERANDS[0], device="cuda")
    mg.view_as_real(x)[..., 1] = 2.0
    assert x.imag.eq(2.0).all() and (x + x).cpu().tolist() == (OPERANDS[0].real * 2 + 4j).tolist()
    z = mg.tensor([1 + 2j, 3 + 4j, 5 + 6j], device="cuda")
    z.add_(z.flip(0).real)  # an operand in the memory of the result is read before it is written
    z.real.copy_(z.imag.flip(0))
    assert z.tolist() == [6 + 2j, 4 + 4j, 2 + 6j]


def test_what_depends_on_the_elements_is_refused():
    with pytest.raises(
        DeviceError, match="eigvals: in eig: the number of steps depends on the elements; compute on the CPU"
    ):
        mg.linalg.eigvals(mg.tensor(OPERANDS[2], device="cuda"))
