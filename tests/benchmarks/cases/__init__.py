"""The rows, a module a family."""

from tests.benchmarks.cases import (
    convolution,
    copies,
    elementwise,
    functions,
    graphs,
    indexing,
    matmul,
    programs,
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
        programs,
    )
    for case in module.TABLE.cases
]
