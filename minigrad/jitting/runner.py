"""The runner: one compiled function that runs the kernels of any program.

Every kernel is `kernel(first, last, table)` (`kernels/calling.py`), so a row of a program consists of four words: the
code, its table of addresses, whether threads share its tasks, and the shortest time in nanoseconds in which they did.
If a thread has to wait for its core, a shared row takes some milliseconds longer; the runner notices this and runs the
rest of the program on one thread.  A call passes the arrays of its arguments.  A patch
specifies the array, the byte offset after its beginning, and the table entry that receives this address.  Nothing is
compiled for an individual program.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.launch import Step
from minigrad.backends.parallel import STALL
from minigrad.config import settings
from minigrad.kernels.calling import METH_FASTCALL, Method, linked, maker, team

NEVER = 2**62  # nanoseconds
NO_MEMORY = -1  # the runner returns this if a kernel had no memory for its work

# TYPE_AT and DATA_AT are offsets in an array object.  The head of a program contains the number of rows and their
# address, the number of patches and their address, the address of the flag, the code of the team (0: one thread),
# whether the GIL is held, and the nanoseconds beyond the shortest time of a row that count as a stall.
RUNNER = """
@ARRAY = external global i8
@TYPE_ERROR = external global i8
@words = private constant [46 x i8] c"a program takes NumPy arrays and nothing else\\00"
declare void @PyErr_SetString(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

NOW

define ptr @run_program(ptr %self, ptr %args, i64 %n) {
entry:
  %result = alloca ptr
  %error = alloca ptr
  %where = call i64 @PyLong_AsLongLong(ptr %self)
  %p = inttoptr i64 %where to ptr
  %rows = load i64, ptr %p
  %p1 = getelementptr i64, ptr %p, i64 1
  %rows_at = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %p, i64 2
  %patches = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %p, i64 3
  %patches_at = load ptr, ptr %p3
  %p4 = getelementptr i64, ptr %p, i64 4
  %flag = load ptr, ptr %p4
  %p5 = getelementptr i64, ptr %p, i64 5
  %team = load ptr, ptr %p5
  %p6 = getelementptr i64, ptr %p, i64 6
  %brief = load i64, ptr %p6
  %p7 = getelementptr i64, ptr %p, i64 7
  %stall = load i64, ptr %p7
  %has_team = icmp ne ptr %team, null
  store i64 0, ptr %flag
  br label %check
check:
  %a = phi i64 [ 0, %entry ], [ %a1, %good ]
  %more_args = icmp slt i64 %a, %n
  br i1 %more_args, label %look, label %patch
look:
  %arg_at = getelementptr ptr, ptr %args, i64 %a
  %arg = load ptr, ptr %arg_at
  %type_at = getelementptr i8, ptr %arg, i64 TYPE_AT
  %type = load ptr, ptr %type_at
  %fits = icmp eq ptr %type, @ARRAY
  br i1 %fits, label %good, label %refuse
good:
  %a1 = add i64 %a, 1
  br label %check
refuse:
  call void @PyErr_SetString(ptr @TYPE_ERROR, ptr @words)
  ret ptr null
patch:
  %k = phi i64 [ 0, %check ], [ %k1, %write ]
  %more = icmp slt i64 %k, %patches
  br i1 %more, label %write, label %start
write:
  %k3 = mul i64 %k, 3
  %q = getelementptr i64, ptr %patches_at, i64 %k3
  %which = load i64, ptr %q
  %q1 = getelementptr i64, ptr %q, i64 1
  %add_at = load ptr, ptr %q1
  %add = load i64, ptr %add_at
  %q2 = getelementptr i64, ptr %q, i64 2
  %goal = load ptr, ptr %q2
  %from_at = getelementptr ptr, ptr %args, i64 %which
  %from = load ptr, ptr %from_at
  %data_at = getelementptr i8, ptr %from, i64 DATA_AT
  %data = load i64, ptr %data_at
  %address = add i64 %data, %add
  store i64 %address, ptr %goal
  %k1 = add i64 %k, 1
  br label %patch
start:
  %held = icmp ne i64 %brief, 0
  br i1 %held, label %ready, label %release
release:
  %released = call ptr @PyEval_SaveThread()
  br label %ready
ready:
  %state = phi ptr [ null, %start ], [ %released, %release ]
  br label %row
row:
  %r = phi i64 [ 0, %ready ], [ %r1, %asked ]
  %shares = phi i1 [ %has_team, %ready ], [ %still, %asked ]
  %more_rows = icmp slt i64 %r, %rows
  br i1 %more_rows, label %run, label %done
run:
  %r4 = mul i64 %r, 4
  %w = getelementptr i64, ptr %rows_at, i64 %r4
  %kernel = load ptr, ptr %w
  %code = ptrtoint ptr %kernel to i64
  %w1 = getelementptr i64, ptr %w, i64 1
  %table = load i64, ptr %w1
  %w2 = getelementptr i64, ptr %w, i64 2
  %shared = load i64, ptr %w2
  %t = inttoptr i64 %table to ptr
  %t1 = getelementptr i64, ptr %t, i64 1
  %numbers = load ptr, ptr %t1
  %tasks = load i64, ptr %numbers
  %ends_at = getelementptr i64, ptr %numbers, i64 1
  %ends = load i64, ptr %ends_at
  %wanted = icmp ne i64 %shared, 0
  %is_shared = and i1 %wanted, %shares
  br i1 %is_shared, label %together, label %alone
together:
  %began = call i64 @now()
  %s0 = call i32 %team(ptr %result, ptr %error, i64 %code, i64 %tasks, i64 %table)
  %ended = call i64 @now()
  %took = sub i64 %ended, %began
  %w3 = getelementptr i64, ptr %w, i64 3
  %least = load i64, ptr %w3
  %is_least = icmp slt i64 %took, %least
  %less = select i1 %is_least, i64 %took, i64 %least
  store i64 %less, ptr %w3
  %beyond = sub i64 %took, %least
  %in_time = icmp slt i64 %beyond, %stall
  br label %ran
alone:
  %s1 = call i32 %kernel(ptr %result, ptr %error, i64 0, i64 %tasks, i64 %table)
  br label %ran
ran:
  %s = phi i32 [ %s0, %together ], [ %s1, %alone ]
  %still = phi i1 [ %in_time, %together ], [ %shares, %alone ]
  %failed = icmp ne i32 %s, 0
  br i1 %failed, label %empty, label %worked
worked:
  %has_end = icmp ne i64 %ends, 0
  br i1 %has_end, label %last, label %asked
last:
  %s2 = call i32 %kernel(ptr %result, ptr %error, i64 %tasks, i64 %tasks, i64 %table)
  %failed_last = icmp ne i32 %s2, 0
  br i1 %failed_last, label %empty, label %asked
asked:
  %raised = load i64, ptr %flag
  %stop = icmp ne i64 %raised, 0
  %r1 = add i64 %r, 1
  br i1 %stop, label %flagged, label %row
flagged:
  %no_room = icmp eq i64 %raised, -1
  br i1 %no_room, label %empty, label %done
empty:
  br label %done
done:
  %answer = phi i64 [ 0, %row ], [ %r1, %flagged ], [ -1, %empty ]
  %was_released = icmp ne ptr %state, null
  br i1 %was_released, label %restore, label %tell
restore:
  call void @PyEval_RestoreThread(ptr %state)
  br label %tell
tell:
  %told = call ptr @PyLong_FromLongLong(i64 %answer)
  ret ptr %told
}
"""


# The time in nanoseconds.  Without this function of POSIX, no row takes any time, so none is a stall.
NOW = """
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() {
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %part_at = getelementptr i64, ptr %time, i64 1
  %part = load i64, ptr %part_at
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %part
  ret i64 %sum
}
"""
NO_CLOCK = "define internal i64 @now() {\n  ret i64 0\n}"


@cache
def runner() -> Method:
    """Return the compiled runner in CPython's description of a function; it is made once per process."""
    has_clock = hasattr(time, "CLOCK_MONOTONIC") and ctypes.sizeof(ctypes.c_long) == 8
    now = NOW.replace("CLOCK", str(time.CLOCK_MONOTONIC)) if has_clock else NO_CLOCK
    addresses = linked("runner", RUNNER.replace("NOW", now), ["run_program"])
    return Method(b"run_program", addresses["run_program"], METH_FASTCALL, b"")


class Table:
    """Store the kernels of a program in one table in memory, and the functions that run the table.

    count: the number of rows.
    call: a function of the arrays of a call, which runs all rows.  It returns 0, or NO_MEMORY, or the number of the
    row, counted from 1, whose kernel has found an index out of range.
    serial: the same function, which uses one thread.
    holds_gil: whether these functions hold the GIL all the time, because each kernel takes a few microseconds at most.
    """

    def __init__(self, steps: Sequence[Step], array_of: Callable[[int], Any]) -> None:
        """Write the table of some kernels on slots.

        array_of: returns for a slot an array, or a pair: the index of an array among the arrays of the call, and a byte
        offset, or an array that contains a byte offset.
        """
        self.flag, self.count = np.zeros(8, np.int64), len(steps)
        kernels: list[Any] = [step.kernel for step in steps]
        arrays = {id(step.numbers): step.numbers for step in steps}
        numbers = np.concatenate([*arrays.values()])  # copies next to each other, which a call reads faster
        ends = accumulate(map(len, arrays.values()), initial=0)
        begin = dict(zip(arrays, ends))
        counts = np.array([len(step.slots) + 2 for step in steps])
        tables = np.cumsum(counts) - counts
        self.cells = np.zeros(counts.sum(), np.int64)  # the tables of all rows, one after the other
        is_slot = np.ones(len(self.cells), np.bool_)
        is_slot[tables] = is_slot[tables + 1] = False
        self.cells[is_slot] = [*chain.from_iterable([step.slots for step in steps])]
        self.cells[tables] = self.flag.ctypes.data
        self.cells[tables + 1] = numbers.ctypes.data + 8 * np.array([begin[id(step.numbers)] for step in steps])
        self.kept: list[Any] = [self.flag, numbers]
        self.patches = self.placed(array_of, np.flatnonzero(is_slot))
        together = [kernel.kind == "shared" for kernel in kernels]
        addresses = [kernel.address for kernel in kernels]
        columns = (addresses, self.cells.ctypes.data + 8 * tables, together, [NEVER] * self.count)
        self.rows = np.stack([np.array(column, np.int64) for column in columns], 1)
        kinds = {kernel.kind for kernel in kernels}
        self.parallel = "shared" in kinds
        self.holds_gil = kinds == {"brief"}
        self.serial = self.function(self.count, 0, self.holds_gil)
        self.call = self.function(self.count, team().address, False) if self.parallel else self.serial

    def placed(self, array_of: Callable[[int], Any], where: NDArray[np.int64]) -> NDArray[np.int64]:
        """Replace the slots in some cells by the addresses of arrays, and return the patches for all others."""
        slots, which = np.unique(self.cells[where], return_inverse=True)
        arrays = [array_of(slot) for slot in slots.tolist()]
        self.kept.append(arrays)
        self.cells[where] = np.array([0 if x.__class__ is tuple else x.ctypes.data for x in arrays], np.int64)[which]
        pairs = [x if x.__class__ is tuple else (-1, 0) for x in arrays]
        after, row = np.unique([0 if at.__class__ is not int else at for _, at in pairs], return_inverse=True)
        self.kept.append(after)
        sources = after.ctypes.data + 8 * row
        for k, (_, at) in enumerate(pairs):
            if at.__class__ is not int:
                sources[k] = at.ctypes.data
        positions = np.array([position for position, _ in pairs], np.int64)
        moves = positions[which] >= 0
        which, where = which[moves], where[moves]
        return np.stack([positions[which], sources[which], self.cells.ctypes.data + 8 * where], 1).reshape(-1)

    def function(self, rows: int, team_code: int, holds_gil: bool) -> Callable[..., int]:
        """Return a function that runs the rows."""
        head = np.array(
            [rows, self.rows.ctypes.data, len(self.patches) // 3, self.patches.ctypes.data, self.flag.ctypes.data,
             team_code, holds_gil, round(STALL * 1e9) if settings.parallel_threshold else NEVER], np.int64,
        )  # fmt: skip
        self.kept.append(head)
        return maker()(ctypes.addressof(runner()), head.ctypes.data, None)
