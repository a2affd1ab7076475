"""The arguments that cuBLAS receives: a substitute multiplies columns as cuBLAS documents it."""

import ctypes

import numpy as np
import pytest
from cases import over
from strided import arrange, blank, contents

from minigrad.backends.cuda import CudaBackend, blas
from minigrad.backends.cuda.blas import Blas
from minigrad.backends.cuda.simulator import Simulator
from minigrad.config import override
from minigrad.core import requests
from minigrad.core.dtype import bf16, cast_array, f16, f32, f64, i32, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import DeviceError

KINDS = {0: f32, 1: f64, 2: f16, 14: bf16}


class Library:
    """Two functions of cuBLAS on the memory of this process."""

    def __init__(self, status=0):
        self.calls, self.status = 0, status

    def cublasCreate_v2(self, handle):
        handle._obj.value = 77
        return 0

    def cublasGemmStridedBatchedEx(self, handle, turned_a, turned_b, m, n, k, *rest):
        alpha, *a, b_at, b_kind, b_lead, b_step, beta, c_at, c_kind, c_lead, c_step, count, sums, chosen = rest
        assert handle.value == 77 and chosen.value == -1
        dtype = KINDS[c_kind.value]
        assert sums.value == (70 if dtype is f64 else 68)
        number = ctypes.c_double if dtype is f64 else ctypes.c_float
        alpha, beta = alpha._obj, beta._obj
        assert type(alpha) is type(beta) is number
        b, c = (b_at, b_kind, b_lead, b_step), (c_at, c_kind, c_lead, c_step)
        for matrix in range(count.value):
            left = columns(*a, matrix, m.value, k.value, turned_a.value)
            right = columns(*b, matrix, k.value, n.value, turned_b.value)
            out = columns(*c, matrix, m.value, n.value, 0)
            values = alpha.value * np.float64(to_logical(left, dtype)) @ np.float64(to_logical(right, dtype))
            if beta.value:
                values = values + beta.value * np.float64(to_logical(out, dtype))
            out[:] = cast_array(values, dtype)
        self.calls += 1
        return self.status


def columns(at, kind, lead, step, matrix, rows, cols, turned):
    """A matrix that lies column by column, or its transpose."""
    kind, lead = KINDS[kind.value].storage, lead.value
    rows, cols = (cols, rows) if turned else (rows, cols)
    assert lead >= rows
    room = ctypes.c_uint8 * ((lead * (cols - 1) + rows) * kind.itemsize)
    flat = np.frombuffer(room.from_address(at.value + matrix * step.value * kind.itemsize), kind)
    strides = (kind.itemsize, lead * kind.itemsize)
    found = np.lib.stride_tricks.as_strided(flat, (rows, cols), strides, writeable=True)
    return found.T if turned else found


class Asked(Simulator):
    """A simulator that has a library, whose writes it does not see."""

    def __init__(self, library):
        super().__init__()
        self.found = Blas(library)

    @property
    def blas(self):
        return self.found

    def watched(self, launch, outs):
        return launch


def product(library, operands, out, alpha=1, beta=0):
    """A product by a backend that has the library; what it gives, and what it should give."""
    backend = CudaBackend(Asked(library))
    machine = backend.runtime
    launch = backend.prepare(requests.Product(alpha, beta), out[1], *(spec for _, spec in operands))
    buffers = []
    for buffer, _ in (*operands, out):
        there = machine.allocate(buffer.size, buffer.dtype)
        machine.copy_to_device(there, buffer)
        buffers.append(there)
    launch(*buffers)
    a, b, *c = (np.float64(contents(*x)) for x in operands)
    found = np.float64(contents(machine.copy_to_host(buffers[-1]), out[1]))
    return found, alpha * (a @ b) + (beta * c[0] if c else 0)


def numbers(shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)


@over("ways", [("dense", "dense"), ("dense", "transposed"), ("transposed", "offset"),
                                  ("transposed", "transposed")], ids="-".join)  # fmt: skip
@over("dtype", [f32, f64, f16, bf16], ids=str)
def test_products_in_the_words_of_cublas(dtype, ways):
    library = Library()
    operands = [arrange(numbers(s, i), dtype, way) for i, (s, way) in enumerate(zip([(3, 5), (5, 4)], ways))]
    found, wanted = product(library, operands, blank((3, 4), dtype, "offset"))
    assert library.calls == 1 and np.array_equal(found, wanted)


def test_batches_repeated_operands_and_sums():
    library = Library()
    a, b, c = (arrange(numbers(s, i), f32) for i, s in enumerate([(3, 4, 5), (5, 2), (3, 4, 2)]))
    repeated = b[0], Spec(b[1].layout.expand((3, 5, 2)), f32)
    for left, right in ((a, repeated), (a, arrange(numbers((3, 5, 2), 4), f32, "stepped"))):
        wide = Spec(Layout.contiguous((3, 4, 6)).narrow(2, 2, 2), f32)
        found, wanted = product(library, [left, right, c], (np.zeros(72, np.float32), wide), 2, -3)
        assert np.array_equal(found, wanted)
    assert library.calls == 1, "a matrix with gaps along both dims is no matrix of cuBLAS"


def test_what_it_has_no_words_for_is_left_to_the_kernels():
    cases = [
        (i32, (3, 5), (5, 4), "dense"), (f32, (1, 5), (5, 4), "dense"), (f32, (3, 5), (5, 1), "dense"),
        (f32, (3, 5), (5, 4), "stepped"), (f32, (3, 5), (5, 4), "flipped"),
    ]  # fmt: skip
    for dtype, left, right, way in cases:
        library = Library()
        operands = [arrange(numbers(left), dtype, way), arrange(numbers(right, 1), dtype)]
        found, wanted = product(library, operands, blank((left[0], right[1]), dtype))
        assert library.calls == 0 and np.array_equal(found, wanted)


def test_it_is_not_asked_where_a_setting_says_so_and_its_errors_are_told():
    operands = [arrange(numbers((3, 5)), f32), arrange(numbers((5, 4), 1), f32)]
    library = Library()
    with override(cublas=False):
        found, wanted = product(library, operands, blank((3, 4), f32))
    assert library.calls == 0 and np.allclose(found, wanted)
    with pytest.raises(DeviceError, match="a matrix product failed: cublasGemmStridedBatchedEx returned the status 13"):
        product(Library(13), operands, blank((3, 4), f32))


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (4, 4)], ids=str)
def test_a_batch_of_two_dims_is_a_call_for_each_index_of_the_shorter_one(sizes, monkeypatch):
    """Heads of attention: (texts, length, heads, features) seen as (texts, heads, length, features)."""
    library = Library()
    monkeypatch.setattr(blas, "WORK", 1)

    def heads(seed, turned=False):
        data = np.ascontiguousarray(numbers((*sizes, 5, 4), seed).astype(np.float32).transpose(0, 2, 1, 3))
        layout = Layout.contiguous(data.shape).permute((0, 2, 1, 3))
        return data.reshape(-1), Spec(layout.transpose(2, 3) if turned else layout, f32)

    found, wanted = product(library, [heads(0), heads(1, turned=True)], blank((*sizes, 5, 5), f32))
    assert library.calls == min(sizes) and np.array_equal(found, wanted)
    monkeypatch.setattr(blas, "CALLS", 1)
    found, wanted = product(library, [heads(0), heads(1, turned=True)], blank((*sizes, 5, 5), f32))
    assert library.calls == min(sizes) and np.array_equal(found, wanted), "by the kernels of this package"
