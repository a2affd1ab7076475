"""Complex dtypes: promotion as in PyTorch, weak Python numbers, casts that lose nothing, and storages of parts."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.dtype import (
    ALL,
    bool_,
    cast_array,
    casts_as_numpy,
    complex64,
    complex128,
    fit_number,
    float16,
    float32,
    float64,
    int64,
    promote,
    promote_all,
)
from minigrad.core.storage import Storage
from minigrad.errors import DTypeError

# The dtypes whose promotion with a complex dtype is complex128 in PyTorch 2.13.
WIDE = {float64, complex128}


@pytest.mark.parametrize("dtype", ALL)
def test_a_complex_dtype_and_another_promote_by_their_widths(dtype):
    assert promote(complex64, dtype) is (complex128 if dtype in WIDE else complex64)
    assert promote(dtype, complex128) is complex128


def test_a_complex_scalar_takes_the_width_of_floats_with_dims():
    assert promote_all([(float32, 1), (complex128, 0)]) is complex64
    assert promote_all([(float64, 1), (complex64, 0)]) is complex128
    assert promote_all([(int64, 1), (complex128, 0)]) is complex128
    assert promote_all([(complex64, 1), (float64, 0)]) is complex64


def test_the_dtypes_of_parts_and_of_pairs():
    assert [d.to_real() for d in (complex64, complex128, int64)] == [float32, float64, int64]
    assert [d.to_complex() for d in (float16, float32, float64, int64)] == [complex64, complex64, complex128, complex64]
    assert mg.finfo(complex64).eps == 2.0**-23 and mg.default_complex() is complex64


@pytest.mark.parametrize("dtype", ALL)
def test_only_a_cast_to_bool_may_drop_an_imaginary_part(dtype):
    values = np.array([1 + 2j, 0j, 1j])
    assert not casts_as_numpy(complex64, dtype) or dtype.is_complex
    if dtype.is_complex:
        assert cast_array(values, dtype).tolist() == values.tolist()
    elif dtype is bool_:
        assert cast_array(values, dtype).tolist() == [True, False, True]
    else:
        with pytest.raises(DTypeError, match=f"from complex128 to {dtype} would lose the imaginary parts"):
            cast_array(values, dtype)
        with pytest.raises(DTypeError, match=f"1j does not fit {dtype}, which has no imaginary part"):
            fit_number(1j, dtype)
    back = cast_array(np.array([3]).astype(dtype.numpy), complex64)
    assert back.dtype == np.complex64 and back.item() == (1 if dtype is bool_ else 3)


def test_parts_are_a_storage_that_shares_memory_version_and_tracking():
    whole = Storage.of(1 + 2j, 3j, dtype=complex64)
    parts = whole.seen_as(float32)
    assert parts is whole.seen_as(float32) and parts.seen_as(complex64) is whole
    assert [parts[k] for k in range(4)] == [1, 2, 0, 3]
    parts.buffer[1] = 7
    parts.bump()
    whole.tracked = True
    assert whole[0] == 1 + 7j and whole.version == parts.version == 1 and parts.tracked


def test_memory_returns_to_the_allocator_after_its_views_of_parts():
    def made():
        return mg.zeros(1000, dtype=mg.complex64).real.data_ptr()

    made()
    assert len({made() for _ in range(8)}) == 1  # each call receives the memory that the last one has returned


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_python_numbers_arrays_and_nested_lists(device):
    x = mg.tensor([1 + 2j, 3], device=device)
    assert x.dtype is mg.complex64 and x.tolist() == [1 + 2j, 3] and x[0].item() == complex(x[0]) == 1 + 2j
    assert mg.tensor(np.array([1j]), device=device).dtype is mg.complex128
    assert mg.Var([1, 2j]).dtype is mg.complex64 and mg.full((2,), 1j, device=device).tolist() == [1j, 1j]
    assert (mg.tensor([1, 2], device=device) * 1j).tolist() == [1j, 2j]
    # Zeros that differ in the sign of a part are different constants.
    ones = mg.ones(1, dtype=mg.complex64, device=device)
    assert str((ones * 0 + complex(1, -0.0)).imag.tolist()) == "[0.0]"
    assert str((ones.imag * 0 - 0.0).tolist()) == "[0.0]"
    for text, number in (("(1-0j)", complex(1, -0.0)), ("(1+0j)", 1 + 0j)):
        assert str(mg.tensor(number, device=device).item()) == text
    with pytest.raises(DTypeError, match="would lose the imaginary parts"):
        mg.tensor([1j], dtype=mg.float32, device=device)


def test_complex_numbers_are_printed_as_pairs():
    assert repr(mg.tensor([1 + 2j, -3j])) == "tensor([ 1.+2.j, -0.-3.j], dtype=complex64)"
    assert repr(mg.tensor([0.5, 1e-3j])) == "tensor([0.5000+0.0000j, 0.0000+0.0010j], dtype=complex64)"
