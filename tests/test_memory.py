"""Tensors over existing memory, windows, and the functions that write into their argument."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError, StorageError

pytestmark = pytest.mark.usefixtures("reference")


def test_asarray_leaves_gradients_as_they_are() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    assert (mg.asarray(x, dtype=mg.float64) * 3.0).sum().backward()[x].tolist() == [3.0, 3.0]
    assert not mg.asarray(x, requires_grad=False).requires_grad


def test_from_file_maps_the_first_elements(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(6, dtype=np.int16).tofile(path)
    x = mg.from_file(str(path), shared=True, size=3, dtype=mg.int16)
    x[0] = 9
    assert x.tolist() == [9, 1, 2] and mg.from_file(str(path), size=1, dtype=mg.int16).tolist() == [9]


def test_asarray_shares_memory_where_it_can() -> None:
    array = np.arange(3.0)
    x = mg.asarray(array)
    x[0] = 5.0
    assert array[0] == 5.0 and mg.asarray(x).data_ptr() == x.data_ptr()
    copies = mg.asarray(x, copy=True), mg.asarray(array, dtype=mg.float32), mg.asarray([5.0, 1.0, 2.0])
    assert all(y.tolist() == [5.0, 1.0, 2.0] and y.data_ptr() != x.data_ptr() for y in copies)
    assert mg.asarray(bytearray(4), dtype=mg.int16).tolist() == [0, 0]
    assert mg.asarray(array, requires_grad=True).requires_grad
    for wrong in (lambda: mg.asarray([1.0], copy=False), lambda: mg.asarray(x, dtype=mg.float32, copy=False)):
        with pytest.raises(ArgumentError, match="copy=False requires an object whose memory"):
            wrong()


def test_frombuffer_reads_the_elements_inside_of_a_buffer() -> None:
    data = bytearray(np.arange(6, dtype=np.int16).tobytes())
    assert mg.frombuffer(data, dtype=mg.int16, count=2, offset=4).tolist() == [2, 3]
    for options in ({"count": 7}, {"offset": 12}, {"offset": 1}):
        with pytest.raises(ArgumentError, match="inside the 12 bytes"):
            mg.frombuffer(data, dtype=mg.int16, **options)
    constant = b"1234"
    assert mg.frombuffer(constant, dtype=mg.uint8).add_(1).tolist() == [50, 51, 52, 53] and constant == b"1234"


def test_strides_and_the_memory_of_a_tensor_can_be_chosen() -> None:
    assert mg.empty_strided((2, 3), (1, 2)).strides == mg.zeros(1).new_empty_strided((2, 3), (1, 2)).strides == (1, 2)
    source = mg.arange(6.0)
    x = mg.zeros(2)
    assert x.set_(source.storage, 1, (2, 2), (2, 1)) is x and x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.set_(source).shape == (6,) and x.set_().shape == (0,)
    bits = source.untyped_storage()
    assert mg.zeros(0).set_(bits, 4, (2,)).tolist() == [4.0, 5.0] and len(bits.clone()) == 24
    assert mg.tensor(bits, dtype=mg.float32).tolist() == mg.tensor(source.storage).tolist() == source.tolist()
    with pytest.raises(DTypeError, match="expected bytes or a storage of float64"):
        mg.tensor(source.storage, dtype=mg.float64)
    assert mg.as_strided(source, (2, 2), (1, 2), 1).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    for wrong, error in ((mg.zeros(1, dtype=mg.int64), DTypeError), (source.storage, StorageError)):
        with pytest.raises(error, match=r"^set_: "):
            mg.zeros(1).set_(wrong, 0, (7,))
    with pytest.raises(GradientError):
        mg.Var([1.0]).set_(source)


def test_windows_and_ranges_have_the_values_of_pytorch() -> None:
    expected = {
        "hann": [0.0, 0.75, 0.75, 0.0], "hamming": [0.08, 0.77, 0.77, 0.08], "blackman": [0.0, 0.63, 0.63, 0.0],
        "bartlett": [0.0, 2 / 3, 2 / 3, 0.0], "kaiser": [5.2773e-05, 0.51884, 0.51884, 5.2773e-05],
    }  # fmt: skip
    for name, values in expected.items():
        make = getattr(mg, f"{name}_window")
        assert make(4, False).tolist() == pytest.approx(values, abs=1e-5)
        assert make(1).tolist() == [1.0] and make(3, True).tolist() == pytest.approx(make(4, False).tolist()[:3])
    assert mg.range(0, 1, 0.5).tolist() == [0.0, 0.5, 1.0]
    matrix = mg.zeros(2, 3)
    mg.arange(4, out=matrix[:, 1:])
    assert matrix.tolist() == [[0.0, 0.0, 1.0], [0.0, 2.0, 3.0]]
    assert mg.vander(mg.tensor([2, 3])).tolist() == [[2, 1], [3, 1]]
    assert mg.vander(mg.tensor([2, 3]), 3, True).tolist() == [[1, 2, 4], [1, 3, 9]]


def test_functions_write_into_their_argument_as_methods_do() -> None:
    x = mg.tensor([-1.0, 2.0])
    assert mg.clamp_(x, 0.0) is x and mg.index_put_(x, (mg.tensor([1]),), mg.tensor(7.0)) is x
    assert x.tolist() == [0.0, 7.0] and mg.is_signed(x) and not mg.is_inference(x)
    x.masked_scatter_(mg.tensor([True, False]), mg.tensor([3.0]))
    assert x.map2_(mg.ones(2), mg.ones(2), lambda a, b, c: a + b + c).tolist() == [5.0, 9.0]


def test_an_operator_leaves_objects_of_other_classes_to_their_own_operator() -> None:
    class Other:
        def __radd__(self, left: object) -> str:
            return "right"

        def __rmatmul__(self, left: object) -> str:
            return "product"

    x = mg.ones(2)
    assert (x + Other(), x @ Other()) == ("right", "product")
    for name in ("__sub__", "__rmul__", "__iadd__", "__lt__"):
        assert getattr(x, name)(Other()) is NotImplemented
    for wrong in (lambda: x + "1.0", lambda: x * None, lambda: mg.add(x, Other())):
        with pytest.raises(DTypeError, match=r"wrap data in mg\.tensor"):
            wrong()
    assert x.roll(1, None).tolist() == [1.0, 1.0] and x.narrow(0, -1, 1).shape == (1,)
    assert x.var(correction=None).item() == 0.0 and mg.randint(0, 2, (3,), dtype=mg.bool).dtype is mg.bool
    image = mg.zeros(1, 2, 3, 4).contiguous(memory_format=mg.channels_last)
    assert image.is_contiguous(memory_format=mg.channels_last) and not image.is_contiguous()
    assert mg.zeros(2, layout=mg.strided).shape == mg.zeros_like(x, layout=mg.strided).shape == (2,)


MAKERS = {
    "zeros": (2,), "ones": (2,), "full": ((2,), 1.0), "empty": (2,), "rand": (2,), "randn": (2,), "randperm": (2,),
    "randint": (3, (2,)), "arange": (2,), "linspace": (0, 1, 2), "logspace": (0, 1, 2), "eye": (2,),
    "hann_window": (2,), "tensor": ([1, 2],), "scalar_tensor": (1.0,), "empty_strided": ((2,), (1,)),
    "empty_permuted": ((2,), (0,)), "zeros_like": (mg.ones(2),), "full_like": (mg.ones(2), 1.0),
    "randint_like": (mg.ones(2), 3),
}  # fmt: skip


@over("name", MAKERS)
def test_pin_memory_has_no_effect(name: str) -> None:
    make, args = getattr(mg, name), MAKERS[name]
    assert make(*args, pin_memory=True).shape == make(*args, pin_memory=None).shape == make(*args).shape
    with pytest.raises(ArgumentTypeError, match="pin_memory must be True or False, got 'yes'"):
        make(*args, pin_memory="yes")


def test_new_tensors_take_pin_memory() -> None:
    x = mg.ones(2)
    made = [x.new_zeros(2, pin_memory=True), x.new_full((2,), 1.0, pin_memory=True), x.new_empty(2, pin_memory=False)]
    assert [y.shape for y in (*made, x.new_empty_strided((2,), (1,), pin_memory=True))] == [(2,)] * 4
