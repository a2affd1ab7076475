"""The op `einsum`: products of tensors whose dims have letters, summed over the letters that the result does not have.

An equation is parsed into one list of labels per operand.  A label is a letter, or a negative number for each dim that
an ellipsis covers, counted from the right.  Operands are contracted from left to right, each pair by one matrix
product.  The views and reshapes for this depend only on the equation and the shapes, so a plan of them is cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError, check, quantity
from minigrad.ops.linalg.products import matmul
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.views import diagonal, permute, reshape, squeeze
from minigrad.runtime.tensor import Tensor, describe

Label = str | int
Labels = list[Label]
Ints = tuple[int, ...]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LIMIT = 256  # largest number of cached plans
MOVES: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "diagonal": lambda x, dims: diagonal(x, 0, *dims), "squeeze": squeeze, "sum": sum,
    "permute": lambda x, dims: permute(x, dims=dims), "reshape": lambda x, shape: reshape(x, shape=shape),
}  # fmt: skip


def of_sublists(equation: Any, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the equation and the operands of a call with one list of ints after each operand instead of an equation.

    Each int from 0 to 51 becomes a letter, the capitals first, so that the order of the ints is that of the letters.
    """
    if not isinstance(equation, Tensor) or not operands:
        return equation, operands
    arguments = (equation, *operands)
    parts = [letters_of(each) for each in arguments[1::2]]
    output = [] if len(arguments) % 2 == 0 else [letters_of(arguments[-1])]
    return "->".join([",".join(parts), *output]), arguments[: len(parts) * 2 : 2]


def letters_of(sublist: Any) -> str:
    """Return the part of an equation for a list of ints and Ellipsis."""
    known = isinstance(sublist, (list, tuple)) and list(sublist).count(Ellipsis) < 2
    check(
        known and all(each is Ellipsis or each in range(len(LETTERS)) for each in sublist), ArgumentError,
        "einsum: the first argument must be an equation such as 'ij,jk->ik', or each operand must be followed by a ",
        "list of ints from 0 to 51 with at most one Ellipsis, got ", describe(sublist),
        "; write einsum(x, [0, 1], y, [1, 2], [0, 2]), for example",
    )  # fmt: skip
    return "".join("..." if each is Ellipsis else LETTERS[int(each)] for each in sublist)


@composed(method=False, out=False, spelled=of_sublists)
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Return the sum of products that an equation such as "ij,jk->ik" specifies (Einstein summation).

    Each letter names one dim, and "..." stands for all other dims, which broadcast.  Letters that do not appear after
    "->" are summed over.  Without "->", the result has the dims of "..." and then the letters that occur once, in
    alphabetical order with capitals first.
    Instead of an equation, each operand may be followed by a list of ints and Ellipsis, which name its dims, and the
    last argument may be the list of the result: `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    Gradient: for each operand, the einsum of g and the other operands with the letters of this operand after "->".  The
    gradient is constant along letters that no other term has, and 0 outside the diagonal of a repeated letter.
    """
    key = (equation, *[x.shape for x in operands])
    plan = plans.get(key) if isinstance(equation, str) else None
    if plan is None:
        terms, output = read_equation(equation, operands)
        plan = planned([Part(x.shape, labels) for x, labels in zip(operands, terms)], output)
        if len(plans) >= LIMIT:
            plans.clear()
        plans[key] = plan
    result = operands[0]
    for x, step in zip(operands[1:], plan.products):
        a, b = moved(result, step.left), moved(x, step.right)
        result = matmul(a, b) if step.summed else a * b
    return moved(result, plan.last)


# ---- the equation ---------------------------------------------------------------------------------------------------


def read_equation(equation: str, operands: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand and of the result.

    Raises ArgumentError for an invalid equation, with the invalid part in the message.
    """
    if not isinstance(equation, str):
        raise ArgumentError(
            f"einsum: the first argument must be an equation such as 'ij,jk->ik', got {describe(equation)}; pass the "
            "equation first"
        )
    # A space inside an ellipsis stays, as a letter that does not exist.
    left, arrow, result = re.sub(r"(?<![.]) +| +(?![.])", "", equation).partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ArgumentError(
            f"einsum: {equation!r} names the dims of {quantity(len(parts), 'operand')} before '->', but got "
            f"{quantity(len(operands), 'operand')}; write one part per operand, with ',' between them"
        )
    terms = [labels_of(equation, part, x) for part, x in zip(parts, operands)]
    sizes(equation, terms, operands)
    ellipsis: Labels = sorted({label for term in terms for label in term if isinstance(label, int)})
    if not arrow:
        letters = sorted(letter for letter in set(left) if letter.isalpha() and left.count(letter) == 1)
        return terms, [*ellipsis, *letters]
    output = expand_ellipsis(split_letters(equation, result), ellipsis)
    for letter in output:
        if output.count(letter) > 1 or not any(letter in term for term in terms):
            reason = "occurs twice there" if output.count(letter) > 1 else "does not occur in an operand"
            raise ArgumentError(
                f"einsum: the letter {letter!r} after '->' in {equation!r} {reason}; a letter of the result occurs "
                f"once there, and in an operand"
            )
    return terms, output


def split_letters(equation: str, part: str) -> list[str]:
    """Return the list of letters of one part of an equation, with "..." for an ellipsis."""
    before, dots, after = part.partition("...")
    letters = [*before, *([dots] if dots else []), *after]
    for each in letters:
        if each not in LETTERS and each != "...":
            raise ArgumentError(
                f"einsum: the part {part!r} of {equation!r} must contain only letters and at most one '...', got "
                f"{each!r}; use one letter per dim, as in 'ij,jk->ik'"
            )
    return letters


def labels_of(equation: str, part: str, x: Tensor) -> Labels:
    """Return one label per dim of an operand."""
    letters = split_letters(equation, part)
    rest = x.ndim - len(letters) + ("..." in letters)
    if rest < 0 or (rest and "..." not in letters):
        named = quantity(len(letters) - ("..." in letters), "letter")
        raise ShapeError(
            f"einsum: the part {part!r} of {equation!r} has {named}, and its operand is {describe(x)}; write one "
            f"letter per dim, or '...' for the others"
        )
    return expand_ellipsis(letters, list(range(-rest, 0)))


def expand_ellipsis(letters: Sequence[str], labels: Sequence[Label]) -> Labels:
    """Return the letters as labels, with `labels` instead of the ellipsis."""
    return [label for letter in letters for label in (labels if letter == "..." else [letter])]


def sizes(equation: str, terms: Sequence[Labels], operands: Sequence[Tensor]) -> None:
    """Raise ShapeError unless all dims with the same label have the same size; in another operand, 1 is allowed."""
    seen: dict[Label, tuple[int, int]] = {}
    for k, (term, x) in enumerate(zip(terms, operands)):
        for label, n in zip(term, x.shape):
            size, first = seen.get(label, (1, k))
            inside = term.count(label) > 1 and any(n != m for other, m in zip(term, x.shape) if other == label)
            if inside or (n != 1 and size not in (1, n)):
                what = f"the letter {label!r}" if isinstance(label, str) else f"dim {label} of the ellipsis"
                where = f"twice in operand {k}" if inside else f"in operand {k} and in operand {first}"
                raise ShapeError(
                    f"einsum: {what} of {equation!r} must have the same size in every operand, but it is {where} with "
                    f"different sizes: {describe(operands[first])} and {describe(x)}; use another letter, or slice an "
                    "operand"
                )
            if size == 1:
                seen[label] = n, k


# ---- the plan --------------------------------------------------------------------------------------------------------


class Part:
    """The shape and the labels of an operand, and the moves so far: names in MOVES with their arguments."""

    def __init__(self, shape: Ints, labels: Labels) -> None:
        self.shape, self.labels = shape, list(labels)
        self.moves: list[tuple[str, Any]] = []

    def take_diagonals(self) -> None:
        """Replace dims with the same label by their diagonal, which becomes the last dim, so that labels are unique."""
        for label in dict.fromkeys(self.labels):
            while self.labels.count(label) > 1:
                first = self.labels.index(label)
                second = self.labels.index(label, first + 1)
                self.moves.append(("diagonal", (first, second)))
                rest = [d for d in range(len(self.labels)) if d not in (first, second)]
                self.shape = (*[self.shape[d] for d in rest], self.shape[first])
                self.labels = [*[self.labels[d] for d in rest], label]

    def remove(self, how: str, labels: set[Label]) -> None:
        """Remove the dims of some labels by the move `how`, "sum" or "squeeze"."""
        dims = tuple([d for d, label in enumerate(self.labels) if label in labels])
        if dims:
            self.moves.append((how, dims))
            self.shape = tuple([n for d, n in enumerate(self.shape) if d not in dims])
            self.labels = [label for label in self.labels if label not in labels]

    def permute(self, labels: Labels) -> None:
        """Permute the dims to the order of `labels`."""
        if labels != self.labels:
            dims = tuple([self.labels.index(label) for label in labels])
            self.moves.append(("permute", dims))
            self.shape, self.labels = tuple([self.shape[d] for d in dims]), labels

    def reshape(self, shape: Ints) -> None:
        """Reshape to `shape`; the labels are not changed."""
        if shape != self.shape:
            self.moves.append(("reshape", shape))
            self.shape = shape


@dataclass(frozen=True, slots=True)
class Product:
    """Describe one step of `einsum`: the product of the intermediate result and the next operand.

    left: the view ops that prepare the intermediate result.  right: the view ops that prepare the next operand.
    summed: whether the step is a matrix product, which sums over a label; otherwise it is an elementwise product.
    """

    left: list[tuple[str, Any]]
    right: list[tuple[str, Any]]
    summed: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The products of a call in their order, and the moves of the last result."""

    products: list[Product]
    last: list[tuple[str, Any]]


plans: dict[Any, Plan] = {}  # cached plans, by equation and shapes


def moved(x: Tensor, moves: Sequence[tuple[str, Any]]) -> Tensor:
    """Apply moves to a tensor."""
    for name, argument in moves:
        x = MOVES[name](x, argument)
    return x


def planned(parts: list[Part], output: Labels) -> Plan:
    """Return the plan for the product of all operands, summed over the labels that are not in the output."""
    for part in parts:
        part.take_diagonals()
    longer = {label for part in parts for label, n in zip(part.labels, part.shape) if n != 1}
    for part in parts:  # a dim of length 1 broadcasts to a longer dim with the same label, so it is removed
        part.remove("squeeze", {label for label, n in zip(part.labels, part.shape) if n == 1 and label in longer})
    result, products = parts[0], []
    for k, part in enumerate(parts[1:], 2):
        wanted = {*output, *(label for later in parts[k:] for label in later.labels)}
        product, result = pair(result, part, wanted)
        products.append(product)
    result.remove("sum", {*result.labels} - {*output})
    result.permute(output)
    if not products and not result.moves:  # the result is a view, and not the operand itself
        result.moves.append(("permute", tuple(range(len(output)))))
    return Plan(products, result.moves)


def pair(a: Part, b: Part, wanted: set[Label]) -> tuple[Product, Part]:
    """Plan the product of two operands, summed over the labels that are not in `wanted`; return it and its result.

    wanted: the labels of later operands and of the result.
    """
    a.remove("sum", {*a.labels} - {*b.labels, *wanted})
    b.remove("sum", {*b.labels} - {*a.labels, *wanted})
    both = [label for label in a.labels if label in b.labels and label in wanted]
    inner = [label for label in a.labels if label in b.labels and label not in wanted]
    rows = [label for label in a.labels if label not in b.labels]
    columns = [label for label in b.labels if label not in a.labels]
    a.permute([*both, *rows, *inner])
    b.permute([*both, *inner, *columns])
    batch, m, n = a.shape[: len(both)], a.shape[len(both) : len(both) + len(rows)], b.shape[len(both) + len(inner) :]
    result = Part((*batch, *m, *n), [*both, *rows, *columns])
    if inner:
        k = prod(b.shape[len(both) : len(both) + len(inner)])
        a.reshape((*batch, prod(m), k))
        b.reshape((*batch, k, prod(n)))
        result.shape = (*batch, prod(m), prod(n))
        result.reshape((*batch, *m, *n))
    else:
        a.reshape((*batch, *m, *(1,) * len(n)))
        b.reshape((*batch, *(1,) * len(m), *n))
    return Product(a.moves, b.moves, bool(inner)), result
