"""Bugs to plant: fifteen small programs, each with one mistake that a tool of minigrad finds.

    from notebooks.teaching.bugs import BUGS, bug, hunt

    bug("b03").show()                  # for students: the program and its symptom
    program = bug("b03").program()     # its variables and functions: program.my_grad(program.y, program.x)
    bug("b03").check(text)             # whether a program that a student has fixed is right
    bug("b03").answer()                # for the teacher: the tool, its output, the fix as a diff

The programs are the files of `planted/`, which students may have; `bugs.py` has the answers.  The wrong VJP rules of
chapter 04 are in `minigrad/learning/exercises/patients.py`.
"""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.config import override
from minigrad.learning.grading import Verdict

HERE = Path(__file__).parent / "planted"


@dataclass(frozen=True)
class Bug:
    """A program with a mistake.

    name: the name of its file in `planted/`.  title: the mistake, for teachers.  chapter: the chapter that students
    need.  tool: the call that finds the mistake.  clue: a part of the output of this call.  cause: the reason, in one
    or two sentences.  wrong, right: the text of the mistake, and its replacement.  proof: an expression that is true
    only for the fixed program.
    """

    name: str
    title: str
    chapter: str
    tool: str
    clue: str
    cause: str
    wrong: str
    right: str
    proof: str

    @property
    def text(self) -> str:
        """Return the program with the mistake."""
        return (HERE / f"{self.name}.py").read_text(encoding="utf-8")

    @property
    def fixed(self) -> str:
        """Return the program without the mistake."""
        return self.text.replace(self.wrong, self.right)

    def show(self) -> None:
        """Print the text for students: the symptom, then the program."""
        print(self.text)

    def program(self, text: str | None = None) -> SimpleNamespace:
        """Run the program, or the given text instead, and return its variables and functions."""
        return SimpleNamespace(**run(self.name, self.text if text is None else text))

    def report(self, text: str | None = None) -> str:
        """Return the output of the tool for the program: the result, or the message of the error."""
        try:
            return str(evaluated(self.tool, run(self.name, self.text if text is None else text)))
        except (mg.MinigradError, mg.testing.GradcheckError) as error:
            return str(error)

    def check(self, text: str) -> Verdict:
        """Return a verdict on a program, given as text: right if the mistake is fixed."""
        try:
            held = bool(evaluated(self.proof, run(self.name, text)))
        except Exception as error:
            return Verdict(False, f"{self.name}: not yet. {type(error).__name__}: {error}")
        return Verdict(held, f"{self.name}: right. {self.title}" if held else f"{self.name}: not yet")

    def answer(self) -> None:
        """Print the text for teachers: the mistake, the tool with its output, the fix."""
        print(f"{self.name}: {self.title} (after chapter {self.chapter})\n{self.cause}\n")
        print(f">>> {self.tool}\n{self.report()}\n")
        lines = difflib.unified_diff(self.text.splitlines(), self.fixed.splitlines(), "planted", "fixed", "", "", 1, "")
        print("\n".join(lines))


# ---- functions for tools and proofs ---------------------------------------------------------------------------------


def run(name: str, text: str) -> dict[str, Any]:
    """Run a program and return its variables and functions."""
    place = f"<{name}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, place, "exec"), space)
    return space


def evaluated(code: str, space: dict[str, Any]) -> Any:
    """Return the value of an expression in a program; the GPU is simulated, so that all machines agree."""
    with override(cuda="simulator"):
        return eval(code, {"np": np, **TOOLS, **space})


def debugged(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function under mg.debug(), and run backward from its result."""
    with mg.debug():
        y = function(*args)
        return y.backward() if isinstance(y, mg.Tensor) and y.requires_grad else y


def explained(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Explain the gradient of function(x, ...) with respect to x."""
    with mg.debug():
        return x.explain_grad(function(x, *others))


def watched(function: Callable[..., Any], *args: Any) -> Any:
    """Run a call and its backward pass; stop at the first op that computes nan or inf from finite values."""
    with mg.detect_anomaly():
        return function(*args).sum().backward()


def leak(function: Callable[..., Any], x: Any) -> str:
    """Return a table with an x where a row of the result depends on a row of x."""
    slopes = np.abs(mg.func.jacrev(function)(x).numpy()).sum(axis=(1, 3)) > 1e-12
    return "\n".join("".join(" x" if there else " ." for there in row) for row in slopes)


TOOLS = {f.__name__: f for f in (debugged, explained, watched, leak)}
BUGS = {
    each.name: each
    for each in (
        Bug(
            "b01", "a factor is missing", "04",
            "mg.testing.gradcheck(bits, point)", "times what it should be",
            "log2 has the derivative 1 / (x log 2). One ratio at all elements, 0.693 (log 2), shows a missing factor.",
            "return g / x", "return g / x * (1 / math.log(2.0))",
            "mg.testing.gradcheck(bits, point)",
        ),
        Bug(
            "b02", "a broadcast is averaged where it should be summed", "06",
            "mg.testing.gradcheck(layer, (x, weight, bias))", "'bias'",
            "Each row uses the bias, so its gradient is a sum over the rows. The ratio is 1/4, one over the batch.",
            "g.mean(0)", "g.sum(0)",
            "mg.testing.gradcheck(layer, (x, weight, bias))",
        ),
        Bug(
            "b03", "where paths meet, the last gradient wins", "03",
            "mg.viz.step(y)", "2 of 2",
            "h is both operands of mul. The stepper shows 'path 1 of 2' and 'path 2 of 2': both gradients are added.",
            "            table[parent.id] = gradient\n",
            "            table[parent.id] = table[parent.id] + gradient if parent.id in table else gradient\n",
            "np.allclose(my_grad(y, x).tolist(), mg.grad(y, x, retain_graph=True).tolist())",
        ),
        Bug(
            "b04", "a saved value is overwritten", "07",
            "debugged(loss_of, w)", "b04",
            "tanh saves its result for the backward pass, and mul_ overwrites it. Under mg.debug() the write "
            "raises the error, which shows both lines.",
            "    h.mul_(0.9)  # the scale\n", "    h = h * 0.9  # the scale\n",
            "mg.testing.gradcheck(loss_of, w)",
        ),
        Bug(
            "b05", "a branch is detached", "03",
            "explained(lambda scale: loss_of(w, scale), scale)", "item",
            "item() returns a Python number, so size is a constant in the graph.",
            "(h * scale).sum().item()", "(h * scale).sum()",
            "mg.testing.gradcheck(loss_of, (w, scale))",
        ),
        Bug(
            "b06", "a sign is wrong on one side of a kink", "04",
            "mg.testing.gradcheck(leaky, point)", "2 of 5 elements differ",
            "Only elements below 0 are wrong, and their gradients have the wrong sign.",
            "g * -0.1", "g * 0.1",
            "mg.testing.gradcheck(leaky, point)",
        ),
        Bug(
            "b07", "a race: all threads add to the same elements", "12",
            "run()", "since the last barrier",
            "An addition reads, then writes. If two threads do this at once, one addition is lost. The "
            "simulator records the accesses since the last barrier. In the fix each of four threads counts one kind.",
            "    if t < n:\n        sums[kinds[t]] += np.float32(1)  # noqa: F821\n",
            "    if t < 4:\n        for i in range(n):\n            if kinds[i] == t:\n"
            "                sums[t] += np.float32(1)  # noqa: F821\n",
            "run() == [8.0, 8.0, 8.0, 8.0]",
        ),
        Bug(
            "b08", "a stride is off by one", "05",
            "mg.viz.layout(diagonal(x))", "strides (3,)",
            "The step from one diagonal element to the next is n + 1, not n. gradcheck cannot find this: the "
            "derivative of the wrong function is right.",
            "(n,), (n,)", "(n,), (n + 1,)",
            "trace(x).item() == 12.0 and mg.testing.gradcheck(trace, x)",
        ),
        Bug(
            "b09", "the graphs of all batches are kept alive", "07",
            "mg.tape(evaluated(5))", "ops hold ",
            "total is computed from losses that require a gradient, so it keeps the graph of each batch alive. Under "
            "mg.no_grad(), or with loss.detach(), no graph is kept.",
            "loss_of(mg.ones(32, 64) * k)", "loss_of(mg.ones(32, 64) * k).detach()",
            "not evaluated(5).requires_grad",
        ),
        Bug(
            "b10", "a relu layer has only zeros", "03",
            "explained(loss_of, first, second)", "a dead relu",
            "The bias makes every element negative, where relu is constant: the gradient is exactly zero.",
            "bias = -10.0", "bias = 0.1",
            "explained(loss_of, first, second).kind == 'flows' and mg.testing.gradcheck(loss_of, (first, second))",
        ),
        Bug(
            "b11", "where() hides the value, not the gradient", "03",
            "explained(lambda x: root(x).sum(), x)", "put a where() around the operand of sqrt as well",
            "The derivative of the root is inf at 0. The incoming gradient there is 0, and 0 times inf is nan.",
            "x.sqrt()", "mg.where(x > 0.0, x, x * 0.0 + 1.0).sqrt()",
            "np.isfinite(mg.grad(root(x).sum(), x).tolist()).all()",
        ),
        Bug(
            "b12", "an exponential overflows", "03",
            "watched(log_sum_exp, x)", "exp",
            "exp(800) is inf. Subtract the maximum m first: log sum exp(x) = m + log sum exp(x - m).",
            "    return x.exp().sum().log()\n",
            "    m = x.detach().amax()\n    return m + (x - m).exp().sum().log()\n",
            "mg.testing.gradcheck(log_sum_exp, x)",
        ),
        Bug(
            "b13", "the softmax runs over the samples", "08",
            "leak(probabilities, scores)", " x x x x",
            "Samples must not depend on each other. The Jacobian shows it: it should be block diagonal.",
            "softmax(0)", "softmax(1)",
            "leak(probabilities, scores) == ' x . . .\\n . x . .\\n . . x .\\n . . . x' "
            "and mg.testing.gradcheck(probabilities, mg.Var(scores))",
        ),
        Bug(
            "b14", "all layers have the last weight", "03",
            "explained(lambda w0: loss_of(x), weights[0])", "was not computed from it by any op",
            "The functions read w when they are called; then w is the last weight. Bind it: lambda x, w=w.",
            "lambda x: (x * w)", "lambda x, w=w: (x * w)",
            "all(mg.grad(loss_of(x), w) is not None for w in weights)",
        ),
        Bug(
            "b15", "the second derivative lacks a term", "09",
            "mg.testing.gradgradcheck(step, point)", "worst at",
            "backward computes with a detached value, so its own derivative lacks the path through y.",
            ".detach()", "",
            "mg.testing.gradcheck(step, point) and mg.testing.gradgradcheck(step, point)",
        ),
    )
}  # fmt: skip


def bug(name: str) -> Bug:
    """Return the bug with a name such as "b03".  Raises KeyError for an unknown name."""
    if name not in BUGS:
        raise KeyError(f"there is no bug {name!r}; there are {', '.join(BUGS)}")
    return BUGS[name]


def hunt(*chapters: str) -> list[str]:
    """Return the names of the bugs that students can find after these chapters, or of all bugs."""
    return [each.name for each in BUGS.values() if not chapters or each.chapter in chapters]
