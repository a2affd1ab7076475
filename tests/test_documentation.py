"""Docstrings with NumPy sections, which are built from declarations when `help` reads them."""

import copy
import doctest
import importlib
import inspect
import itertools
import pkgutil
import pydoc
import re
import sys

import pytest

import minigrad as mg
from minigrad.declare.manual import Docstring, document
from minigrad.declare.manual import documentation as manual
from minigrad.declare.manual.documentation import EXAMPLES, OPERANDS, PARAMETERS, documentation
from tests import docstrings


def section(text: str, name: str) -> str:
    """Return the text of a section, "" without one."""
    _, _, rest = text.partition(f"\n{name}\n{'-' * len(name)}\n")
    lines = rest.splitlines()
    end = next((k - 1 for k, line in enumerate(lines) if line and not line.strip("-")), len(lines))
    return "\n".join(lines[:end]).strip("\n")


def test_a_docstring_is_short_until_it_is_shown() -> None:
    assert "Parameters" not in mg.softmax.__doc__ and "Parameters" in inspect.getdoc(mg.softmax)
    assert "Parameters" in pydoc.render_doc(mg.softmax) and "Parameters" in pydoc.render_doc(mg.Tensor.softmax)
    assert inspect.getdoc(mg.softmax) == documentation(mg.softmax)


def test_methods_of_classes_show_sections_also_those_of_their_bases() -> None:
    step = inspect.getdoc(mg.optim.Adam.step)  # a method of a base class that is not public
    assert section(step, "Parameters").startswith("closure : callable, optional\n    Function that computes the loss")
    assert "set_to_none : bool, default True\n" in section(inspect.getdoc(mg.optim.Adam.zero_grad), "Parameters")


def test_a_docstring_may_state_a_type_and_the_signature_adds_the_default() -> None:
    entries = section(inspect.getdoc(mg.nn.Conv1d), "Parameters")
    assert 'padding : int, tuple, "valid" or "same", default 0\n    Number of elements' in entries
    assert section(inspect.getdoc(mg.nn.Module.register_forward_hook), "Returns").startswith("RemovableHandle\n")


def test_ipython_shows_the_sections() -> None:
    oinspect = pytest.importorskip("IPython.core.oinspect")
    assert "Gradient\n--------" in oinspect.getdoc(mg.softmax)


def test_nothing_is_built_at_import() -> None:
    import subprocess

    code = "import sys, minigrad; assert 'minigrad.declare.manual.documentation' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_have_types_defaults_and_the_descriptions_of_their_roles() -> None:
    entries = section(inspect.getdoc(mg.cumsum), "Parameters")
    assert entries.startswith("input : Tensor\n")
    assert "dim : int\n    A dim of the first operand; negative ones count from the end." in entries
    assert "out : Tensor, optional\n    Tensor that receives the result" in entries
    assert "alpha : float, default 1\n" in section(inspect.getdoc(mg.add), "Parameters")
    assert "*dims : int | Sequence[int]\n" in section(inspect.getdoc(mg.permute), "Parameters")


def test_every_parameter_of_an_op_is_described() -> None:
    for name in ("softmax", "conv2d", "clamp", "topk", "linalg.solve", "nn.functional.cross_entropy"):
        function = mg
        for part in name.split("."):
            function = getattr(function, part)
        lines = section(inspect.getdoc(function), "Parameters").splitlines()
        heads = [k for k, line in enumerate(lines) if not line.startswith(" ")]
        assert [lines[k].partition(" : ")[0] for k in heads] == list(inspect.signature(function).parameters)
        assert all(lines[k + 1].startswith("    ") for k in heads), name


def test_results_follow_from_the_kind_of_the_op() -> None:
    assert "shares the memory of `input`" in section(inspect.getdoc(mg.permute), "Returns")
    assert "Its dtype is bool." in section(inspect.getdoc(mg.eq), "Returns")
    assert "fields `mantissa` and `exponent`" in section(inspect.getdoc(mg.frexp), "Returns")
    assert "`keepdim`" in section(inspect.getdoc(mg.sum), "Returns")


def test_sentences_of_a_docstring_become_sections() -> None:
    def f(input: mg.Tensor, p: float, q: float = 2.0) -> mg.Tensor:
        """Return the norm.  Gradient: g*x/norm, 0 at 0.

        p, q: the orders.  nan produces nan.
        Raises DTypeError or ShapeError for bool, ArgumentError if p is 0.  Source: Golub, Matrix computations, 5.1.

        >>> 1 + 1
        2
        """
        return input

    text = documentation(f)
    assert text.splitlines()[0] == "Return the norm."
    assert section(text, "Gradient") == "g*x/norm, 0 at 0."
    assert "p : float\n    The orders. nan produces nan.\nq : float, default 2.0\n    The orders." in text
    assert (
        section(text, "Raises") == "DTypeError\n    For bool.\nShapeError\n    For bool.\nArgumentError\n    If p is 0."
    )
    assert section(text, "References") == "Golub, Matrix computations, 5.1."
    assert section(text, "Examples") == ">>> 1 + 1\n2"


def test_written_sections_stay_and_come_in_the_usual_order() -> None:
    text = inspect.getdoc(mg.nn.functional.ctc_loss)
    assert "log_probs : Tensor\n    Logarithms of probabilities (T, N, C), or (T, C) of one sequence." in text
    names = ["Parameters", "Returns", "Raises", "Gradient"]
    assert sorted(names, key=lambda name: text.index(f"\n{name}\n---")) == names


def test_an_op_without_rules_is_not_differentiable() -> None:
    assert section(inspect.getdoc(mg.argmax), "Gradient").startswith("Not differentiable")
    assert section(inspect.getdoc(mg.cat), "Gradient") == "Each tensor gets its part of g."


def test_ops_of_users_have_sections_too() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g,), namespace=())
    def shifted(x):
        """Return x + 1."""
        return x + 1

    assert "input : Tensor\n    Operand of any shape." in inspect.getdoc(shifted)


def test_classes_describe_the_parameters_of_their_bases_and_return_nothing() -> None:
    text = inspect.getdoc(mg.nn.Conv2d)
    assert section(text, "Parameters").startswith("in_channels : int\n    Number of channels of the input.")
    assert "bias : bool, default True\n    Whether there is a bias." in text and not section(text, "Returns")
    digits = section(inspect.getdoc(mg.data.FashionMNIST), "Parameters")  # of MNIST
    assert "train : bool, default True\n" in digits and "Folder of the four files" in digits


def test_an_in_place_form_describes_the_parameters_of_its_function() -> None:
    text = section(inspect.getdoc(mg.Tensor.addmm_), "Parameters")
    assert "beta : complex, default 1\n    Factor of `input`" in text and "out :" not in text


def test_written_blocks_such_as_raises_become_sections() -> None:
    text = inspect.getdoc(mg.as_dtype)
    assert section(text, "Raises").startswith("DTypeError\n    ") and ">>> as_dtype" in section(text, "Examples")


def test_descriptions_of_parameters_belong_to_functions_that_exist() -> None:
    names = {path.rpartition(".")[2] for path, _ in docstrings.public()} | {"class", "many", "get_item", "to"}
    names |= {str(function.__name__) for _, function in docstrings.public() if hasattr(function, "__name__")}
    owners = {key.rpartition(".")[0] for key in PARAMETERS if "." in key}
    assert {owner for owner in owners if owner not in names and f"{owner}_" not in names} == set()


def test_examples_are_calls_of_functions_that_show_them() -> None:
    test = next(test for test in doctest.DocTestFinder().find(manual) if test.name.endswith("__test__.softmax"))
    assert [example.want for example in test.examples] == ["", "[0.5, 0.5]\n"]
    for name, text in EXAMPLES.items():
        function = getattr(mg, name, None) or getattr(mg.nn.functional, name)
        assert section(inspect.getdoc(function), "Examples") == text, name


def test_an_op_of_a_user_has_no_example_of_another() -> None:
    @mg.elementwise(dtype=mg.rules.promote, namespace=())
    def mul(x, y):
        """Return x * y."""
        return x * y

    assert ">>>" not in inspect.getdoc(mul)


def test_the_check_of_docstrings_finds_a_parameter_without_a_description(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpydoc", reason="numpydoc is not installed")
    assert docstrings.failures("minigrad.softmax") == {}
    monkeypatch.delitem(PARAMETERS, "dim")
    assert list(docstrings.failures("minigrad.Tensor.stride")) == ["PR07"]


# Packages whose names are not for users, and modules that have only parts of public ones.
INTERNAL = (
    "minigrad.api minigrad.backends minigrad.cli minigrad.core minigrad.kernels minigrad.learning minigrad.runtime "
    "minigrad.viz.grid minigrad.viz.layered minigrad.viz.svg minigrad.__main__"
).split()


def test_docstrings_of_every_public_module_are_checked() -> None:
    checked = {id(value) for _, value in docstrings.public()}
    for module in pkgutil.walk_packages(mg.__path__, "minigrad."):
        if module.name not in docstrings.MODULES and not module.name.startswith(tuple(INTERNAL)):
            found = importlib.import_module(module.name)
            names = [name for name in getattr(found, "__all__", ()) if callable(getattr(found, name))]
            assert [name for name in names if id(getattr(found, name)) not in checked] == [], module.name


def test_doctest_reads_the_text_as_it_was_written() -> None:
    def f(x: int) -> int:
        """Return x.

        >>> 2 + 2
        4
        """
        return x

    document(f)
    assert isinstance(f.__doc__, Docstring) and f.__doc__.function is f
    (test,) = doctest.DocTestFinder().find(f, "f")
    assert len(test.examples) == 1 and test.lineno is not None
    assert type(copy.deepcopy(f.__doc__)) is str and copy.copy(f.__doc__) == f.__doc__


def public_functions():
    """The functions of the main namespaces, by name."""
    for module in (mg, mg.nn.functional, mg.linalg, mg.special, mg.fft):
        for name in dir(module):  # also those that are not loaded yet
            function = getattr(module, name)
            ours = str(getattr(function, "__module__", "")).startswith("minigrad")
            if ours and callable(function) and not isinstance(function, type) and not name.startswith("_"):
                yield f"{module.__name__}.{name}", function


def test_no_operand_is_described_by_its_type_or_position_alone() -> None:
    bare = ("Operand.", "Operands.", "Tensor.", "Tensors.", "Operand, which may be None.", "Second operand.")
    for name, function in public_functions():
        lines = section(documentation(function), "Parameters").splitlines()
        entries = [(head, text.strip()) for head, text in itertools.pairwise(lines) if not head.startswith(" ")]
        poor = [head for head, text in entries if text in bare or re.match(r"The \w+ operand\b", text)]
        assert not poor, (name, poor)


def test_every_described_operand_is_a_parameter() -> None:
    functions: dict[str, set[str]] = {}
    for name, function in public_functions():
        parameters = set(inspect.signature(function).parameters)
        for each in (name.rpartition(".")[2], function.__name__.rpartition(".")[2]):
            functions.setdefault(each, set()).update(parameters)
    assert [key for key in OPERANDS if key.split(".")[1] not in functions.get(key.split(".")[0], ())] == []


def test_a_signature_shows_no_role() -> None:
    for name, function in public_functions():
        assert "Annotated[" not in str(inspect.signature(function)), name
    assert str(inspect.signature(mg.bernoulli).parameters["p"].annotation) == "float | None"


def test_an_operand_of_an_undescribed_op_has_its_position() -> None:
    @mg.composed()
    def own_blend(first: mg.Tensor, second: mg.Tensor) -> mg.Tensor:
        """Return the mean of two tensors."""
        return (first + second) / 2

    assert "second : Tensor\n    The second operand." in documentation(own_blend)


def test_descriptions_of_the_package_are_not_given_to_ops_of_users() -> None:
    @mg.composed()
    def prelu(input: mg.Tensor, weight: mg.Tensor, eps: float = 0.5) -> mg.Tensor:
        """Return a blend.

        weight: the share of the blend.
        """
        return input * weight + eps

    entries = section(documentation(prelu), "Parameters")
    assert "divisor" not in entries and "Floating tensor" not in entries
    assert "weight : Tensor\n    The share of the blend." in entries and "eps : float, default 0.5\n" in entries
    assert "out : Tensor, optional\n    Tensor that receives the result" in entries


def test_each_result_is_described() -> None:
    lacking = [
        path
        for path, value in docstrings.public()
        if section(documentation(value), "Returns").endswith("    The result.")
    ]
    assert lacking == []


def test_a_default_that_is_a_function_is_named() -> None:
    assert "Activation, default relu\n" in documentation(mg.nn.Transformer)
