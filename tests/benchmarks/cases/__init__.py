"""The rows of the benchmark, one module per family."""

from tests.benchmarks.cases import (
    convolution,
    copies,
    data,
    elementwise,
    forms,
    functions,
    graphs,
    indexing,
    jit,
    matmul,
    modules,
    networks,
    optimizers,
    parts,
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
        data,
        modules,
        optimizers,
        programs,
        transforms,
        parts,
        networks,
        forms,
        jit,
    )
    for case in module.TABLE.cases
]
