"""Every kind of kernel compiles to machine code without a device, and the code is as lean as was meant."""

import numpy as np
import pytest
from cuda_requests import FAMILIES, collected

from minigrad.backends.cuda import compile as compiler

if compiler.missing():
    pytest.skip(f"no kernel is compiled for CUDA: {compiler.missing()}", allow_module_level=True)
CASES = [(family, program) for family in FAMILIES for program in collected(family)[0].values()]
# Far from 0 libdevice takes digits of pi from memory of the thread, and float64.  The last four have complex numbers.
SLOW_PATHS = (
    "sin", "cos", "tan", "polar", "digamma", "trigamma", "random_normal", "exp_c", "expm1_c", "sigmoid_c", "pow_c",
)  # fmt: skip
# The logarithm of the magnitude of a complex64 is computed in float64.
IN_DOUBLE = ("log_c64", "log1p_c64", "acos_c64", "asinh_c64")
UNREAD = ("isreal",)  # their results are the same for all values, so no operand is loaded


@pytest.mark.parametrize(("family", "program"), CASES, ids=lambda x: getattr(x, "name", x))
def test_every_kind_of_kernel_compiles_to_lean_code(family, program):
    found = compiler.compiled(program)
    assert found.cubin[:4] == b"\x7fELF" and found.entry
    assert found.spills == 0 and found.registers * 256 <= 65536 and found.shared <= 48 << 10
    assert found.stack == 0 or program.name.startswith(SLOW_PATHS)
    space = compiler.namespace()
    exec(program.text, space)
    if not {np.float64, np.complex128} & {space["T"], *space["POINTERS"]}:
        assert not found.double or program.name.startswith((*SLOW_PATHS, *IN_DOUBLE)), "nobody asked for float64"
    if "_by" in program.name and not program.name.startswith(UNREAD):
        sizes = [np.dtype(kind).itemsize for kind in space["POINTERS"]]
        assert found.widest == 8 * min(16, int(program.name.split("_by")[1].split("_")[0]) * max(sizes))


@pytest.mark.parametrize("program", [p for f, p in CASES if f == "products" and "_mma" in p.name], ids=lambda p: p.name)
def test_halves_are_multiplied_by_the_tensor_cores(program):
    ptx = compiler.compiled(program).ptx
    assert "mma.sync.aligned.m16n8k16" in ptx and "ldmatrix.sync" in ptx
    if program.name.split("_")[-2].endswith("w"):
        assert "cp.async.cg.shared.global" in ptx


def test_a_kernel_is_compiled_once_and_read_from_the_cache(monkeypatch):
    _, program = CASES[0]
    first = compiler.compiled(program)
    monkeypatch.setattr(compiler, "make", lambda *given: pytest.fail("it was compiled again"))
    assert compiler.compiled(program) == first


def test_what_does_not_compile_is_an_error_that_names_the_kernel():
    from minigrad.backends.cuda.runtime import Program
    from minigrad.errors import KernelError

    text = (
        "import numpy as np\nPOINTERS = (np.float32,)\nNUMBERS = 1\n\ndef kernel(out, numbers):\n    out.reshape(3)\n"
    )
    with pytest.raises(KernelError, match="broken: the kernel cannot be compiled"):
        compiler.compiled(Program("broken", text))
