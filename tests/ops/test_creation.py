"""Creation: the dtype and the number of elements."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.dtype import ALL, DType, bfloat16, cast_array
from minigrad.errors import ArgumentError, DTypeError, ShapeError


def test_arange_takes_the_integers_of_numpy_for_integers() -> None:
    x = mg.arange(np.int64(3))
    assert x.dtype is mg.int64 and x.tolist() == [0, 1, 2]
    # 2 - 5 would wrap around to 253 in uint8.
    assert mg.arange(np.uint8(5), np.uint8(2), -1).tolist() == [5, 4, 3]


def test_arange_fills_a_dtype_to_its_bounds() -> None:
    assert mg.arange(254, 256, dtype="uint8").tolist() == [254, 255]
    assert mg.arange(-127, -129, -1, dtype="int8").tolist() == [-127, -128]


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, int])
def test_limits_of_random_numbers_may_be_any_kind_of_number(kind):
    mg.manual_seed(3)
    wanted = mg.uniform((5,), -2.0, 2.0).tolist(), mg.normal(1.0, 2.0, (5,)).tolist()
    mg.manual_seed(3)
    assert (mg.uniform((5,), kind(-2), kind(2)).tolist(), mg.normal(kind(1), kind(2), (5,)).tolist()) == wanted


@pytest.mark.parametrize("make", [mg.zeros, mg.ones, mg.empty, mg.rand, mg.randn])
def test_a_shape_may_be_passed_by_name(make) -> None:
    assert make(size=(2, 3), device="reference").shape == (2, 3)
    assert make(size=2, device="reference").shape == (2,)
    with pytest.raises(TypeError, match=f"{make.__name__}\\(\\) got the argument size twice"):
        make(2, size=(2, 3))


def test_a_factory_called_again_distinguishes_equal_arguments() -> None:
    for _ in range(2):
        assert np.signbit(mg.full((2,), -0.0).numpy()).all() and not np.signbit(mg.full((2,), 0.0).numpy()).any()
        assert [mg.full((1,), value).dtype for value in (0, 0.0, False)] == [mg.int64, mg.float32, mg.bool]
        assert np.isnan(mg.full((2,), float("nan")).numpy()).all()
        with pytest.raises(ArgumentError, match="a size must be an int, got True"):
            mg.zeros(True)
        assert mg.zeros(1).shape == (1,) == mg.empty(1).shape
        with pytest.raises(ShapeError, match="ones: sizes must be 0 or more"):
            mg.ones(2, -1)
    first, second = mg.zeros(3), mg.zeros(3)
    first += 1
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_a_factory_called_again_follows_the_default_dtype() -> None:
    mg.zeros(2), mg.empty(2)
    before = mg.get_default_dtype()
    try:
        mg.set_default_dtype("float64")
        assert mg.zeros(2).dtype is mg.empty(2).dtype is mg.tensor([1.0]).dtype is mg.float64
    finally:
        mg.set_default_dtype(before)


@over("dtype", [None, "float64", "float16", "int8", "uint8", "bool"])
@over(
    "data",
    [2.5, 3, True, [1.5, -2.0], [1, 2], [True, False], [1, 2.5], [[1.0], [2.0]], ((0, 1), [1, 0]), [[[True]]], [], [[]],
     [float("inf"), float("nan"), 1e300, -0.0], [3.4028236e38]],
    ids=str,
)  # fmt: skip
def test_plain_numbers_become_the_same_tensor_as_numbers_of_numpy(data, dtype) -> None:
    def wrapped(item):
        if isinstance(item, (list, tuple)):
            return [wrapped(each) for each in item]
        return {bool: np.bool_, int: np.int64, float: np.float64}[type(item)](item)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mg.tensor(data, dtype=dtype)
    dtype = x.dtype if dtype is None else dtype  # numbers of NumPy have dtypes of their own
    y = mg.tensor(wrapped(data), dtype=dtype) if isinstance(data, (list, tuple)) else mg.tensor([data], dtype=dtype)[0]
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert x.numpy().tobytes() == y.numpy().tobytes()


@pytest.mark.parametrize("source", ALL, ids=str)
def test_an_array_is_converted_by_the_rules_of_casts(source: DType) -> None:
    between = 1 + 2.0**-8 + 2.0**-40  # rounded to float32 first, it would become 1 in bfloat16
    numbers = np.array(
        [0, -0.0, 1, 2.5, -2.5, 255, 256, -129, 65520, 1e10, 1e300, -1e300, np.nan, np.inf, 5e-324, between]
    )
    if source.is_complex:  # imaginary parts of their own; a product with 1j would make nan of inf
        numbers = np.stack([numbers, numbers[::-1]], axis=-1).view(np.complex128)[:, 0]
    array = cast_array(numbers, source).view(source.numpy)
    turned = array.astype(array.dtype.newbyteorder()) if source is not bfloat16 else array
    for dtype in ALL:
        if source.is_complex and not dtype.is_complex and dtype is not mg.bool_:
            with pytest.raises(DTypeError, match=f"from {source} to {dtype} would lose the imaginary parts"):
                mg.tensor(array, dtype=dtype)
            continue
        wanted = cast_array(array, dtype)
        if dtype.is_complex:
            with np.errstate(all="ignore"):
                assert wanted.tobytes() == array.astype(dtype.numpy).tobytes(), dtype
        for values in (array, array[::-1][::-1], array[:0], turned):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = mg.tensor(values, dtype=dtype).storage.buffer[: values.size]
            assert np.array_equal(found.view(np.uint8), wanted[: values.size].view(np.uint8)), dtype


def test_pythons_float_as_a_dtype_has_64_bits_and_as_a_value_the_default():
    assert mg.ones(2, dtype=float, device="reference").dtype is mg.float64
    assert mg.tensor([1], device="reference").to(float).dtype is mg.float64
    assert mg.tensor([1.0], dtype=int, device="reference").dtype is mg.int64
    for made in (mg.tensor(1.0, device="reference"), mg.full((2,), 1.0, device="reference"), mg.scalar_tensor(1.0)):
        assert made.dtype is mg.float32


def test_a_tensor_without_dims_is_a_number():
    three, half = mg.tensor(3, device="reference"), mg.tensor(0.5, device="reference")
    assert mg.arange(three, device="reference").tolist() == [0, 1, 2]
    assert mg.arange(0, three, half, device="reference").tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert mg.full((2,), three, device="reference").dtype is mg.int64
    assert mg.full((2,), half, dtype="float64", device="reference").tolist() == [0.5, 0.5]
    assert mg.full_like(half, half).tolist() == 0.5
    assert mg.linspace(0, three, 4, device="reference").tolist() == [0.0, 1.0, 2.0, 3.0]
    for call in (lambda: mg.full((2,), mg.ones(2)), lambda: mg.arange(mg.ones(2))):
        with pytest.raises(DTypeError, match="must be a number, got float32"):
            call()


def test_large_ints_become_floats_and_arrays_without_dims_are_numbers():
    assert mg.tensor([2**64, 1], dtype=mg.float64, device="reference").tolist() == [2.0**64, 1.0]
    assert mg.tensor([np.array(1), 2.5], device="reference").tolist() == [1.0, 2.5]


def test_numbers_of_numpy_and_tensors_in_a_list_keep_their_dtypes():
    with mg.device("reference"):
        assert mg.tensor([np.float64(5.0), 1]).dtype is mg.float64 and mg.tensor([np.int32(5)]).dtype is mg.int32
        assert mg.tensor([np.array([5, 6], np.int16), [1, 2]]).dtype is mg.int64
        assert mg.tensor([mg.tensor(1.0, dtype=mg.float64), 2.5]).dtype is mg.float64
        assert mg.tensor([np.float16(1.0), 2]).dtype is mg.float16
        assert mg.hann_window(3, layout=mg.strided).tolist() == mg.hann_window(3).tolist()


def test_an_empty_dim_leaves_the_strides_of_the_other_dims():
    assert mg.empty(5, 0, 3, device="reference").stride() == (3, 3, 1)
    assert mg.empty(5, 0, device="reference").is_contiguous()


def test_dims_lie_in_memory_in_the_order_of_empty_permuted():
    assert mg.empty_permuted((2, 3, 4), (2, 0, -2), device="reference").stride() == (3, 1, 6)


def test_spaced_values_are_not_bools():
    for spaced in (mg.linspace, mg.logspace):
        with pytest.raises(DTypeError, match=f"{spaced.__name__}: dtype must be a dtype of numbers, got bool"):
            spaced(0, 1, 3, dtype=bool)
