"""A user's names against those of templates: a public function has the operands' names of the declaration, whatever
they are, and each names its own operand."""

import inspect
import itertools
import keyword
import linecache
import math
import re
from collections.abc import Sequence
from unicodedata import normalize

import pytest
from cases import over

import minigrad as mg
from minigrad.core.code import write_now
from minigrad.core.requests import Copy
from minigrad.core.roles import Along
from minigrad.declare.decorators import composed, view
from minigrad.errors import DeclarationError, DTypeError

numbered = itertools.count()
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def words_of(function):
    """The names in the text of a public function, without their prefix and without those of its operands."""
    write_now(function)
    words = {word.removeprefix("_mg_") for word in WORD.findall(inspect.getsource(function.__code__))}
    return sorted(word for word in words - {*function.op.operands} if not keyword.iskeyword(word) and word != "out")


TEMPLATE = words_of(mg.mul)
# The names of both operands, in pairs that once met names of a template, of Python or of each other.
ODD = [
    ("b", "a"), ("y", "c"), ("out", "y"), ("x", "out"), ("min", "max"), ("x", "i"), ("T", "N"), ("RANGE", "F"),
    ("math", "numba"), ("np", "numbers"), ("match", "case"), ("_", "type"), ("__x", "x__"), ("ſ", "f"), ("ﬁ", "g"),
    ("α", "µ"), ("condition", "input"), ("self", "cls"), ("x__pasted", "x"), ("abs", "round"), ("e", "pi"),
    ("saturate", "int_power"), ("_power", "scalar_function"), ("g0", "g1"), ("dx", "ddx"), ("t0", "t1"),
    ("__builtins__", "__name__"), ("in_0", "out_"), ("out_", "out"), ("y_", "y"), *zip(TEMPLATE, [*TEMPLATE[1:], "z"]),
]  # fmt: skip


def cell(source):
    """The names of a notebook cell."""
    file = f"<odd names {next(numbered)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"mg": mg, "Copy": Copy, "math": math, "view": view, "__name__": "cell"}
    exec(compile(source, file, "exec"), space)
    return space


def declared(first, second, name="f"):
    """first - 2 * second, with a helper, a local name and fused derivatives."""
    return cell(
        f"@mg.scalar\ndef twice(t):\n    return t + t\n\n"
        f"@mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g * 2.0 - g, lambda g: -(g * 2.0)),\n"
        f"    fuse=True)\n"
        f"def {name}({first}, {second}):\n    'An op of a test.'\n    {first}_1 = {first}\n"
        f"    return {first}_1 - twice({second})\n"
    )[normalize("NFKC", name)]


def test_three_operands_may_have_the_names_of_their_template():
    words = words_of(mg.where)
    assert {"as_operands", "weak", "plain", "numbers", "next", "storage"} <= {*words}
    for names in zip(words, [*words[1:], *words[:1]], [*words[2:], *words[:2]]):
        first, second, third = names
        f = cell(
            f"@mg.elementwise(dtype=mg.rules.promote)\ndef f({', '.join(names)}):\n    'An op of a test.'\n"
            f"    return {first} - 2 * {second} + 3 * {third}\n"
        )["f"]
        x = mg.tensor([5.0], device="reference")
        assert f(x, 1.0, 2.0).tolist() == f(x, x - 4.0, 2).tolist() == [9.0], names
        assert f(5.0, x - 4.0, 2.0).tolist() == f(x.double(), x - 4.0, 2.0).tolist() == [9.0], names


@over("names", ODD, ids="-".join)
def test_an_operand_is_found_by_the_name_of_its_declaration(names):
    f = declared(*names)
    first, second = (normalize("NFKC", name) for name in names)
    assert list(inspect.signature(f).parameters)[:2] == [first, second]
    a, b = (mg.Var([value], device="reference") for value in (5.0, 1.0))
    y = f(**{second: b, first: a})
    assert y.tolist() == f(a, b).tolist() == [3.0]
    assert f(a, 1.0).tolist() == f(**{first: a, second: 1}).tolist() == [3.0]
    grads = y.sum().backward()
    assert (grads[a].tolist(), grads[b].tolist()) == ([1.0], [-2.0])


def test_three_operands_may_be_words_of_the_template_too():
    f = cell(
        "@mg.elementwise(dtype=mg.rules.promote)\ndef f(PLAIN, apply, key):\n    'A test.'\n"
        "    return PLAIN - apply * key\n"
    )["f"]
    one, two, three = (mg.tensor([value], device="reference") for value in (1.0, 2.0, 3.0))
    assert f(key=one, PLAIN=two, apply=three).tolist() == [-1.0]


def test_out_is_offered_unless_an_operand_has_its_name():
    a, b, c = (mg.tensor([value], device="reference") for value in (5.0, 1.0, 0.0))
    assert declared("b", "a")(a, b, out=c) is c and c.tolist() == [3.0]
    with pytest.raises(TypeError):
        declared("out", "b")(a, b, y=c)
    assert declared("b", "out")(a, out=b).tolist() == [3.0]


def test_where_has_the_names_of_pytorch():
    condition = mg.tensor([True, False], device="reference")
    one, two = mg.tensor([1.0], device="reference"), mg.tensor([2.0], device="reference")
    assert mg.where(condition=condition, other=two, input=one).tolist() == [1.0, 2.0]


def test_odd_names_compile_on_the_cpu():
    f = declared("ſ", "_", name="λ")
    assert f(s=mg.tensor([5.0]), _=mg.tensor([1.0])).tolist() == [3.0]


@pytest.mark.parametrize("name", ["x", "op", "specs", "operands", "params", "given", "key", "dim", "others", "plan"])
def test_a_parameter_of_a_kernel_may_have_the_names_of_what_reads_it(name):
    f = cell(
        f"@mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(lambda g, *, {name}: g * {name},))\n"
        f"def f(backend, out, a, *, {name}):\n    'A copy.'\n    return backend.prepare(Copy(), out, a)\n"
    )["f"]
    x = mg.Var([1.0, 2.0], device="reference")
    y = f(x, **{name: 3})
    assert y.tolist() == [1.0, 2.0] and y.sum().backward()[x].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ["op", "given", "self", "key", "function", "out", "plan", "specs"])
def test_a_parameter_of_a_view_may_have_the_names_of_what_reads_it(name):
    f = cell(f"@view(vjp=(lambda g: g,))\ndef f(layout, *, {name}):\n    'The same.'\n    return layout\n")["f"]
    assert f(mg.tensor([1.0, 2.0], device="reference"), **{name: 3}).tolist() == [1.0, 2.0]


def test_a_parameter_that_has_the_name_of_an_operand_is_refused():
    with pytest.raises(DeclarationError, match="f has an operand and a parameter 'x'; rename the parameter"):
        cell("@view(vjp=(lambda g: g,))\ndef f(layout, *, x):\n    'The same.'\n    return layout\n")


@pytest.mark.parametrize("names", [("class", "b"), ("_a", "b"), ("a b", "c"), ("g1", "b")])
def test_a_result_that_no_named_tuple_can_have_is_refused(names):
    with pytest.raises(DeclarationError, match="outputs of f must be"):
        cell(
            f"@mg.kernel(dtype=mg.rules.values_and_positions, shape=mg.rules.same_shape, "
            f"outputs={names})\n"
            "def f(backend, first, second, a):\n    'A test.'\n    return None\n"
        )


@over("name", ["kernel", "cuda", "device", "libdevice", "POINTERS", "NUMBERS", "load_1", "λ"])
@over("names", [("x", "out", "n"), ("np_", "kernel", "POINTERS"), ("λ", "T", "match")], ids="-".join)
def test_a_cuda_kernel_and_its_arguments_may_have_names_of_its_module(name, names):
    x, out, n = names
    kernel = cell(
        f"@mg.cuda.kernel\ndef {name}({x}, {out}, {n}):\n    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\n"
        f"    if i < {n}:\n        {out}[i] = {x}[i] * np.float32(2)\n"
    )[name]
    with mg.override(cuda="simulator"):
        x, out = mg.arange(5, dtype="float32", device="cuda"), mg.empty(5, dtype="float32", device="cuda")
        kernel[2, 4](x, out, 5)
        assert out.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


@composed()
def joined(first: mg.Tensor, *tensors: mg.Tensor, dim: Along = 0) -> mg.Tensor:
    """Tensors one after the other, each plus the first."""
    return mg.cat([first + x for x in tensors], dim)


@composed()
def listed(tensors: Sequence[mg.Tensor], scale: mg.Tensor) -> mg.Tensor:
    """Tensors one after the other, scaled."""
    return mg.cat(tensors) * scale


def test_a_definition_may_take_any_number_of_tensors_beside_others():
    a, b = (mg.tensor(values, device="reference") for values in ([1.0], [2.0]))
    out = mg.zeros(2, device="reference")
    assert joined(b, a, b, dim=0).tolist() == [3.0, 4.0] and joined(b, a, b, out=out).tolist() == [3.0, 4.0]
    assert listed([a, b], a * 2.0).tolist() == [2.0, 4.0] and listed([a, b], scale=b, out=out) is out
    assert str(inspect.signature(joined)).startswith("(first: 'Tensor', *tensors: 'Tensor', dim: 'int' = 0, out")
    for call in (lambda: listed([a, b], "b"), lambda: joined(None, a)):
        with pytest.raises(DTypeError, match=r"^(listed|joined): expected a tensor"):
            call()


def test_a_kernel_takes_any_number_of_tensors_or_others():
    with pytest.raises(
        DeclarationError, match=r"test_operand_names\.py:\d+: both has the operand 'tensors', any number"
    ):

        @mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape)
        def both(backend, out, tensors: Sequence[mg.Tensor], scale: mg.Tensor):
            """Never called."""


def test_an_operand_called_out_may_stand_beside_defaults():
    @mg.elementwise(dtype=mg.rules.to_float, namespace=(), method=False)
    def scaled(a, out=2.0):
        """a * out."""
        return a * out

    @mg.elementwise(
        dtype=mg.rules.to_float, namespace=(), method=False, front="alpha=1",
        otherwise=lambda out, a, alpha, place: scaled(out, a * alpha),
    )  # fmt: skip
    def times(out, a=3.0):
        """out * a."""
        return out * a

    x = mg.tensor([1.0, 2.0], device="reference")
    assert scaled(x).tolist() == [2.0, 4.0] and scaled(x, out=5.0).tolist() == [5.0, 10.0]
    assert times(x).tolist() == [3.0, 6.0] and times(x, 3.0, 2).tolist() == [6.0, 12.0]
    assert str(inspect.signature(scaled)) == "(a: 'Tensor', out: 'Tensor | float' = 2.0) -> 'Tensor'"


def test_an_annotated_operand_may_be_called_out():
    @mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(lambda g: g,))
    def through(backend, y, out: mg.Tensor):
        """Never called."""

    assert through.op.operands == ("out",) and str(inspect.signature(through)) == "(out: 'Tensor') -> 'Tensor'"
