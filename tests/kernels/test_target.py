"""A second processor: the text of a kernel differs only in what its `Target` specifies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from op_support import RTOL

import minigrad as mg
from minigrad.core.dtype import bool_, f16, f32, f64, to_logical
from minigrad.kernels import calling
from minigrad.kernels.cpu import elementwise
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.fields import Fields
from minigrad.kernels.macros import scalar_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.target import Target
from minigrad.runtime.data import host_array

# A processor without a compiler: Python reads its kernels, and a table is a tuple of arrays.
PLAIN = Target(
    header="import math\n\nimport numpy as np\n\nfrom minigrad.kernels import half\n\ndef marked(f):\n    return f\n",
    natives=lambda: "\noperand = lambda table, k, dtype: table[k]\nnumbers_of = lambda table: table[1][2:]\n",
    kernel="@marked\n",
    helper=lambda liberties, inlined: f"# may: {', '.join(liberties)}\n",
    calls=lambda compute: {"exp": "own_exp"},
    functions=lambda text: ["def own_exp(x):\n    return T(math.exp(x))\n"] if "own_exp(" in text else [],
    guarded=lambda text: text,
    halves=lambda: "\nhalf_to_float, float_to_half = half.half_to_float, half.float_to_half\n",
    truths=("{}", "{}"),
    walk=CPU.walk,
    entry=CPU.entry,
)


def text_of(op: Any, dtype: Any, target: Target) -> str:
    """The dense loop of an op of one operand."""
    return write_kernel(
        f"{op.scalar.name}.",
        elementwise.dense,
        operands=(dtype,),
        out=dtype,
        compute=dtype.compute,
        macros={"F": scalar_macro(op.scalar, dtype.compute, target)},
        constants={"STEP_0": "1", "RUN_0": "in_0[numbers[3] + lo :]", "EVALUATIONS": "count", "REPEATED": 0},
        fields=elementwise.DENSE,
        target=target,
    )


def kernel_of(text: str) -> Callable[..., Any]:
    module: dict[str, Any] = {}
    exec(compile(text, "plain", "exec"), module)
    return calling.plain(module["kernel"])


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("op", [mg.exp.op, mg.neg.op, mg.relu6.op], ids=lambda op: op.name)
def test_a_kernel_for_another_processor_computes_what_the_reference_computes(op: Any, dtype: Any) -> None:
    x = mg.tensor([-1.0, 0.0, 0.5, 2.0, 3.0], dtype=dtype, device="reference")
    buffer, out = x.storage.buffer[:5], np.zeros(5, dtype.storage)
    numbers = [3, 0, *elementwise.DENSE.packed([(0,), (0,)], {"n": 5, "chunk": 2})]
    kernel_of(text_of(op, dtype, PLAIN))(buffer, out, np.array(numbers, np.int64))
    want = host_array(getattr(x, op.name)())
    np.testing.assert_allclose(np.float64(to_logical(out, dtype)), np.float64(want), rtol=RTOL[dtype.name])


def test_nothing_of_the_cpu_is_in_the_text_for_another_processor() -> None:
    for dtype in (f16, f32):
        text = text_of(mg.exp.op, dtype, PLAIN)
        assert "numba" not in text.replace("compiled by Numba", "") and "kernels.cpu" not in text
        assert "@marked\ndef kernel(" in text and "own_exp(" in text and "njit" not in text
        assert "njit" in text_of(mg.exp.op, dtype, CPU) and "own_exp" not in text_of(mg.exp.op, dtype, CPU)


def test_each_thing_that_a_target_says_is_in_the_text_and_in_no_other() -> None:
    def helper(x):
        """A function that the kernel calls."""
        return x

    def template(in_K, out, N):
        """out = exp of in_0 where in_1 holds, through a helper."""
        for i in range(first, last):  # noqa: F821
            place = i
            at = 0
            walk(place, N.sizes, at=N.steps)  # noqa: F821
            out[i] = STORE(helper(F(LOAD_0(in_0[i])))) if LOAD_1(in_1[at]) else 0  # noqa: F821

    def written(target: Target) -> str:
        return write_kernel(
            "all of it.", template, operands=(f16, bool_), out=f16, compute=f16.compute, helpers=(helper,),
            macros={"F": scalar_macro(mg.exp.op.scalar, f16.compute, target)}, fastmath=("reassoc",),
            fields=Fields("rank", "sizes[rank] steps[rank]"), target=target,
        )  # fmt: skip

    changed = {
        "header": "import numpy as np, math as other\n",
        "natives": lambda: "\nother_natives = 1\n",
        "kernel": "@other_kernel\n",
        "helper": lambda liberties, inlined: f"@other_helper({liberties[0]!r})\n",
        "calls": lambda compute: {"exp": "other_exp"},
        "functions": lambda text: ["def other_function(): ...\n"],
        "guarded": lambda text: text + "    # other guard\n",
        "halves": lambda: "\nother_halves = 1\n",
        "truths": ("other_truth({})", "{}"),
        "walk": lambda place, *rest: [f"other_walk({place})"],
        "entry": lambda text, *rest: text + "    # other entry\n",
    }
    assert set(changed) == set(Target.__dataclass_fields__) - {"name"}
    usual = written(PLAIN)
    assert "other" not in usual and "# may: reassoc" in usual
    for name, value in changed.items():
        assert "other" in written(replace(PLAIN, **{name: value})), name
