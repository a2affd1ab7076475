"""The contract of every backend (`tests/backends/test_contract.py`) on `device="cuda"`.

In the simulator what is large for it is left to `--full`; a real device runs all of it.
"""

import os
import re

from backends import test_contract

# Some thousand steps one after the other, which a lowering launches one by one.
LONG = {"test_long_scans", "test_long_folds"}
# How the CPU shares its work; operands of ten thousand elements; what is compared with every other of its row; products
# of many tiles and convolutions of many phases in each layout.
LARGE = re.compile(
    r"parallel|9000|70, 130|test_orders_along_every_dim|(33, 65, 17|4, 1, 2, 3).*-(offset|permuted|stepped|flipped)"
    r"|2, 3, 5, 6.*-(offset|stepped|flipped)"
)


def left_out(name):
    """Whether a case is too large for the simulator."""
    return (os.environ.get("MINIGRAD_CUDA") or "simulator") == "simulator" and LARGE.search(name) is not None


def pytest_generate_tests(metafunc):
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", ["cuda"])


globals().update({n: test for n, test in vars(test_contract).items() if n.startswith("test_") and n not in LONG})
