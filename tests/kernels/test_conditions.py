"""Comparisons and literals in a body: a comparison used as a number is 0 or 1 in the compute dtype, and a literal is
cast to that dtype; reference, CPU and CUDA agree."""

import itertools
import linecache
import math
from pathlib import Path

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import DeclarationError
from minigrad.kernels import store

numbered = itertools.count()
HELPERS = """
@mg.scalar
def positive(t):
    return t > 0

@mg.scalar
def doubled(t):
    return t + t

@mg.scalar
def chosen(condition, t):
    return t if condition else -t

"""


def declared(body, rule="promote", operands="a, b"):
    """An op of the operands a and b with this body, from a file of its own."""
    text = f"{HELPERS}@mg.elementwise(dtype=mg.rules.{rule})\ndef f({operands}):\n    'An op of a test.'\n{body}"
    file = f"<conditions {next(numbered)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"mg": mg, "math": math, "__name__": "cell"}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def values(expression, dtype="float32", device="reference", a=(2, 0, 0, 3), b=(1, 4, 0, 3)):
    """An expression of a and b for some pairs."""
    operands = [mg.tensor(list(x), dtype=dtype, device=device) for x in (a, b)]
    return declared(f"    return {expression}\n")(*operands).tolist()


# ---- comparisons

# For the pairs (2, 1), (0, 4), (0, 0), (3, 3).
AS_NUMBERS = {
    "(a > 0) + (b > 0)": [2, 1, 0, 2],
    "(a > b) - (a == b)": [1, 0, -1, -1],
    "-(a > b) * 2": [-2, 0, 0, 0],
    "abs(a > b) + round(b > a)": [1, 1, 0, 0],
    "(a > 0) / 2 * 4": [2, 0, 0, 2],
    "(a > 0) ** 2 + (b > 0) // 1": [2, 1, 0, 2],
    "(not a) + (not b)": [0, 1, 2, 0],
    "(a > 0 and b > 0) + (a > 0 or b > 0)": [2, 1, 0, 2],
    "(a and b > 0) + (a > 9 or b)": [2, 4, 0, 4],
    "((a > 0) & (b > 0)) + ((a > 0) ^ (b > 0)) + ((a > 0) | (b > 0))": [2, 2, 0, 2],
    "((a > 0) == (b > 0)) + ((a > 0) < (b > 0)) * 2": [1, 2, 1, 1],
    "((a > 0) < b) + ((a > b) == 1) * 2": [2, 1, 0, 1],
    "(0 < a < 3) + True + (b > 0)": [3, 2, 1, 2],
    "(a > b if b > 1 else b) + (a > b)": [2, 0, 0, 0],
    "(a > b if a > 1 else b > a) + (a == b) + (a == b)": [1, 1, 2, 2],
    "doubled(a > 0) + positive(b) + positive(a > b)": [4, 1, 0, 3],
    "chosen(a > 0, b > 0) + chosen(a, b)": [2, -5, 0, 4],
    "math.isnan(a) + math.isfinite(a) + math.isfinite(b)": [2, 2, 2, 2],
    "math.floor(a > 0) + math.sqrt(b > 0) + math.hypot(a > 0, 0)": [3, 1, 0, 3],
}


@over("dtype", ["int8", "uint8", "int64", "float16", "bfloat16", "float32", "float64"])
@over("expression", AS_NUMBERS)
def test_a_comparison_used_as_a_number_is_0_or_1(expression, dtype):
    expected = AS_NUMBERS[expression]
    if "/ 2" in expression and "int" in dtype:
        expected = [0, 0, 0, 0]  # 1 / 2 in integers has no fraction
    if dtype == "uint8":
        expected = [x % 256 for x in expected]
    assert values(expression, dtype) == expected


def test_a_comparison_bound_to_a_name_is_a_condition_and_a_number():
    f = declared("    c = a > 0\n    d = not c\n    return (b if c else -b) + c + c + d * 8\n")
    a, b = mg.tensor([1.0, 0.0], device="reference"), mg.tensor([5.0, 5.0], device="reference")
    assert f(a, b).tolist() == [7.0, 3.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions_of_math_take_a_comparison_in_the_compute_dtype(dtype):
    tolerance = 1e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(values("math.tanh(a > 0)", dtype)[0], math.tanh(1), rtol=tolerance)
    np.testing.assert_allclose(values("math.logistic(a > 0)", dtype)[0], 1 / (1 + math.exp(-1)), rtol=tolerance)


def test_with_the_compute_dtype_bool_arithmetic_is_that_of_python():
    assert values("(a > b) + (b > a) - 1", "bool", a=(1, 0, 1, 0), b=(0, 1, 1, 0)) == [False, False, True, True]


def test_a_reduction_may_add_comparisons():
    space = {"mg": mg, "__name__": "cell"}
    text = (
        "@mg.reduction(dtype=mg.rules.promote, identity='zero', order='sequential')\n"
        "def f(acc, x):\n    'How many are positive, plus how many exceed 1.'\n    return acc + (x > 0) + (x > 1)\n"
    )
    linecache.cache["<a reduction>"] = (len(text), None, text.splitlines(keepends=True), "<a reduction>")
    exec(compile(text, "<a reduction>", "exec"), space)
    assert space["f"](mg.tensor([3.0, 1.0, -1.0], device="reference")).item() == 3.0


EVERYTHING = """\
    c = a > b
    d = (a > 0) + (b > 0) + ((a > b) - (b > a)) + doubled(c) + positive(a) + chosen(c, b > 0)
    e = ((a > 0) == (b > 0)) + ((a > 0) < b) + (not a) + (c and b > 0) + (c or b) + abs(c) - (-c)
    g = math.tanh(c) * 3 + math.logistic(c) * 3 + (c & (b > 0)) + (c ^ (b > 0)) + math.sqrt(a) + (a < b) / 2
    return d + e + g + (c if b > 0 else a > 0) + 3e9 * (a == 2)
"""


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_reference_cpu_and_cuda_agree_on_comparisons_and_literals(dtype):
    f, found = declared(EVERYTHING), []
    with mg.override(cuda="simulator"):
        for device in ("reference", "cpu", "cuda"):
            a, b = (mg.tensor(x, dtype=dtype, device=device) for x in ([2, 0, 0, 3, 1], [1, 4, 0, 3, 9]))
            found.append(f(a, b).tolist())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


# ---- literals


@pytest.mark.parametrize(("dtype", "highest", "lowest"), [
    ("uint8", 255, 0), ("int8", 127, -128), ("int32", 2**31 - 1, -(2**31)), ("int64", 2**63 - 1, -(2**63)),
])  # fmt: skip
def test_a_float_literal_saturates_in_an_integer_body_and_an_integer_wraps(dtype, highest, lowest):
    assert values("a * 0 + 1e20", dtype)[0] == highest
    assert values("a * 0 + -1e20", dtype)[0] == lowest
    assert values("a * 0 + 1e400", dtype)[0] == highest  # inf
    assert values("a * 0 + math.inf", dtype)[0] == highest
    assert values("a * 0 + math.nan", dtype)[0] == 0
    assert values("a * 0 + 2.75", dtype)[0] == 2
    assert values(f"a * 0 + {highest + 3}", dtype)[0] == lowest + 2
    assert values(f"a * 0 + {2**70 + 5}", dtype)[0] == 5
    assert values("a * 0 + -1", dtype)[0] == (highest if lowest == 0 else -1)


def test_large_literals_in_float_bodies_are_rounded_once():
    assert values("a * 0 + 1e300", "float32")[0] == math.inf
    assert values(f"a * 0 + {10**30}", "float32")[0] == np.float32(1e30)
    assert values(f"a * 0 + {10**30}", "float64")[0] == 1e30


def test_an_integer_literal_beyond_every_dtype_is_refused():
    with pytest.raises(DeclarationError, match="the literal of 401 digits is beyond every dtype"):
        declared(f"    return a + {10**400}\n", operands="a")


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_a_function_of_math_over_integers_is_that_of_float64_without_its_fraction(dtype):
    assert values("math.sqrt(a * 10) * 2", dtype) == [8, 0, 0, 10]
    highest = 255 if dtype == "uint8" else 2**31 - 1
    assert values("math.exp(a * 25)", dtype)[0] == highest
    assert values("a / (b - b)", dtype) == [highest, 0, 0, highest]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_one_kernel_moves_elements_of_a_size_whatever_their_dtype_is(dtype: str) -> None:
    x, mask = mg.tensor([3, 1, 2], dtype=dtype), mg.tensor([True, False, True])
    with store.watch() as files:
        selected, gathered = mg.where(mask, x, x.flip(0)), mg.gather(x, 0, mg.tensor([2, 0]))
    assert selected.tolist() == [3, 1, 2] and gathered.tolist() == [2, 3]
    names = {Path(file).stem.rpartition("_")[0] for file in files}
    assert {"where_bool_u32_u32_u32_strided", "gather_line_u32"} <= names


def test_bits_that_are_not_the_usual_nan_survive_a_selection() -> None:
    x = mg.tensor(np.array([0x7FA1, 0x8000], np.uint16).view(np.float16))
    selected = mg.where(mg.tensor([True, False]), x, x)
    assert selected.numpy().view(np.uint16).tolist() == [0x7FA1, 0x8000]
