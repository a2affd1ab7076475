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
    transforms,
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
        transforms,
    )
    for case in module.TABLE.cases
]
