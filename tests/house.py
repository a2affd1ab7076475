"""How large the package is, and how many ideas it has: figures that may only fall.

    python -m tests.house            # prints the figures; fails if one is above its limit in house_limits.json
    python -m tests.house --lower    # lowers the limits to today's figures

`make lint` calls it.  The figures are read from the source; nothing is executed.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests import test_layers as layers

PACKAGE = layers.PACKAGE
LIMITS = Path(__file__).with_name("house_limits.json")
WORD = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
# The words that all templates share: conversions, the function, the type, the numbers and the letters of `pasting.py`.
CONVERSIONS = re.compile(r"(?:LOAD|STORE|F|T|N)(?:_\d+|_K)?|[KRS]")
FEW = 100  # a file with fewer lines costs a reader more to open than to read
STATEMENTS = 4  # a function that writes a kernel and has at most so many statements states only what can be derived


def lines_of(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")


def by_folder() -> dict[str, int]:
    """Return the lines of each folder and file directly in the package."""
    found: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        found[path.relative_to(PACKAGE).parts[0]] += lines_of(path)
    return dict(found.most_common())


def floors(arrows: dict[str, set[str]]) -> int:
    """Return the length of the longest chain of rooms that import each other; a circle counts as one room."""
    member = {name: frozenset(circle) for circle in layers.circles(arrows) for name in circle}
    unit = {name: member.get(name, frozenset([name])) for name in arrows}
    below: dict[frozenset[str], set[frozenset[str]]] = defaultdict(set)
    for name, targets in arrows.items():
        below[unit[name]] |= {unit[target] for target in targets} - {unit[name]}
    heights: dict[frozenset[str], int] = {}

    def height(of: frozenset[str]) -> int:
        if of not in heights:
            heights[of] = 1 + max(map(height, below[of]), default=0)
        return heights[of]

    return max(map(height, unit.values()))


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the files below some folders of the package, with their syntax trees."""
    for folder in folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def is_template(function: ast.AST) -> bool:
    """Return whether a function is a template of a kernel: its last argument is called `numbers` or `N`."""
    return isinstance(function, ast.FunctionDef) and bool(function.args.args) and (
        function.args.args[-1].arg in ("N", "numbers")
    )  # fmt: skip


def private_words() -> set[str]:
    """Return the capital words that templates leave open, except for conversions and constants of their modules."""
    found: set[str] = set()
    for _, tree in trees("kernels/cpu", "kernels/cuda", "backends/cpu", "backends/cuda"):
        defined = {
            name.id
            for statement in tree.body
            for name in ast.walk(statement)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        defined |= {alias.asname or alias.name for each in imports for alias in each.names}
        if not any(map(is_template, tree.body)):
            continue
        for function in tree.body:
            if isinstance(function, ast.FunctionDef):
                names = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)}
                found |= {n for n in names - defined if WORD.fullmatch(n) and not CONVERSIONS.fullmatch(n)}
    return found


def writers() -> int:
    """Return the number of functions in `backends` that write a kernel."""
    names = ("write_kernel", "load", "Program")
    return sum(
        isinstance(function, ast.FunctionDef)
        and function.name.startswith("write_")
        and any(isinstance(call, ast.Call) and getattr(call.func, "id", "") in names for call in ast.walk(function))
        for _, tree in trees("backends")
        for function in ast.walk(tree)
    )


def raising_lines(folder: str) -> int:
    """Return the lines of all `if` statements whose body is one `raise`."""
    return sum(
        node.end_lineno - node.lineno + 1  # type: ignore[operator]
        for _, tree in trees(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
    )


def requests() -> int:
    """Return the number of kinds of requests."""
    return sum(
        isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Request" for base in node.bases)
        for _, tree in trees("core")
        for node in ast.walk(tree)
    )


def shared_names() -> int:
    """Return the number of classes and functions at the top level of modules whose name three modules define.

    Services are not counted: those of all devices have the name of their request.
    """
    found: Counter[str] = Counter()
    for _, tree in trees(""):
        nodes = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        found.update({node.name for node in nodes if not any("serves(" in ast.unparse(d) for d in node.decorator_list)})
    return sum(count > 2 for count in found.values())


def figures() -> dict[str, int]:
    """Return every figure by its name."""
    modules = layers.arrows(PACKAGE)
    arrows = layers.between_rooms(modules)
    small = sum(lines_of(path) < FEW for path, _ in trees("kernels", "backends"))
    return {
        "lines of the package": sum(by_folder().values()),
        "rooms": len(arrows),
        "floors": floors(arrows),
        "circles of rooms": len(layers.circles(arrows)),
        "circles of modules": len(layers.circles(modules)),
        "kinds of requests": requests(),
        "private words in templates": len(private_words()),
        "functions that write a kernel": writers(),
        f"files under {FEW} lines in kernels and backends": small,
        "lines of `if ...: raise` in ops": raising_lines("ops"),
        "names that three modules define": shared_names(),
    }


def main(arguments: list[str]) -> int:
    """Print the figures, and compare them with their limits."""
    print("lines:", ", ".join(f"{name} {count:,}" for name, count in by_folder().items()))
    print(f"lines of the tests: {sum(map(lines_of, Path(__file__).parent.rglob('*.py'))):,}")
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    found = figures()
    for name, count in found.items():
        print(f"{name}: {count:,} of at most {limits.get(name, count):,}")
    if "--lower" in arguments:
        lower = {name: min(count, limits.get(name, count)) for name, count in found.items()}
        LIMITS.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
        return 0
    above = [name for name, count in found.items() if count > limits.get(name, count)]
    if above:
        print(f"house: above the limit: {', '.join(above)}; remove what this change makes superfluous")
    return bool(above)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
