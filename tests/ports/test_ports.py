"""Scripts for PyTorch that run after a change of their imports, with its losses.

`python -m tests.ports.test_ports` writes `losses.json` again, with an installed PyTorch.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
SCRIPTS = ("resnet", "gru_attention", "vae")
LOSSES = HERE / "losses.json"


def ported(text: str) -> str:
    """The script with other imports; nothing else changes."""
    text = text.replace("import torch.nn.functional as F\n", "import minigrad.nn.functional as F\n")
    return text.replace("import torch\n", "import minigrad as torch\n")


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_the_losses_of_pytorch_for_20_steps(name: str) -> None:
    space: dict[str, Any] = {"__name__": name}
    text = ported((HERE / f"{name}.py").read_text(encoding="utf-8"))
    exec(compile(text, f"{name}.py, ported", "exec"), space)
    np.testing.assert_allclose(space["losses"], json.loads(LOSSES.read_text())[name], rtol=1e-9)
    assert "minigrad as torch" in text and np.mean(space["losses"][:5]) > np.mean(space["losses"][15:20])


@pytest.mark.torch
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_losses_that_are_kept_are_those_of_pytorch(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    np.testing.assert_allclose(of_pytorch(name), json.loads(LOSSES.read_text())[name], rtol=1e-9)


def of_pytorch(name: str) -> list[float]:
    """The losses of a script as it stands."""
    losses: list[float] = runpy.run_path(str(HERE / f"{name}.py"))["losses"]
    return losses


if __name__ == "__main__":
    LOSSES.write_text(json.dumps({name: of_pytorch(name) for name in SCRIPTS}, indent=1) + "\n")
    sys.exit(0)
