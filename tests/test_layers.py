"""A room imports only from lower rooms, also inside functions, and neither rooms nor modules have circles.

The imports are read from the source text, and nothing is executed. The table below is the one of the README and of
docs/architecture.md; a new module must be given a room in it. A room consists of several folders where a public path
of import, such as `minigrad.optim`, must stay: see decision 092.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "minigrad"

# The rooms from the ground up, each with its folders and files; the rooms of one line are on one floor.
FLOORS: tuple[dict[str, str], ...] = (
    {"base": "errors environment config"},
    {"core": "core"},
    {"kernels": "kernels"},
    {"backends": "backends"},
    {"runtime": "runtime declare"},
    {"ops": "ops"},
    {"autodiff": "autodiff func"},
    {"api": "api cuda quasirandom random linalg special fft signal"},
    {"nn": "nn optim amp", "data": "data"},
    {"jit": "jitting", "dist": "dist", "distributions": "distributions", "testing": "testing"},
    {"viz": "viz diagnostics", "torch": "autograd utils distributed cuda.amp"},
    {"minigrad": "__init__"},
    {"cli": "cli __main__", "learning": "learning"},
)
ROOM_OF = {part: room for rooms in FLOORS for room, parts in rooms.items() for part in parts.split()}
RANK = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# The backend that needs hardware is loaded when its device is first named, which may be further left than it stands.
LAZY_INSIDE = {"minigrad.backends.cuda"}

# Compilers are heavy to import. Only code that is itself compiled, or generates such, has them at its top; six modules
# ask them about threads, processors and object code, inside functions.
COMPILERS = {"numba", "llvmlite"}
COMPILERS_AT_TOP = {
    *[
        f"minigrad.kernels.cpu.{name}"
        for name in (
            "amx",
            "butterflies",
            "emitting",
            "generator",
            "halves",
            "lanes",
            "moving",
            "native",
            "ranks",
            "short",
            "stream",
            "tile",
            "vectors",
            "winograd_transforms",
        )
    ],
    "minigrad.kernels.cuda.native",
}
COMPILERS_INSIDE = {
    f"minigrad.{name}"
    for name in ("backends.parallel", "kernels.objects", "kernels.cpu.processor", "cli.ahead", "cli.doctor",
                 "backends.cuda.compile")
}  # fmt: skip

# What drives a device is touched by one module, what compiles for it by another, and nobody has them for granted.
DRIVERS = {"cuda": {"minigrad.backends.cuda.device", "minigrad.backends.cuda.compile"}}

# A kernel family imports no other, so that it can be read alone; what families share, and who stands on whom.
FAMILIES = {
    "minigrad.backends.cpu": {"family", "loops", "texts"},
    "minigrad.backends.cuda": {"family", "loops", "runtime"},
}
STANDS_ON = {
    "chained": {"reduction", "reduction_plans", "rows"},
    "channels": {"fields", "matmul", "weights"},
    "conv": {"channels", "fields", "matmul", "product", "tiles", "weights", "winograd"},
    "weights": {"fields"},
    "winograd": {"fields", "matmul"},
    "matmul": {"blas", "product", "tiles"},
    "tiles": {"product"},
    "blas": {"product", "tiles"},
    "indexing": {"grouping"},
    "picks": {"rows"},
    "mapped": {"reduction_plans"},
    "reduction": {"reduction_plans", "mapped"},
    "rows": {"reduction_plans"},
    "scan": {"reduction_plans", "reduction"},
    "selecting": {"sorting"},
    "sorting": {"reduction_plans"},
}
# What of the CUDA backend is no family: what it asks of a device, and who answers.
DEVICE = {"runtime", "presence", "device", "compile", "simulator", "block", "words", "watched",
         "matrices", "memory", "pieces", "own"}  # fmt: skip

# Drawing and progress bars are looked for at their first use.
LAZY_LIBRARIES = {"graphviz", "matplotlib", "tqdm", "IPython"}


@dataclass(frozen=True)
class Import:
    """One imported name: who imports what, where, and whether that waits for a call."""

    module: str
    target: str
    line: int
    inside: bool


def modules(package: Path) -> dict[str, Path]:
    """Every module under `package` by its dotted name; a package's own name stands for its `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(module: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """The imports of one file. What only a type checker reads counts: a type to the right is a dependency too."""
    anchor = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8"), str(path)), False)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, inside)
        elif isinstance(node, ast.ImportFrom):
            base = anchor[: len(anchor) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from package import name` imports a module if there is one, else what the package's __init__ has.
                full = f"{source}.{alias.name}"
                yield Import(module, full if full in known else source, node.lineno, inside)
        elif target := _imported_by_call(node):
            yield Import(module, target, node.lineno, inside)
        deferred = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        pending.extend((child, deferred) for child in ast.iter_child_nodes(node))


def _imported_by_call(node: ast.AST) -> str | None:
    """The name in `importlib.import_module("name")`, `import_module("name")` or `__import__("name")`."""
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    value = node.args[0].value
    return value if name in ("import_module", "__import__") and isinstance(value, str) else None


def room_of(module: str) -> str:
    """The room of a module in the table, or the name of its folder if it has no room."""
    parts = [*module.split(".")[1:], "__init__"]
    return ROOM_OF.get(".".join(parts[:2])) or ROOM_OF.get(parts[0]) or parts[0]


def violations(package: Path) -> list[str]:
    """One sentence for each rule that a module under `package` breaks."""
    known = modules(package)
    found = [f"{path.name}: {module} has no room" for module, path in known.items() if room_of(module) not in RANK]
    for module, path in known.items():
        if room_of(module) in RANK:
            found += [sentence for item in imports(module, path, known) if (sentence := _broken_rule(item, known))]
    return found


def _broken_rule(item: Import, known: dict[str, Path]) -> str | None:
    where = f"{item.module}, line {item.line}{' (inside a function)' if item.inside else ''}"
    top = item.target.split(".")[0]
    if top == "minigrad":
        if item.inside and item.target in LAZY_INSIDE:
            return None
        theirs, ours = room_of(item.target), room_of(item.module)
        if theirs not in RANK:
            return None if item.target in known else f"{where}: {item.target} is no module of the package"
        if RANK[theirs] >= RANK[ours] and theirs != ours:
            return f"{where}: {item.target} is not below {ours}"
        room, _, family = item.module.rpartition(".")
        other = item.target.removeprefix(f"{room}.").split(".")[0]
        siblings = room in FAMILIES and item.target.startswith(f"{room}.")
        known_families = DEVICE | {"family", "loops"} if room.endswith(".cuda") else set()
        if siblings and family not in known_families and other not in FAMILIES[room] | STANDS_ON.get(family, set()):
            return f"{where}: the family {family} may not import the family {other}"
    elif top in COMPILERS:
        allowed = COMPILERS_AT_TOP | (COMPILERS_INSIDE if item.inside else set())
        if item.module not in allowed:
            return f"{where}: {top} may be imported only by {', '.join(sorted(allowed))}"
    elif top in DRIVERS and item.module not in DRIVERS[top]:
        return f"{where}: {top} may be imported only by {', '.join(sorted(DRIVERS[top]))}"
    elif top in LAZY_LIBRARIES and not item.inside:
        return f"{where}: {top} may be imported only inside a function"
    return None


def test_rooms_import_only_from_lower_rooms():
    assert violations(PACKAGE) == []


# Arrows inside functions of `backends` that close two circles; both end when the families of kernels are moved.
EXEMPT = {
    ("minigrad.backends.base", "minigrad.backends.lowering"),
    ("minigrad.backends.cuda.runtime", "minigrad.backends.cuda.device"),
    ("minigrad.backends.cuda.runtime", "minigrad.backends.cuda.simulator"),
}


def arrows(package: Path) -> dict[str, set[str]]:
    """For each module, the modules of the package that it imports, also inside functions."""
    known = modules(package)
    return {
        name: {
            item.target
            for item in imports(name, path, known)
            if item.target in known and item.target != name and (name, item.target) not in EXEMPT
        }
        for name, path in known.items()
    }


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules, or of rooms, that reach each other by imports, each a circle."""
    reached = {name: reachable_from(name, edges) for name in edges}
    found = {
        frozenset({name, *[other for other in reached[name] if name in reached[other]]})
        for name in edges
        if name in reached[name]
    }
    return sorted(sorted(group) for group in found)


def between_rooms(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports of modules as imports of their rooms."""
    rooms: dict[str, set[str]] = {room_of(name): set() for name in edges}
    for name, targets in edges.items():
        rooms[room_of(name)] |= {room_of(target) for target in targets} - {room_of(name)}
    return rooms


def reachable_from(start: str, edges: dict[str, set[str]]) -> set[str]:
    """The modules that are imported with one, directly or by others."""
    seen: set[str] = set()
    pending = list(edges[start])
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(edges[name])
    return seen


def test_no_modules_import_each_other_in_a_circle():
    assert circles(arrows(PACKAGE)) == []


def test_no_rooms_import_each_other_in_a_circle():
    assert circles(between_rooms(arrows(PACKAGE))) == []


@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "inside a function"])
def test_a_circle_inside_a_package_is_named(tree, inside):
    text = "from minigrad.core.layout import Layout\n"
    (tree / "core" / "shape.py").write_text(f"def later():\n    {text}" if inside else text)
    assert circles(arrows(tree)) == [["minigrad.core.layout", "minigrad.core.shape"]]


def test_a_circle_of_rooms_is_named_without_a_circle_of_modules(tree):
    for name, text in {"nn/a.py": "from minigrad.data import b\n", "data/b.py": "", "data/c.py": "from ..nn import d\n",
                       "nn/d.py": "", "nn/__init__.py": ""}.items():  # fmt: skip
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    assert circles(arrows(tree)) == [] and circles(between_rooms(arrows(tree))) == [["data", "nn"]]
    assert len(violations(tree)) == 2  # rooms of one floor do not import each other


# Public names of rooms above that a room shows: each is imported by its module's name at its first use.
SHOWN = {
    "minigrad.api.autograd": {"diagnostics.gradient"}, "minigrad.api.display": {"diagnostics.shown"},
    "minigrad.data": {"dist.sampler"}, "minigrad.jitting.jitted": {"viz.program"},
    "minigrad.nn": {"diagnostics.summarizing", "dist.sync_batchnorm"}, "minigrad.nn.modules": {"dist.sync_batchnorm"},
    "minigrad.nn.parallel": {"dist.parallel"},
}  # fmt: skip


def test_a_room_names_modules_of_rooms_above_only_for_public_names():
    known, found = modules(PACKAGE), {}
    for name, path in known.items():
        words = {node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)}  # fmt: skip
        named = {word for word in words if "." in word and f"minigrad.{word}" in known}
        named -= {word for word in named if room_of(f"minigrad.{word}") == room_of(name)}
        if named and name != "minigrad" and not name.startswith(("minigrad.declare", "minigrad.cli")):
            found[name] = named
    assert found == SHOWN


def test_a_family_that_imports_another_is_named(tree):
    (tree / "backends" / "cpu").mkdir()
    (tree / "backends" / "cpu" / "__init__.py").write_text("from minigrad.backends.cpu.scan import x\n")
    (tree / "backends" / "cpu" / "rows.py").write_text("x = 1\n")
    (tree / "backends" / "cpu" / "family.py").write_text("x = 1\n")
    text = "from minigrad.backends.cpu.family import x\nfrom minigrad.backends.cpu.rows import x\n"
    (tree / "backends" / "cpu" / "scan.py").write_text(text)
    (sentence,) = violations(tree)
    assert sentence == "minigrad.backends.cpu.scan, line 2: the family scan may not import the family rows"


def test_every_module_of_the_package_is_read():
    found = modules(PACKAGE)
    assert {"minigrad", "minigrad.errors", "minigrad.data.digits"} <= set(found)
    assert len(found) == len(list(PACKAGE.rglob("*.py")))


@pytest.fixture
def tree(tmp_path):
    """A package in which every import is allowed; a test adds one that is not."""
    package = tmp_path / "minigrad"
    files = {
        "__init__.py": "from minigrad.core.layout import Layout\nfrom . import ops\n",
        "__main__.py": "import minigrad\n",
        "errors.py": "import math\n",
        "core/__init__.py": "",
        "core/layout.py": "import numpy as np\nfrom minigrad.errors import ShapeError\nfrom . import shape\n",
        "core/shape.py": "from ..errors import ShapeError\n",
        "kernels/__init__.py": "",
        "kernels/cpu/__init__.py": "",
        "kernels/cpu/tile.py": "import numba\nfrom llvmlite import ir\n",
        "backends/__init__.py": "",
        "core/device.py": "def backend():\n    from minigrad.backends import cuda\n",
        "backends/cuda.py": "",
        "backends/parallel.py": "def threads():\n    import numba\n",
        "ops/__init__.py": "from minigrad.core import layout\n",
        "viz/__init__.py": "def draw():\n    import graphviz\n",
    }
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_the_synthetic_tree_is_clean(tree):
    assert violations(tree) == []


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("from minigrad.ops import add", "minigrad.ops"),
        ("import minigrad.ops", "minigrad.ops"),
        ("import math, minigrad.viz as v", "minigrad.viz"),
        ("from minigrad import ops", "minigrad.ops"),
        ("from minigrad import Tensor", "minigrad"),
        ("import minigrad as mg", "minigrad"),
        ("from .. import ops", "minigrad.ops"),
        ("from ..ops import add", "minigrad.ops"),
        ("from .. import Tensor", "minigrad"),
        ("import importlib; importlib.import_module('minigrad.ops')", "minigrad.ops"),
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "inside a function"])
def test_an_import_to_the_right_is_named(tree, text, target, inside):
    source = f"def later():\n    {text}\n" if inside else f"{text}\n"
    (tree / "core" / "storage.py").write_text(source)
    line = "line 2 (inside a function)" if inside else "line 1"
    assert violations(tree) == [f"minigrad.core.storage, {line}: {target} is not below core"]


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self):\n        {}\n",
        "async def f():\n    {}\n",
        "try:\n    {}\nexcept ImportError:\n    pass\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}\n",
        "def f():\n    def g():\n        with f():\n            {}\n",
    ],
)
def test_an_import_to_the_right_is_found_wherever_it_stands(tree, text):
    (tree / "core" / "storage.py").write_text(text.format("from minigrad.ops import add"))
    (sentence,) = violations(tree)
    assert sentence.endswith("minigrad.ops is not below core")


def test_a_relative_import_in_a_package_starts_at_the_package(tree):
    (tree / "core" / "__init__.py").write_text("from .layout import Layout\nfrom ..viz import graph\n")
    assert violations(tree) == ["minigrad.core, line 2: minigrad.viz is not below core"]


def test_the_cuda_backend_is_imported_from_the_left_only_inside_a_function(tree):
    (tree / "core" / "device.py").write_text("from minigrad.backends import cuda\n")
    assert violations(tree) == ["minigrad.core.device, line 1: minigrad.backends.cuda is not below core"]


@pytest.mark.parametrize(
    "text", ["import numba", "from numba import njit", "import llvmlite.ir", "import numba.core as n"]
)
def test_a_compiler_at_the_top_of_a_module_is_named(tree, text):
    (tree / "backends" / "parallel.py").write_text(f"{text}\n")
    (sentence,) = violations(tree)
    assert sentence.startswith("minigrad.backends.parallel, line 1: ")
    names = ", ".join(
        [
            f"minigrad.kernels.cpu.{name}"
            for name in (
                "amx",
                "butterflies",
                "emitting",
                "generator",
                "halves",
                "lanes",
                "moving",
                "native",
                "ranks",
                "short",
                "stream",
                "tile",
                "vectors",
                "winograd_transforms",
            )
        ]
        + ["minigrad.kernels.cuda.native"]
    )
    assert sentence.endswith(f"may be imported only by {names}")


def test_a_compiler_inside_a_function_of_another_module_is_named(tree):
    (tree / "core" / "storage.py").write_text("def f():\n    import numba\n")
    (sentence,) = violations(tree)
    assert "minigrad.core.storage, line 2 (inside a function): numba may be imported only by" in sentence


def test_graphviz_at_the_top_of_a_module_is_named(tree):
    (tree / "viz" / "dot.py").write_text("import graphviz\n")
    assert violations(tree) == ["minigrad.viz.dot, line 1: graphviz may be imported only inside a function"]


def test_a_module_without_a_room_is_named(tree):
    (tree / "extras.py").write_text("")
    assert violations(tree) == ["extras.py: minigrad.extras has no room"]


def test_an_import_of_a_module_that_is_not_there_is_named(tree):
    (tree / "core" / "storage.py").write_text("import minigrad.heap\n")
    assert violations(tree) == ["minigrad.core.storage, line 1: minigrad.heap is no module of the package"]


@pytest.mark.parametrize("text", ["import cuda.core", "from cuda.bindings import driver"])
def test_what_drives_a_device_is_named_outside_of_its_module(tree, text):
    (tree / "core" / "storage.py").write_text(f"{text}\n")
    (sentence,) = violations(tree)
    assert sentence.endswith(
        "cuda may be imported only by minigrad.backends.cuda.compile, minigrad.backends.cuda.device"
    )
