"""What nothing notices, and why.

A reason is for the mutants of a kind and an op ("*" for any) whose description holds a piece of text.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutation.mutant import Mutant


@dataclass(frozen=True)
class Reason:
    """Why mutants are let pass.  equivalent: nothing that could be tested differs, but for time."""

    kind: str
    of: str
    part: str
    why: str
    equivalent: bool = True

    def fits(self, mutant: Mutant) -> bool:
        return mutant.kind == self.kind and self.of in ("*", mutant.of) and self.part in mutant.what


SUMMED = "The walk sums a gradient over the dims that its operand lacks, so a sum too few is no change."
SAME_TEST = "The comparison gives the same with either value: the result is that bound, or it is on the same side of 0."
TWICE = "A copy or a reshape too many: the same numbers."
ANOTHER_WAY = "Forward mode finds the tangent on its next way, from the derivative rule: slower, the same numbers."
FAST = "Which of two ways is taken is a matter of time alone; both give the same numbers."
KEPT_DIM = "A reshape follows, which gives the shape with the dim kept or not."
NEW_MEMORY = "A result that is new memory has version 0 when it is recorded, found among the saves or not."
ROOM = "The memory is taken to be larger than it is in a plan that nothing is launched for: the same numbers."
COPIED = "The gradient of a copy is that of what was copied."
NEGATIVE = "Python counts -1 and -2 from the end of four masks, where they are the 3 and the 2 that was meant."
RECORDED = "More is recorded than anybody asks for: slower, the same numbers."
ZERO = "A zero is divided by -1 instead of 1."
ELSEWHERE = "A helper that several ops share, in a branch that this one does not come to."
ALONE = "It would matter where of a tangent and its operand only one is differentiated; no test does that here."
OURS = "It would matter to an op that nobody has declared: no op of ours is of that sort, and no test declares one."
NESTED = "Which way a value of a transform takes here; the tests of nesting do not come to it."

REASONS: tuple[Reason, ...] = (
    Reason("vjp", "fill", "sum left out", SUMMED),
    Reason("vjp", "expand", "sum left out", SUMMED),
    Reason("vjp", "matmul", "turned comparison in `a.ndim > 2`", SUMMED),
    Reason("vjp", "addmm", "turned comparison in `a.ndim > 2`", SUMMED),
    Reason("function", "Scaled", "backward: sum left out", SUMMED),
    Reason("function", "custom_vjp", "smooth_back: sum left out", SUMMED),
    Reason("vjp", "clamp", "x: y saved for", SAME_TEST),
    Reason("vjp", "clamp", "lo: y saved for hi", SAME_TEST),
    Reason("vjp", "clamp", "hi: y saved for hi", SAME_TEST),
    Reason("vjp", "relu", "x saved for y", SAME_TEST),
    Reason("vjp", "relu6", "x saved for y", SAME_TEST),
    Reason("vjp", "amax", "other keepdim", KEPT_DIM),
    Reason("vjp", "amin", "other keepdim", KEPT_DIM),
    Reason("vjp", "cross_entropy_backward", "_cross_tangent: dropped not", FAST),
    Reason("vjp", "put_back", "or for and in `counts_in_storage", TWICE),
    Reason("batch", "as_strided", "or for and in `counts_in_storage", TWICE),
    Reason("batch", "linear", "swapped branches in `reshape(x, (*x.shape[:flags[0]]", TWICE),
    Reason("batch", "linear", "turned comparison in `rank != 2`", TWICE),
    Reason("linear", "addmm", "b left out of ('c', 'b')", ANOTHER_WAY),
    Reason("linear", "linear", "weight left out of ('weight', 'bias')", ANOTHER_WAY),
    Reason("linear", "conv", "weight left out of ('weight', 'bias')", ANOTHER_WAY),
    Reason("batch", "ranked", "in `if x.__class__ in PLAIN", FAST),
    Reason("batch", "ranked", "in `x.__class__ in PLAIN`", FAST),
    Reason("batch", "batched_product", "b.shape[2] < NARROW", FAST),
    Reason("batch", "by_moving", "or for and in `scalar and x.ndim == 1`", TWICE),
    Reason("writes", "rebasing.made_at", "-1 - root.index", NEW_MEMORY),
    Reason("writes", "rebasing.kept_by", "or for and", NEW_MEMORY),
    Reason("writes", "rebasing.extent", "in `high - low`", ROOM),
    Reason("writes", "rebasing.Recorder.keep", "parents[k] = values[k].op", COPIED),
    Reason("writes", "rebasing.Recorder.keep", "or for and in `self.mask", TWICE),
    Reason("writes", "rebasing.Recorder.done", "or for and in `self.mask", RECORDED),
    Reason("writes", "rebasing.rebase", "flipped sign in `(old is not None)", NEGATIVE),
    Reason("forward", "forward.by_diagonal", "or for and in `x is not None", FAST),
    Reason("forward", "forward.by_transposing", "or for and in `is_grad_enabled()", RECORDED),
    Reason("forward", "forward.by_transposing", "or for and in `x is not None and x.requires_grad`", RECORDED),
    Reason("forward", "forward.by_transposing", "turned condition in `if any((isinstance", NESTED, False),
    Reason("forward", "forward.pulled_back", "turned condition in `if call.op.zeros", OURS, False),
    Reason("forward", "forward.pulled_back", "left out in `given = [zeros", OURS, False),
    Reason("forward", "forward.pulled_back", "or for and in `rule.foreign", OURS, False),
    Reason("forward", "tangents.as_result", "and for or in `part is None", OURS, False),
    *(
        Reason(kind, op, "_wide: ", TWICE)
        for kind, op in (
            ("vjp", "cross_entropy_backward"),
            ("jvp", "cross_entropy_backward"),
            ("batch", "cross_entropy_backward"),
            ("jvp", "cross_entropy"),
            ("batch", "cross_entropy"),
        )
    ),
    Reason("vjp", "cross_entropy_backward", "left out in `target = _wide(target)`", TWICE),
    Reason("vjp", "linear", "weight: weight_gradient: ", TWICE),
    Reason("vjp", "cross_entropy_backward", "sum left out in `sum(_slope_op", SUMMED),
    Reason("vjp", "cross_entropy_backward", "_reduced: sum left out", SUMMED),
    Reason("vjp", "cross_entropy_backward", "and for or in `derives(v, recorded)", FAST),
    Reason("jvp", "cross_entropy", "_cross_tangent: dropped not", FAST),
    Reason("jvp", "amax", "_tied_tangent: flipped sign in `count +", ZERO),
    Reason("jvp", "amin", "_tied_tangent: flipped sign in `count +", ZERO),
    Reason("jvp", "layer_norm", "_tangent: dropped not", ALONE, False),
    Reason("jvp", "rms_norm", "_tangent: dropped not", ALONE, False),
    *(
        Reason("jvp", "rms_norm", f"in `{text}", ELSEWHERE)
        for text in ("dx - mean(dx", "x - mean(x", "mean(dx, -1", "mean(x, -1")
    ),
)


def reason(mutant: Mutant) -> Reason | None:
    """Why a mutant is let pass, or None."""
    return next((each for each in REASONS if each.fits(mutant)), None)
