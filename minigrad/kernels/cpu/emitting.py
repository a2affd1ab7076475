"""The LLVM code of vectors: loads, stores, masks and multiply-adds, from which the tiles are made.

`Vectors` emits instructions that Numba does not compile from Python.  `tile.py` and `lanes.py` build whole loops of
them; `vectors.py` and `winograd_transforms.py` use the types and addresses only.  Generated modules contain the hash of
this file, and of the file that they import.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)


def pointer(context: Any, builder: Any, sig: Any, args: Any, k: int) -> Any:
    """Return the address of the first element of array argument k."""
    return context.make_array(sig.args[k])(context, builder, args[k]).data


def element_type(dtype: str) -> Any:
    """Return LLVM's type of one element."""
    kind = np.dtype(dtype)
    if kind.kind != "f":
        return ir.IntType(8 * kind.itemsize)
    return ir.FloatType() if kind.itemsize == 4 else ir.DoubleType()


class Bfloat(ir.types.Type):
    """LLVM's type bfloat, which llvmlite does not have."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bfloat)

    def __hash__(self) -> int:
        return hash(Bfloat)


class Vectors:
    """Emits instructions on vectors of one dtype."""

    def __init__(self, builder: Any, dtype: str, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        kind = np.dtype(dtype)
        self.align, self.floats = kind.itemsize, kind.kind == "f"
        self.vector = ir.VectorType(element_type(dtype), lanes)
        self.name = f"v{lanes}{'f' if self.floats else 'i'}{8 * self.align}"
        self.zero = ir.Constant(self.vector, [0.0 if self.floats else 0] * lanes)
        self.mask = ir.VectorType(I1, lanes)

    def number(self, value: int) -> Any:
        return ir.Constant(I64, value)

    def within(self, width: Any, v: int) -> Any:
        """Return the mask of the lanes of vector v that are in the first `width` columns.

        The comparison uses at most as many bits as an element has, because LLVM moves it into loops.
        """
        builder = self.builder
        kind = I64 if self.align == 8 else I32
        counts = ir.VectorType(kind, self.lanes)
        lanes = ir.Constant(counts, [v * self.lanes + k for k in range(self.lanes)])
        width = width if kind is I64 else builder.trunc(width, I32)
        one = builder.insert_element(ir.Constant(counts, ir.Undefined), width, ir.Constant(I32, 0))
        everywhere = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return builder.icmp_signed("<", lanes, builder.shuffle_vector(one, one, everywhere))

    def spread(self, x: Any) -> Any:
        """Return a vector with the element x in every lane."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        x = self.builder.insert_element(undefined, x, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(x, undefined, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def times(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y) if self.floats else self.builder.mul(x, y)

    def muladd(self, x: Any, y: Any, z: Any) -> Any:
        """Return x * y + z.

        LLVM compiles fmuladd to one instruction if the machine has it, otherwise to a product and a sum; fma would be a
        library call then.
        """
        if not self.floats:
            return self.builder.add(self.builder.mul(x, y), z)
        return self.builder.call(self.function(f"llvm.fmuladd.{self.name}", self.vector, [self.vector] * 3), [x, y, z])

    def add_pairs(self, x: Any, y: Any, z: Any) -> Any:
        """Return the sum of z and the products of both elements of each pair."""
        pairs = ir.VectorType(Bfloat(), 2 * self.lanes)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.lanes}"
        add = self.function(name, self.vector, [self.vector, pairs, pairs])
        return self.builder.call(add, [z, self.builder.bitcast(x, pairs), self.builder.bitcast(y, pairs)])

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        return cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(result, arguments), name)

    def cast(self, pointer: Any) -> Any:
        return self.builder.bitcast(pointer, self.vector.as_pointer())

    def prefetch(self, pointer: Any, locality: int = 3) -> None:
        """Request the cache line of an address, which may be outside the array.

        locality: 3 for all caches, 2 for all except the first one.
        """
        request = self.function("llvm.prefetch.p0", ir.VoidType(), [pointer.type, I32, I32, I32])
        self.builder.call(request, [pointer, *(ir.Constant(I32, value) for value in (0, locality, 1))])  # to read

    def load(self, pointer: Any) -> Any:
        return self.builder.load(self.cast(pointer), align=self.align)

    def load_masked(self, pointer: Any, mask: Any) -> Any:
        """Load a vector; lanes outside the mask are zero, and their memory is not read."""
        pointer = self.cast(pointer)
        load = self.function(
            f"llvm.masked.load.{self.name}.p0", self.vector, [pointer.type, I32, self.mask, self.vector]
        )
        return self.builder.call(load, [pointer, ir.Constant(I32, self.align), mask, self.zero])

    def store_masked(self, value: Any, pointer: Any, mask: Any) -> None:
        pointer = self.cast(pointer)
        store = self.function(
            f"llvm.masked.store.{self.name}.p0", ir.VoidType(), [self.vector, pointer.type, I32, self.mask]
        )
        self.builder.call(store, [value, pointer, ir.Constant(I32, self.align), mask])
