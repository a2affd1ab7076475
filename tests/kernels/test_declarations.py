"""Declarations where Python allows odd ones: they mean what Python means, or are refused with a reason."""

import functools
import importlib
import itertools
import linecache
import math
import os
import sys

import pytest
from cases import over

import minigrad as mg
from minigrad.declare import rules
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import parse

numbered = itertools.count()
REFERENCE = {"device": "reference"}


def value(function, *numbers):
    """A scalar function's value through a declared op on plain Python loops."""
    function.__doc__ = "An op of a test."
    op = mg.elementwise(dtype=rules.promote)(function)
    return op(*(mg.tensor([float(x)], **REFERENCE) for x in numbers)).item()


def refused(match, function):
    with pytest.raises(DeclarationError, match=match):
        parse(function)


# ---- where the source comes from


def test_what_has_no_source_is_refused_with_the_reason():
    refused("a lambda has no name", lambda x: x)
    space = {}
    exec("def f(x):\n    return x\n", space)
    refused("f has no source to compile", space["f"])
    refused("expected a Python function", math.exp)
    refused("expected a Python function", functools.partial(math.pow, 2))


def other(x):
    return x + 1


def test_a_text_that_is_not_the_functions_own_is_refused():
    # Compiled under the name of this file, as some tools do, but from other lines.
    line = other.__code__.co_firstlineno
    space = {}
    exec(compile("\n" * (line - 1) + "def other(x):\n    return x * 5\n", __file__, "exec"), space)
    refused(r"the text of other at .*test_declarations.py:\d+ is not what Python runs", space["other"])
    assert value(other, 2) == 3


def cell(text, **names):
    """The function `f` of a notebook cell."""
    file = f"<cell {next(numbered)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names["f"]


FIRST, SECOND = "def f(x):\n    return x + 1\n", "def f(x):\n    return x * 50\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A file that was imported, read, and then edited."""
    path = tmp_path / "edited_ops.py"
    path.write_text(FIRST)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = importlib.import_module("edited_ops")
    linecache.getlines(str(path))
    path.write_text(SECOND)
    os.utime(path, (1, 1))
    yield found
    del sys.modules["edited_ops"]


def test_an_edited_file_that_is_loaded_again_gives_the_new_body(module):
    assert value(importlib.reload(module).f, 3) == 150


def test_an_edited_file_that_is_not_loaded_again_is_refused(module):
    assert parse(module.f).node.body[0].value.right.value == 1, "its lines were read in time"
    linecache.checkcache(module.__file__)
    refused(r"is not what Python runs; .* has changed", module.f)


def test_a_cell_that_is_run_again_gives_the_new_body():
    assert value(cell(FIRST, __name__="__main__"), 3) == 4
    assert value(cell(SECOND, __name__="__main__"), 3) == 150


# fmt: off
def test_how_a_definition_is_laid_out_does_not_matter():
    def  spaced(x, /): return x + 1

    def outlined(x):
# a comment that stands further left
        return (
            x
            + 1
        )

    assert value(spaced, 1) == value(outlined, 1) == 2
# fmt: on


def test_a_space_without_a_name_declares_too():
    assert value(cell(FIRST), 3) == 4


# ---- what names mean


def twice(x):
    return x * 2


def test_a_local_helper_hides_the_one_of_the_module(monkeypatch):
    monkeypatch.setitem(globals(), "helper", mg.scalar(twice))

    def thrice(x):
        return x * 3

    helper = mg.scalar(thrice)

    def calls(x):
        return helper(x) + 1

    assert value(calls, 5) == 16


def test_a_helper_may_be_named_as_a_builtin(monkeypatch):
    monkeypatch.setitem(globals(), "abs", mg.scalar(twice))

    def calls(x):
        return abs(x)

    assert value(calls, -5) == -10


def test_a_call_of_an_operand_is_refused(monkeypatch):
    monkeypatch.setitem(globals(), "helper", mg.scalar(twice))

    def calls(helper, x):
        return helper(x)

    refused("helper is an operand or a local name, which cannot be called", calls)

    def rooted(math):
        return math.sqrt(math)

    refused("math is an operand or a local name", rooted)

    def constant(x):
        math = x
        return math.pi + x

    refused("math is an operand or a local name", constant)


def test_a_function_that_calls_itself_is_refused():
    again = cell("def f(x):\n    return f(x) + 1\n")
    refused("f is not a scalar function", again)
    again.__globals__["f"] = mg.scalar(twice)  # what the cell before has declared
    refused("f calls itself", again)


@pytest.mark.parametrize("name", ["out", "dim", "backend", "device", "dtype", "op", "input", "self", "x_0"])
def test_operands_may_have_the_names_of_arguments(name):
    assert value(cell(f"def f({name}, other):\n    return {name} - other\n", __name__="cell"), 5, 3) == 2


def test_a_rule_that_could_mean_the_output_or_an_operand_is_refused():
    def f(y):
        """Twice."""
        return y * 2

    with pytest.raises(DeclarationError, match="'y' in a derivative rule of f could be the output or its operand"):
        mg.elementwise(dtype=rules.promote, vjp=(lambda g, y: g * y,))(f)


def test_a_kernel_that_does_not_take_what_it_is_given_is_refused():
    with pytest.raises(
        DeclarationError, match=r"f must have as parameters the backend, the Spec of each .*, got \(backend\)"
    ):
        mg.kernel(dtype=rules.index_dtype, shape=rules.same_shape)(cell("def f(backend):\n    'A test.'\n"))


# ---- functions of other libraries


@over(("expression", "message"), [
    ("np.sin(x)", r"np\.sin is not a scalar function .*; write math\.sin\(x\)$"),
    ("np.sin(x) + math.cos(m.sqrt(x))", r"np\.sin is not a scalar function"),
    ("np.arctan2(x, 2)", r"write math\.atan2\(x, 2\)$"),
    ("torch.sigmoid(x)", r"torch\.sigmoid is not a scalar function .*; write math\.logistic\(x\)$"),
    ("m.cos(x + 1)", r"m\.cos is not a scalar function .*; write math\.cos\(x \+ 1\)$"),
    ("x.exp()", r"x\.exp is not a scalar function .*; write math\.exp\(x\)$"),
    ("(x + 1).abs()", r"write abs\(x \+ 1\)$"),
    ("sin(x)", r"sin is not a scalar function .*; write math\.sin\(x\)$"),
    ("max(x, 0)", r"max is not a scalar function .*; write a if a > b else b$"),
    ("np.where(x > 0, x, 0)", r"write a if condition else b$"),
    ("np.linalg.norm(x)", r"np\.linalg\.norm is not a scalar function .*; call a function of math"),
    ("torch_like.relu(x)", r"torch_like\.relu is not a scalar function"),
    ("math.sign(x)", r"math\.sign is not one of the supported functions .*; write \(x > 0\) - \(x < 0\)$"),
    ("np.pi * x", r"np\.pi is not a constant of the dialect .*; write math\.pi$"),
    ("np.euler_gamma * x", r"write a number, or one of math\.pi"),
    ("x.shape", r"x\.shape is an attribute, and an operand is one number"),
    ("math.atan2(x)", r"math\.atan2 takes 2 arguments, got 1"),
    ("round(x, 2)", r"round takes 1 argument, got 2"),
    ("math.exp(x=x)", r"math\.exp takes arguments by position only"),
])  # fmt: skip
def test_a_call_that_the_dialect_lacks_is_refused_with_its_name_and_a_remedy(expression, message):
    file = f"<cell {next(numbered)}>"
    text = (
        "import math\nimport math as m\nimport numpy as np\nimport minigrad as torch\nfrom math import sin\n"
        f"import minigrad.nn as torch_like\n\ndef f(x):\n    return {expression}\n"
    )
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    refused(message, space["f"])


SCALE = 2.5


def test_a_number_from_outside_is_refused_with_its_value():
    offset = 3

    def scaled(x):
        return x * SCALE

    def moved(x):
        return x + offset

    def unknown(x):
        return x + absent  # noqa: F821

    refused(r"'SCALE' is neither an operand nor .*; write the number 2\.5, or make 'SCALE' an operand", scaled)
    refused(r"'offset' is neither .*; write the number 3, or make 'offset' an operand", moved)
    refused(r"'absent' is neither .*; make 'absent' an operand, or assign it before", unknown)


@pytest.mark.parametrize("declare", [mg.elementwise, mg.kernel], ids=["elementwise", "kernel"])
def test_a_reserved_name_is_refused(declare):
    shape = {} if declare is mg.elementwise else {"shape": rules.same_shape}
    with pytest.raises(DeclarationError, match="_mg_plan is a reserved name"):

        @declare(dtype=rules.floating, **shape)
        def halved(backend, out, _mg_plan):
            """Half of each element."""
            return _mg_plan / 2


def test_inplace_with_front_or_otherwise_is_refused():
    for options in ({"front": "scale=2.0"}, {"otherwise": lambda x, scale: x}):
        with pytest.raises(mg.errors.DeclarationError, match="inplace=True replaces front="):

            @mg.elementwise(inplace=True, dtype=rules.floating, **options)
            def halved(x):
                """Half of each element."""
                return x / 2
