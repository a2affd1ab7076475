"""The main job: a gradient, its check and its picture, and then a network that is trained on handwritten digits.

Except for the progress bar, it uses only the public API, like a user's script; `examples/digits_mlp.py` is the same
training with more comments.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.data import load_digits
from minigrad.errors import quantity
from minigrad.kernels.notice import watched
from minigrad.runtime.ahead import announce


def run(epochs: int = 40, picture: str = "simple_grad.svg") -> int:
    """Run everything in order; return 1 if the network's accuracy is below 97 %.

    A failed gradient check raises GradcheckError.
    """
    announce("cli.demo:first_epoch")
    print("1. simple_grad: y = x*x + 5x + 4")
    simple_grad(Path(picture))
    print("\n2. a two-layer perceptron on 8x8 digits")
    accuracy = train_digits(epochs)
    return 0 if accuracy >= 0.97 else 1


def simple_grad(picture: Path) -> None:
    """Compute a gradient by a backward pass, compare it with finite differences, and draw the graph."""
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    y = x * x + x * 5.0 + 4.0
    drawing = mg.viz.graph(y)
    grads = y.backward()
    print(f"   x     = {x.tolist()}\n   y     = {y.tolist()}\n   dy/dx = {grads[x].tolist()}   (2x + 5)")
    mg.testing.gradcheck(lambda x: x * x + x * 5.0 + 4.0, mg.Var([3.0, 1.0, 4.0], dtype=mg.float64))
    print("   gradcheck: agrees with central differences in float64")
    print(f"   graph: {drawing.save(picture).resolve()}")


class Perceptron:
    """A perceptron with 64 pixels as input, one hidden layer, and 10 classes."""

    def __init__(self, hidden: int = 128) -> None:
        self.w1 = self.weight(64, hidden)
        self.b1 = mg.Var(mg.zeros(hidden))
        self.w2 = self.weight(hidden, 10)
        self.b2 = mg.Var(mg.zeros(10))

    @staticmethod
    def weight(inputs: int, outputs: int) -> mg.Var:
        """Return weights, uniform in +-sqrt(6 / inputs).  Source: He et al., arXiv 1502.01852, equation 10."""
        bound = (6.0 / inputs) ** 0.5
        return mg.Var(mg.uniform((inputs, outputs), -bound, bound))

    @property
    def variables(self) -> list[mg.Var]:
        return [self.w1, self.b1, self.w2, self.b2]

    def __call__(self, x: mg.Tensor) -> mg.Tensor:
        return (x @ self.w1 + self.b1).relu() @ self.w2 + self.b2


def cross_entropy(logits: mg.Tensor, labels: mg.Tensor) -> mg.Tensor:
    """Return the mean of -log p, where p is the probability of the right class."""
    return -logits.log_softmax(1).gather(1, labels.unsqueeze(1)).mean()


def first_epoch() -> None:
    """Train for one epoch, which needs most of the kernels."""
    train_digits(1)


def train_digits(epochs: int, batch: int = 64, rate: float = 0.1, momentum: float = 0.9, seed: int = 0) -> float:
    """Train by stochastic gradient descent with momentum; print and return the accuracy on the held-out fifth.

    In each epoch, new noise with standard deviation 0.3 is added to each image, so that the network does not rely on
    single pixels: for five seeds, the accuracy was 97.2 to 97.8 % without noise and 98.3 to 98.6 % with noise.
    """
    mg.manual_seed(seed)
    images, labels, test_images, test_labels = (mg.tensor(a) for a in load_digits())
    net = Perceptron()
    velocity = [mg.zeros_like(v) for v in net.variables]
    times = [time.perf_counter()]
    bar = progress(range(epochs), desc="   training", unit="epoch")
    bar.set_postfix_str("the first epoch compiles its kernels")
    for epoch in bar:
        order = mg.randperm(len(images))
        step = rate * (1 - epoch / epochs)
        for k in range(0, len(images), batch):
            chosen = order[k : k + batch]
            noisy = images[chosen] + 0.3 * mg.randn(len(chosen), 64)
            loss = cross_entropy(net(noisy), labels[chosen])
            grads = loss.backward()
            with mg.no_grad():
                for v, speed in zip(net.variables, velocity, strict=True):
                    speed.mul_(momentum).add_(grads[v])
                    v.sub_(speed * step)
                    v.grad = None
        bar.set_postfix(loss=f"{loss.item():.4f}")
        times.append(time.perf_counter())
    with mg.no_grad():
        accuracy = (net(test_images).argmax(1) == test_labels).to(mg.float32).mean().item()
    print(f"   test accuracy {accuracy:.2%} on {len(test_labels)} held-out images")
    first, rest = times[1] - times[0], (times[-1] - times[1]) / max(1, epochs - 1)
    print(f"   {times[-1] - times[0]:.2f} s of training: {first:.2f} s for the first epoch, which compiles or")
    print(f"   loads the kernels, then {rest * 1000:.0f} ms for each of the other {epochs - 1}")
    return float(accuracy)


# ---- a progress bar --------------------------------------------------------------------------------------------------


def progress(*steps: Any, **words: Any) -> Any:
    """Return a tqdm progress bar on stderr, which is disabled if stderr is not a terminal.

    The arguments are those of tqdm.  In a file or a pipe, every update would add text.  The terminal of a container may
    report 0 columns and 0 lines, for which tqdm draws nothing; the bar then assumes 80 columns and 24 lines.
    """
    from tqdm import tqdm

    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (AttributeError, OSError, ValueError):  # stderr is missing or is not a terminal
        known = True
    size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
    return tqdm(*steps, **size, disable=not watched(), **words)


# ---- the greeting of `python -m minigrad`, and the command `python -m minigrad tutorial` -----------------------------


# The folder of the notebooks in a checkout of the repository.
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PACKAGE = Path(__file__).resolve().parents[1]
PACKED = PACKAGE / "learning" / "notebooks"  # the folder of the notebooks in a wheel, made by `hatch_build.py`
# A link in a notebook, from its folder to a file of the checkout.
LINK = re.compile(r"\]\(\.\./((minigrad|docs|examples)/[^)#]+)")
COPY = "minigrad-notebooks"  # the folder that receives the notebooks of a wheel
# The last pattern matches the jupytext sources of the notebooks.
HIDDEN = ["__pycache__", "*.pyc", "*~", "[0-9A][0-9]_*.py"]
GREETING = """minigrad: an autograd framework to read, to inspect and to train with.

    python -m minigrad demo        a gradient, its check and its graph, then a network that reads digits
    python -m minigrad tutorial    the notebooks, from finite differences to a network, in Jupyter
    python -m minigrad doctor      the features of this machine, and missing packages
    python -m minigrad where softmax    its files: declaration, gradient, kernels, tests
    python -m minigrad kernel mul  the loop that is compiled for an op
    python -m minigrad warmup      compile the common kernels now instead of when they are first used
    python -m minigrad pack --cpu x86-64-v3   compile them into the package, so that a wheel contains them
    python -m minigrad run -n 2 train.py      a script in two processes that communicate by mg.dist

In Python:

    >>> x = mg.Var([3., 1., 4.], name="x")
    >>> y = x * x + x * 5. + 4.
    >>> mg.viz.step(y)          # the backward pass, step by step, in a notebook
    >>> y.backward()
    GradStore(x = tensor([11.,  7., 13.]))

`python -m minigrad COMMAND --help` lists the options of a command."""


def greet() -> int:
    """Print the commands."""
    print(GREETING)
    return 0


def tutorial() -> int:
    """Open the first notebook in Jupyter, or print how to open it; returns the exit status."""
    folder = NOTEBOOKS if (NOTEBOOKS / "00_tour.ipynb").is_file() else copied(Path.cwd() / COPY)
    first = folder / "00_tour.ipynb"
    if importlib.util.find_spec("jupyterlab") is None:
        print(f"The first notebook is {first}.")
        if folder == NOTEBOOKS:
            print("Jupyter is not installed: `make notebooks` installs it and opens the first notebook.")
        else:
            install = f"{sys.executable} -m pip install jupyterlab matplotlib"
            print(f"Jupyter is not installed: run `{install}`, then `python -m minigrad tutorial` again.")
        return 1
    # Links to source files are relative to the checkout, and a Jupyter kernel imports minigrad from it.
    root, env = folder, dict(os.environ)
    if folder == NOTEBOOKS:
        root = NOTEBOOKS.parent
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    lab = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", f"--ContentsManager.hide_globs={HIDDEN}"]
    # Without a browser, Jupyter prints only its default address, so this address must open the notebook.
    lab.append(f"--LabApp.default_url=/lab/tree/{first.relative_to(root).as_posix()}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # Windows has no `os.getuid`
        print("You are root, as in many containers: Jupyter starts with --allow-root.")
        lab.append("--allow-root")
    return subprocess.run([*lab, str(first)], check=False, env=env).returncode


def copied(target: Path) -> Path:
    """Copy the notebooks of the wheel into a folder, and return the folder; existing files are not overwritten."""
    fresh = kept = 0
    for source in sorted(PACKED.rglob("*.ipynb")):
        path = target / source.relative_to(PACKED)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(with_sources(source.read_text(encoding="utf-8"), target / "sources"), encoding="utf-8")
            fresh += 1
        else:
            kept += 1
    rest = f"; {quantity(kept, 'file')} existed and stay unchanged" if kept else ""
    print(f"The notebooks are in {target}: {quantity(fresh, 'new file')}{rest}.")
    return target


def with_sources(notebook: str, folder: Path) -> str:
    """Copy the source files to which a notebook links into `folder`, and return the notebook with links to the copies.

    The copies are necessary because Jupyter shows no files outside its root folder, so links into the installed package
    would not work.
    """
    for name, top in LINK.findall(notebook):
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PACKAGE.parent / name if top == "minigrad" else PACKED / "sources" / name, path)
    return LINK.sub(r"](sources/\1", notebook)
