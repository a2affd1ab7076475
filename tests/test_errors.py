"""Error types: ours and Python's at once, with facts."""

import pickle

import pytest

import minigrad as mg
from minigrad import errors
from minigrad.errors import MinigradError, ShapeError, check

BASES = {
    "ShapeError": ValueError, "DTypeError": TypeError, "DeviceError": RuntimeError, "IndexOutOfRange": IndexError,
    "GradientError": RuntimeError, "DeclarationError": TypeError, "KernelError": RuntimeError,
    "ArgumentError": ValueError, "StorageError": RuntimeError, "IndexShapeError": IndexError,
    "IndexDTypeError": IndexError,
}  # fmt: skip


@pytest.mark.parametrize("name", BASES)
def test_each_error_is_ours_and_the_expected_builtin(name):
    error = getattr(errors, name)
    assert issubclass(error, MinigradError) and issubclass(error, BASES[name]) and issubclass(error, RuntimeError)


def test_facts_are_attributes_and_survive_pickling():
    error = pickle.loads(pickle.dumps(ShapeError("add: no", op="add", lhs=(2,), dim=0)))
    assert (str(error), error.op, error.lhs, error.dim) == ("add: no", "add", (2,), 0)
    with pytest.raises(AttributeError, match="ShapeError has no attribute 'rhs'"):
        _ = error.rhs


def test_check_raises_unless_the_condition_holds():
    check(True, ShapeError, "unused")
    with pytest.raises(ShapeError, match=r"^add: \(2,\) is no match$") as caught:
        check(False, ShapeError, "add: ", (2,), " is no match", op="add")
    assert caught.value.op == "add"


# The class is that of PyTorch's error, or a base of it.
CLASSES = {
    IndexError: {
        "x[1.5]": lambda x: x[1.5], "x[floats]": lambda x: x[x], "x[mask]": lambda x: x[x[:, :3] > 0],
        "x[0, 0, 0]": lambda x: x[0, 0, 0], "argmax of nothing": lambda x: x[:0].argmax(),
        "amax of nothing": lambda x: x[:0].amax(0), "kthvalue of nothing": lambda x: x[0, :0].kthvalue(1),
        "index_select": lambda x: x.index_select(0, mg.zeros(2, 2, dtype=mg.int64, device="reference")),
        "index_fill": lambda x: x.index_fill(0, x[0], 1.0), "broadcast": lambda x: x[[0, 1], [0, 1, 2]],
        "put": lambda x: x.put(mg.zeros(2, dtype=mg.int64, device="reference"), x[0]),
    },
    TypeError: {
        "a dim of text": lambda x: x.sum("rows"), "a bool as dim": lambda x: x.cumsum(True),
        "a tensor as p": lambda x: mg.cdist(x, x, p=x), "text as p": lambda x: x.norm(p="two"),
        "a tensor as reduce": lambda x: x.scatter(0, x.argmax(1, True), x, reduce=x),
        "a tensor as kernel_size": lambda x: mg.nn.functional.max_pool1d(x, x), "cat": lambda x: mg.cat(x),
        "a list as dim": lambda x: mg.diagonal(x, 0, [0]), "keepdim": lambda x: mg.argmax(x, keepdim="yes"),
        "range": lambda x: range(x), "dtype": lambda x: mg.nanmean(x, dtype=99), "fill": lambda x: mg.fill(1, 2),
        "steps": lambda x: mg.linspace(0, 1, [2, 3]), "n": lambda x: mg.fft.fftfreq([1, 2]),
        "poisson": lambda x: mg.poisson(3),
    },
    NotImplementedError: {
        "abs of bool": lambda x: abs(x > 0), "bits of floats": lambda x: x & x, "histc": lambda x: (x > 0).histc(),
    },
    ValueError: {"cat": lambda x: mg.cat([])},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, calls in CLASSES.items() for name in calls])
def test_an_error_is_also_of_the_class_that_pytorch_raises(kind, name):
    with pytest.raises(kind) as caught:
        CLASSES[kind][name](mg.arange(12.0, device="reference").reshape(3, 4))
    assert isinstance(caught.value, MinigradError)


def test_a_wrong_type_is_no_missing_dtype() -> None:
    for call in (lambda: mg.fill(1, 2), lambda: mg.poisson([1.0]), lambda: mg.ones(1, dtype="float7")):
        with pytest.raises(TypeError) as caught:
            call()
        assert not isinstance(caught.value, NotImplementedError)
