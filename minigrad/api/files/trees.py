"""Save and load files of tensors: `mg.save(obj, "model.safetensors")` and `mg.load`.

A tree of dicts, lists and tuples is written as named tensors, such as `"model.layers.0.weight"`, and a JSON text that
describes the structure of the tree.  A plain dict of tensors is written without this text, as other libraries write it.
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

from minigrad.api.files import safetensors
from minigrad.core.device import Device, as_device, default_device
from minigrad.errors import ArgumentError, DTypeError, FileError, reading
from minigrad.ops.creation import from_numpy, tensor
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import share_elements

STRUCTURE = "minigrad"  # key of the metadata that describes how the tensors of a file are nested
PLAIN = (bool, int, float, str, type(None))
RESERVED = (STRUCTURE, "__metadata__")
HALVES = "bfloat16"  # key in the structure of an .npz: names of the arrays that contain bfloat16


def save(obj: Any, f: Any) -> None:
    """Write a tensor, or a tree of dicts, lists and tuples with tensors, numbers and strings, to a file.

    obj (Any): The tensor or the tree.  Tensors may be on any device and have any strides.  Tensors with the same memory
    and layout are written once, and `load` returns a single tensor for them.
    f (str, path or binary file): A path that ends in ".npz" selects NumPy's format; any other path or file selects
    safetensors.  An existing file is replaced when the new file is complete and on disk, so an interruption leaves the
    old file.

    Raises ArgumentError if obj contains any other object, or two tensors that share only a part of their memory;
    `clone()` one of them.

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
    """Read a file that `save` or another library has written in the safetensors or .npz format.

    f (str, path or binary file): The file; its format is detected from its first bytes.
    map_location (device): Device of the tensors; by default `mg.default_device()`.
    weights_only: Has no effect: nothing in a file is ever executed.
    mmap: Has no effect: a file is always read as a whole.

    Returns: The tree that was saved, or a dict of tensors by name for a file of another library.  The tensors do not
    require gradients and use separate memory.

    Raises FileError if the file is damaged, cut off, or of another kind, such as a pickle, which could execute code
    when read.
    """
    device = target(map_location)
    if hasattr(f, "read"):
        return read(f, "", device)
    with open(f, "rb") as file:
        return read(file, os.fspath(f), device)


# ---- writing --------------------------------------------------------------------------------------------------------


class Packer:
    """Collect the tensors of a tree by name, and convert the tree to JSON with these names."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[Any, str] = {}  # names by storage and layout, so that shared tensors are written once

    def packed(self, value: Any, path: str) -> Any:
        """Return a part of the tree as JSON; a container or a tensor becomes a list that begins with its kind."""
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
                    raise ArgumentError(
                        f"save: the keys of a dict must be str or numbers, got the key {describe(key)} in "
                        f"{path or 'the dict'}; replace this key by a str"
                    )
            return ["dict", [[key, self.packed(each, joined(path, key))] for key, each in value.items()]]
        if type(value) in (list, tuple):
            return [type(value).__name__, [self.packed(each, joined(path, k)) for k, each in enumerate(value)]]
        if type(value) in PLAIN:
            return value
        stateful = callable(getattr(value, "state_dict", None))
        instead = "the state_dict() of this object" if stateful else "the tensors and numbers of this object"
        raise ArgumentError(
            f"save: expected tensors, numbers, strings, and dicts, lists or tuples of these, got {describe(value)} as "
            f"{path or 'the object'}; save {instead} instead{', as in mg.save(model.state_dict(), f)' * stateful}"
        )

    def named(self, x: Tensor, path: str) -> str:
        """Return the name of a tensor, or that of an earlier tensor with the same memory and layout.

        Raises ArgumentError if it shares only a part of its memory with an earlier tensor.
        """
        key = (id(x.storage), x.layout)
        if key not in self.names:
            for name, other in self.tensors.items():
                if share_elements(other, x):
                    raise ArgumentError(
                        f"save: {path} and {name} share a part of their memory, which a file cannot store; save "
                        f"{path}.clone() instead of {path}"
                    )
            while path in (*self.tensors, *RESERVED):
                path += "_"
            self.names[key] = path
            self.tensors[path] = x
        return self.names[key]


def joined(path: str, key: Any) -> str:
    """Return the name of a part of a tree: the name of its container, a dot and its key."""
    return f"{path}.{key}" if path else str(key)


def write(file: BinaryIO, arrays: dict[str, Any], structure: Any, npz: bool, new: bool = False) -> None:
    """Write named arrays and, unless it is None, the structure of the tree."""
    if not npz:
        safetensors.write(file, arrays, {} if structure is None else {STRUCTURE: json.dumps(structure)}, new)
        return
    halves = [name for name, array in arrays.items() if array.dtype == ml_dtypes.bfloat16]
    stored = {name: array.view(np.uint16) if name in halves else array for name, array in arrays.items()}
    if structure is not None or halves:
        stored[STRUCTURE] = np.array(json.dumps({"tree": structure, HALVES: halves}))
    # `np.savez` would take some names as its own parameters, and `np.load` treats "a.npy" as "a".
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in stored.items():
            if "\0" in name:  # a zip archive ends a name at a null character
                raise ArgumentError(
                    f"save: a name in a .npz file must not contain the null character, got {name!r}; remove the "
                    "character from the name"
                )
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)


@contextmanager
def replaced(path: str) -> Iterator[Any]:
    """Open a temporary file that replaces the file at `path` when it is complete and on disk.

    After an error, the temporary file is removed and the old file stays.  For a symbolic link, the target of the link
    is replaced.  A pipe or a device is opened directly.
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
    """Return the umask of the process, which Python can read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- reading --------------------------------------------------------------------------------------------------------


def read(file: BinaryIO, path: str, device: Any) -> Any:
    """Return the tree of a file, with its tensors on a device.

    Raises FileError, which contains `path`, unless it is "" for a file in memory.
    """
    names: dict[str, str] = {}
    begin = file.tell()
    start = file.read(9)
    size = file.seek(0, os.SEEK_END) - begin
    file.seek(begin)
    with reading(f"load: {path}" if path else "load"):
        # safetensors is tested first, because the bytes of its header's length can look like another format.
        plain = safetensors.begins(start)
        if not plain and start[:2] == b"PK":
            arrays, structure = read_npz(file)
        elif not plain and start[:1] == b"\x80":
            raise FileError(
                "the file is a pickle, which could execute code when it is read; save the tensors as safetensors "
                "instead"
            )
        else:
            arrays, metadata = safetensors.read(file, size)
            structure = json.loads(metadata[STRUCTURE]) if STRUCTURE in metadata else None
            names = {} if structure is not None else safetensors.left_out(arrays, metadata)
        tensors = tensors_on(device, arrays)
        tensors |= {name: tensors[kept] for name, kept in names.items()}
        return tensors if structure is None else unpacked(structure, tensors)


def target(map_location: Any) -> Device:
    """Return the device for the tensors of a file; the default device for None."""
    return default_device() if map_location is None else as_device(map_location)


def tensors_on(device: Device, arrays: dict[str, Any]) -> dict[str, Tensor]:
    """Return tensors on a device with the values of named arrays."""
    return {name: from_numpy(native(array)).to(device) for name, array in arrays.items()}


def native(array: Any) -> Any:
    """Return an array in the byte order of this machine.

    Each byte of a bool array becomes 0 or 1, because kernels rely on this.
    """
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).reshape(array.shape).view(np.uint8) != 0
    return array.astype(array.dtype.newbyteorder("=")) if not array.dtype.isnative else array


def read_npz(file: BinaryIO) -> tuple[dict[str, Any], Any]:
    """Return the arrays of an .npz file by name, and the structure of their tree, or None if there is none.

    Raises FileError for a file of torch.save.
    """
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if any(name.endswith("data.pkl") for name in names):
            raise FileError(
                "the file was written by torch.save and contains a pickle, which could execute code; load it with "
                "PyTorch and save the state dict with safetensors.torch.save_file"
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
    """Return the part of a tree that a JSON value describes."""
    if not isinstance(value, list):
        return value
    kind, parts = value
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {key: unpacked(each, tensors) for key, each in parts}
    kinds: dict[str, Any] = {"list": list, "tuple": tuple, "none": lambda parts: None}
    return kinds[kind]([unpacked(each, tensors) for each in parts])
