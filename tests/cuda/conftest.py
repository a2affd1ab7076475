"""The device of these tests: the simulator, or the real one with MINIGRAD_CUDA=real (`make test-gpu`)."""

import os

import pytest

from minigrad.backends import registry
from minigrad.config import announce, settings
from minigrad.core.device import as_device
from minigrad.kernels.store import watchers

ORDERS = [("forward", 0), ("reverse", 0), ("random", 1)]  # of blocks, warps and lanes
MODE = os.environ.get("MINIGRAD_CUDA") or "simulator"


@pytest.fixture(scope="module", autouse=True)
def cuda():
    """Provide a new backend of the device for each module; other tests are not affected."""
    before, settings.cuda = settings.cuda, MODE
    registry.forget("cuda")
    yield registry.backend_of(as_device("cuda"))
    settings.cuda = before
    registry.forget("cuda")


@pytest.fixture
def simulator(cuda):
    """Provide the simulator; a test that needs it is skipped on a real device."""
    if MODE != "simulator":
        pytest.skip("this is about the simulator, and the device is a real one")
    return cuda.runtime


@pytest.fixture(params=ORDERS, ids=lambda order: order[0])
def order(request, simulator):
    """Use each order of threads in turn."""
    with simulator.ordered(*request.param):
        yield


@pytest.fixture
def kernels_of():
    """Return a function that calls another one, and returns its result and the names of its kernels."""

    def asked(function):
        seen = []
        watchers.append(seen)
        announce()  # plans are made anew, and kernels asked for
        try:
            return function(), " ".join(map(str, seen))
        finally:
            watchers.remove(seen)

    return asked
