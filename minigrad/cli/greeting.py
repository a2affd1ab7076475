"""The greeting of `python -m minigrad`, and the command `python -m minigrad tutorial`."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from minigrad.errors import quantity

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
