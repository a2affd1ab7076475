"""An op whose own functions return a wrong value raises a DeclarationError that names the op."""

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.layout import Layout
from minigrad.declare.decorators import view
from minigrad.errors import DeclarationError

SAME = {"dtype": lambda op, specs: specs[0].dtype, "shape": lambda op, x: x.shape}


def declared(rules, launch):
    @mg.kernel(**{**SAME, **rules})
    def promised(backend, out, x):
        """A test."""
        return launch

    return promised


@over(
    ("rules", "launch", "sentence"),
    [
        ({}, None, "promised: its body must return a launch, such as.*, got None"),
        ({}, 3, "promised: its body must return a launch, such as.*, got 3"),
        (
            {"dtype": lambda op, specs: "float32"},
            print,
            "promised: its dtype rule must return a dtype.*, got 'float32'",
        ),
        ({"dtype": lambda op, specs: None}, print, "promised: its dtype rule must return a dtype.*, got None"),
        ({"shape": lambda op, x: [3]}, print, r"promised: its shape rule must return a tuple of ints.*, got \[3\]"),
        ({"shape": lambda op, x: (-3,)}, print, r"promised: its shape rule must return a tuple of ints.*, got \(-3,\)"),
        (
            {"shape": lambda op, x: (3.0,)},
            print,
            r"promised: its shape rule must return a tuple of ints.*, got \(3.0,\)",
        ),
        ({"shape": lambda op, x: 3}, print, "promised: its shape rule must return a tuple of ints.*, got 3"),
    ],
)
@over("leaf", [mg.tensor, mg.Var])
def test_a_kernel(rules, launch, sentence, leaf):
    with pytest.raises(DeclarationError, match=sentence):
        declared(rules, launch)(leaf([1.0, 2.0, 3.0], device="reference"))


def test_several_results():
    @mg.kernel(dtype=lambda op, specs: specs[0].dtype, shape=lambda op, x: (x.shape, x.shape), outputs=("a", "b"))
    def promised(backend, a, b, x):
        """A test."""
        return print

    with pytest.raises(DeclarationError, match=r"promised: its dtype rule must return a tuple of 2.*, got mg\.float32"):
        promised(mg.tensor([1.0], device="reference"))


def test_an_elementwise_op():
    @mg.elementwise(dtype=lambda op, specs: specs[0].dtype)
    def promised(x):
        """A test."""
        return x + 1.0

    with pytest.raises(
        DeclarationError, match=r"promised: its dtype rule must return a NumPy dtype.*, got mg\.float32"
    ):
        promised(mg.tensor([1.0], device="reference"))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (lambda layout: None, "promised: its body must return a Layout over the memory of x.*, got None"),
        (lambda layout: "abc", "promised: its body must return a Layout over the memory of x.*, got 'abc'"),
        (lambda layout: Layout.make((4,), (1,), layout.offset), "must return elements of x, which are 1 to 3 of its"),
        (lambda layout: Layout.make((3,), (1,), 0), "must return elements of x, which are 1 to 3 of its storage"),
        (lambda layout: Layout.make((1,), (1,), 10**9), "must return elements of x, which are 1 to 3 of its storage"),
    ],
)
def test_a_view(body, sentence):
    def promised(layout):
        """A test."""
        return body(layout)

    x = mg.tensor([0.0, 1.0, 2.0, 3.0, 4.0], device="reference")[1:4]
    with pytest.raises(DeclarationError, match=sentence):
        view(vjp=(lambda g: g,))(promised)(x)


def test_a_view_of_nothing_and_one_of_all():
    @view(vjp=(lambda g: g,))
    def promised(layout):
        """A test."""
        return layout.permute((1, 0))

    assert promised(mg.tensor(np.zeros((0, 3)), device="reference")).shape == (3, 0)
    assert promised(mg.tensor(np.zeros((2, 3)), device="reference")).shape == (3, 2)
