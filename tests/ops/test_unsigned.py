"""uint16 and uint64 at both ends of their ranges, with NumPy as the oracle: the reference device, and the texts of the
kernels that depend on a sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import DTypeError

HIGH = {"uint16": 2**16 - 1, "uint64": 2**64 - 1}
RESULTS: dict[str, tuple[Any, Any]] = {
    "add": (lambda x, y: x + y, np.add),
    "mul": (lambda x, y: x * y, np.multiply),
    "neg": (lambda x, y: -x, lambda a, b: -a),
    "floor_divide": (lambda x, y: x // y, np.floor_divide),
    "remainder": (lambda x, y: x % y, np.remainder),
    "fmod": (lambda x, y: mg.fmod(x, y), np.fmod),
    "gcd": (lambda x, y: mg.gcd(x, y), np.gcd),
    "pow": (lambda x, y: x**3, lambda a, b: a**3),
    "lt": (lambda x, y: x < y, np.less),
    "maximum": (lambda x, y: mg.maximum(x, y), np.maximum),
    "bits": (lambda x, y: (x ^ y) | ~x, lambda a, b: (a ^ b) | ~a),
    "sort": (lambda x, y: x.sort(descending=True).values, lambda a, b: np.sort(a)[::-1]),
    "amax": (lambda x, y: x.amax(), lambda a, b: a.max()),
    "amin": (lambda x, y: y.amin(), lambda a, b: b.min()),
    "argmax": (lambda x, y: x.argmax(), lambda a, b: a.argmax()),
    "sum": (lambda x, y: x.sum(dtype=x.dtype), lambda a, b: a.sum(dtype=a.dtype)),
    "cumsum": (lambda x, y: x.cumsum(0, dtype=x.dtype), lambda a, b: a.cumsum(dtype=a.dtype)),
    "matmul": (lambda x, y: x @ y, np.matmul),
    "float64": (lambda x, y: x.double(), lambda a, b: a.astype(np.float64)),
    "float32": (lambda x, y: x.float(), lambda a, b: a.astype(np.float32)),
    "mask": (lambda x, y: x[x > 2], lambda a, b: a[a > 2]),
    "div": (lambda x, y: x.double() / 2, lambda a, b: a / 2),
    "number": (lambda x, y: x == x.dtype.highest, lambda a, b: a == np.iinfo(a.dtype).max),
}
SIGNED = ("fmod", "gcd", "pow")  # whose helpers compute in 64 bits and must not take a high bit for a sign
CASES = [
    *[("reference", name, case) for name in HIGH for case in RESULTS],
    *[("cpu", "uint64", case) for case in SIGNED],
]


def arrays(name: str) -> tuple[np.ndarray, np.ndarray]:
    high = HIGH[name]
    first, second = [0, 1, 2, high // 2 + 6, high, high - 1, 7], [3, 1, high, 5, high // 2 + 3, 2, 0]
    return np.array(first, name), np.array(second, name)


@over(("device", "name", "case"), CASES)
def test_both_ends_of_the_range(device: str, name: str, case: str) -> None:
    (ours, numpys), (a, b) = RESULTS[case], arrays(name)
    with np.errstate(all="ignore"):
        expected = numpys(a, b)
    result = ours(mg.tensor(a, device=device), mg.tensor(b, device=device)).numpy()
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", HIGH)
def test_a_float_outside_of_the_range_saturates(name: str) -> None:
    x = mg.tensor([0.5, -3.0, 1e30, float("nan"), HIGH[name] // 2 + 1], dtype="float64", device="reference")
    assert x.to(name).tolist() == [0, 0, HIGH[name], 0, HIGH[name] // 2 + 1]


def test_numbers_beyond_int64() -> None:
    big = 2**63 + 1
    x = mg.tensor([big, 1], dtype="uint64", device="reference")
    assert x.tolist() == [big, 1] and (x + 2**63).tolist() == [1, 2**63 + 1]
    assert mg.full((2,), big, dtype="uint64", device="reference").tolist() == [big, big]
    assert mg.arange(big, big + 2, dtype="uint64", device="reference").tolist() == [big, big + 1]
    assert x.to("bfloat16").tolist() == [2.0**63, 1.0] and x[0].item() == big
    for data, dtype, match in ([big], None, "does not fit int64"), ([-1, big], "uint64", "-1 does not fit uint64"):
        with pytest.raises(DTypeError, match=match):
            mg.tensor(data, dtype=dtype)


def test_uint64_and_a_signed_integer_do_not_meet() -> None:
    x = mg.tensor([1, 2], dtype="uint64", device="reference")
    with pytest.raises(
        DTypeError, match=r"add: got uint64\(2,\), int8\(2,\); no integer dtype can represent both.*x\.to"
    ):
        x + x.to("int8")
    with pytest.raises(DTypeError, match=r"cat: got uint64\(2,\), int64\(2,\)"):
        mg.cat([x, x.long()])
    assert (x + x.to("uint16")).dtype is mg.uint64 and (x + x.half()).dtype is mg.float16
    assert (x + 1).dtype is mg.uint64 and (x + 1.5).dtype is mg.float32
    assert mg.nn.functional.one_hot(x).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_a_number_outside_of_the_range_wraps_where_results_wrap() -> None:
    x = mg.tensor([1, 200], dtype="uint8", device="reference")
    for y, expected in ((x + 300, [45, 244]), (x - 1, [0, 199]), (x * -1, [255, 56]), (300 - x, [43, 100])):
        assert y.dtype is mg.uint8 and y.tolist() == expected
    assert (mg.tensor([1], dtype="int8", device="reference") + 200).tolist() == [-55]
    with pytest.raises(DTypeError, match="300 does not fit uint8"):
        x < 300  # noqa: B015  PyTorch compares with 44


def test_one_bound_of_a_clamp_does_not_limit_the_other_side() -> None:
    flags, small = (mg.tensor([0, 1], dtype=kind, device="reference") for kind in ("bool", "int8"))
    bound = mg.tensor([300, 300], device="reference")
    assert mg.clamp_min(flags, 5).tolist() == mg.clamp(flags, min=5).tolist() == [5, 5]
    assert mg.clamp_max(flags, -5).tolist() == [-5, -5] and mg.clamp(flags, min=2.5).tolist() == [2.5, 2.5]
    assert mg.clamp_min(small, bound).tolist() == [300, 300] and mg.clamp(small, max=-bound).tolist() == [-300, -300]
    assert mg.clamp(small, min=1e30).tolist() == pytest.approx([1e30, 1e30])
    assert mg.float_power(mg.tensor([2, 4], dtype="uint8", device="reference"), -1).tolist() == [0.5, 0.25]


def test_a_number_next_to_an_op_of_a_user_does_not_wrap() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(None, None))
    def sub(x: Any, y: Any) -> Any:
        return x - y if x > y else y - x

    with pytest.raises(DTypeError, match="300 does not fit uint8"):
        sub(mg.tensor([1, 2], dtype=mg.uint8, device="reference"), 300)
