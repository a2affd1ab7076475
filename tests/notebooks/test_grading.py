"""Graders accept different right answers, reject wrong answers and untouched cells, and have three hints."""

from __future__ import annotations

import itertools
import keyword
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import over
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import minigrad as mg
from minigrad.learning import grading
from minigrad.learning.exercises.gradient_checking import transposed
from minigrad.learning.grading import MODULES, Exercise, check, exercises_of, hint
from tests.notebooks.answers import CHAPTERS, answers

EXERCISES = {name: found for chapter in MODULES for name, found in exercises_of(chapter).items()}

pytestmark = pytest.mark.usefixtures("simulator")


def is_code(word: str, asked: Exercise) -> bool:
    """Whether a word names something of the answer, which is written as it is: a function, or an argument."""
    reference = asked.reference
    names = {getattr(reference, "__name__", word), *getattr(getattr(reference, "__code__", None), "co_varnames", ())}
    return word in names or keyword.iskeyword(word)


def named(case: Any) -> str:
    return f"{case[0]}-{case[1]}"


@over("case", answers("RIGHT"), ids=named)
def test_a_right_answer_is_taken(case: Any) -> None:
    name, _, answer = case
    assert check(name, answer), check(name, answer)


@over("case", answers("WRONG"), ids=named)
def test_a_wrong_answer_is_refused_with_a_reason(case: Any) -> None:
    name, _, answer = case
    verdict = check(name, answer)
    assert not verdict and str(verdict).startswith(f"{name}: not yet. ") and len(str(verdict)) > 40
    first = str(verdict).removeprefix(f"{name}: not yet. ").partition(" ")[0]
    assert not first.islower() or not first.isalpha() or is_code(first, EXERCISES[name]), "a sentence begins small"


@over("name", EXERCISES)
def test_an_exercise_is_complete(name: str) -> None:
    found = EXERCISES[name]
    assert check(name, found.reference), check(name, found.reference)
    assert len(found.hints) == 3 == len(set(found.hints)) and all(found.hints) and found.title
    for untouched in (None, ..., lambda *args: None, lambda *args: ...):
        assert not check(name, untouched)


def test_a_complex_step_gets_advice_only_if_its_result_shows_the_mistake() -> None:
    forgotten, constant = lambda f, x: abs(f(x + 1e-200) / 1e-200), lambda f, x: 1.0
    for answer in (forgotten, constant):
        verdict = str(check("01.4", answer))
        assert "but yours is" in verdict and "step" not in verdict.partition("but yours is")[2]
    assert "needs no subtraction" in str(check("01.4", lambda f, x: f(complex(x, 1e-3)).imag / 1e-3))
    assert "imaginary axis?" in str(check("01.4", lambda f, x: 0.0))


def test_operands_are_counted_from_one() -> None:
    verdict = str(check("02.1", lambda a, b: (a / b, (1 / b, 1.0))))
    assert "with respect to operand 2 of 2" in verdict


def test_every_exercise_has_two_right_answers_and_five_wrong_ones() -> None:
    assert set(CHAPTERS) == set(MODULES)
    for kind, least in (("RIGHT", 2), ("WRONG", 5)):
        counts = dict.fromkeys(EXERCISES, 0)
        for name, _, _ in answers(kind):
            counts[name] += 1
        assert {name: count for name, count in counts.items() if count < least} == {}


def test_what_an_answer_raises_is_told_with_its_line() -> None:
    def broken(f: Any, x: Any, h: Any) -> Any:
        return f(x) / 0

    verdict = check("01.1", broken)
    assert not verdict and "It raised ZeroDivisionError: " in str(verdict) and "return f(x) / 0" in str(verdict)

    def unnamed(f: Any, x: Any, h: Any) -> Any:
        raise NotImplementedError

    assert "It raised NotImplementedError (line " in str(check("01.1", unnamed))
    assert "is a complex number, but a real number was expected" in str(check("01.4", lambda f, x: f(x + 1j)))
    assert str(check("01.1", None)) == "01.1: nothing is written yet"
    assert "is of type str, but numbers were expected" in str(check("01.1", lambda f, x, h: "2x"))
    assert "has shape (2,), but () was expected" in str(check("01.1", lambda f, x, h: [1.0, 2.0]))


def test_the_line_is_of_the_answer_also_where_minigrad_raised() -> None:
    def twice(a: Any, b: Any, x: Any) -> Any:
        a.backward()
        return x.grad, b.backward()

    assert "return x.grad, b.backward())" in str(check("03.4", twice))
    assert "(line " in (words := str(check("06.2", lambda g, a, b: (g @ b.T, g)))) and "(g @ b.T, g)" in words
    assert str(check("03.1", lambda y: y.op.id and {"a": {"a", "b"}}[y.name])).endswith("; tried on y = a * b)")


def test_what_went_wrong_is_told_by_what_came_out() -> None:
    def by(a: float, b: float) -> Any:
        return lambda f, x, h: a * (f(x + h / 2) - f(x - h / 2)) / h + b * (f(x + h) - f(x - h)) / (2 * h)

    assert "12, three times the expected value" in str(check("01.2", by(4, -1)))
    assert "central returns 5 with h and 4.25 with h/2" in str(check("01.2", by(-1 / 3, 4 / 3)))
    assert "is the list reversed?" in str(check("02.3", lambda y: exercises_of("02")["02.3"].reference(y)[::-1]))


def test_hints_say_more_each_time(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "_given", {})
    for _ in range(4):
        hint("01.1")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:19] for line in lines] == [f"01.1, hint {k} of 3: "[:19] for k in (1, 2, 3, 3)]
    with pytest.raises(KeyError, match=r"no exercise '01.9'; its chapter has 01.1, "):
        hint("01.9")


@pytest.mark.parametrize(("given", "meant"), [("2.3", "02.3"), (2.3, "02.3"), ("a1.2", "A1.2"), (" 01.1", "01.1")])
def test_a_name_that_is_nearly_right_is_corrected(given: Any, meant: str) -> None:
    with pytest.raises(KeyError, match=rf"there is no exercise .*; do you mean '{meant}'\?"):
        check(given, None)
    with pytest.raises(KeyError, match=r"no exercise '77.1'; its chapter must be one of 01, 02, "):
        check("77.1", None)


def test_a_verdict_is_printed_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    verdict = check("01.1", exercises_of("01")["01.1"].reference)
    assert capsys.readouterr().out == f"{verdict.words}\n" and verdict.words.startswith("01.1: right. ")
    shell = InteractiveShell(ipython_dir=str(tmp_path), config=Config(HistoryManager={"enabled": False}))
    shell.run_cell("from minigrad.learning.grading import check\ncheck('01.1', None)\n", store_history=False)
    assert capsys.readouterr().out.count("01.1: nothing is written yet") == 1


@pytest.mark.parametrize("name", ["06.1", "06.2", "06.4", "10.2", "A3.2"])
def test_an_answer_that_writes_into_what_it_is_given_is_not_right(name: str) -> None:
    """The reference, asked about the same arrays after it, would agree with it."""
    written = 0

    def answer(*given: Any) -> Any:
        nonlocal written
        for each in given:
            for part in each.values() if isinstance(each, dict) else [each]:
                if isinstance(part, np.ndarray):
                    part[...] = 0
                    written += 1
                elif isinstance(part, mg.Tensor) and not part.is_variable:
                    with mg.no_grad():
                        part.detach().zero_()
                    written += 1
        return EXERCISES[name].reference(*given)

    verdict = check(name, answer)
    assert written and not verdict and "writes into its argument" in str(verdict), verdict


def test_complex_answers_are_told_what_is_wrong_with_them() -> None:
    complex_sum = str(check("16.3", lambda u, n: mg.fft.fft(u, n=n)))
    assert "rfft_rule for n = 8 has complex elements, but a real number was expected" in complex_sum
    factor = str(check("16.1", lambda f, z: EXERCISES["16.1"].reference(f, z).conjugate()))
    assert "is the conjugate of the right result: it is the factor u" in factor
    turned = str(check("16.5", lambda s: EXERCISES["16.5"].reference(s) - 2 * np.pi))
    assert "add or subtract turns of 2 pi to be in [0, 2 pi)" in turned


def test_an_answer_that_is_not_a_function_is_named() -> None:
    assert str(check("01.1", 3.0)).endswith("A function was expected, not float; pass its name without calling it")


def test_an_answer_with_other_parameters_shows_no_line_of_the_grader() -> None:
    verdict = str(check("01.1", lambda f, x: f(x)))
    assert "takes 2 positional arguments but 3 were given" in verdict and "(line" not in verdict


def test_an_unwritten_answer_and_a_missing_return_are_told_apart() -> None:
    assert "is not written yet; replace the `...`" in str(check("01.1", lambda f, x, h: ...))
    assert "is None; is a return statement missing?" in str(check("01.1", lambda f, x, h: None))


@pytest.mark.parametrize("name", ["2.3", "02-3", "2,3", " 02 3"])
def test_a_misspelled_number_is_corrected(name: str) -> None:
    with pytest.raises(KeyError, match=r"do you mean '02\.3'\?"):
        check(name, None)


def test_two_numbers_that_differ_are_printed_differently() -> None:
    rounded = check("01.1", lambda f, x, h: np.float32((f(x + h) - f(x - h)) / (2 * h)))
    assert "is -1.3999999761581421, but -1.4000000000000039 was expected" in str(rounded)


def test_a_text_is_not_a_number() -> None:
    spelled = check("01.1", lambda f, x, h: str((f(x + h) - f(x - h)) / (2 * h)))
    assert "is of type str, but numbers were expected" in str(spelled)


def test_an_overflow_of_numpy_counts_and_a_missing_comma_is_named() -> None:
    def logistic(a):
        y = 1 / (1 + np.exp(-a))
        return y, (y * (1 - y),)

    assert "logistic(-1000.0) overflows" in str(check("02.2", logistic))
    assert "the comma in (slope,)" in str(check("02.2", lambda a: (logistic(a)[0], logistic(a)[1][0])))


def poisoned(value: Any) -> Any:
    """The value with nan instead of each float, in arrays and containers too."""
    if isinstance(value, (tuple, list)):
        return type(value)([poisoned(each) for each in value])
    if isinstance(value, (float, np.floating)):
        return float("nan")
    return value * np.nan if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


@pytest.mark.parametrize("name", [name for name in EXERCISES if name[:2] in ("01", "02", "06", "08")])
def test_nan_is_not_right(name: str) -> None:
    reference, changed = EXERCISES[name].reference, []

    def answer(*args: Any) -> Any:
        result = reference(*args)
        changed.append(repr(poisoned(result)) != repr(result))
        return poisoned(result)

    assert not (check(name, answer) and any(changed))


def test_random_vectors_that_hide_a_difference_now_and_then_do_not_fail_a_right_answer() -> None:
    calls = itertools.count()

    def unlucky(push: Any, pull: Any, n: int, m: int) -> bool:
        right: bool = transposed(push, pull, n, m)
        return right if next(calls) % 4 else not right

    assert check("04.5", unlucky)
    toss = np.random.default_rng(0)
    assert not check("04.5", lambda push, pull, n, m: bool(toss.integers(2)))
