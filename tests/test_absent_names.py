"""The error for a name of another library that minigrad does not have states an existing replacement."""

import importlib
import importlib.util
import inspect
import math
import pickle
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import numpy
import pytest
from cases import over

import minigrad as mg
from minigrad.declare.advice import INSTEAD, RECORDED

ROOT = Path(__file__).parents[1]
ROOMS = {"minigrad": mg, "minigrad.nn": mg.nn, "minigrad.nn.functional": mg.nn.functional, "minigrad.func": mg.func,
         "minigrad.linalg": mg.linalg, "minigrad.special": mg.special, "minigrad.fft": mg.fft}  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_a_name_of_others_is_answered_with_ours(room: str) -> None:
    with pytest.raises(
        AttributeError,
        match=f"^module '{room}' has no attribute 'array': write mg.tensor, or mg.from_numpy to share memory$",
    ):
        ROOMS[room].array
    with pytest.raises(AttributeError, match=f"^module '{room}' has no attribute 'nonsense'$"):
        ROOMS[room].nonsense
    assert hasattr(ROOMS[room], "Linear") == (room == "minigrad.nn")


@over("name", INSTEAD)
def test_what_is_named_instead_is_there(name: str) -> None:
    assert name not in mg.__all__
    for path in re.findall(r"\b(?:mg|math|numpy)(?:\.\w+)+", INSTEAD[name]):
        first, *rest = path.split(".")
        found = {"mg": mg, "math": math, "numpy": numpy}[first]
        for part in rest:
            found = getattr(found, part)


@over(
    ("call", "advice"),
    [
        (lambda: mg.Linear, "write it as mg.nn.Linear"),
        (lambda: mg.AdamW, "write it as mg.optim.AdamW"),
        (lambda: mg.jacrev, "write it as mg.func.jacrev"),
        (lambda: mg.inv, "write it as mg.linalg.inv"),
        (lambda: mg.nn.relu, "write it as mg.relu"),
        (lambda: mg.map_, "write it as a method, x.map_()"),
        (lambda: mg.nn.Linaer, "did you mean 'Linear'?"),
        (lambda: mg.data.Dataloader, "did you mean 'DataLoader'?"),
        (lambda: mg.nn.utils.clip_grad, "did you mean 'clip_grad_norm'?"),
        (lambda: mg.nn.init.xavier_unform_, "did you mean 'xavier_uniform_' or 'xavier_normal_'?"),
        (lambda: mg.viz.setp, "did you mean 'step'?"),
        (lambda: mg.nn.functional.reul, "did you mean 'relu'?"),
        (lambda: mg.optim.SDG, "did you mean 'SGD'?"),
        (lambda: mg.zeros(1).grads, "did you mean 'grad'?"),
        (lambda: mg.zeros(1).backwards(), "did you mean 'backward'?"),
        (lambda: mg.zeros(1).shpae, "did you mean 'shape'?"),
        (lambda: mg.jit.script, "write mg.jit(function) or @mg.jit, which records the kernels once and repeats them"),
        (lambda: mg.fx, RECORDED),
        (lambda: mg.viz.grph, "did you mean 'graph'?"),
        (lambda: mg.testing.gradchek, "did you mean 'gradcheck'?"),
        (lambda: mg.autograd.grads, "did you mean 'grad'?"),
        (lambda: mg.sparse_coo_tensor, "there are no sparse tensors; mg.gather and mg.scatter_add work by index"),
        (lambda: mg.nn.quantized, "there are no quantized tensors; mg.amp.autocast computes in bfloat16 or float16"),
        (lambda: mg.zeros(1).cross_entropy, "write mg.nn.functional.cross_entropy(x)"),
        (lambda: mg.zeros(1).to_sparse, "there are no sparse tensors; mg.gather and mg.scatter_add work by index"),
        (lambda: mg.Tensor.einsum, "write mg.einsum(x)"),
    ],
)
def test_a_missing_name_is_answered_with_advice(call, advice):
    with pytest.raises(AttributeError) as caught:
        call()
    assert str(caught.value).endswith(f": {advice}")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("", "SummaryWriter", "import it from minigrad.utils.tensorboard"), ("", "profiler", "mg.viz.memory draws"),
        ("", "multiprocessing", "write Python's multiprocessing"),
        ("nn", "functionl", "did you mean 'functional'?"),
        ("", "accelerator", "write mg.cuda, whose is_available()"),
    ],
)  # fmt: skip
def test_a_missing_module_is_answered_with_advice_and_python_finds_none(module: str, name: str, advice: str) -> None:
    package = importlib.import_module(f"minigrad.{module}".rstrip("."))
    with pytest.raises(AttributeError, match=re.escape(advice)):
        getattr(package, name)
    assert importlib.util.find_spec(f"{package.__name__}.{name}") is None


def test_a_function_with_advice_is_called_pickled_and_read_as_before() -> None:
    assert pickle.loads(pickle.dumps(mg.jit)) is mg.jit and not hasattr(mg.jit, "trace")
    assert list(inspect.signature(mg.jit).parameters) == ["function", "fuse", "verify"] and "Record a" in mg.jit.__doc__


def test_names_of_protocols_get_no_advice_and_attributes_that_are_not_there_are_not_listed():
    x = mg.zeros(2, 2)
    with pytest.raises(AttributeError, match=r"^module 'minigrad' has no attribute '_repr_latex_'$"):
        mg._repr_latex_
    assert not hasattr(x, "to_sparse") and getattr(x, "einsum", None) is None
    assert "to_sparse" not in dir(x) and "relu" in dir(x) and "shape" in dir(x)
    assert all(hasattr(x, name) for name in dir(x) if name != "imag"), "imag is an error for real tensors"


def test_only_the_message_of_a_missing_name_looks_for_advice():
    program = "import sys, minigrad as mg; hasattr(mg, 'Linaer'); print('minigrad.optim' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.name != "differences.md"]


@over("page", PAGES, ids=lambda page: page.stem)
def test_names_that_pages_mention_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"\bmg((?:\.[A-Za-z_]\w*)+)", text)
    names += [
        "." + name for name in re.findall(r"`((?:nn|optim|data|dist|amp|viz|func|linalg)\.[A-Za-z_][\w.]*\w)", text)
    ]
    for name in names:
        attrgetter(name[1:])(mg)
