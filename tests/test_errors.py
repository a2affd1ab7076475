"""Error types: ours and Python's at once, with facts."""

import pickle

import pytest

from minigrad import errors
from minigrad.errors import MinigradError, ShapeError, check

BASES = {
    "ShapeError": ValueError, "DTypeError": TypeError, "DeviceError": RuntimeError, "IndexOutOfRange": IndexError,
    "GradientError": RuntimeError, "DeclarationError": TypeError, "KernelError": RuntimeError,
    "ArgumentError": ValueError, "StorageError": RuntimeError,
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
