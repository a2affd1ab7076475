"""Read and write the safetensors format: 8 bytes with the length of a JSON header, the header, and the elements.

The header contains the dtype, shape and byte range of each tensor, and a dict of strings, `__metadata__`.  As in the
reference implementation, the tensors with the widest dtypes are written first, so that elements are aligned.  Every
number of a header is checked before it is used.  Source: https://github.com/huggingface/safetensors, section "Format".
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from minigrad.core.dtype import ALL, DType
from minigrad.errors import FileError

LIMIT = 100 << 20  # size in bytes of the largest header that the reference implementation reads
LETTERS = {"float": "F", "int": "I", "uint": "U", "complex": "C"}


def code_of(dtype: DType) -> str:
    """Return the name of a dtype in the format, such as F32, BF16 or BOOL."""
    if dtype.name in ("bool", "bfloat16"):
        return "BOOL" if dtype.kind == "bool" else "BF16"
    return f"{LETTERS[dtype.kind]}{8 * dtype.itemsize}"


DTYPES = {code_of(dtype): dtype for dtype in ALL}
CODES = {dtype.numpy: code for code, dtype in DTYPES.items()}


def write(file: BinaryIO, arrays: Mapping[str, Any], metadata: Mapping[str, str], new: bool = False) -> None:
    """Write named arrays and metadata; arrays of bfloat16 have the dtype of ml_dtypes.

    new: whether the file is new and empty, so that disk space can be reserved for it.
    """
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    header |= dict.fromkeys(arrays)  # names in the order of the caller, which is not the order of the bytes
    end = 0
    for name in names:
        begin, end = end, end + arrays[name].nbytes
        entry = {"dtype": CODES[arrays[name].dtype], "shape": list(arrays[name].shape), "data_offsets": [begin, end]}
        header[name] = entry
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if new:
        reserve(file, 8 + len(text) + end)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        array = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8)
        size = arrays[name].itemsize
        file.write((array if np.little_endian else array.reshape(-1, size)[:, ::-1].copy()).data if array.size else b"")


def reserve(file: BinaryIO, size: int) -> None:
    """Reserve `size` bytes on the disk for a new file, if the operating system supports it.

    In a measurement, this reduced the time to write 100 MB from 79 ms to 25 ms.
    The file must not be in append mode, because the data would then be written after the reserved space.  The file must
    not be compressed with gzip or lzma either, because the compressed size is not known.
    Raises OSError if there is not enough space.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:  # raised for a pipe, or by a file system that does not support it
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise


def begins(start: bytes) -> bool:
    """Return whether the first nine bytes of a file are a valid length of a header and its opening brace."""
    return start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= LIMIT


def left_out(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> dict[str, str]:
    """Return, for each tensor that `safetensors.torch.save_model` left out, the name of the stored equal tensor."""
    return {name: kept for name, kept in metadata.items() if kept in arrays and name not in arrays and name != "format"}


def read(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays by name, all in a single writable buffer, and the metadata of a file of `size` bytes.

    Raises FileError for a damaged file.
    """
    length = int.from_bytes(file.read(8), "little")
    if size < 8:
        raise FileError(
            f"the file has {size} bytes, but a safetensors file begins with 8 bytes for the length of its header; it "
            "is truncated or empty, so save or download it again"
        )
    if not 2 <= length <= min(LIMIT, size - 8):
        raise FileError(
            f"expected a header of 2 to {LIMIT} bytes that fits into the file, got a header length of {length} in a "
            f"file of {size} bytes; the file is truncated or is not a safetensors file, so save or download it again"
        )
    try:
        header = json.loads(file.read(length), object_pairs_hook=without_repeats)
        metadata = header.pop("__metadata__", {})
        texts = all(isinstance(text, str) for text in metadata.values())
    except (ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"the header of the file is damaged ({error}); save or download the file again") from None
    if not texts:
        raise FileError("the header of the file is damaged, because its metadata must be strings; save the file again")
    data = np.empty(size - 8 - length, np.uint8)
    data = data[: file.readinto(data)]  # type: ignore[attr-defined]
    entries = {name: checked(name, entry, len(data)) for name, entry in header.items()}
    expect_no_gap(sorted((begin, end, name) for name, (_, _, begin, end) in entries.items()), len(data))
    return {
        name: elements(data[begin:end], dtype, shape) for name, (dtype, shape, begin, end) in entries.items()
    }, metadata


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict.  Raises ValueError for a name that occurs twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a name occurs twice")
    return result


def checked(name: str, entry: Any, available: int) -> tuple[DType, tuple[int, ...], int, int]:
    """Return the dtype, the shape and the byte range of a tensor from its entry in the header.

    Raises FileError unless they agree with each other and with the number of available bytes.
    """
    try:
        code, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    except (TypeError, KeyError, ValueError):
        raise FileError(f"the entry for {name!r} in the header is damaged; save or download the file again") from None
    dtype = DTYPES.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise FileError(
            f"{name!r} has the dtype {code!r}, which minigrad does not support; save this tensor with another dtype, "
            "for example F32"
        )
    if not whole or len(shape) > 64 or end - begin != math.prod(shape) * dtype.itemsize:
        raise FileError(
            f"the shape and size of {name!r}, {dtype}{shape}, must agree with its bytes {begin} to {end}; save or "
            "download the file again"
        )
    if end > available:
        raise FileError(
            f"the file is truncated, because {name!r} should end at byte {end} and the file has only {available} bytes "
            "of data; save or download the file again"
        )
    return dtype, shape, begin, end


def expect_no_gap(spans: list[tuple[int, int, str]], available: int) -> None:
    """Raise FileError unless each byte of the data belongs to exactly one tensor."""
    last = 0
    for begin, end, name in spans:
        if begin != last:
            raise FileError(
                f"there is {'a gap' if begin > last else 'an overlap'} before the bytes of {name!r}, so the file is "
                "damaged; save or download the file again"
            )
        last = end
    if last != available:
        raise FileError(
            f"there are {available - last} bytes after the last tensor, so the file is damaged; save or download the "
            "file again"
        )


def elements(data: Any, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Return the bytes of a tensor as an array: a view if they are aligned, otherwise a copy."""
    if not np.little_endian:
        data = data.reshape(-1, dtype.itemsize)[:, ::-1].copy().reshape(-1)
    aligned = data.ctypes.data % dtype.itemsize == 0
    return (data if aligned else data.copy()).view(dtype.numpy).reshape(shape)
