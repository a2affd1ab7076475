"""What tests of notebooks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minigrad as mg


@pytest.fixture
def simulator() -> Iterator[None]:
    """The simulator as the device of a notebook; other tests see what they would see without it."""
    with mg.override(cuda="simulator"):
        yield
