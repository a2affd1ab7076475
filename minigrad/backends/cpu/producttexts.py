"""The texts of the kernels of matrix products: tiles, panels, and products with a vector.

`matmul.py` chooses among them; the templates are in `kernels/cpu/matmul.py` and `kernels/cpu/matmul.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.cpu.texts import Chain, elements_of, from_bits, tile_size
from minigrad.core.dtype import DType, float32, int32
from minigrad.kernels.cpu import matmul
from minigrad.kernels.cpu.elementwise import transpose_copy
from minigrad.kernels.cpu.matmul import pack_pairs
from minigrad.kernels.cpu.target import tile_header
from minigrad.kernels.pasting import Part
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

FIELDS = {
    matmul.multiply: matmul.MULTIPLY, matmul.multiply_followed: matmul.FOLLOWED, matmul.pack: matmul.PACK,
    matmul.vector: matmul.VECTOR, matmul.add_pieces: matmul.ADD_PIECES,
}  # fmt: skip


def write_pack(dtype: DType, width: int) -> Any:
    """Write, compile and import the copy into panels with the width of a tile.

    The panels of the left operand have the height of a tile.
    """
    return write(matmul.pack, dtype, "MR" if width == tile_size(dtype)[0] else "NR")


def write_pairs(dtype: DType, width: int) -> Any:
    """Write, compile and import the copy of pairs into panels with the width or the height of a tile."""
    side = "MR" if width == tile_size(float32)[0] else "NR"
    text = write_kernel(
        f"matmul: {dtype}, pairs.", pack_pairs, operands=(dtype,), out=int32, fields=matmul.PACK,
        imports=tile_header(float32, pack_pairs, width=side), arrays=(dtype, int32),
    )  # fmt: skip
    return load(f"matmul_pack_pairs_{dtype.short}", text)


def write(
    template: Callable[..., Any], dtype: DType, width: str = "", chain: Chain | None = None, steps: str = "",
    dtypes: tuple[DType, ...] = (), in_pairs: bool = False,
) -> Any:  # fmt: skip
    """Write, compile and import loops whose buffers have one dtype, and whose factors are scalar arguments.

    In the product of a matrix and a vector, the terms may be added in any order.
    chain: the scalar function that is applied to the product.  Its other operands have the strides `steps` along a row,
    and the dtypes `dtypes`.
    in_pairs: whether the elements of both operands are pairs of bfloat16.
    """
    fields, name = FIELDS[template], template.__name__
    more: dict[str, Any] = {}
    constants: dict[str, str] = {}
    if template is matmul.vector:
        more = {"helpers": (matmul.inner,), "fastmath": ("reassoc", "contract")}
    elif template is matmul.pack:
        header = tile_header(dtype, template, transpose_copy, width=width)
        more = {"helpers": (transpose_copy,), "imports": header}
    elif template in (matmul.multiply, matmul.multiply_followed):
        more = {"imports": tile_header(dtype, matmul.multiply, paired=in_pairs), "macros": {"FOLLOW": []}}
        name += "_pairs" if in_pairs else ""
    if chain is not None:
        parts = {"PRODUCT": [Part(matmul.multiply)], "FOLLOW": [Part(matmul.follow)]}
        more["macros"] = {**parts, "H": chain.macro(dtype.compute)}
        constants = elements_of(steps) | {f"ALONG_{k}": step for k, step in enumerate(steps)}
        name = "_".join([name, chain.scalar.name, *[each.short for each in dtypes], steps])[:96]
    # Number of buffers before the result, without `in_K`.
    count = template.__code__.co_argcount - 2 - (chain is not None)
    for word in {"alpha", "beta"} & fields.positions.keys():
        at = fields.position(word)
        constants[word.upper()] = f"T({from_bits(at) if dtype.is_float else f'numbers[{at}]'})"
    text = write_kernel(
        f"matmul: {dtype}, {name}.",
        template,
        operands=dtypes or (dtype,),
        out=dtype,
        constants=constants,
        fields=fields,
        arrays=(int32, int32, dtype, dtype) if in_pairs else (*(dtype,) * count, *dtypes, dtype),
        **more,
    )
    return load(f"matmul_{name}_{dtype.short}", text)
