"""einsum: products of tensors whose dims have letters, summed over the letters that the result does not have.

An equation is read into one list of labels per operand: a letter, or for each dim that an ellipsis covers a number,
counted from the right.  Operands are contracted from left to right, each pair as one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters

from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ShapeError, quantity
from minigrad.ops.linalg.products import matmul
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.views import diagonal, permute, reshape, squeeze
from minigrad.runtime.tensor import Tensor, describe

Label = str | int
Labels = list[Label]


@composed(method=False, out=False)
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Return the sum of products that an equation states, such as "ij,jk->ik" (Einstein summation).

    Each letter names one dim, and "..." the other dims, which broadcast.  Letters that are not after "->" are summed;
    without "->" the result has "..." and the letters that occur once, capitals first.  Gradient: by composition.
    """
    terms, output = read_equation(equation, operands)
    return contracted([plain_labels(k, x, t) for k, (x, t) in enumerate(zip(operands, terms))], output)


# ---- the equation ---------------------------------------------------------------------------------------------------


def read_equation(equation: str, operands: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand and of the result.  Raises ArgumentError that names the part that is wrong."""
    if not isinstance(equation, str):
        raise ArgumentError(
            f"einsum: expected an equation such as 'ij,jk->ik' first, got {describe(equation)}", op="einsum"
        )
    left, arrow, result = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ArgumentError(
            f"einsum: {equation!r} names the dims of {quantity(len(parts), 'operand')} before '->', but got "
            f"{quantity(len(operands), 'operand')}; write one part per operand, with ',' between them",
            op="einsum",
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
                f"once there, and in an operand",
                op="einsum",
            )
    return terms, output


def split_letters(equation: str, part: str) -> list[str]:
    """Return the letters of one part, and "..." for an ellipsis."""
    before, dots, after = part.partition("...")
    letters = [*before, *([dots] if dots else []), *after]
    for each in letters:
        if each not in ascii_letters and each != "...":
            raise ArgumentError(
                f"einsum: {each!r} in the part {part!r} of {equation!r} is neither a letter nor the one '...'",
                op="einsum",
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
            f"letter per dim, or '...' for the others",
            op="einsum",
        )
    return expand_ellipsis(letters, list(range(-rest, 0)))


def expand_ellipsis(letters: Sequence[str], labels: Sequence[Label]) -> Labels:
    """Return the letters with labels in the place of the ellipsis."""
    return [label for letter in letters for label in (labels if letter == "..." else [letter])]


def sizes(equation: str, terms: Sequence[Labels], operands: Sequence[Tensor]) -> None:
    """Raise ShapeError unless the dims of one label have one size, or 1 in some operands."""
    seen: dict[Label, tuple[int, int]] = {}
    for k, (term, x) in enumerate(zip(terms, operands)):
        for label, n in zip(term, x.shape):
            size, first = seen.get(label, (1, k))
            inside = term.count(label) > 1 and any(n != m for other, m in zip(term, x.shape) if other == label)
            if inside or (n != 1 and size not in (1, n)):
                what = f"the letter {label!r}" if isinstance(label, str) else f"dim {label} of the ellipsis"
                where = f"twice in operand {k}" if inside else f"in operand {k} and in operand {first}"
                raise ShapeError(
                    f"einsum: {what} of {equation!r} is {where} with different sizes: {describe(operands[first])} and "
                    f"{describe(x)}",
                    op="einsum",
                )
            if size == 1:
                seen[label] = n, k


# ---- the products ---------------------------------------------------------------------------------------------------


def plain_labels(k: int, x: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """Return an operand with each label once: the diagonal of dims that have the same one."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = [*(other for d, other in enumerate(labels) if d not in (first, second)), label]
    return x, labels


def contracted(terms: list[tuple[Tensor, Labels]], output: Labels) -> Tensor:
    """Return the product of all operands, summed over the labels that the output does not have, in its order."""
    longest = {label: n for x, labels in terms for label, n in zip(labels, x.shape) if n != 1}
    # A dim of length 1 next to a longer one of its label broadcasts, as if it were not there.
    terms = [without(x, labels, [label for label, n in zip(labels, x.shape) if n == 1 and label in longest])
             for x, labels in terms]  # fmt: skip
    x, labels = terms[0]
    for k, (other, more) in enumerate(terms[1:], 2):
        wanted = {*output, *(label for _, later in terms[k:] for label in later)}
        x, labels = pair(x, labels, other, more, wanted)
    x, labels = summed(x, labels, set(output))
    return permute(x, dims=tuple([labels.index(label) for label in output]))


def without(x: Tensor, labels: Labels, dropped: Labels) -> tuple[Tensor, Labels]:
    """Return an operand without some of its dims, which have length 1."""
    if not dropped:
        return x, labels
    y: Tensor = squeeze(x, tuple([labels.index(label) for label in dropped]))
    return y, [label for label in labels if label not in dropped]


def summed(x: Tensor, labels: Labels, wanted: set[Label]) -> tuple[Tensor, Labels]:
    """Return an operand summed over the labels that neither other operands nor the result need."""
    dims = tuple([d for d, label in enumerate(labels) if label not in wanted])
    return (sum(x, dims), [label for label in labels if label in wanted]) if dims else (x, labels)


def pair(a: Tensor, left: Labels, b: Tensor, right: Labels, wanted: set[Label]) -> tuple[Tensor, Labels]:
    """Return the product of two operands, summed over the labels that no later operand or result needs."""
    a, left = summed(a, left, {*right, *wanted})
    b, right = summed(b, right, {*left, *wanted})
    both = [label for label in left if label in right and label in wanted]
    inner = [label for label in left if label in right and label not in wanted]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    a = permute(a, dims=tuple([left.index(label) for label in (*both, *rows, *inner)]))
    b = permute(b, dims=tuple([right.index(label) for label in (*both, *inner, *columns)]))
    batch, m, n = a.shape[: len(both)], a.shape[len(both) : len(both) + len(rows)], b.shape[len(both) + len(inner) :]
    labels = both + rows + columns
    if not inner:
        return reshape(a, (*batch, *m, *(1,) * len(n))) * reshape(b, (*batch, *(1,) * len(m), *n)), labels
    k = prod(b.shape[len(both) : len(both) + len(inner)])
    product = matmul(reshape(a, (*batch, prod(m), k)), reshape(b, (*batch, k, prod(n))))
    return reshape(product, (*batch, *m, *n)), labels
