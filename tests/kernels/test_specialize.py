"""The text of generated modules: what is pasted, what is hashed, what can be stepped through."""

import ast
import os
import subprocess
import sys

import numpy as np
import pytest

from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import f16, f32, i8, i32, i64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import KernelError
from minigrad.kernels import calling, macros, pasting, specialize, store
from minigrad.kernels.cpu import matmul, target
from minigrad.kernels.cpu.target import tile_header
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Late
from minigrad.kernels.specialize import write_loop


def told_by_name(x, out):
    """One line, and then another:
    isn't STEP left alone?"""
    out[0] = x[STEP]  # noqa: F821


def twice(x):  # type: ignore[no-untyped-def]
    """A helper with a free name."""
    return FACTOR * x  # noqa: F821


def template(a, out, numbers):  # type: ignore[no-untyped-def]
    """out = 2a."""
    for i in range(first, last):  # noqa: F821
        out[i] = STORE(twice(LOAD_0(a[i])))  # noqa: F821


def text_of(a=f32, out=f32, factor="T(2)", imports=""):
    return specialize.write_kernel(
        "doubles.",
        template,
        operands=(a,),
        out=out,
        compute=out.compute,
        constants={"FACTOR": factor},
        imports=imports,
        helpers=(twice,),
    )


def test_a_helper_is_pasted_with_its_free_names_filled_in():
    text = text_of()
    assert "return T(2) * x" in text and "FACTOR" not in text
    assert text.index("def twice") < text.index("def kernel")


def choosy(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """What a kernel does not need is not in its text."""
    scratch = SCRATCH  # noqa: F821, F841
    if TWICE:  # noqa: F821
        for i in range(numbers[0]):
            out[i] = in_0[i]  # noqa: F821
            if LINE:  # noqa: F821
                line[i] = out[i]  # noqa: F821
            else:
                out[i] += 1
    if DONE:  # noqa: F821
        out[0] = numbers[0]


def lines_of_choosy(**constants):
    text = pasting.paste(choosy, 1, {}, constants)
    return [line.split("  #")[0] for line in text.split('"""')[2].split("\n")[1:-1]]


def test_what_stands_under_zero_is_left_out_and_what_stands_under_another_number_is_not_indented():
    assert lines_of_choosy(SCRATCH="...", TWICE="0", LINE="1", DONE="1") == ["    out[0] = numbers[0]"]
    assert lines_of_choosy(SCRATCH="out[1:]", TWICE="2", LINE="1", DONE="0") == [
        "    scratch = out[1:]",
        "    for i in range(numbers[0]):",
        "        out[i] = in_0[i]",
        "        line[i] = out[i]",
    ]
    assert lines_of_choosy(SCRATCH="...", TWICE="1", LINE="0", DONE="0") == [
        "    for i in range(numbers[0]):",
        "        out[i] = in_0[i]",
        "        out[i] += 1",
    ]


def loops(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """A row of W elements, and what is done with each."""
    for i in each(W):  # noqa: F821
        for k in each(PLACES):  # noqa: B007, F821
            x_k_i = in_k[i]  # noqa: F821, F841
    EACH()  # noqa: F821


def every_element():  # type: ignore[no-untyped-def]
    for i in each(W):  # noqa: F821
        if DOUBLED:  # noqa: F821
            out[i] = 2 * F(x_K_i)  # noqa: F821
        else:
            out[i] = F(x_K_i) + SHIFT  # noqa: F821


def lines_of_loops(*parts):
    words = {"EACH": list(parts), "F": macros.expression_macro("f({0})")}
    text = pasting.paste(loops, 1, words, {"W": 2, "PLACES": (0, 3), "DOUBLED": False, "SHIFT": "s"})
    return [line.split("  #")[0].strip() for line in text.split('"""')[2].split("\n")[1:-1]]


def test_a_block_under_each_is_pasted_for_each_number_which_is_a_part_of_names_too():
    assert lines_of_loops() == ["x_0_0 = in_0[0]", "x_3_0 = in_3[0]", "x_0_1 = in_0[1]", "x_3_1 = in_3[1]"]


def test_the_body_of_a_part_is_pasted_with_words_of_its_own_beside_those_around_it():
    plain, doubled = pasting.Part(every_element), pasting.Part(every_element, {}, {"DOUBLED": True, "W": 1})
    assert lines_of_loops(plain, doubled)[4:] == [
        "out[0] = f(x_0_0) + s", "out[1] = f(x_0_1) + s", "out[0] = 2 * f(x_0_0)"
    ]  # fmt: skip


def test_a_kernel_with_a_helper_runs_on_halves(tmp_path):
    with override(cache_dir=tmp_path):
        kernel = calling.function(store.load("twice_f16", text_of(f16, f16)), "alone")
    values = np.array([1.5, -3.0, 40_000.0], np.float16)
    out = np.zeros(3, np.uint16)
    kernel(values.view(np.uint16), out, np.array([3, 0], np.int64))
    assert out.view(np.float16).tolist() == [3.0, -6.0, np.inf]


def test_a_kernel_finds_its_operands_where_its_text_begins():
    text = text_of(i8, i32)
    body = text[text.index("def kernel(first, last, table):") :].splitlines()
    assert [line.strip() for line in body[2:5]] == [
        "a = operand(table, 2, np.int8)", "out = operand(table, 3, np.int32)", "numbers = numbers_of(table)"
    ]  # fmt: skip
    assert "parallel" not in text


def test_every_generated_text_is_python():
    for text in (text_of(), text_of(i8, i32), text_of(f16, f32)):
        ast.parse(text)


def test_the_name_of_a_module_follows_its_text(tmp_path):
    with override(cache_dir=tmp_path):
        first = store.load("same", text_of(factor="T(2)"))
        second = store.load("same", text_of(factor="T(3)"))
        assert store.load("same", text_of(factor="T(2)")) is first
    assert first.path != second.path
    assert sorted(p.name for p in (tmp_path / "kernels").glob("*.py")) == sorted(
        os.path.basename(kernel.path) for kernel in (first, second)
    )


def test_a_changed_tile_makes_a_new_matmul_module(monkeypatch):
    before = tile_header(f32, matmul.multiply)
    monkeypatch.setattr(target, "version", lambda *files: f"another {files[0]}")
    assert "another tile.py" in tile_header(f32, matmul.multiply) != before


def test_a_kernel_that_does_not_compile_names_itself_and_its_source(tmp_path):
    with override(cache_dir=tmp_path), pytest.raises(KernelError, match="broken does not compile") as caught:
        store.load("broken", text_of(factor="no_such_name"))
    assert os.path.exists(caught.value.path)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners of files are a POSIX matter")
def test_the_cache_folder_is_closed_to_others(tmp_path):
    with override(cache_dir=tmp_path):
        (tmp_path / "kernels").mkdir(mode=0o755)
        assert store.cache_folder().stat().st_mode & 0o777 == 0o700


STEPPED = """
import sys
import numpy as np
from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device
from minigrad.core.dtype import f16, f32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Product

backend = backend_of(as_device("cpu"))
a = Layout.contiguous((25, 30))
for dtype in (f32, f16):
    x = (np.arange(750) % 5).astype(dtype.numpy)
    out = np.empty(625, dtype.storage)
    layout = Layout.contiguous((25, 25))
    backend.prepare(Product(), Spec(layout, dtype), Spec(a, dtype), Spec(a.transpose(0, 1), dtype))(
        x.view(dtype.storage), x.view(dtype.storage), out)
    square = x.reshape(25, 30).astype(np.float64)
    assert np.array_equal(out.view(dtype.numpy).reshape(25, 25), square @ square.T)
"""


def test_a_packed_product_can_be_stepped_through_without_a_compiler(tmp_path):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "MINIGRAD_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", STEPPED], env=environment, check=True, timeout=100)


def test_an_interrupted_compile_leaves_nothing_behind() -> None:
    text = "raise KeyboardInterrupt\n"
    with pytest.raises(KeyboardInterrupt):
        store.load("interrupted", text)
    with pytest.raises(KeyboardInterrupt):
        store.load("interrupted", text)
    with pytest.raises(KernelError, match=r"broken does not compile: division by zero \(source: .*broken_\w+\.py\)"):
        store.load("broken", "1 / 0\n")


def test_a_docstring_may_tell_of_free_names() -> None:
    text = pasting.paste(told_by_name, 0, {}, {"STEP": "7"})
    assert "isn't STEP left alone?" in text and "x[7]" in text


SIZE = 3  # a constant of this module, which a template reads


def double(x):
    """A helper, which the template below calls by a word."""
    return x + x


@loop(Fields("n in_0 out chunk chunks"), fastmath=("contract",))
def scaled(in_0, out, N):
    """out = WITH(in_0) * SIZE."""
    for i in range(first, last):  # noqa: F821
        out[N.out + i] = STORE(T(WITH(LOAD_0(in_0[N.in_0 + i])) * SIZE))  # noqa: F821


def words_of(name):
    return {"WITH": double if name == "double" else "{0} + 1"}


def test_the_text_of_a_loop_follows_from_its_dtypes_and_words():
    name, text = write_loop(scaled, (f16, f32), {"WITH": double}, "twice")
    assert name == "scaled_twice_f16_f32" and "@loop" not in text
    assert "T = np.float32" in text and "in_0 = operand(table, 2, np.uint16)" in text
    assert "T(double(half_to_float(in_0[numbers[1] + i])) * 3)" in text and "def double(x):" in text
    assert text.index("def double") < text.index("def kernel") and "fastmath={'contract'}" in text
    assert write_loop(scaled, (i64, i64), {"WITH": "{0} + 1"})[0] == "scaled_i64"  # otherwise int64 is not named


def test_words_that_are_made_late_write_the_same_text():
    for name in ("double", "one more"):
        assert write_loop(scaled, (f32, f32), Late(words_of, (name,))) == write_loop(scaled, (f32, f32), words_of(name))
    assert (
        Late(words_of, ("double",)) == Late(words_of, ("double",))
        and "double(" not in write_loop(scaled, (f32, f32), Late(words_of, ("one more",)))[1]
    )


def test_a_run_adds_offsets_chunks_and_the_kind_of_call():
    backend = backend_of(as_device("cpu"))
    x, y = (Spec(Layout.contiguous((8,), k), f32) for k in (5, 2))
    steps = backend.record(backend, (y,), (x,))
    steps.run(scaled, *steps.operands, *steps.outs, words={"WITH": double}, divided=(1, 8), n=8)
    steps.run(scaled, *steps.operands, *steps.outs, words={"WITH": double}, tasks=8, cost=10**9, n=8, chunk=1, chunks=8)
    (one, two) = steps.launch.steps
    assert one.numbers.tolist() == [8, 0, 8, 5, 2, 1, 8] == two.numbers.tolist() and one.slots == (0, 1)
    assert (one.kernel.kind, two.kernel.kind) == ("brief", "shared") and one.kernel.address == two.kernel.address
    a, out = np.arange(13, dtype=np.float32), np.zeros(10, np.float32)
    steps.launch(a, out)
    assert (out[2:] == 6 * a[5:]).all() and not out[:2].any()
