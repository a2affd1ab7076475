"""Exercises that grade themselves, in a cell of a notebook and without a network connection.

    check("01.1", central)    # prints that the answer is right, or the first mistake
    hint("01.1")              # prints the next of three hints

An exercise is declared in `minigrad/learning/exercises/`, with a reference that the notebook does not show.  A grader
calls an answer with several inputs.  So it accepts neither unchanged code nor code that works only for the example in
the text.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

import minigrad

MODULES = {
    "01": "nudging",
    "02": "scalar_autograd",
    "03": "graphs",
    "04": "gradient_checking",
    "05": "strides",
    "06": "vjps",
    "07": "engine",
    "08": "forward_mode",
    "09": "higher_order",
    "10": "loops",
    "11": "own_ops",
    "12": "gpu",
    "13": "training",
    "14": "networks",
    "15": "programs",
    "16": "waves",
    "A1": "precision",
    "A2": "stability",
    "A3": "from_pytorch",
    "A4": "from_jax",
}
NOT_THEIRS: tuple[Path, ...] = (Path(__file__).parent, Path(minigrad.__file__).parent, Path(np.__file__).parent)
# Words with which the message of a wrong answer begins; every other beginning is a name of the code.
OPENING = frozenset(
    "a all for halving in it keys minus no pass position return slots the there this twice two where with your "
    "zeros".split()
)
_given: dict[str, int] = {}  # number of hints that were requested, by exercise


Grade = Callable[[Any], None]


class Wrong(Exception):
    """Raised for a wrong answer; the message is a sentence to its author."""


@dataclass(frozen=True)
class Exercise:
    """Store one exercise of the notebooks and the function that grades answers.

    `title` is the task in a few words.  `hints` are texts from a first idea to nearly the whole answer.  `grade` is a
    function that raises Wrong for a wrong answer.  `reference` is a correct answer, with which the grader compares.
    `fills` is True if the answer may write to the tensors that it receives; no answer may write to arrays.
    `excluded` are the names of functions and classes that the text excludes.
    """

    title: str
    hints: tuple[str, ...]
    grade: Grade
    reference: Any
    fills: bool = False
    excluded: tuple[str, ...] = ()


class Exercises(dict[str, Exercise]):
    """The exercises of a chapter, by name.  A call declares an exercise and decorates the function that grades it."""

    def __call__(
        self, name: str, reference: Any, title: str, *hints: str, fills: bool = False, excluded: tuple[str, ...] = ()
    ) -> Callable[[Grade], Grade]:
        def declare(grade: Grade) -> Grade:
            self[name] = Exercise(title, hints, grade, reference, fills, excluded)
            return grade

        return declare


@dataclass(frozen=True)
class Verdict:
    """The result of `check`; it is true if the answer is right."""

    right: bool
    words: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.words

    def _ipython_display_(self) -> None:
        """Show nothing, because `check` has printed the text, and a verdict is often the value of a cell."""


def exercise(name: str) -> Exercise:
    """Return an exercise by its name, such as "01.2"; raise KeyError for an unknown name."""
    found = exercises_of(str(name).partition(".")[0])
    if name not in found:
        raise KeyError(f"there is no exercise {name!r}; {instead_of(str(name))}")
    return found[name]


def instead_of(name: str) -> str:
    """Return advice for an unknown name: the name that was probably meant, or the names of the chapter."""
    chapter, _, number = re.sub(r"[-,_ :]+", ".", name.strip().upper()).partition(".")
    chapter = chapter.zfill(2)
    found = exercises_of(chapter)
    if f"{chapter}.{number}" in found:
        return f"do you mean '{chapter}.{number}'?"
    return f"its chapter has {', '.join(found)}" if found else f"its chapter must be one of {', '.join(MODULES)}"


def exercises_of(chapter: str) -> dict[str, Exercise]:
    """Return the exercises of a chapter such as "01" by name; an empty dict for an unknown chapter."""
    if chapter not in MODULES:
        return {}
    return importlib.import_module(f"minigrad.learning.exercises.{MODULES[chapter]}").EXERCISES


def check(name: str, answer: Any) -> Verdict:
    """Grade an answer, print the verdict and return it.  An error in the answer is printed with its line."""
    verdict = verdict_on(name, exercise(name), answer)
    print(verdict)
    return verdict


def verdict_on(name: str, asked: Exercise, answer: Any) -> Verdict:
    """Return the verdict on an answer to an exercise."""
    if answer is None or answer is Ellipsis:
        return Verdict(False, f"{name}: nothing is written yet")
    if isinstance(asked.reference, FunctionType) and not callable(answer):
        kind = type(answer).__name__
        return Verdict(False, f"{name}: not yet. A function was expected, not {kind}; pass its name without calling it")
    try:
        names = names_used(answer) if asked.excluded else set()
        for used in asked.excluded:
            if used in names:
                raise Wrong(f"it uses {used}, which the exercise excludes; write its computation with other functions")
        asked.grade(held(answer, asked.fills))
    except Wrong as wrong:
        return Verdict(False, f"{name}: not yet. {sentence(str(wrong))}")
    except Exception as error:
        return Verdict(False, f"{name}: not yet. It raised {named(error)}{place_of(error)}")
    return Verdict(True, f"{name}: right. {asked.title}")


def codes_of(answer: Any) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """Yield the code of an answer and of the functions that it uses, except minigrad's, each with its globals."""
    kinds = answer.__mro__ if isinstance(answer, type) else ()
    parts = [part for kind in kinds if not minigrads(kind) for part in vars(kind).values()] if kinds else [answer]
    waiting = [known_to(part) for part in parts if isinstance(part, FunctionType)]
    seen: set[tuple[Any, ...]] = set()
    while waiting:
        code, known = waiting.pop()
        key = code, *[id(known.get(name)) for name in code.co_freevars]  # two closures may share their code
        if key in seen:
            continue
        seen.add(key)
        yield code, known
        for inner in [each for each in code.co_consts if isinstance(each, CodeType)]:
            local = known.keys() & (set(inner.co_freevars) - set(code.co_freevars))
            waiting.append((inner, {name: known[name] for name in known.keys() - local} if local else known))
        helpers = [known.get(name) for name in code.co_names + code.co_freevars]
        waiting += [known_to(f) for f in helpers if isinstance(f, FunctionType) and not minigrads(f)]


def known_to(f: FunctionType) -> tuple[CodeType, dict[str, Any]]:
    """Return the code of a function and the values of its global names and of its closure, as far as they are set."""
    closed = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
        with contextlib.suppress(ValueError):  # the cell is empty
            closed[name] = cell.cell_contents
    return f.__code__, {**f.__globals__, **closed} if closed else f.__globals__


def names_used(answer: Any) -> set[str]:
    """Return the names of attributes and of minigrad's functions in the code of an answer and of its helpers."""
    names = {kind.__name__ for kind in answer.__mro__[1:]} if isinstance(answer, type) else set()
    for code, known in codes_of(answer):
        for step in dis.get_instructions(code):
            value = known.get(step.argval) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") else None
            if minigrads(value):
                names.add(str(getattr(value, "__name__", step.argval)))
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                names.add(step.argval)
    return names


def minigrads(value: Any) -> bool:
    """Return whether a function or a class is defined in minigrad."""
    module = getattr(value, "__module__", None)
    return callable(value) and hasattr(value, "__name__") and str(module).startswith("minigrad.")


def sentence(words: str) -> str:
    """Return a text with a capital letter, unless it begins with a name of the code, such as "slope_at(...)"."""
    return words[:1].upper() + words[1:] if words.partition(" ")[0].rstrip(",") in OPENING else words


def held(answer: Any, fills: bool) -> Any:
    """Wrap an answer so that writing to its arguments raises Wrong, because the reference is called with them later."""
    if not isinstance(answer, FunctionType):
        return answer

    @functools.wraps(answer)
    def careful(*given: Any, **named: Any) -> Any:
        before = contents((given, named), fills)
        result = answer(*given, **named)
        if contents((given, named), fills) != before:
            raise Wrong("it writes into its argument, which belongs to the caller; write into a copy")
        return result

    return careful


def contents(given: Any, fills: bool) -> Any:
    """Return the contents of nested arguments, for a comparison; if `fills`, tensors may change."""
    if isinstance(given, np.ndarray):
        return given.shape, given.tobytes()
    if isinstance(given, minigrad.Tensor):
        return 0 if fills or not hasattr(given, "storage") else given.storage.version
    if isinstance(given, dict):
        return [(name, contents(each, fills)) for name, each in given.items()]
    if isinstance(given, (tuple, list)):
        return [contents(each, fills) for each in given]
    return given if isinstance(given, (int, float)) else None


def named(error: BaseException) -> str:
    """Return the name of an error, with its message if it has one."""
    words = str(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def place_of(error: Exception) -> str:
    """Return the last line of the answer in an error's traceback, and the error's notes, in parentheses."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [
        f for f in frames
        if not f.filename.startswith("<minigrad ")  # frames of generated code have such file names
        and not any(Path(f.filename).is_relative_to(folder) for folder in NOT_THEIRS)
    ]  # fmt: skip
    line = [f"line {theirs[-1].lineno}: {theirs[-1].line}"] if theirs else []
    found = "; ".join([*line, *getattr(error, "__notes__", [])])
    return f" ({found})" if found else ""


def tried(answer: Callable[..., Any], *inputs: Any, on: str) -> Any:
    """Call an answer; a note with the text `on` is added to an error."""
    try:
        return answer(*inputs)
    except Exception as error:
        error.add_note(f"tried on {on}")
        raise


def hint(name: str) -> None:
    """Print the next hint; after the last one, it is repeated."""
    hints = exercise(name).hints
    k = _given.get(name, 0)
    _given[name] = min(k + 1, len(hints) - 1)
    print(f"{name}, hint {k + 1} of {len(hints)}: {hints[k]}")


def expect_close(got: Any, want: Any, what: str, tolerance: float = 1e-6) -> None:
    """Raise Wrong unless got equals want within the absolute tolerance plus the tolerance relative to want."""
    expect(got, want, what, lambda a, b: np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def expect_digits(got: Any, want: Any, what: str, allowed: float) -> None:
    """Raise Wrong unless the relative error of each element is at most `allowed`, however small the element is."""
    expect(got, want, what, lambda a, b: np.abs(a - b) <= allowed * np.abs(b))


def expect_digits_at(points: Any, got: Any, want: Any, what: str, allowed: float) -> None:
    """Apply `expect_digits` at each point; `what` names the function, with {x} for the point in messages."""
    a, b = as_array(got, what.format(x=points)), as_array(want, what)
    if a.shape != b.shape:
        raise Wrong(f"{what.format(x=points)} has shape {a.shape}, but {b.shape} was expected")
    for x, mine, right in zip(points, a, b, strict=True):
        expect_digits(mine, right, what.format(x=x), allowed)


def expect_returned(got: Any, what: str) -> None:
    """Raise Wrong for None, and for the `...` of an exercise that was not filled in."""
    if got is Ellipsis:
        raise Wrong(f"{what} is not written yet; replace the `...`")
    if got is None:
        raise Wrong(f"{what} is None; is a return statement missing?")


def as_results(got: Any, count: int, what: str, of: str) -> Any:
    """Return the results in a tuple or a list; raise Wrong unless there are `count`.  `of` says what was expected."""
    expect_returned(got, what)
    if not isinstance(got, (tuple, list)) or len(got) != count:
        raise Wrong(f"{what} returns {got!r}, but {of} was expected")
    return got


def as_integer(got: Any, what: str) -> int:
    """Return an integer; raise Wrong for any other object."""
    expect_returned(got, what)
    if isinstance(got, bool) or not isinstance(got, (int, np.integer)):
        raise Wrong(f"{what} returns {got!r}, but an integer was expected")
    return int(got)


def as_bool(got: Any, what: str) -> bool:
    """Return True or False; raise Wrong for any other object."""
    expect_returned(got, what)
    if not isinstance(got, (bool, np.bool_)):
        raise Wrong(f"{what} returns {got!r}, but True or False was expected")
    return bool(got)


def gradient_of(y: Any, x: Any, words: str, weights: Any = None) -> Any:
    """Return the gradient of a result; raise Wrong with these words if none flows."""
    try:
        return minigrad.grad(y, x, weights)
    except (AttributeError, TypeError, minigrad.MinigradError):
        raise Wrong(words) from None


def expect(got: Any, want: Any, what: str, right: Callable[[Any, Any], Any]) -> None:
    """Raise Wrong unless got has the shape of want, and `right` holds for each pair of elements."""
    expect_returned(got, what)
    kind = np.complex128 if is_complex(want) else np.float64
    a, b = as_array(got, what, kind), as_array(want, what, kind)
    if a.shape != b.shape:
        raise Wrong(f"{what} has shape {a.shape}, but {b.shape} was expected")
    wrong = np.argwhere(~np.asarray(right(a, b)))
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        place = f" at {list(at)}" if at else ""
        digits = 8 if f"{a[at]:.8g}" != f"{b[at]:.8g}" else 17  # the two texts should differ
        raise Wrong(f"{what}{place} is {a[at]:.{digits}g}, but {b[at]:.{digits}g} was expected")


def as_float(got: Any, what: str) -> float:
    """Return one number; raise Wrong for any other object."""
    expect_returned(got, what)
    found = as_array(got, what)
    if found.size != 1:
        raise Wrong(f"{what} has shape {found.shape}, but one number was expected")
    return float(found.reshape(-1)[0])


def is_complex(x: Any) -> bool:
    """Return whether x is a complex number, or an array or a tensor of complex numbers."""
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def as_array(x: Any, what: str, kind: Any = np.float64) -> Any:
    """Return numbers of any type in float64, or in complex128 if that is the kind; raise Wrong for other objects."""
    x = x.detach().numpy() if hasattr(x, "detach") else x
    if is_complex(x) and kind is np.float64:
        found = "has complex elements" if np.ndim(x) else "is a complex number"
        raise Wrong(f"{what} {found}, but a real number was expected")
    try:
        if np.asarray(x).dtype.kind in "SU":  # NumPy reads the text "3.0" as a number
            raise TypeError
        return np.asarray(x, dtype=kind)
    except (TypeError, ValueError):
        raise Wrong(f"{what} is of type {type(x).__name__}, but numbers were expected") from None
