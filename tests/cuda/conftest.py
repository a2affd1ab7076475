"""The device of these tests: the simulator, or the real one with MINIGRAD_CUDA=real (`make test-gpu`)."""

import os

import pytest

from minigrad.backends import registry
from minigrad.config import settings
from minigrad.core.device import as_device

MODE = os.environ.get("MINIGRAD_CUDA") or "simulator"


@pytest.fixture(scope="module", autouse=True)
def cuda():
    """The backend of the device, anew for each module; other tests see what they would see without it."""
    before, settings.cuda = settings.cuda, MODE
    registry.forget("cuda")
    yield registry.backend_of(as_device("cuda"))
    settings.cuda = before
    registry.forget("cuda")


@pytest.fixture
def simulator(cuda):
    """The simulator; a test that needs it is skipped on a real device."""
    if MODE != "simulator":
        pytest.skip("this is about the simulator, and the device is a real one")
    return cuda.runtime


def pytest_collection_modifyitems(config, items):
    """Leave what is large for the simulator to `--full`."""
    if config.getoption("--full") or MODE != "simulator":
        return
    kept, large = [], []
    for item in items:
        words = getattr(item.module, "LARGE_FOR_THE_SIMULATOR", None)
        (large if words is not None and words.search(item.name) else kept).append(item)
    if large:
        config.hook.pytest_deselected(items=large)
        items[:] = kept
