"""Kernels of users: `@mg.cuda.kernel` makes a function one, and says what it takes."""

import pytest
from cases import over

import minigrad as mg
from minigrad.backends.cuda import compile as compiler
from minigrad.backends.cuda.own import written
from minigrad.config import settings
from minigrad.core.storage import ConstantStorage
from minigrad.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    KernelError,
    ShapeError,
    StorageError,
)


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


@over(("call", "error", "words"), [
    (lambda: shifted(ones(), ones(), 1, 1), TypeError, "not callable"),
    (lambda: shifted[4], ArgumentError, r"write shifted\[blocks, threads\]"),
    (lambda: shifted[0, 4], ArgumentError, "one to three positive ints as the size of a grid or block, got 0"),
    (lambda: shifted[1, (1, 1, 1, 1)], ArgumentError, "one to three positive ints"),
    (lambda: shifted[2.5, 4], ArgumentError, "one to three positive ints as the size of a grid or block, got 2.5"),
    (lambda: shifted[1, "ab"], ArgumentError, "one to three positive ints as the size of a grid or block, got 'ab'"),
    (lambda: shifted[1, (2, 1.5)], ArgumentError, "one to three positive ints"),
    (lambda: shifted[1, None], ArgumentError, "one to three positive ints"),
    (lambda: shifted[1, ()], ArgumentError, "one to three positive ints"),
    (lambda: mg.cuda.kernel(lambda x: x)[1, 1](ones(1)), ArgumentError, "got a lambda"),
    (lambda: shifted[1, 4](5, ones()), DTypeError, "arguments must be tensors, followed by ints"),
    (lambda: shifted[1, 4](ones(), ones(), 1.5, 1), DTypeError, "arguments must be tensors, followed by ints"),
    (lambda: shifted[1, 4](ones(), ones().cpu(), 5, 1), DeviceError, "got .* on cpu"),
    (lambda: shifted[1, 4](mg.ones(3), mg.ones(3), 3, 1), DeviceError, "supports only the first CUDA device"),
    (lambda: shifted[1, 4](ones()[1:], ones(), 4, 1), ShapeError, r"pass x\.clone\(\)\.contiguous"),
    (lambda: shifted[1, 4](ones(5, "float16"), ones(), 4, 1), DTypeError, "does not support tensors of float16"),
    (lambda: shifted[1, 4](ones(), mg.Var([1.0], device="cuda"), 1, 1), GradientError, "cannot write into a Var"),
    (lambda: mg.cuda.kernel(len)[1, 1](ones(1)), ArgumentError, "the source text of 'len' cannot be read"),
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


# ---- what is written -------------------------------------------------------------------------------------------------


def plain(a, b, out):
    out[0] = a[b[0]] + b[a[0]]


def added(a, b):
    a[0] += b[0]


def atomic(a, b):
    cuda.atomic.add(a, 0, b[0])  # noqa: F821


def handed_on(a, b):
    helper(a, b[0])  # noqa: F821


def renamed(a, b):
    other = a
    other[0] = b[0]


def unpacked(a, b, c):
    a[0], (c[0], _there) = b[0], (b[1], b[2])


def looped(a, b):
    for a[0] in range(3):
        b[0]


def wide(a, b, c, n):
    store_4(b, 0, load_4(a, 0))  # noqa: F821
    copy_async(c, 0, a, 0, n)  # noqa: F821


def inside(a, b):
    def helper():
        b[0] = a[0]

    helper()


def any_number(a, *rest):
    rest[0][0] = a[0]


@pytest.mark.parametrize(("function", "places"), [
    (plain, [2]), (added, [0]), (atomic, [0]), (handed_on, [0]), (renamed, [0]), (unpacked, [0, 2]), (looped, [0]),
    (wide, [1, 2]), (inside, [1]), (any_number, [1, 2]),
])  # fmt: skip
def test_what_a_kernel_may_write_is_read_from_its_text(function, places):
    count = 3 if function in (wide, any_number) else function.__code__.co_argcount
    assert written(function, count) == places


def kernel(x, out, n):
    """Named as what calls it in the module."""
    cuda.syncthreads()  # noqa: F821
    out[cuda.threadIdx.x] = x[cuda.threadIdx.x] + n  # noqa: F821


def numbers(x, out, n):
    """Named as the integers of what calls it."""
    out[cuda.threadIdx.x] = x[cuda.threadIdx.x] + n  # noqa: F821


def p1(x, out, n):
    """Named as a pointer of what calls it."""
    out[cuda.threadIdx.x] = x[cuda.threadIdx.x] + n  # noqa: F821


@pytest.mark.parametrize("function", [kernel, numbers, p1])
def test_a_kernel_may_have_any_name(function):
    out = ones(3)
    mg.cuda.kernel(function)[1, 3](ones(3), out, 4)
    assert out.tolist() == [5] * 3


def by_a_reader_of_its_own(a, b):
    def load_4(p, i):
        p[i] = 1

    load_4(a, b[0])


def test_a_function_of_the_users_is_not_the_reader_of_the_same_name():
    assert 0 in written(by_a_reader_of_its_own, 2)


def by_keyword(x, *, out):
    """Cannot be given what it writes."""
    out[0] = x[0]


FACTOR = 2


def of_its_surroundings(x, out):
    """Uses names of the module, also in a function of its own."""

    def twice(value):
        return FACTOR * value + sum(pytest for _ in range(2))

    out[0] = twice(x[0])


def abs(x):
    """Not the one that the compiler knows."""
    return x


def of_another_meaning(x, out):
    """Uses a name that means something else here."""
    out[0] = abs(x[0])


def of_another_np():
    """A kernel whose np is not NumPy."""
    np = mg

    def of_np(x, out):
        out[0] = np.float32(x[0])

    return of_np


def of_later():
    """A kernel that names what is not there yet."""

    def of_none(x, out):
        out[0] = x[0] + later

    yield of_none
    later = 1
    yield later


@pytest.mark.parametrize(("function", "given", "words"), [
    (of_another_meaning, [2], "np, math and cuda, but it uses abs of the outer scope"),
    (of_another_np(), [2], "np, math and cuda, but it uses np of the outer scope"),
    (next(of_later()), [2], "np, math and cuda, but it uses later of the outer scope"),
    (of_its_surroundings, [2], "np, math and cuda, but it uses FACTOR, pytest of the outer scope; pass"),
    (shifted.function, [2, 1], "shifted: .*missing a required argument: 'by'"),
    (shifted.function, [2, 1, 2, 3], "shifted: .*too many positional arguments"),
    (by_keyword, [2], "by_keyword: .*(too many positional|missing a required)"),
    (shifted.function, [2, 1, 1 << 63], "shifted: an int must fit into 64 bits, got 9223372036854775808"),
])  # fmt: skip
def test_what_does_not_fit_its_arguments_is_said_before_anything_runs(function, given, words):
    x = ones(3)
    with pytest.raises(ArgumentError, match=words):
        mg.cuda.kernel(function)[1, 1](*[x] * given[0], *given[1:])
    assert x.storage.version == 0


def annotated(x: mg.Tensor, out: "mg.Tensor", by: FACTOR = 2) -> None:
    """Its annotations name what is not there, and nobody looks them up."""

    def shift(value: mg.Tensor) -> mg.Tensor:
        result: mg.Tensor = value + by
        return result

    out[0] = shift(x[0])


def test_annotations_are_not_looked_up():
    x, out = ones(3), ones(3)
    mg.cuda.kernel(annotated)[1, 1](x, out, 2)
    assert out.tolist() == [3, 1, 1]


@mg.cuda.kernel
def places(out):
    i = cuda.grid(1)  # noqa: F821
    row, column = cuda.grid(2)  # noqa: F821
    out[i] = 100 * row + 10 * column + cuda.gridsize(1)  # noqa: F821


@mg.cuda.kernel
def misspelt(out):
    out[0] = cuda.thread  # noqa: F821


def test_places_in_the_grid_are_those_of_numba():
    out = ones(6)
    places[2, 3](out)
    assert out.tolist() == [100 * i + 6 for i in range(6)]
    simulated = r"the simulator does not support cuda.thread; it supports .*blockDim, .*threadIdx"
    compiled = "misspelt_i32_0: the kernel cannot be compiled: module 'numba.cuda' has no attribute 'thread'"
    with pytest.raises(KernelError, match=simulated if settings.cuda == "simulator" else compiled):
        misspelt[1, 1](out)


@mg.cuda.kernel
def doubled(x):
    """x[i] *= 2."""
    x[cuda.threadIdx.x] *= 2.0  # noqa: F821


def test_a_write_is_counted_and_a_read_is_not():
    x, out = ones(), ones()
    shifted[1, 8](x, out, 5, 1)
    assert (x.storage.version, out.storage.version) == (0, 1)


def test_a_value_that_a_graph_saved_is_not_overwritten_in_silence():
    x = mg.Var([1.0, 2.0, 3.0], device="cuda")
    saved = mg.tensor([4.0, 5.0, 6.0], device="cuda")
    y = (x * saved).sum()
    doubled[1, 3](saved)
    with pytest.raises(StorageError, match="version"):
        y.backward()


def test_debug_mode_names_who_saved_it_before_the_write():
    x, saved = mg.Var([1.0, 2.0], device="cuda"), mg.tensor([4.0, 5.0], device="cuda")
    with mg.debug():
        y = (x * saved).sum()
        with pytest.raises(StorageError, match="saved for its gradient"):
            doubled[1, 2](saved)
    y.backward()
    assert x.grad.tolist() == [4.0, 5.0]


def test_what_gradients_flow_through_is_written_only_where_nothing_is_recorded():
    x = mg.Var([1.0, 2.0], device="cuda")
    y = x * 3
    for tensor in (x, y):
        with pytest.raises(GradientError, match="doubled: "):
            doubled[1, 2](tensor)
    with mg.no_grad():
        doubled[1, 2](x)
        doubled[1, 2](y)
    assert (x.tolist(), y.tolist()) == ([2.0, 4.0], [6.0, 12.0])
    with pytest.raises(GradientError):
        y.sum().backward()
    kept = x.detach()
    doubled[1, 2](kept)
    assert x.tolist() == [4.0, 8.0]


def test_what_gradients_flow_through_may_be_read_and_nothing_is_recorded():
    x, out = mg.Var([1.0, 2.0], device="cuda"), mg.empty(2, device="cuda")
    shifted[1, 2](x * 2, out, 2, 1)
    assert out.tolist() == [3.0, 5.0] and not out.requires_grad and out.storage.version == 1


def test_shared_numbers_and_results_of_inference_mode_are_not_written():
    x = ones(2, "float32")
    constant = mg.Tensor(ConstantStorage(x.storage.buffer, x.dtype, x.device), x.layout)
    with pytest.raises(StorageError, match=r"doubled: .* other results share"):
        doubled[1, 2](constant)
    with mg.inference_mode():
        y = x * 3
        doubled[1, 2](y)
    with pytest.raises(GradientError, match="inference_mode"):
        doubled[1, 2](y)
    shifted[1, 2](y, x, 2, 1)
    assert x.tolist() == [7.0, 7.0]


def test_a_value_of_a_transform_is_refused():
    x = mg.ones(2, 3, device="cuda")
    for at in range(2):

        def run(row, at=at):
            given = [ones(3, "float32"), ones(3, "float32")]
            given[at] = row
            shifted[1, 3](*given, 3, 1)
            return row

        with pytest.raises(GradientError, match="custom kernels do not support transforms"):
            mg.func.vmap(run)(x)


def test_a_kernel_that_fails_has_written_what_it_has_written(simulator):
    x = ones(2, "float32")
    with pytest.raises(KernelError):
        doubled[1, 3](x)
    assert x.storage.version == 1
