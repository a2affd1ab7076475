"""What tests of notebooks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minigrad as mg


@pytest.fixture
def simulator() -> Iterator[None]:
    """Use the simulator as the device of a notebook; other tests are not affected."""
    with mg.override(cuda="simulator"):
        yield
