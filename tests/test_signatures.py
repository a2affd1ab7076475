"""What an editor shows of a public name: a signature with names, and a docstring that begins with a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from cases import over

import minigrad as mg

# Shapes may be written as several ints, and so may the numbers of a storage; primals are arguments.
# `to` takes a dtype, a device or a tensor at any place, as in PyTorch; a checkpoint hands on what its function takes.
MANY = {"operands", "others", "tensors", "primals", "numbers", "repeats"}
MANY |= {"shape", "shapes", "size", "sizes", "lengths", "dims", "matrices"}
ANY_PLACE = {"to": "args", "to_dtype": "args", "to_device": "args", "astype": "args", "checkpoint": "args"}
# Facts of an error and settings by name: what they are is the caller's, and checked.
BY_NAME = {"facts", "kwargs", "values"}


def public() -> Iterator[tuple[str, Any]]:
    """Every callable of the public face by its dotted name; of a property, what reads it."""
    modules = {
        "mg": mg,
        "functional": mg.nn.functional,
        "func": mg.func,
        "linalg": mg.linalg,
        "special": mg.special,
        "fft": mg.fft,
        "cuda": mg.cuda,
    }
    for label, module in modules.items():
        for name in module.__all__:
            if callable(getattr(module, name)):
                yield f"{label}.{name}", getattr(module, name)
    for kind in (mg.Var, mg.Tensor, mg.GradStore, mg.Generator, mg.Storage, mg.Layout, mg.Device, mg.DType):
        for name, value in vars(kind).items():
            if not hasattr(kind, name):
                continue
            value = value.fget if isinstance(value, property) else getattr(kind, name)
            ours = inspect.isroutine(value) and value is not getattr(object, name, None)
            if ours and is_public(name):
                yield f"{kind.__name__}.{name}", value


def is_public(name: str) -> bool:
    """Whether an editor shows it: Python's own names are, but for those of making classes and objects, and ufuncs."""
    hidden = ("__init", "__sub", "__array_ufunc")
    return not name.startswith("_") or (name.startswith("__") and not name.startswith(hidden))


PUBLIC = dict(public())


def test_the_public_face_is_looked_at_as_a_whole() -> None:
    assert {"mg.add", "mg.Var", "functional.relu", "Tensor.mul_", "Tensor.__radd__", "Tensor.T", "Tensor.long"} <= {
        *PUBLIC
    }
    assert len(PUBLIC) > 500


@over("name", PUBLIC)
def test_a_public_name_has_a_signature_with_names(name: str) -> None:
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    assert "lambda" not in PUBLIC[name].__name__
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            assert p.name in MANY or ANY_PLACE.get(name.split(".")[1]) == p.name, p
        if p.kind is p.VAR_KEYWORD:
            assert p.name in BY_NAME, p


@over("name", PUBLIC)
def test_the_first_line_of_a_docstring_is_a_sentence(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name])
    assert doc, "no docstring"
    first = doc.splitlines()[0]
    assert first.endswith("."), first


@over("name", [n for n in PUBLIC if n.startswith("Tensor.") and n.split(".")[1] in dir(mg.Tensor)])
def test_a_method_of_a_tensor_hides_the_tensor(name: str) -> None:
    x, attribute = mg.tensor([1, 2], device="reference"), name.split(".")[1]
    if not isinstance(inspect.getattr_static(mg.Tensor, attribute), property):
        whole = list(inspect.signature(PUBLIC[name]).parameters)
        assert list(inspect.signature(getattr(x, attribute)).parameters) == whole[1:]


def test_modules_of_the_public_face_say_what_they_are_for() -> None:
    for module in (mg, mg.nn, mg.nn.functional, mg.viz, mg.testing, mg.rules):
        assert (module.__doc__ or "").splitlines()[0].endswith((".", "?"))


def test_the_source_of_an_op_is_its_declaration() -> None:
    for function in (mg.mul, mg.Tensor.mul, mg.Tensor.__mul__):
        source = inspect.getsource(function)
        assert (
            source.startswith("@elementwise(")
            and "def mul(input, other):" in source
            and "return input * other" in source
        )
    assert "@reduction(" in inspect.getsource(mg.sum) and "@kernel(" in inspect.getsource(mg.clone)
