"""The rows, a module a family."""

from tests.benchmarks.cases import (
    convolution,
    copies,
    elementwise,
    functions,
    graphs,
    indexing,
    matmul,
    reductions,
    rows,
    scans,
    sorting,
    training,
)

CASES = [
    case
    for module in (
        graphs,
        elementwise,
        functions,
        reductions,
        rows,
        copies,
        matmul,
        indexing,
        scans,
        sorting,
        convolution,
        training,
    )
    for case in module.TABLE.cases
]
