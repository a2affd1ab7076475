"""What tests of networks share."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as mg

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=LIBRARIES)
def lib(request: Any) -> Any:
    """Provide minigrad on the reference device, and PyTorch if it is installed."""
    if request.param == "torch":
        yield pytest.importorskip("torch")
        return
    before = mg.default_device()
    mg.set_default_device("reference")
    yield mg
    mg.set_default_device(before)
