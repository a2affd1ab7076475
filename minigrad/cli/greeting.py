"""`python -m minigrad` without a command, and `python -m minigrad tutorial`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
GREETING = """minigrad: an autograd framework to read, to look into, and to train with.

    python -m minigrad demo        a gradient, its proof, its picture, then a network that reads digits
    python -m minigrad tutorial    the notebooks, from a nudge to a network, in Jupyter
    python -m minigrad doctor      the features of this machine, and what is missing
    python -m minigrad kernel mul  the loop that is compiled for an op
    python -m minigrad run -n 2 train.py   a script in two processes, which mg.dist connects

In Python:

    >>> import minigrad as mg
    >>> x = mg.Var([3., 1., 4.], name="x")
    >>> y = x * x + x * 5. + 4.
    >>> mg.viz.step(y)          # the backward pass, step by step, in a notebook
    >>> y.backward()
    GradStore(x = tensor([11.,  7., 13.]))

`python -m minigrad --help` lists the commands."""


def greet() -> int:
    """Print the commands."""
    print(GREETING)
    return 0


def tutorial() -> int:
    """Open the first notebook in Jupyter, or print how to get it; returns the exit status."""
    first = NOTEBOOKS / "00_tour.ipynb"
    if not first.is_file():
        print("The notebooks come with the checkout and the source distribution of minigrad, not with its wheel:")
        print("run `python -m minigrad tutorial` in the folder of one of these.")
        return 1
    if importlib.util.find_spec("jupyterlab") is None:
        print(f"The first notebook is {first}.")
        print("Jupyter is not installed: `pip install jupyterlab matplotlib`, or `make notebooks` in the checkout.")
        return 1
    # Two things begin at the checkout, not at the folder of the notebook: links to source files, and the imports of a
    # notebook, since the graders of the exercises are not part of an installed minigrad.
    root = str(NOTEBOOKS.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    lab = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", str(first)]
    return subprocess.run(lab, check=False, env={**os.environ, "PYTHONPATH": path}).returncode
