"""Blocks of a template that pasting writes out: a choice, `if 1:`, and a loop over numbers, `for i in each(4):`.

Both are Python that a reader follows in the template, and neither is left in a kernel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

LOOP = re.compile(r"( *)for (\w+) in each\((\w+)\):")


def unrolled(lines: Sequence[str], constants: Mapping[str, str]) -> list[str]:
    """The block under `for i in each(WIDTH):`, once for each i: 0 to WIDTH - 1, or those of a tuple.

    The index becomes a number there, as a part of a name too: x_i is x_0.
    """
    copies: list[str] = []
    k = 0
    while k < len(lines):
        loop = LOOP.match(lines[k])
        k += 1
        if loop is None:
            copies.append(lines[k - 1])
            continue
        end = k
        while end < len(lines) and depth_of(lines[end]) > len(loop[1]):
            end += 1
        numbers, index = ast.literal_eval(constants[loop[3]]), re.compile(rf"(?<![A-Za-z0-9]){loop[2]}(?![A-Za-z0-9])")
        for number in range(numbers) if isinstance(numbers, int) else numbers:
            copies += unrolled([index.sub(str(number), line[4:]) for line in lines[k:end]], constants)
        k = end
    return copies


def chosen(lines: Sequence[str]) -> list[str]:
    """Without the lines under `if 0:`.  Those under another number are there without a condition, and those under its
    `else:` are not."""
    kept: list[str] = []
    blocks: list[tuple[int, bool]] = []  # the blocks that enclose a line: their indentation, and whether they are kept
    for line in lines:
        depth = depth_of(line)
        left = None
        while blocks and line and depth <= blocks[-1][0]:
            left = blocks.pop()
        number = re.fullmatch(r"if (\d+):", line.strip())
        if left and left[0] == depth and line.strip() == "else:":
            blocks.append((depth, not left[1]))
        elif number:
            blocks.append((depth, number[1] != "0"))
        elif all(stays for _, stays in blocks):
            kept.append(line[4 * len(blocks) :])
    return kept


def depth_of(line: str) -> int:
    """Return the indentation of a line."""
    return len(line) - len(line.lstrip())
