"""Run one notebook and report the marks of its answers; `mark` starts this process for each notebook.

Standard input contains the task as JSON.  Each result is one line for the file descriptor that the command line names,
so that no result is lost if the process ends early.  Each line contains a token that only the two processes have.

The graders are loaded before the first cell runs.  A call of `check` in a cell is replaced with `Recorder`,
even if the notebook redefines it.  If a notebook changes a grader, its later answers are refused.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minigrad.learning import grading
from minigrad.learning.grading import Exercise, Verdict, codes_of, exercises_of, named, verdict_on
from notebooks.teaching.guard import Seal, TooLong, at_most, close, end_with, limit_memory

Tell = Callable[..., None]


class Checks(ast.NodeTransformer):
    """Replaces the name `check` in the calls `check("01.1", answer)` of a cell."""

    def __init__(self, name: str, known: dict[str, Exercise]) -> None:
        self.name, self.known = name, known
        self.found: list[str] = []

    def visit_Call(self, node: ast.Call) -> Any:
        """Replace a call, and the calls in its arguments."""
        self.generic_visit(node)
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if called == "check" and first in self.known:
            self.found.append(first)
            node.func = ast.copy_location(ast.Name(self.name, ast.Load()), node.func)
        return node


class Recorder:
    """The replacement of `check`: it grades an answer and reports the result."""

    def __init__(self, known: dict[str, Exercise], seal: Seal | None, tell: Tell, seconds: float) -> None:
        self.known, self.seal, self.tell, self.seconds = known, seal, tell, seconds
        self.cell, self.given = 0, set[str]()
        self.wrong: dict[str, Any] = {}  # the wrong answers, by exercise
        self.clock, self.grade = time.perf_counter, verdict_on

    def __call__(self, name: str, answer: Any) -> Verdict:
        """Grade an answer, as `minigrad.learning.grading.check` does."""
        if name not in self.known:
            return Verdict(False, f"there is no exercise {name!r} here")
        began = self.clock()
        asked, refused = self.known[name], self.refusal(name, answer)
        verdict = Verdict(False, refused) if refused else self.grade(name, asked, answer)
        refused = refused or self.refusal(name, answer)
        empty = answer is None or answer is ...
        result = "refused" if refused else "right" if verdict.right is True else "not tried" if empty else "wrong"
        self.tell("verdict", exercise=name, result=result, words=refused or verdict.words, cell=self.cell,
                  seconds=self.clock() - began)  # fmt: skip
        self.given.add(name)
        if result == "wrong":
            self.look_for_cause(name, answer)
            self.wrong[name] = answer
        return verdict

    def look_for_cause(self, name: str, answer: Any) -> None:
        """Report a wrong answer that is right as soon as the reference replaces an earlier wrong one that it calls."""
        pairs = list(codes_of(answer))
        for earlier, cause in self.wrong.items():
            uses = [(known, g) for code, known in pairs for g in code.co_names if known.get(g) is cause]
            if earlier == name or not uses:
                continue
            try:
                for known, g in uses:
                    known[g] = self.known[earlier].reference
                verdict = self.grade(name, self.known[name], answer)
            finally:
                for known, g in uses:
                    known[g] = cause
            if verdict.right is True and not self.refusal(name, answer):
                self.tell("verdict", exercise=name, result="follows", cell=self.cell, seconds=0.0,
                          words=f"wrong only because it calls the answer to {earlier}, which is wrong")  # fmt: skip
                return

    def refusal(self, name: str, answer: Any) -> str:
        """Return the reason to refuse an answer, or an empty text."""
        broken = self.seal and self.seal.broken()
        if broken:
            return f"the notebook has changed {broken}, by which it is marked"
        reference = self.known[name].reference
        code = getattr(answer, "__code__", None)
        same = answer is reference or (code is not None and code is getattr(reference, "__code__", None))
        return "this is the reference of the grader itself" if same else ""


def run(order: dict[str, Any], tell: Tell) -> None:
    """Run the cells of a notebook in their order; an error in one does not stop the next."""
    known = {name: each for chapter in order["chapters"] for name, each in exercises_of(chapter).items()}
    grading.NOT_THEIRS = (*grading.NOT_THEIRS, Path(__file__).parent)  # the student's line caused the error
    recorder = Recorder(known, None, tell, order["cell_seconds"])
    grading.check = recorder  # for imports under another name
    modules = [sys.modules[f"minigrad.learning.exercises.{grading.MODULES[chapter]}"] for chapter in order["chapters"]]
    recorder.seal = Seal(grading, *modules)
    space = types.ModuleType("__main__")
    sys.modules["__main__"] = space
    secret = f"_check_{order['token']}"
    vars(space).update({secret: recorder, "display": lambda *shown, **how: None})
    limit_memory(int(order["memory"] * 2**30))
    close(Path.cwd(), *map(Path, order["writable"]))
    for number, source in order["cells"]:
        tell("cell", cell=number)
        recorder.cell, recorder.given = number, set()
        names = run_cell(number, source, vars(space), secret, known, tell, order["cell_seconds"])
        tell("done", cell=number, names=[name for name in names if name not in recorder.given])


def run_cell(
    number: int, source: str, space: dict[str, Any], secret: str, known: dict[str, Exercise], tell: Tell, seconds: float
) -> list[str]:
    """Run a cell; return the exercises whose check it contains."""
    place = f"<cell {number}>"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    checks = Checks(secret, known)
    try:
        with at_most(seconds):
            try:
                tree = ast.fix_missing_locations(checks.visit(ast.parse(source, place)))
                exec(compile(tree, place, "exec"), space)
            except TooLong:
                tell("error", cell=number, words=f"took more than {seconds:g} seconds and was stopped")
            except BaseException as error:
                tell("error", cell=number, words=f"ended with {named(error)}"[:300])
    except BaseException:  # the time ran out, or `str` of the error failed, during the report
        tell("error", cell=number, words="ended with an error that cannot be shown")
    finally:
        pictures = sys.modules.get("matplotlib.pyplot")
        if pictures is not None and hasattr(pictures, "close"):
            pictures.close("all")
    return checks.found or [name for name in known if f'check("{name}"' in source.replace("'", '"')]


def main() -> None:
    """Read the order, run it, and exit without running handlers that the notebook has registered."""
    stream = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    order = json.loads(sys.stdin.readline())
    token, dump, leave = order["token"], json.dumps, os._exit
    end_with(order["marker"])

    def tell(kind: str, **more: Any) -> None:
        stream.write(dump({"token": token, "kind": kind, **more}) + "\n")
        stream.flush()

    run(order, tell)
    tell("end")
    leave(0)


if __name__ == "__main__":
    main()
