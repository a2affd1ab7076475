"""Random numbers: Philox as integer arithmetic per block, then the conversion of words to numbers.

`kernels/philox.py` defines the same numbers, and has the sources.  Here each step computes one word of all blocks;
32-bit words are stored in int64, whose products wrap like unsigned ones.
"""

# The bodies are data, which the specialiser reads; they have no type annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import TOTAL
from minigrad.backends.steps import Steps, Value
from minigrad.core.dtype import float64, int64
from minigrad.core.layout import Layout
from minigrad.core.requests import Permutation, Random, Sort
from minigrad.kernels import philox
from minigrad.kernels.scalar import formula, scalar_of

ROUNDS = 10
FACTORS, KEY_STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


# The lower and the upper word of a 64-bit sum, and of a product; the upper word of a product is mixed with two others.
LOW_WORD = formula("low_word(x, step)", "(x + step) & 0xFFFFFFFF")
HIGH_WORD = formula("high_word(x, step)", "((x >> 32) + step) & 0xFFFFFFFF")
PRODUCT_LOW = formula("product_low(word, factor)", "(word * factor) & 0xFFFFFFFF")
PRODUCT_HIGH = formula("product_high(word, factor, other, key)", "((word * factor >> 32) & 0xFFFFFFFF) ^ other ^ key")
SHORT_BITS = formula("short_bits(a)", "a >> 8")  # 24 random bits
LONG_BITS = formula("long_bits(a, b)", "(a << 21) | (b >> 11)")  # 53 random bits of two words
ABOVE_ZERO = formula("above_zero(bits)", "bits + 1")  # so that no logarithm of 0 is taken
ROOT = "mean + deviation * math.sqrt(-2 * math.log(radius * unit))"
# The two numbers of the Box-Muller method.
NORMAL = formula("normal(radius, turn, unit, angle, mean, deviation)", f"{ROOT} * math.cos(turn * angle)")
NORMAL_TOO = formula("normal_too(radius, turn, unit, angle, mean, deviation)", f"{ROOT} * math.sin(turn * angle)")


def scaled(a, b, low, span):
    """Return low + the upper half of the 128-bit product of span and two words; span 0 stands for 2**64."""
    span_low = span & 0xFFFFFFFF
    span_high = (span >> 32) & 0xFFFFFFFF
    carry = b * span_low
    middle = a * span_low + ((carry >> 32) & 0xFFFFFFFF)
    upper = (((middle & 0xFFFFFFFF) + b * span_high) >> 32) & 0xFFFFFFFF
    high = a * span_high + ((middle >> 32) & 0xFFFFFFFF) + upper
    return low + ((a << 32) | b if span == 0 else high)


def uniform(bits, unit, low, span, last):
    """Return a number in [low, low + span), at most `last`."""
    y = low + span * (bits * unit)
    return last if last < y else y


SCALED, UNIFORM = scalar_of(scaled), scalar_of(uniform)


@serves(Backend, Random)
def random(steps: Steps, request: Random) -> None:
    """Compute the words of all blocks, and convert them to the numbers of each block, between the limits."""
    (out,), (state, limits) = steps.outs, steps.operands
    n, per = out.layout.numel, philox.per_block(request.kind, out.dtype)
    count = -(-n // per)
    result = steps.work((count, per), limits.dtype)
    fill = {"uniform": fill_uniform, "normal": fill_normal, "integer": fill_integers}[request.kind]
    numbers = [result.select(1, k) for k in range(per)]
    fill(steps, numbers, block(steps, state, count), [limits.at(0, k) for k in range(3)])
    steps.copy(out, result.seen(Layout.contiguous(out.shape)))  # the last block may have more numbers


@serves(Backend, Permutation)
def permutation(steps: Steps, request: Permutation) -> None:
    """Sort uniform numbers."""
    (out,), (state,) = steps.outs, steps.operands
    keys = steps.work(out.shape, float64)
    steps.ask(Random("uniform"), keys, state, steps.constant(philox.limits("uniform", float64, 0.0, 1.0), float64))
    steps.ask(Sort(0, False), out, keys)


def block(steps: Steps, state: Value, count: int) -> list[Value]:
    """Return the four words of each block."""
    shape = (count,)
    key, counter = state.at(0, 0), state.at(0, 1)
    position, zero = steps.work(shape, int64), steps.constant(0, int64)
    steps.each(TOTAL, position, counter, steps.positions(count))
    words, others = ([steps.work(shape, int64) for _ in range(4)] for _ in range(2))
    for word, scalar in zip(words, (LOW_WORD, HIGH_WORD), strict=False):
        steps.each(scalar, word, position, zero)
    for word in words[2:]:
        steps.fill(word, 0)
    factors = [steps.constant(factor, int64) for factor in FACTORS]
    for r in range(ROUNDS):
        keys = [steps.work((1,), int64) for _ in range(2)]
        for out, scalar, step in zip(keys, (LOW_WORD, HIGH_WORD), KEY_STEPS, strict=True):
            steps.each(scalar, out, key, steps.constant(r * step, int64))
        for k, (word, beside) in enumerate(((words[2], words[1]), (words[0], words[3]))):
            steps.each(PRODUCT_HIGH, others[2 * k], word, factors[1 - k], beside, keys[k])
            steps.each(PRODUCT_LOW, others[2 * k + 1], word, factors[1 - k])
        words, others = others, words
    return words


def fill_uniform(steps: Steps, outs: list[Value], words: list[Value], limits: list[Value]) -> None:
    """Write uniform numbers from 24 bits of a word, or from 53 bits of two words."""
    bits, dtype = steps.work(words[0].shape, int64), outs[0].dtype
    unit = steps.constant(2.0**-53 if dtype.itemsize == 8 else 2.0**-24, dtype)
    for k, out in enumerate(outs):
        if dtype.itemsize == 8:
            steps.each(LONG_BITS, bits, words[2 * k], words[2 * k + 1])
        else:
            steps.each(SHORT_BITS, bits, words[k])
        steps.each(UNIFORM, out, bits, unit, *limits)


def fill_normal(steps: Steps, outs: list[Value], words: list[Value], limits: list[Value]) -> None:
    """Write normal numbers by the Box-Muller method.

    The radius and the angle take 32 bits each, or 53 bits each for float64; two neighbours share them.
    """
    dtype, long = outs[0].dtype, outs[0].dtype.itemsize == 8
    unit = 2.0**-53 if long else 2.0**-32
    scales = [steps.constant(scale, dtype) for scale in (unit, unit * 6.283185307179586)]
    radius, turn = steps.work(words[0].shape, int64), steps.work(words[0].shape, int64)
    for k in range(0, len(outs), 2):
        if long:
            steps.each(LONG_BITS, radius, words[0], words[1])
            steps.each(LONG_BITS, turn, words[2], words[3])
        else:
            steps.copy(radius, words[k])
            steps.copy(turn, words[k + 1])
        steps.each(ABOVE_ZERO, radius, radius)
        for scalar, out in zip((NORMAL, NORMAL_TOO), outs[k : k + 2], strict=True):
            steps.each(scalar, out, radius, turn, *scales, *limits[:2])


def fill_integers(steps: Steps, outs: list[Value], words: list[Value], limits: list[Value]) -> None:
    """Write integers from 64 bits of two words, scaled to the limits."""
    for k, out in enumerate(outs):
        steps.each(SCALED, out, words[2 * k], words[2 * k + 1], *limits[:2])
