"""Writes through the parts of complex numbers: the same function without a write has equal values and derivatives."""

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import GradientError

Z = np.random.default_rng(3).normal(size=(3, 4)) + 1j * np.random.default_rng(4).normal(size=(3, 4))


def put_in_rows(x, k, row):
    """Return x with another row k."""
    return mg.cat([x[:k], row[None], x[k + 1 :]])


def scaled_real_parts(z, r):
    y = z * 1.0
    y.real.mul_(r)
    return y


def part_after_a_write(z, r):
    y = z * 1.0
    part = y.real
    y.mul_(z)
    return part * r + y.imag


def pairs_of_squares(z, r):
    y = z * z
    pairs = mg.view_as_real(y)
    pairs[..., 1] = r
    pairs[0].mul_(2.0)
    return y * z


def pairs_seen_as_complex(z, r):
    pairs = mg.stack([r * 1.0, r * 2.0], -1)
    seen = mg.view_as_complex(pairs)
    seen[1].mul_(z[1])
    pairs[0].mul_(r[0, :, None])
    return seen * z + pairs.sum(-1)


def whole_by_its_part(z, r):
    y = z * 1.0
    y.mul_(y.real)
    y.real.mul_(y.imag)
    return y * r


def first_half_of_the_parts(z, r):
    y = z.flatten()[:4] * 1.5
    mg.view_as_real(y).reshape(8)[:4].mul_(r[0])  # a view with the layout of its base
    return y * y


def scaled_first_half(z, r):
    y = z.flatten()[:4] * 1.5
    return mg.cat([mg.complex(y.real[:2] * r[0, ::2], y.imag[:2] * r[0, 1::2]), y[2:]]) ** 2


def scalar(z, r):
    y = z[0, 0] * 1.5
    y.real.mul_(r[0, 0])
    return y * y


def strided_memory(z, r, y=None):
    y = mg.empty_strided((3, 4), (1, 3), dtype=mg.complex128, device="reference").zero_() if y is None else y
    y.copy_(z)
    y.real[1].mul_(r[1])
    y.imag[2].exp_()
    y[0].mul_(z[0])
    return y * y


def strided_pairs(z, r):
    pairs = mg.empty_strided((3, 4, 2), (2, 6, 1), dtype=mg.float64, device="reference").zero_()
    pairs.copy_(mg.stack([r, r * 2], -1))
    seen = mg.view_as_complex(pairs)
    seen[1].mul_(z[1])
    pairs[..., 0].mul_(r)
    seen.add_(z)
    return seen * seen


def constants_then_parts(z, r):
    y = mg.zeros(3, 4, dtype=mg.complex128, device="reference")
    y.real.copy_(r)
    y.imag.copy_(z.real)
    y.real[2].zero_()
    return y * z


def saved_result_of_pairs(z, r):
    pairs = mg.stack([r, r * 2], -1)
    seen = mg.view_as_complex(pairs)
    seen[1].exp_()  # saves its result, which the next write changes
    pairs.mul_(r[..., None])
    return seen * z


def behind_other_elements(z, r):
    y = mg.zeros(5, 4, dtype=mg.complex128, device="reference")[2:].detach()  # the base, at an offset
    y.copy_(z)
    y.imag[1].mul_(r[1])
    pairs = mg.zeros(9, 2, dtype=mg.float64, device="reference")[1:].detach()
    pairs.copy_(r.reshape(6, 2)[[0, 1, 2, 3, 4, 5, 0, 1]])
    mg.view_as_complex(pairs)[2:4].mul_(z[0, :2])
    return y[0, 0] * y.sum() + (pairs * pairs)[::2].sum()


def behind_other_elements_result(z, r):
    y = put_in_rows(z, 1, mg.complex(z.real[1], z.imag[1] * r[1]))
    pairs = r.reshape(6, 2)[[0, 1, 2, 3, 4, 5, 0, 1]]
    changed = mg.view_as_real(mg.view_as_complex(pairs[2:4] * 1.0) * z[0, :2])
    return y[0, 0] * y.sum() + (mg.cat([pairs[:2], changed, pairs[4:]]) ** 2)[::2].sum()


def transposed_memory_behind_others(z, r):
    line = mg.zeros(24, dtype=mg.complex128, device="reference")
    return strided_memory(z, r, line.as_strided((3, 4), (1, 3), 5).detach())


def strided_result(z, r):
    y = put_in_rows(z, 1, mg.complex(z.real[1] * r[1], z.imag[1]))
    y = put_in_rows(y, 2, mg.complex(y.real[2], y.imag[2].exp()))
    return put_in_rows(y, 0, y[0] * z[0]) ** 2


def strided_pairs_result(z, r):
    y = mg.complex(r, 2 * r)
    y = put_in_rows(y, 1, y[1] * z[1])
    return (mg.complex(y.real * r, y.imag) + z) ** 2


def product_by_parts(z, r):
    y = z * z.real
    return mg.complex(y.real * y.imag, y.imag) * r


def pairs_result(z, r):
    seen = mg.complex(r, 2 * r)
    seen = put_in_rows(seen, 1, seen[1] * z[1])
    seen = put_in_rows(seen, 0, seen[0] * r[0])
    return seen * z + seen.real + seen.imag


WRITES = [
    (scaled_real_parts, lambda z, r: mg.complex(z.real * r, z.imag)),
    (part_after_a_write, lambda z, r: (z * z).real * r + (z * z).imag),
    (pairs_of_squares, lambda z, r: (
        lambda y: put_in_rows(y, 0, y[0] * 2.0) * z)(mg.complex((z * z).real, r))),
    (pairs_seen_as_complex, pairs_result),
    (whole_by_its_part, product_by_parts),
    (strided_memory, strided_result),
    (transposed_memory_behind_others, strided_result),
    (saved_result_of_pairs, lambda z, r: (
        lambda pairs: put_in_rows(pairs, 1, pairs[1].exp()) * r * z)(mg.complex(r, 2 * r))),
    (behind_other_elements, behind_other_elements_result),
    (first_half_of_the_parts, scaled_first_half),
    (scalar, lambda z, r: mg.complex(z.real[0, 0] * 1.5 * r[0, 0], z.imag[0, 0] * 1.5) ** 2),
    (strided_pairs, strided_pairs_result),
    (constants_then_parts, lambda z, r: mg.complex(put_in_rows(r, 2, 0 * r[2]), z.real) * z),
]  # fmt: skip


@over(("write", "wanted"), WRITES, ids=[write.__name__ for write, _ in WRITES])
def test_a_write_through_a_view_of_parts_is_recorded(write, wanted):
    found = []
    for function in (write, wanted):
        z, r = mg.Var(Z, device="reference"), mg.Var(Z.real * 2 + 1, device="reference")
        y = function(z, r)
        loss = (mg.view_as_real(y) ** 3).sum() if y.dtype.is_complex else (y**3).sum()
        first = mg.autograd.grad(loss, (z, r), create_graph=True)
        second = mg.autograd.grad(mg.view_as_real(first[0]).square().sum() + first[1].square().sum(), (z, r))
        found.append([x.detach().numpy() for x in (y, *first, *second)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_a_saved_part_that_a_write_changes_is_noticed():
    z = mg.Var(Z, device="reference")
    y = z * 1.0
    product = y.real * y.imag
    y.imag.add_(1.0)
    with pytest.raises(mg.StorageError, match="changed in place"):
        product.sum().backward()


@over("transform", [mg.func.vmap, lambda f: lambda z: mg.func.jvp(f, (z,), (z,))])
def test_a_write_through_a_part_inside_a_transform_is_refused(transform):
    def write(z):
        y = z * z
        y.imag.mul_(2.0)
        return y

    with pytest.raises(GradientError, match="another tensor or a saved value shares its memory"):
        transform(write)(mg.tensor(Z, device="reference"))


@over("write", [lambda z, part: part.add_(1.0) + z, lambda z, part: (z.mul_(2.0), part * part)[1]])
def test_vmap_writes_into_an_input_that_another_input_is_a_part_of(write):
    found = []
    for function in (write, mg.func.vmap(write)):
        z = mg.Var(Z, device="reference")
        y = z * 1.0
        result = function(y, y.real)
        found.append([x.numpy(force=True) for x in (result, y, mg.grad(result.real.sum(), z))])
    for eager, mapped in zip(*found, strict=True):
        np.testing.assert_array_equal(eager, mapped)
