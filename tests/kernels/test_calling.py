"""Machine code called by its address: the table, the tasks, the flag, the end, and what goes wrong."""

import ctypes
import gc
import mmap
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from minigrad.core.dtype import f32, i64
from minigrad.errors import KernelError
from minigrad.kernels import calling, pasting, specialize, store
from minigrad.kernels.fields import Fields

FIELDS = Fields("chunk n")


# ruff: noqa: F821, F841
def squares(in_K, out, N):  # type: ignore[no-untyped-def]
    """out = in_0 squared, a chunk a task; a negative number raises the flag; at the end, out[n] = how many tasks."""
    for t in range(first, last):
        for i in range(t * N.chunk, min(N.n, (t + 1) * N.chunk)):
            out[i] = STORE(LOAD_0(in_0[i]) * LOAD_0(in_0[i]))
            if in_0[i] < 0:
                flag[0] = 1
    if first == last:
        out[N.n] = first


def greedy(out, N):  # type: ignore[no-untyped-def]
    """Asks for as much memory as it is told to."""
    for t in range(first, last):
        mine = workspace(N.n, np.float32)
        mine[0] = t
        out[t] = mine[0] + 1
        leave(mine)


def hoarding(out, N):  # type: ignore[no-untyped-def]
    """Asks for 16 MB, and for as much again as it is told to."""
    for t in range(first, last):
        mine = workspace(1 << 22, np.float32)
        more = workspace(N.n, np.float32)
        mine[0] = t
        more[0] = mine[0] + 1
        out[t] = more[0]
        leave(mine)
        leave(more)


def patient(in_K, out, N):  # type: ignore[no-untyped-def]
    """Counts in out[0] until in_0[1] is not 0, at most to n: both are one array, so each turn reads it anew."""
    if first < last:
        while out[0] < N.n and in_0[1] == 0:
            out[0] += 1


def text_of(template, operands, out=f32):
    return specialize.write_kernel(
        f"{template.__name__}.", template, operands=operands, out=out, compute=out.compute, fields=FIELDS,
    )  # fmt: skip


SQUARES = text_of(squares, (f32,))
GREEDY = text_of(greedy, ())
HOARDING = text_of(hoarding, ())
PATIENT = text_of(patient, (i64,), i64)


def kernel_of(text, name="called"):
    return store.load(name, text)


def numbers(tasks, end=False, **named):
    return np.array([tasks, end, *FIELDS.packed((), named)], np.int64)


@pytest.mark.parametrize("kind", ["brief", "alone", "shared"])
def test_every_task_is_done_once_and_the_end_is_last(kind):
    call = calling.function(kernel_of(SQUARES), kind)
    for n in (1, 99, 100, 101, 1000):
        x, out = np.arange(n, dtype=np.float32), np.full(n + 1, -1, np.float32)
        tasks = -(-n // 100)
        assert call(x, out, numbers(tasks, True, chunk=100, n=n)) is False
        np.testing.assert_array_equal(out, [*(x * x), tasks])
        out[:] = -1
        call(x, out, numbers(tasks, chunk=100, n=n))
        assert out[n] == -1, "no end was asked for"


@pytest.mark.parametrize("kind", ["brief", "alone", "shared"])
def test_a_raised_flag_is_what_a_call_gives_and_is_down_at_the_next(kind):
    call = calling.function(kernel_of(SQUARES), kind)
    x, out = np.ones(300, np.float32), np.zeros(301, np.float32)
    told = numbers(3, chunk=100, n=300)
    x[250] = -1
    assert call(x, out, told) is True
    x[250] = 1
    assert call(x, out, told) is False


def test_without_a_compiler_a_call_means_the_same():
    def kernel(first, last, table):
        flag, told, x, out = table
        for t in range(first, last):
            out[t] = x[t] * 2
            flag[0] |= x[t] < 0
        if first == last:
            out[-1] = told[2]

    call = calling.plain(kernel)
    out = np.zeros(4)
    assert call(np.array([1.0, 2.0, 3.0]), out, np.array([3, 1, 7])) is False and out.tolist() == [2, 4, 6, 7]
    assert call(np.array([1.0, -2.0, 3.0]), out, np.array([3, 0, 7])) is True


@pytest.mark.parametrize("kind", ["brief", "alone", "shared"])
def test_memory_that_is_not_there_is_a_memory_error(kind):
    call = calling.function(kernel_of(GREEDY, "greedy"), kind)
    out = np.zeros(4, np.float32)
    assert call(out, numbers(4, chunk=1, n=1000)) is False and out.tolist() == [1, 2, 3, 4]
    with pytest.raises(MemoryError, match="no memory for its workspace"):
        call(out, numbers(4, chunk=1, n=1 << 56))
    assert call(out, numbers(4, chunk=1, n=1000)) is False


@pytest.mark.parametrize("wrong", [None, 3, b"12345678", [1.0], np.float32(1), np.ones(3).view(np.matrix)])
def test_what_is_no_array_is_refused_before_anything_is_read(wrong):
    call = calling.function(kernel_of(SQUARES), "alone")
    out = np.zeros(2, np.float32)
    with pytest.raises(TypeError, match="NumPy arrays and nothing else"):
        call(wrong, out, numbers(1, chunk=1, n=1))
    with pytest.raises(TypeError, match="NumPy arrays and nothing else"):
        call(out, out, wrong)


def test_a_call_keeps_no_reference_and_takes_none():
    call = calling.function(kernel_of(SQUARES), "alone")
    x, out, told = np.ones(5, np.float32), np.zeros(6, np.float32), numbers(1, chunk=5, n=5)
    gc.collect()  # or what earlier tests left is collected meanwhile, with what it refers to
    before = [sys.getrefcount(each) for each in (x, out, told, False, True, TypeError)]
    for _ in range(1000):
        call(x, out, told)
        with pytest.raises(TypeError):
            call(x, None, told)
    after = [sys.getrefcount(each) for each in (x, out, told, False, True, TypeError)]
    assert all(abs(a - b) < 50 for a, b in zip(before, after, strict=True))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of a process is read from Linux")
def test_a_kernel_that_ends_without_memory_gives_back_what_it_has():
    call, out = calling.function(kernel_of(HOARDING, "hoarding"), "alone"), np.zeros(2, np.float32)

    def pages():
        return int(Path("/proc/self/statm").read_text().split()[0])

    before = pages()
    for _ in range(100):
        with pytest.raises(MemoryError):
            call(out, numbers(2, chunk=1, n=1 << 60))
    assert (pages() - before) * mmap.PAGESIZE < 100 << 20
    call(out, numbers(2, chunk=1, n=1))
    assert out.tolist() == [1, 2]


@pytest.mark.parametrize(("kind", "beside"), [("alone", True), ("shared", True), ("brief", False)])
def test_other_threads_run_beside_a_call_that_is_not_brief(kind, beside):
    """The GIL is given away: a kernel waits for a word that another thread says once it sees the kernel at work."""
    call = calling.function(kernel_of(PATIENT, "patient"), kind)
    words, limit = np.zeros(2, np.int64), 1 << 33 if beside else 1 << 20  # seconds, if nobody says it

    def say():
        while not words[0]:
            time.sleep(0)
        words[1] = 1

    thread = threading.Thread(target=say)
    thread.start()
    call(words, words, numbers(1, chunk=1, n=limit))
    assert (words[0] < limit) == beside
    thread.join()


def test_arrays_of_another_shape_in_memory_are_noticed(monkeypatch):
    calling.check_layout()
    monkeypatch.setattr(calling, "OBJECT", calling.OBJECT + ctypes.sizeof(ctypes.c_void_p))
    with pytest.raises(KernelError, match="stores arrays in a way"):
        calling.check_layout()


def test_numbers_are_given_by_name_and_all_of_them():
    fields = Fields("n rank", "sizes[rank] steps[rank]", "offset strides[rank]")
    groups, lists = ((7, (8, 9)), (10, (11, 12))), {"sizes": (3, 4), "steps": (5, 6)}
    packed = fields.packed(groups, {"n": 1, "rank": 2} | lists)
    assert packed == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert packed == fields.packed(groups, {"n": 1} | lists), "a list has its length"
    places = [fields.position("steps", "d"), fields.position("offset", group="1"), fields.position("strides", "d", "1")]
    assert [packed[eval(place, {"rank": 2, "d": 1})] for place in places] == [6, 10, 12]
    with pytest.raises(KernelError, match="steps is missing"):
        fields.packed((), {"n": 1, "rank": 0, "sizes": ()})
    with pytest.raises(KernelError, match="2 entries, but rank is 1"):
        fields.packed((), {"n": 1, "rank": 1, "sizes": (1, 2), "steps": (1,)})
    with pytest.raises(KernelError, match="no number 'm' in the list"):
        fields.position("m")
    assert Fields("n", "sizes[n] runs").packed((), {"sizes": (3, 4), "runs": (5, 6, 7)}) == [2, 3, 4, 5, 6, 7]


def test_a_walk_takes_a_place_apart_with_the_last_dim_fastest():
    fields = Fields("rank", "sizes[rank] steps[rank]", "strides[rank]")

    def template(in_K, out, N):  # type: ignore[no-untyped-def]
        for rest in range(first, last):
            at = 0
            p_K = 0
            walk(rest, N.sizes, p_K=N.strides[K + 1], at=N.steps)
            out[at] = p_0

    text = pasting.paste(template, 1, {}, {}, fields)
    numbers = fields.packed([((0, 0),), ((100, 10),)], {"rank": 2, "sizes": (2, 3), "steps": (3, 1)})
    space = {"first": 0, "last": 6, "numbers": numbers}
    exec(text, space)
    out = np.zeros(6)
    space["template"](None, out, space["numbers"])
    # `rest` is taken apart in place, so what is left of it is 0.
    assert out.tolist() == [0, 10, 20, 100, 110, 120]


def test_dtypes_of_the_table_are_those_of_memory():
    assert "in_0 = operand(table, 2, np.float32)" in SQUARES and "numbers = numbers_of(table)" in SQUARES
    assert i64.storage == np.int64
