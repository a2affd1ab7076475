"""The arguments of a kernel: operands by index in a table of addresses, and memory of its own.

A kernel is `kernel(first, last, table)`: it runs the tasks first to last - 1 of a launch.  `table` contains the
addresses of the flag, the numbers, the operands and the results (`kernels/calling.py` builds it).  So every kernel has
the same signature, one driver runs them all, and Numba compiles no wrapper that unpacks arrays.  Only generated modules
import this file.  They contain its hash, so a change of this file changes the text, and thereby the name, of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

OPERANDS = 2  # the index in the table where the operands begin
HEAD = 2  # how many numbers precede the named ones: the count of tasks, and whether the kernel has an end
I64 = ir.IntType(64)
END = 1 << 60  # the pretended size of an operand in bytes: an address has no size, and the numbers contain the bounds
ALIGNED = 64
I8P = ir.IntType(8).as_pointer()
_workspaces: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()


def natives() -> tuple[Callable[..., Any], ...]:
    """Return operand(table, k, dtype), numbers_of(table), entries(table), workspace(n, dtype) and leave(x).

    operand: entry k of the table as a flat array without an end.  numbers_of: the numbers after the first HEAD.
    entries: the addresses of the operands and results.

    workspace: n elements of aligned, uninitialised memory, until `leave` frees them.  If there is not enough memory,
    the kernel's other workspaces are freed, and the kernel ends with a MemoryError.

    With NUMBA_DISABLE_JIT=1 the table is a tuple of arrays, and all of these functions are plain Python.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_natives()
    return tuple(intrinsic(function) for function in (_operand, _numbers_of, _entries, _workspace, _leave))


def workspaces_of(builder: Any) -> list[Any]:
    """Return the variables with the addresses of a kernel's workspaces, one per `workspace`; null after `leave`."""
    return _workspaces.setdefault(builder.function, [])


def python_natives() -> tuple[Callable[..., Any], ...]:
    """Return the functions of `natives` in Python, for a tuple of arrays."""

    def entries(table: Any) -> Any:
        return np.array([array.ctypes.data for array in table[OPERANDS:]], np.int64)

    return lambda table, k, dtype: table[k], lambda table: table[1][HEAD:], entries, np.empty, lambda x: None


def array_at(context: Any, builder: Any, array: Any, data: Any, n: Any) -> Any:
    """Return a flat array of n elements at an address, which does not own them."""
    size = I64(size_of(context, array.dtype))
    made = context.make_array(array)(context, builder)
    populate_array(made, data=data, shape=[n], strides=[size], itemsize=size, meminfo=None)
    return made._getvalue()


def size_of(context: Any, dtype: Any) -> int:
    """Return the size of an element in bytes."""
    return int(context.get_abi_sizeof(context.get_data_type(dtype)))


def entry(context: Any, builder: Any, array: Any, table: Any, k: Any, skipped: int = 0) -> Any:
    """Return entry k of the table as an array, without its first `skipped` elements."""
    pointer = builder.gep(builder.inttoptr(table, I64.as_pointer()), [k])
    data = builder.inttoptr(builder.load(pointer), context.get_data_type(array.dtype).as_pointer())
    if skipped:
        data = builder.gep(data, [I64(skipped)])
    # An empty instruction hides the value, because with a constant end LLVM compiles loops over slices to slower code.
    end = builder.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [I64(END // size_of(context, array.dtype))], False)
    return array_at(context, builder, array, data, end)


def _operand(typingctx, table, k, dtype):  # type: ignore[no-untyped-def]
    array = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return entry(context, builder, array, *args[:2])

    return array(table, k, dtype), codegen


def _numbers_of(typingctx, table):  # type: ignore[no-untyped-def]
    array = types.Array(types.int64, 1, "C")

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return entry(context, builder, array, *args, I64(1), skipped=HEAD)

    return array(table), codegen


def _entries(typingctx, table):  # type: ignore[no-untyped-def]
    array = types.Array(types.int64, 1, "C")

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        data = builder.gep(builder.inttoptr(args[0], I64.as_pointer()), [I64(OPERANDS)])
        return array_at(context, builder, array, data, I64(END // 8))

    return array(table), codegen


def _workspace(typingctx, n, dtype):  # type: ignore[no-untyped-def]
    array = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        malloc = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I8P, [I64]), "malloc")
        wanted = builder.mul(args[0], I64(size_of(context, array.dtype)))
        block = builder.call(malloc, [builder.add(wanted, I64(2 * ALIGNED))])
        workspaces = workspaces_of(builder)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, block)):
            for pointer in workspaces:
                release(builder, builder.load(pointer))
            context.call_conv.return_user_exc(builder, MemoryError, ())
        workspaces.append(cgutils.alloca_once(builder, I8P))
        builder.store(block, workspaces[-1])
        # The address of the block is stored in the 8 bytes before the aligned memory.
        behind = builder.add(builder.ptrtoint(block, I64), I64(2 * ALIGNED - 1))
        start = builder.and_(behind, I64(-ALIGNED))
        builder.store(block, builder.inttoptr(builder.sub(start, I64(8)), I8P.as_pointer()))
        data = builder.inttoptr(start, context.get_data_type(array.dtype).as_pointer())
        return array_at(context, builder, array, data, args[0])

    return array(types.int64, dtype), codegen


def _leave(typingctx, x):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        start = builder.ptrtoint(context.make_array(x)(context, builder, args[0]).data, I64)
        block = builder.load(builder.inttoptr(builder.sub(start, I64(8)), I8P.as_pointer()))
        for pointer in workspaces_of(builder):
            held = builder.load(pointer)
            left = builder.icmp_unsigned("==", held, block)
            builder.store(builder.select(left, ir.Constant(I8P, None), held), pointer)
        release(builder, block)
        return context.get_dummy_value()

    return types.void(x), codegen


def release(builder: Any, block: Any) -> None:
    """Free a block of memory; a null address does nothing."""
    free = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [I8P]), "free")
    builder.call(free, [block])


def team_mates() -> tuple[Callable[..., Any], ...]:
    """Return call(code, first, last, table) and threads().

    call: run the kernel at an address; the flag becomes -1 if the kernel could not allocate its memory.  threads: the
    count of threads of a parallel loop.  Numba's own function returns the same count, but calls Python.
    """
    return intrinsic(_call), intrinsic(_threads)


def _call(typingctx, code, first, last, table):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        positions = [cgutils.alloca_once(builder, I8P) for _ in range(2)]
        kind = ir.FunctionType(ir.IntType(32), [I8P.as_pointer()] * 2 + [I64] * 3)
        status = builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*positions, *args[1:]])
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
            flag = builder.load(builder.inttoptr(args[3], I64.as_pointer()))
            builder.store(I64(-1), builder.inttoptr(flag, I64.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), codegen


def _threads(typingctx):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        ask = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I64, []), "get_num_threads")
        return builder.call(ask, [])

    return types.int64(), codegen
