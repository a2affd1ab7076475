"""Launches on `device="cuda"` are records too: kernels with their grids, and checks that the host makes."""

from launches import check_record, host_functions, launches_of, plans_of
from op_support import arrays, operands
from selection import base_dtype, over_rows

import minigrad as mg
from minigrad.backends.cuda.family import GridKernel

CHECKS = {"note_launches", "check_written"}  # of the simulator, at the results of each request
COPIES = {"copy_to_host", "copy_to_device"}  # between devices
LIBRARY = {"cublasGemmStridedBatchedEx"}


@over_rows(items=40)
def test_every_plan_of_the_op_table_shows_its_steps(row):
    given = operands(row, arrays(row), base_dtype(row), "cuda")
    for name, plan in plans_of(lambda: row.fn(*given)):
        for launch in launches_of(plan):
            check_record(name, launch, plan)
            assert host_functions(launch) <= CHECKS | COPIES | LIBRARY, name
            kernels = [step.kernel for step in launch.steps if isinstance(step.kernel, GridKernel)]
            assert all(min(*kernel.grid, *kernel.block) >= 1 for kernel in kernels)
            assert kernels or host_functions(launch) - CHECKS or not any(out.layout.numel for out in plan.outs), name


def test_an_index_check_is_the_last_thing_that_the_host_reads():
    x, index = mg.arange(4, dtype="float32", device="cuda"), mg.tensor([3, 0], device="cuda")
    (launch,) = [plan.launch for _, plan in plans_of(lambda: mg.gather(x, 0, index))]
    (flag,) = launch.flags
    assert (flag.low, flag.high) == (0, 0)
    before, after = launch.steps[: flag.after], launch.steps[flag.after :]
    assert isinstance(before[-1].kernel, GridKernel)
    assert flag.slot in before[-1].slots
    assert {step.kernel.name for step in after} <= CHECKS
