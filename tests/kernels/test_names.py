"""Names in generated texts: an op's own names read what the op means, whatever else stands in a kernel.

The kernels run as plain Python here, where a name that is taken shows as well as in machine code."""

import builtins
import itertools
import keyword
import linecache
import math
import re
from pathlib import Path

import numpy as np
import pytest
from asking import Asking
from plain_kernels import interpreted
from strided import arrange, blank, contents

import minigrad as mg
from minigrad import backends
from minigrad.backends.cpu import loops, reduction_plans
from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device
from minigrad.core.dtype import f32, f64
from minigrad.core.reducer import Reducer
from minigrad.declare.partials import declared
from minigrad.kernels import cpu, rendering, scalar, specialize, vecmath

numbered = itertools.count()
REFERENCE = Asking(backend_of(as_device("reference")))


def cell(source):
    """What `f` is after a notebook cell."""
    file = f"<names {next(numbered)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"mg": mg, "math": math, "__name__": "cell"}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def parsed(source):
    """A scalar function from its text."""
    return scalar.parse(cell(source))


def template_words():
    """Every word of every template, a `_K` as each of the operands' names, and the words that pasting adds."""
    folders = [Path(package.__file__).parent for package in (cpu, backends.cpu)]
    texts = [path.read_text() for folder in folders for path in folder.glob("*.py")]
    texts += [Path(module.__file__).read_text() for module in (specialize, scalar, rendering, vecmath)]
    words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    words |= {word.replace("_K", f"_{k}") for word in words for k in range(3)} | set(dir(builtins))
    words |= {f"{name}_{size}" for name in vecmath.FUNCTIONS for size in (32, 64)}
    return sorted(word for word in words if word.isidentifier() and not keyword.iskeyword(word) and "__" not in word)


def named(words):
    """Scalar functions of three operands whose names, and names of locals, are those words."""
    for place in range(0, len(words), 40):
        a, b, c, *locals_ = (words[place : place + 40] + words[:40])[:40]
        lines = [f"    {y} = ({x} + {z}) / 4\n" for x, y, z in zip([a, *locals_], locals_, itertools.cycle((b, c)))]
        yield parsed(
            f"def f({a}, {b}, {c}):\n{''.join(lines)}    return {locals_[-1]} - {locals_[3]} * {a} + {b} - {c}\n"
        )


def agree(backend, prepare, out, *operands):
    """Hold a launch of interpreted kernels to the reference."""
    results = []
    for device in (backend, REFERENCE):
        memory = out[0].copy()
        prepare(device)(*(buffer for buffer, _ in operands), memory)
        results.append(contents(memory, out[1]))
    np.testing.assert_array_equal(*results)


@pytest.fixture
def plain(monkeypatch):
    return interpreted(monkeypatch)


WORDS = template_words()


KINDS = {"dense": "dense", "flipped": "strided", "transposed": "tiled"}


@pytest.mark.parametrize("way", KINDS)
def test_operands_and_locals_of_elementwise_ops_may_have_every_name_of_the_templates(plain, way, monkeypatch):
    backend, texts = plain
    monkeypatch.setattr(loops, "LARGE", 0)  # a transpose this small is not worth tiles otherwise
    shape = (9, 10) if way == "transposed" else (3, 4)
    values = [np.arange(i, i + np.prod(shape), dtype=np.float32).reshape(shape) % 7 for i in range(3)]
    operands, out = [arrange(v, way=way) for v in values], blank(shape, f32)
    for f in named(WORDS):
        agree(
            backend,
            lambda b, f=f: b.elementwise(f, np.dtype(np.float32), out[1], [s for _, s in operands]),
            out,
            *operands,
        )
    assert {re.search(r"_([a-z]+)[01]*, from", text)[1] for text in texts} == {KINDS[way]}


def test_the_names_of_a_fold_may_be_every_name_of_the_templates(plain, monkeypatch):
    monkeypatch.setattr(reduction_plans, "TINY", -1)
    monkeypatch.setattr(reduction_plans, "PIECE", 20)
    for place in range(0, len(WORDS), 40):
        acc, x, *more = (WORDS[place : place + 40] + WORDS[:40])[:40]
        lines = "".join(f"    {b} = {a} * 2 - {a}\n" for a, b in itertools.pairwise([x, *more]))
        squares = cell(f"def f({acc}, {x}):\n{lines}    return {acc} + {x} * {more[-1]}\n")
        sums = cell(f"def f({x}, {acc}):\n    return {acc} + {x}\n")
        for wanted in (declared(squares, "zero", combine=sums), declared(sums, "zero", order="sum")):
            for shape, dims in [((50,), (0,)), ((3, 30), (1,)), ((30, 13), (0,))]:
                a = arrange(np.arange(np.prod(shape)).reshape(shape) % 7, f32)
                out = blank(tuple(1 if d in dims else n for d, n in enumerate(shape)), f64)
                agree(
                    plain[0],
                    lambda b, f=wanted, out=out, a=a, dims=dims: b.reduce(f, out[1].dtype.compute, out[1], a[1], dims),
                    out,
                    a,
                )


def test_the_names_of_a_running_fold_may_be_every_name_of_the_templates(plain):
    backend, _ = plain
    rows, columns = [arrange(np.arange(42.0).reshape(6, 7) % 5, f32) for _ in range(2)], blank((6, 7), f32)
    for f in named(WORDS):
        line = Reducer(f, ("zero",), "sequential", None)
        for dim in (0, 1):
            agree(
                backend,
                lambda b, f=line, dim=dim: b.scan(f, np.dtype(np.float32), columns[1], [s for _, s in rows], dim),
                columns,
                *rows,
            )


def test_a_name_with_an_ending_of_the_vector_functions_is_not_taken_for_one(plain):
    f = parsed(
        "def f(sin_any_32, rare, is_far_32):\n    sin_32 = math.sin(rare)\n    return sin_32 + sin_any_32 * is_far_32\n"
    )
    operands, out = [arrange(np.float32([1, 2, 3])) for _ in range(3)], blank((3,), f32)
    memory = out[0].copy()
    plain[0].elementwise(f, np.dtype(np.float32), out[1], [s for _, s in operands])(*(b for b, _ in operands), memory)
    np.testing.assert_allclose(contents(memory, out[1]), np.sin([1, 2, 3]) + np.square([1, 2, 3]), rtol=1e-6)


RENAMED = """
@mg.elementwise(dtype=mg.rules.to_float, vjp=(
    lambda g, t0, t1: g * t1 * (t0 * t1).cos() + g, lambda g, t0, t1: g * t0 * (t0 * t1).cos()
), fuse=True)
def f(t0, t1):
    "sin(t0 * t1) + t0, in names that a traced rule gives to its lines."
    return math.sin(t0 * t1) + t0
"""


def test_a_fused_rule_tells_its_operands_from_its_own_lines():
    a, b = mg.Var([0.5], device="reference"), mg.Var([3.0], device="reference")
    grads = cell(RENAMED)(a, b).backward()
    np.testing.assert_allclose(
        [grads[a].item(), grads[b].item()], [3 * math.cos(1.5) + 1, 0.5 * math.cos(1.5)], rtol=1e-6
    )


def test_an_operand_named_after_a_place_of_the_template_reads_its_own_elements():
    body = "def f(step_0, λ):\n    'Sum.'\n    in_0 = step_0 + λ\n    return in_0\n"
    f = cell(f"@mg.elementwise(dtype=mg.rules.promote)\n{body}")
    x = mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    assert f(x[::-2], x[::2]).tolist() == [6.0, 6.0, 6.0]
