"""Make a Python function from the address of a kernel's machine code.

A compiled kernel is `kernel(first, last, table)` (`kernels/cpu/native.py`).  A call builds the table of the addresses
of the flag, the numbers, the operands and the results.  Then it runs the tasks, all in one call of the kernel or
divided between threads by `team`.  The first two numbers are the count of tasks and whether the kernel has an end,
which is one more call with first == last after all tasks.  A call returns the flag, which a kernel sets if an index is
out of range.

The function is a CPython builtin whose code is written in LLVM's language.  It reads the address of an array's data
from the array object itself, so a call takes a quarter of the time that Numba's own entry point needs to unpack the
same number of arrays.  `team` is the only parallel loop, and all kernels share it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.errors import KernelError
from minigrad.kernels import objects
from minigrad.kernels.cpu.target import version
from minigrad.kernels.store import Kernel, forks_wait, load, of_llvm

Call = Callable[..., bool]
METH_FASTCALL = 0x80
OBJECT = object.__basicsize__  # bytes of an object's head, which ends with the type; an array's address follows

# TYPE_AT and DATA_AT are offsets in an array object.  The other names in capitals are Python objects.
TRAMPOLINE = """
@ARRAY = external global i8
@TYPE_ERROR = external global i8
@MEMORY_ERROR = external global i8
declare void @PyErr_SetString(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyBool_FromLong(i64)

@team = global ptr null
@words = private constant [45 x i8] c"a kernel takes NumPy arrays and nothing else\\00"
@empty = private constant [43 x i8] c"a kernel found no memory for its workspace\\00"

define internal ptr @run(ptr %self, ptr %args, i64 %n, i1 %shared, i1 %brief) {
entry:
  %result = alloca ptr
  %error = alloca ptr
  %flag = alloca i64
  %entries = add i64 %n, 2
  %table = alloca i64, i64 %entries
  store i64 0, ptr %flag
  %place_of_flag = ptrtoint ptr %flag to i64
  store i64 %place_of_flag, ptr %table
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %taken ]
  %k1 = add i64 %k, 1
  %arg_at = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg_at
  %type_at = getelementptr i8, ptr %arg, i64 TYPE_AT
  %type = load ptr, ptr %type_at
  %fits = icmp eq ptr %type, @ARRAY
  br i1 %fits, label %taken, label %refuse
taken:
  %data_at = getelementptr i8, ptr %arg, i64 DATA_AT
  %data = load i64, ptr %data_at
  %k2 = add i64 %k, 2
  %slot = getelementptr i64, ptr %table, i64 %k2
  store i64 %data, ptr %slot
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %next, label %ready
refuse:
  call void @PyErr_SetString(ptr @TYPE_ERROR, ptr @words)
  ret ptr null
ready:
  %code = call i64 @PyLong_AsLongLong(ptr %self)
  %kernel = inttoptr i64 %code to ptr
  %numbers = inttoptr i64 %data to ptr
  %second = getelementptr i64, ptr %table, i64 1
  store i64 %data, ptr %second
  %tasks = load i64, ptr %numbers
  %ends_at = getelementptr i64, ptr %numbers, i64 1
  %ends = load i64, ptr %ends_at
  %where = ptrtoint ptr %table to i64
  %one = icmp sle i64 %tasks, 1
  %held = and i1 %one, %brief
  br i1 %held, label %work, label %release
release:
  %released = call ptr @PyEval_SaveThread()
  br label %work
work:
  %state = phi ptr [ null, %ready ], [ %released, %release ]
  br i1 %shared, label %together, label %alone
together:
  %driver = load ptr, ptr @team
  %whole = call i32 %driver(ptr %result, ptr %error, i64 %code, i64 %tasks, i64 %where)
  %seen = load i64, ptr %flag
  %no_room = icmp eq i64 %seen, -1
  %told = zext i1 %no_room to i32
  %status_together = or i32 %whole, %told
  br label %worked
alone:
  %status_alone = call i32 %kernel(ptr %result, ptr %error, i64 0, i64 %tasks, i64 %where)
  br label %worked
worked:
  %status = phi i32 [ %status_together, %together ], [ %status_alone, %alone ]
  %failed = icmp ne i32 %status, 0
  %has_end = icmp ne i64 %ends, 0
  %good = xor i1 %failed, true
  %finish = and i1 %good, %has_end
  br i1 %finish, label %last, label %done
last:
  %status_last = call i32 %kernel(ptr %result, ptr %error, i64 %tasks, i64 %tasks, i64 %where)
  br label %done
done:
  %all = phi i32 [ %status, %worked ], [ %status_last, %last ]
  %was_released = icmp ne ptr %state, null
  br i1 %was_released, label %restore, label %tell
restore:
  call void @PyEval_RestoreThread(ptr %state)
  br label %tell
tell:
  %bad = icmp ne i32 %all, 0
  br i1 %bad, label %memory, label %answer
memory:
  call void @PyErr_SetString(ptr @MEMORY_ERROR, ptr @empty)
  ret ptr null
answer:
  %raised = load i64, ptr %flag
  %truth = call ptr @PyBool_FromLong(i64 %raised)
  ret ptr %truth
}
define ptr @brief(ptr %self, ptr %args, i64 %n) {
  %r = call ptr @run(ptr %self, ptr %args, i64 %n, i1 false, i1 true)
  ret ptr %r
}
define ptr @alone(ptr %self, ptr %args, i64 %n) {
  %r = call ptr @run(ptr %self, ptr %args, i64 %n, i1 false, i1 false)
  ret ptr %r
}
define ptr @shared(ptr %self, ptr %args, i64 %n) {
  %r = call ptr @run(ptr %self, ptr %args, i64 %n, i1 true, i1 false)
  ret ptr %r
}
"""

TEAM = '''"""The one parallel loop: threads share the tasks of a kernel by its address.

Written by minigrad, compiled by Numba; safe to delete.
"""

from numba import njit, prange

from minigrad.kernels.cpu.native import team_mates

native_py = "{hash}"
call, threads = team_mates()


@njit("void(int64, int64, int64)", parallel=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def kernel(code, tasks, table):
    """Run one range of consecutive tasks per thread.  The flag becomes -1 if a task finds no memory."""
    workers = min(tasks, threads())
    if workers <= 1:  # a parallel region of one thread takes 1.3 us
        call(code, 0, tasks, table)
    else:
        for w in prange(workers):
            call(code, tasks * w // workers, tasks * (w + 1) // workers, table)
'''


class Method(ctypes.Structure):
    """The struct `PyMethodDef` of CPython, which describes a builtin function."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@cache
def trampoline() -> tuple[dict[str, int], dict[str, Method]]:
    """Return the addresses of the compiled TRAMPOLINE, and its three functions as CPython describes them.

    Both are made once and stay in memory, because Python may call the functions until the process ends.
    """
    names = ("brief", "alone", "shared")
    addresses = linked("trampoline", TRAMPOLINE, (*names, "team"))
    return addresses, {name: Method(name.encode(), addresses[name], METH_FASTCALL, b"") for name in names}


def linked(name: str, text: str, symbols: Sequence[str]) -> dict[str, int]:
    """Return the addresses of the symbols of a text in LLVM's language.

    The text may read arrays, refer to Python objects (ARRAY, TYPE_ERROR, MEMORY_ERROR) and call functions of CPython.
    """
    check_layout()
    objects_of = {"ARRAY": np.ndarray, "TYPE_ERROR": TypeError, "MEMORY_ERROR": MemoryError}
    positions = {word: id(each) for word, each in objects_of.items() if f"@{word} =" in text}
    for function in re.findall(r"^declare .*@(Py\w+)", text, re.MULTILINE):
        positions[function] = ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value or 0
    text = text.replace("TYPE_AT", str(OBJECT - ctypes.sizeof(ctypes.c_void_p))).replace("DATA_AT", str(OBJECT))
    try:
        return objects.link(of_llvm(name, text, tuple(symbols)), **positions)
    except KernelError:  # the stored code is complete, but this process cannot use it
        return objects.link(objects.assembled(text, tuple(symbols)), **positions)


def check_layout() -> None:
    """Raise KernelError unless array objects of this Python have their type and data at the expected offsets."""
    array, word = np.empty(1), ctypes.c_void_p
    begin, kind = (word.from_address(id(array) + position).value for position in (OBJECT, OBJECT - ctypes.sizeof(word)))
    if (begin, kind) != (array.ctypes.data, id(np.ndarray)):
        raise KernelError(
            "this Python or NumPy stores arrays in a way that compiled kernels cannot read; "
            "set NUMBA_DISABLE_JIT=1 to run them as Python"
        )


@cache
def maker() -> Callable[..., Any]:
    """Return `PyCFunction_NewEx`, which creates a Python function from a C function."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make


def function(kernel: Kernel, kind: str) -> Call:
    """Return the function that runs a kernel.  Its arguments are the arrays, and then the array of numbers.

    kind: "brief" keeps the GIL if there is only one task, "alone" always releases the GIL, and "shared" divides the
    tasks between threads.
    """
    if kernel.python is not None:
        return interpreters[-1](kernel)
    if kernel.origin == "ahead":
        if kind == "shared":
            team()
        return nothing
    with forks_wait():
        positions, methods = trampoline()
        if kind == "shared":
            ctypes.c_void_p.from_address(positions["team"]).value = team().address
    return maker()(ctypes.addressof(methods[kind]), kernel.address, None)


@cache
def team() -> Kernel:
    """Return the compiled parallel loop, which divides tasks between threads."""
    return load("team", TEAM.format(hash=version("native.py")))


def nothing(*arrays: Any) -> bool:
    """Do nothing: the substitute for a kernel that is compiled for other processes."""
    return False


def plain(python: Any) -> Call:
    """Return the function that runs the Python function of a kernel, without a compiler."""

    def call(*arrays: Any) -> bool:
        numbers = arrays[-1]
        flag = np.zeros(1, np.int64)
        table = (flag, numbers, *arrays[:-1])
        python(0, numbers[0], table)
        if numbers[1]:
            python(numbers[0], numbers[0], table)
        return bool(flag[0])

    return call


# The last one makes the function of a kernel that is not compiled; `cli/rehearsal.py` adds another one.
interpreters: list[Callable[[Kernel], Call]] = [lambda kernel: plain(kernel.python)]
