"""Files of tensors: `mg.save(obj, "model.safetensors")` and `mg.load`.

A tree of dicts, lists and tuples is written as tensors by name, `"model.layers.0.weight"`, and a JSON text that
specifies how they belong together.  A plain dict of tensors needs no such text: its file is that of any other library.
Nothing is pickled, and nothing in a file is executed.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from minigrad.api import safetensors
from minigrad.core.device import Device, as_device, default_device
from minigrad.errors import ArgumentError, DTypeError, FileError, reading
from minigrad.ops.creation import from_numpy, tensor
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import overlap

STRUCTURE = "minigrad"  # key of the metadata that describes how the tensors of a file are nested
PLAIN = (bool, int, float, str, type(None))
RESERVED = (STRUCTURE, "__metadata__")
HALVES = "bfloat16"  # key in the structure of an .npz: names of the arrays that contain bfloat16


def save(obj: Any, f: Any) -> None:
    """Write tensors, and dicts, lists and tuples of tensors, numbers and strings, to a file.

    Parameters
    ----------
    obj : Any
        Tensors are written with their values, wherever they are and however they are strided.  Tensors with the same
        memory and layout are written once, and are one tensor after `load`.
    f : str, path or binary file
        A path that ends in ".npz" selects NumPy's format, any other path or file safetensors.  The file at a path is
        replaced when the new one is whole and on disk, so an interruption leaves the old one.

    Raises
    ------
    ArgumentError
        If obj has something else in it, or tensors that share a part of their memory; `clone()` one of those.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> mg.save({"weight": mg.ones(2), "epoch": 3}, file)
    >>> mg.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    packer = Packer()
    structure = ["none", []] if obj is None else packer.packed(obj, "")
    arrays = {name: host_array(x.detach()) for name, x in packer.tensors.items()}
    if structure == ["dict", [[name, ["tensor", name]] for name in arrays]]:
        structure = None
    if hasattr(f, "write"):
        write(f, arrays, structure, npz=False)
        return
    with replaced(os.fspath(f)) as file:
        write(file, arrays, structure, npz=os.fspath(f).endswith(".npz"), new=True)


def load(f: Any, map_location: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read the file of `save`, or another file in its formats, as a dict of tensors by name.

    Parameters
    ----------
    f : str, path or binary file
        Its first bytes tell the format.
    map_location : device, optional
        Device of the tensors; by default `mg.default_device()`.
    weights_only : bool, optional
        Has no effect: nothing in a file is ever executed.
    mmap : bool, optional
        Has no effect: a file is always read as a whole.

    Returns
    -------
    Any
        The tree that was saved.  Its tensors have no gradient and use separate memory.

    Raises
    ------
    FileError
        If the file is damaged, cut off, or of another kind, such as a pickle, which could execute code when read.
    """
    device = target(map_location)
    if hasattr(f, "read"):
        return read(f, "the file", device)
    with open(f, "rb") as file:
        return read(file, os.fspath(f), device)


# ---- writing --------------------------------------------------------------------------------------------------------


class Packer:
    """The tensors of a tree by name, and the tree with their names in their place."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[Any, str] = {}  # names by storage and layout, so that shared tensors are written once

    def packed(self, value: Any, path: str) -> Any:
        """Return a part of the tree as JSON: a list for each container and tensor, with its kind first."""
        if isinstance(value, np.ndarray):
            with suppress(DTypeError):  # the error for an array of texts or objects is raised below
                value = tensor(value, device="cpu")
        if isinstance(value, Tensor):
            return ["tensor", self.named(value, path or "tensor")]
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, PLAIN):
                    raise ArgumentError(f"save: {path or 'the dict'} has the key {describe(key)}; use str or numbers")
            return ["dict", [[key, self.packed(each, joined(path, key))] for key, each in value.items()]]
        if type(value) in (list, tuple):
            return [type(value).__name__, [self.packed(each, joined(path, k)) for k, each in enumerate(value)]]
        if type(value) in PLAIN:
            return value
        raise ArgumentError(
            f"save: {path or 'the object'} is {describe(value)}; expected tensors, numbers, strings, and dicts, lists "
            f"or tuples of these"
        )

    def named(self, x: Tensor, path: str) -> str:
        """Return the name of a tensor, or of an earlier one with its memory.  Raises ArgumentError for a part."""
        key = (id(x.storage), x.layout)
        if key not in self.names:
            for name, other in self.tensors.items():
                if other.storage is x.storage and overlap(other.layout, x.layout):
                    raise ArgumentError(
                        f"save: {path} and {name} share a part of their memory, which a file cannot store; "
                        f"save {path}.clone()"
                    )
            while path in (*self.tensors, *RESERVED):
                path += "_"
            self.names[key] = path
            self.tensors[path] = x
        return self.names[key]


def joined(path: str, key: Any) -> str:
    """Return the name of a part."""
    return f"{path}.{key}" if path else str(key)


def write(file: BinaryIO, arrays: dict[str, Any], structure: Any, npz: bool, new: bool = False) -> None:
    """Write arrays by name and, unless it is None, the structure."""
    if not npz:
        safetensors.write(file, arrays, {} if structure is None else {STRUCTURE: json.dumps(structure)}, new)
        return
    halves = [name for name, array in arrays.items() if array.dtype == ml_dtypes.bfloat16]
    stored = {name: array.view(np.uint16) if name in halves else array for name, array in arrays.items()}
    if structure is not None or halves:
        stored[STRUCTURE] = np.array(json.dumps({"tree": structure, HALVES: halves}))
    # `np.savez` takes names for its own parameters, and `np.load` takes "a.npy" for "a".
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in stored.items():
            if "\0" in name:  # a zip archive ends a name at a null character
                raise ArgumentError(f"save: .npz cannot store the name {name!r}; leave the null character out")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)


@contextmanager
def replaced(path: str) -> Iterator[Any]:
    """Open a file that replaces the one at `path` when it is whole and on disk; after an error there is none.

    A link stays, and its target is replaced.  A pipe or a device is written to.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    number, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o666 & ~umask())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)  # writes the directory entry with the new name to disk
    finally:
        os.close(opened)


def umask() -> int:
    """Return the rights that new files do not have; Python can read it only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- reading --------------------------------------------------------------------------------------------------------


def read(file: BinaryIO, path: str, device: Any) -> Any:
    """Return the tree of a file on a device.  Raises FileError, which names the file."""
    names: dict[str, str] = {}
    begin = file.tell()
    start = file.read(9)
    size = file.seek(0, os.SEEK_END) - begin
    file.seek(begin)
    with reading(f"load: {path}"):
        # Tested first, because the bytes of its header's length can look like another format.
        plain = safetensors.begins(start)
        if not plain and start[:2] == b"PK":
            arrays, structure = read_npz(file)
        elif not plain and start[:1] == b"\x80":
            raise FileError("it is a pickle, which could execute code when read; save it as safetensors")
        else:
            arrays, metadata = safetensors.read(file, size)
            structure = json.loads(metadata[STRUCTURE]) if STRUCTURE in metadata else None
            names = {} if structure is not None else safetensors.left_out(arrays, metadata)
        tensors = tensors_on(device, arrays)
        tensors |= {name: tensors[kept] for name, kept in names.items()}
        return tensors if structure is None else unpacked(structure, tensors)


def target(map_location: Any) -> Device:
    """Return the device of the tensors of a file."""
    return default_device() if map_location is None else as_device(map_location)


def tensors_on(device: Device, arrays: dict[str, Any]) -> dict[str, Tensor]:
    """Return arrays by name as tensors on a device."""
    return {name: from_numpy(native(array)).to(device) for name, array in arrays.items()}


def native(array: Any) -> Any:
    """Return an array in the byte order of this machine; each byte of a bool is 0 or 1, as no kernel checks it."""
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).reshape(array.shape).view(np.uint8) != 0
    return array.astype(array.dtype.newbyteorder("=")) if not array.dtype.isnative else array


def read_npz(file: BinaryIO) -> tuple[dict[str, Any], Any]:
    """Return the arrays of NumPy's format and their structure, or None.  Raises FileError for a file of torch.save."""
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if any(name.endswith("data.pkl") for name in names):
            raise FileError(
                "it is a file of torch.save, which has a pickle in it; load it with PyTorch and save the state dict "
                "with safetensors.torch.save_file"
            )
        for name in names:
            with archive.open(name) as part:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(part, allow_pickle=False)
    if STRUCTURE not in arrays:
        return arrays, None
    facts = json.loads(str(arrays.pop(STRUCTURE)))
    for name in facts[HALVES]:
        arrays[name] = arrays[name].view(ml_dtypes.bfloat16)
    return arrays, facts["tree"]


def unpacked(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return the part of a tree that its JSON describes."""
    if not isinstance(value, list):
        return value
    kind, parts = value
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {key: unpacked(each, tensors) for key, each in parts}
    kinds: dict[str, Any] = {"list": list, "tuple": tuple, "none": lambda parts: None}
    return kinds[kind]([unpacked(each, tensors) for each in parts])
