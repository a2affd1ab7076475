"""Kernels of users: `@mg.cuda.kernel` makes a function one, and says what it takes."""

import pytest

import minigrad as mg
from minigrad.backends.cuda import compile as compiler
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, KernelError, ShapeError


@mg.cuda.kernel
def shifted(x, out, n, by):
    """x[i] + by for n elements."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    if i < n:
        out[i] = x[i] + by


def ones(n=5, dtype="int32"):
    return mg.ones(n, dtype=dtype, device="cuda")


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_a_kernel_runs_for_each_dtype_that_it_is_given(dtype):
    out = ones(5, dtype)
    shifted[2, 3](ones(5, dtype), out, 5, 7)
    assert out.tolist() == [8] * 5 and shifted.__doc__ == "x[i] + by for n elements."
    shifted[(2, 1), (2, 1, 1)](out, out, 4, 1)
    assert out.tolist() == [9] * 4 + [8]


def test_a_kernel_is_loaded_once_for_each_kind_of_arguments():
    shifted.loaded.clear()
    for _ in range(3):
        shifted[1, 8](ones(), ones(), 5, 1)
    assert len(shifted.loaded) == 1
    assert "@device\ndef shifted(x, out, n, by):" in shifted.text(ones(), ones(), 5, 1)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: shifted(ones(), ones(), 1, 1), TypeError, "not callable"),
    (lambda: shifted[4], ArgumentError, r"write shifted\[blocks, threads\]"),
    (lambda: shifted[0, 4], ArgumentError, "one to three sizes from 1 on, not 0"),
    (lambda: shifted[1, (1, 1, 1, 1)], ArgumentError, "one to three sizes"),
    (lambda: shifted[1, 4](5, ones()), DTypeError, "takes tensors and after them ints"),
    (lambda: shifted[1, 4](ones(), ones(), 1.5, 1), DTypeError, "takes tensors and after them ints"),
    (lambda: shifted[1, 4](ones(), ones().cpu(), 5, 1), DeviceError, "is on cpu"),
    (lambda: shifted[1, 4](mg.ones(3), mg.ones(3), 3, 1), DeviceError, "only the first CUDA device can"),
    (lambda: shifted[1, 4](ones()[1:], ones(), 4, 1), ShapeError, "is a view; clone it"),
    (lambda: shifted[1, 4](ones(5, "float16"), ones(), 4, 1), DTypeError, "take no float16; use float32"),
    (lambda: shifted[1, 4](mg.Var([1.0], device="cuda"), ones(), 1, 1), GradientError, "a graph may need"),
    (lambda: mg.cuda.kernel(len)[1, 1](ones(1)), ArgumentError, "the source of 'len' cannot be read"),
])  # fmt: skip
def test_what_it_does_not_take_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_its_machine_language_can_be_read_where_the_compiler_is():
    if compiler.missing():
        with pytest.raises(KernelError, match="shifted is not compiled: "):
            shifted.ptx(ones(), ones(), 5, 1)
    else:
        assert ".entry" in shifted.ptx(ones(), ones(), 5, 1)
