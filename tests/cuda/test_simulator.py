"""Mistakes that the simulator reports: each is made on purpose in a kernel that is correct without it."""

import numpy as np
import pytest
from cuda_mistakes import text_of

from minigrad.backends.cuda.elementwise import dense, run_words
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.simulator import Simulator, check_written
from minigrad.backends.cuda.watched import Notice
from minigrad.backends.cuda.words import Point, Words
from minigrad.backends.launch import as_launch
from minigrad.core.dtype import f32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.declare.record import schema
from minigrad.errors import KernelError
from minigrad.kernels.cuda import native

ORDERS = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]

# The sum of a block's elements: lanes of a warp by shuffles, warps through shared memory.
SUM = """
import numpy as np
POINTERS = (np.float32, np.float32)
NUMBERS = 1

def kernel(in_0, out, numbers):
    t = cuda.threadIdx.x
    parts = cuda.shared.array(4, np.float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    acc = in_0[i] if i < numbers[0] else np.float32(0)
    lanes = 16
    while lanes > 0:
        acc = acc + cuda.shfl_xor_sync(0xFFFFFFFF, acc, lanes)
        lanes = lanes // 2
    if t % 32 == 0:
        parts[t // 32] = acc
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3]
"""

# The block turned around through shared memory, twice, so that its second write meets the first read.
TURN = """
import numpy as np
POINTERS = (np.int32, np.int32)
NUMBERS = 1

def kernel(in_0, out, numbers):
    t = cuda.threadIdx.x
    room = cuda.shared.array(64, np.int32)
    room[t] = in_0[t]
    cuda.syncthreads()
    x = room[63 - t]
    cuda.syncthreads()
    room[t] = x + 1
    cuda.syncthreads()
    out[t] = room[63 - t]
"""


@pytest.fixture
def machine():
    return Simulator()


def run(machine, text, given, results, blocks=1, threads=64, numbers=(0,), dtype=np.float32, name="kernel"):
    """Launch a text on an array; what it gives."""
    a, out = machine.allocate(len(given), np.dtype(dtype)), machine.allocate(results, np.dtype(dtype))
    machine.copy_to_device(a, np.array(given, dtype))
    kernel = machine.load(Program(name, text))
    machine.launcher(kernel, (blocks, 1, 1), (threads, 1, 1), numbers)(a.address, out.address)
    check_written(Spec(Layout.contiguous((results,)), f32), out, 1)
    return machine.copy_to_host(out)


def noticed(machine, kind, *given, **more):
    """The sentence of the notice of a kind, or of one of two, in whichever order threads run."""
    said = set()
    for order, seed in ORDERS:
        with machine.ordered(order, seed), pytest.raises(Notice) as caught:
            run(machine, *given, **more)
        assert caught.value.kind in kind.split()
        said.add(str(caught.value))
    return sorted(said)[0]


@pytest.mark.parametrize(("order", "seed"), ORDERS)
def test_shuffles_and_barriers_do_what_they_say(machine, order, seed):
    values = np.arange(300, dtype=np.float32)
    with machine.ordered(order, seed):
        sums = run(machine, SUM, values, 3, blocks=3, threads=128, numbers=(300,))
        turned = run(machine, TURN, range(64), 64, dtype=np.int32)
    assert sums.tolist() == [values[k : k + 128].sum() for k in (0, 128, 256)]
    assert turned.tolist() == [k + 1 for k in range(64)]


def test_kernels_are_given_the_same_names_by_the_compiler_and_by_the_simulator():
    given = set(Words("kernel", 1, Point(1), Point(1)).names())
    assert given == {"cuda", "libdevice", "device", *native.natives()}


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_removed_barrier_is_noticed(machine, which):
    parts = TURN.split("    cuda.syncthreads()\n")
    text = "".join(part + ("    cuda.syncthreads()\n" if k not in (which, 3) else "") for k, part in enumerate(parts))
    assert text.count("syncthreads") == 2
    # In front of the first reads it depends on the order whether they meet a write or come before it.
    sentence = noticed(machine, "race" if which else "race unwritten", text, range(64), 64, dtype=np.int32)
    assert "a shared array is" in sentence


def test_a_removed_barrier_in_front_of_what_nobody_has_written_yet_is_noticed(machine):
    text = SUM.replace("    cuda.syncthreads()\n", "")
    with pytest.raises(Notice, match="a shared array is read at 1, which was never written"):
        run(machine, text, range(128), 1, threads=128, numbers=(128,))


def test_a_barrier_that_some_threads_do_not_reach_is_noticed(machine):
    text = TURN.replace("    room[t] = in_0[t]\n", "    room[t] = in_0[t]\n    if t > 40:\n        return\n")
    sentence = noticed(machine, "divergence", text, range(64), 64, dtype=np.int32)
    assert "23 threads have ended, and 41 wait at line" in sentence


def test_two_different_barriers_at_once_are_noticed(machine):
    barrier = "    if t < 32:\n        cuda.syncthreads()\n    else:\n        cuda.syncthreads()\n"
    text = TURN.replace("    cuda.syncthreads()\n", barrier, 1)
    sentence = noticed(machine, "divergence", text, range(64), 64, dtype=np.int32)
    assert "threads wait at different barriers" in sentence


def test_lanes_that_do_not_all_come_to_a_shuffle_are_noticed(machine):
    text = SUM.replace("    while lanes > 0:\n", "    while lanes > 0 and t != 5:\n")
    sentence = noticed(machine, "divergence", text, range(128), 1, threads=128, numbers=(128,))
    assert "for lanes of its warp that never arrive" in sentence


HELPED = SUM.replace("def kernel", """def joined(acc, lanes):
    return acc if lanes == 0 else joined(acc + cuda.shfl_xor_sync(0xFFFFFFFF, acc, lanes), lanes // 2)

def kernel""").replace("    while lanes > 0:\n        acc = acc + cuda.shfl_xor_sync(0xFFFFFFFF, acc, lanes)\n"
                       "        lanes = lanes // 2\n", "    acc = joined(acc, lanes)\n")  # fmt: skip


def test_functions_of_a_kernel_may_wait(machine):
    assert "joined(acc, lanes)\n    if t" in HELPED
    assert run(machine, HELPED, range(128), 1, threads=128, numbers=(128,)).tolist() == [128 * 127 / 2]
    sentence = noticed(
        machine, "divergence", HELPED.replace("acc if lanes == 0", "acc if lanes == 0 or t5() == 5").replace(
            "def joined", "def t5():\n    return cuda.threadIdx.x\n\ndef joined"), range(128), 1, threads=128,
        numbers=(128,),
    )  # fmt: skip
    assert "waits at line 10 for lanes of its warp" in sentence


@pytest.mark.parametrize(("change", "name"), [
    (("    cuda.syncthreads()\n", "    wait = cuda.syncthreads\n    wait()\n"), "syncthreads"),
    (("    cuda.syncthreads()\n", "    f = lambda: cuda.syncthreads()\n    f()\n"), "syncthreads"),
    (("    while lanes", "    found = [cuda.shfl_xor_sync(0xFFFFFFFF, acc, 1) for _ in range(2)]\n    while lanes"),
     "shfl_xor_sync"),
    (("    if t == 0:\n", "    f = joined\n    if t == 0:\n"), "joined"),
])  # fmt: skip
def test_what_would_wait_unseen_is_refused(machine, change, name):
    text = HELPED if name == "joined" else SUM
    assert change[0] in text
    with pytest.raises(KernelError, match=f"kernel: {name} at line .* waits for other threads, and the simulator"):
        run(machine, text.replace(*change), range(128), 1, threads=128, numbers=(128,))


def test_lanes_of_a_warp_need_a_barrier_of_the_warp(machine):
    text = TURN.replace("63 - t", "(t // 32) * 32 + 31 - t % 32")
    assert run(machine, text.replace("syncthreads", "syncwarp"), range(64), 64, dtype=np.int32)[0] == 1
    text = text.replace("    cuda.syncthreads()\n", "", 1)
    noticed(machine, "race unwritten", text, range(64), 64, dtype=np.int32)


@pytest.mark.parametrize(("change", "kind"), [
    (("in_0[t]", "in_0[t + 1]"), "bounds"), (("room[t] = x", "room[t + 1] = x"), "bounds"),
    (("    out[t] = ", "    out[t - 1] = "), "bounds"), (("room[63 - t]\n", "room[63 - t - 1]\n"), "bounds"),
    (("    out[t] = ", "    out[t // 2] = "), "race"),
])  # fmt: skip
def test_an_index_beyond_the_end_or_shared_by_two_threads_is_noticed(machine, change, kind):
    text = TURN.replace(*change)
    assert text != TURN
    sentence = noticed(machine, kind, text, range(64), 64, dtype=np.int32)
    assert "kernel: " in sentence and "of block 0" in sentence


def test_an_element_of_the_result_that_is_not_written_is_noticed(machine):
    text = TURN.replace("    out[t] = room[63 - t]\n", "    if t != 7:\n        out[t] = room[63 - t]\n")
    sentence = noticed(machine, "unwritten", text, range(64), 64, dtype=np.int32)
    assert "did not write the element at 7" in sentence


def test_a_result_that_was_written_before_must_be_written_again(machine):
    spec = Spec(Layout.contiguous((4,)), f32)
    out = machine.allocate(4, np.dtype(np.float32))
    machine.copy_to_device(out, np.ones(4, np.float32))
    with pytest.raises(Notice, match="did not write the element at 0"):
        machine.watched(as_launch(lambda buffer: None, 1, "idle"), [spec])(out)


def test_memory_that_nobody_has_written_is_not_read(machine):
    a, out = (machine.allocate(64, np.dtype(np.int32)) for _ in range(2))
    kernel = machine.load(Program("turn", TURN))
    with pytest.raises(Notice, match="turn: memory of 64 int32 is read at 0, which was never written"):
        machine.launcher(kernel, (1, 1, 1), (64, 1, 1), (0,))(a.address, out.address)


def test_atomic_additions_of_all_threads_are_no_race(machine):
    text = TURN.replace("out[t] = ", "atomic_add(out, t, 0)\n    atomic_add(out, 0, np.int32(1))\n    x = ")
    a, out = (machine.allocate(64, np.dtype(np.int32)) for _ in range(2))
    for buffer in (a, out):
        machine.copy_to_device(buffer, np.zeros(64, np.int32))
    kernel = machine.load(Program("turn", text))
    machine.launcher(kernel, (2, 1, 1), (64, 1, 1), (0,))(a.address, out.address)
    assert machine.copy_to_host(out)[:2].tolist() == [128, 0]


# ---- the same mistakes in the project's own kernels


@pytest.fixture
def negation():
    scalar = schema["neg"].scalar
    words = run_words(scalar, f32.compute, (f32, f32), "dense", (1,), 4, False)
    return text_of(dense, (f32, f32), words)


@pytest.mark.parametrize(("change", "kind"), [
    (("i < numbers[0]", "i <= numbers[0]"), "bounds"),
    (("group < numbers[1]", "group <= numbers[1]"), "race"),
    (("        i += step", "        i += 2 * step"), "unwritten"),
    (("        group += step", "        group += 2 * step"), "unwritten"),
    (("i = first + numbers[1] * 4", "i = first + numbers[1]"), "race"),
    (("at = group * 4", "at = group * 2"), "misaligned"),
    (("cuda.gridDim.x", "1"), "race"),
])  # fmt: skip
def test_a_mistake_in_the_loop_over_a_run_is_noticed(negation, change, kind):
    machine = Simulator()
    n = 2 * 2 * 64 * 4 + 131  # two blocks of 64 threads take two turns of four elements, and two of what is left
    more = {"blocks": 2, "numbers": dense.loop.fields.packed([(0,), (0,)], {"n": n, "whole": 256})}
    assert run(machine, negation, np.ones(n), n, **more).sum() == -n
    assert negation.replace(*change) != negation
    noticed(machine, kind, negation.replace(*change), np.ones(n), n, **more)
