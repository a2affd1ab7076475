"""`mg.Checkpoint`: the whole state of a training run in one file, from which the run resumes with the same bits.

A checkpoint is a safetensors file of `trees.py` with a checksum of its contents in the metadata.  The file gets its
name when it is complete and on disk.  `load` reads the newest file whose checksum is right.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import zlib
from typing import Any, Final

import numpy as np

from minigrad.api.files import safetensors, trees
from minigrad.errors import ArgumentError, FileError, reading, warn
from minigrad.ops.generators import Generator, default_generator
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import describe

CHECKSUM: Final = "crc32"  # the algorithm of the checksum in the metadata
NAME: Final = re.compile(r"checkpoint-(\d+)\.safetensors")
TEMPORARY: Final = ".checkpoint-"  # the prefix of the names of unfinished files: see `trees.replaced`


class Checkpoint:
    """Save and restore the state of a training run: call `save` after some steps and `load` at the start.

    model, optimizer, scheduler and loader: Objects with `state_dict()` and `load_state_dict(state)`.
    generator: Generator from which the program draws random numbers.  The states of the default generators of minigrad,
    Python and NumPy are always saved.
    folder: Folder of the files `checkpoint-00000001.safetensors` and so on; the first `save` creates it.
    keep: Number of files to keep; older files are removed after a newer file is on disk.
    kwargs: Further objects with `state_dict` and `load_state_dict`, or generators, by name.

    Raises ArgumentError if an object is not a generator and lacks one of these methods, or if `keep` is not a positive
    int.

    A state is a tree of dicts, lists, tuples, tensors, arrays, numbers, strings and None.  Nothing is pickled, and
    other programs can read the tensors of a file.  A run may be killed at any time, also while it saves.  If its whole
    state is in these objects and in the values passed to `save`, the resumed run computes the same bits as a run
    without the interruption.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> generator = mg.Generator(7)
    >>> checkpoint = mg.Checkpoint(generator=generator, folder=folder)
    >>> path = checkpoint.save(epoch=3)
    >>> checkpoint.load()
    {'epoch': 3}
    """

    def __init__(
        self, model: Any = None, optimizer: Any = None, scheduler: Any = None, loader: Any = None,
        generator: Generator | None = None, *, folder: str | os.PathLike[str] = "checkpoints", keep: int = 3,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader,
                 "generator": generator, **kwargs}  # fmt: skip
        self.parts = {name: part for name, part in parts.items() if part is not None}
        for name, part in self.parts.items():
            whole = hasattr(part, "state_dict") and hasattr(part, "load_state_dict")
            if not whole and not isinstance(part, Generator):
                raise ArgumentError(
                    f"Checkpoint: {name} must be an object with the methods state_dict and load_state_dict, got "
                    f"{describe(part)}; pass a module or an optimizer, for example"
                )
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise ArgumentError(f"Checkpoint: keep must be a positive int, got {keep!r}; pass keep=3, for example")
        self.folder, self.keep = os.fspath(folder), keep

    def save(self, /, **values: Any) -> str:
        """Write a checkpoint.

        values: Further values that the program needs, such as the step: numbers, strings, tensors and trees of these.

        Returns: The path of the file.

        Raises ArgumentError if a state contains a value that a file cannot store.
        """
        return self._written(self._state(), values)

    def load(self, map_location: Any = None) -> dict[str, Any] | None:
        """Restore the objects from the newest intact checkpoint.

        Parameters
        ----------
        map_location : device, optional
            Device of the tensors that the objects load; by default `mg.default_device()`.

        Returns
        -------
        dict or None
            The values that were passed to `save`; None if the folder has no checkpoint.

        Raises
        ------
        FileError
            If no checkpoint is intact, or if the newest intact one lacks the state of an object.

        Warns
        -----
        UserWarning
            For each damaged file that is skipped.
        """
        newest = self._newest(trees.target(map_location))
        return None if newest is None else self._restored(*newest)

    def _state(self) -> dict[str, Any]:
        """Return the states of the objects and of the default generators."""
        states = {name: state_of(part) for name, part in self.parts.items()}
        return {"states": states, "random": random_states()}

    def _written(self, state: dict[str, Any], values: dict[str, Any]) -> str:
        """Write the next file, remove old and unfinished files, and return the path of the new file."""
        os.makedirs(self.folder, exist_ok=True)
        numbers = self._numbers()
        path = self._path(numbers[-1] + 1 if numbers else 1)
        written({**state, "values": values}, path)
        for number in numbers[: len(numbers) + 1 - self.keep]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(number))
        for name in os.listdir(self.folder):
            if name.startswith(TEMPORARY):  # a process that was killed has left this file
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder, name))
        return path

    def _newest(self, device: Any) -> tuple[Any, str] | None:
        """Return the tree and the path of the newest intact file, or None if there is no file."""
        problems = []
        for number in reversed(self._numbers()):
            path = self._path(number)
            try:
                tree = content(path, device)
            except FileError as error:
                problems.append(str(error))
                continue
            for problem in problems:
                warn(f"{problem}. Checkpoint.load therefore loads the older checkpoint {path}")
            return tree, path
        if problems:
            raise FileError(f"Checkpoint: no checkpoint in the folder {self.folder} is intact: {problems[0]}")
        return None

    def _restored(self, tree: Any, path: str) -> dict[str, Any]:
        """Restore each object and the default generators, and return the values that were passed to `save`."""
        missing = [name for name in self.parts if name not in tree["states"]]
        if missing:
            names = ", ".join(tree["states"]) or "no object"
            raise FileError(
                f"Checkpoint: {path} must contain the state of {', '.join(missing)}, but the file contains the state "
                f"of {names}; pass the same objects as when this file was saved"
            )
        for name, part in self.parts.items():
            restore(part, tree["states"][name])
        restore_random(tree["random"])
        return tree["values"]

    def _numbers(self) -> list[int]:
        """Return the numbers of the files, from the oldest to the newest."""
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        return sorted(int(match[1]) for match in map(NAME.fullmatch, names) if match)

    def _path(self, number: int) -> str:
        """Return the path of the checkpoint with this number."""
        return os.path.join(self.folder, f"checkpoint-{number:08d}.safetensors")


# ---- states ---------------------------------------------------------------------------------------------------------


def state_of(part: Any) -> Any:
    """Return the state of an object or a generator."""
    return [part.seed, part.offset] if isinstance(part, Generator) else part.state_dict()


def restore(part: Any, state: Any) -> None:
    """Set the state of an object or a generator."""
    if isinstance(part, Generator):
        part.seed, part.offset = state
    else:
        part.load_state_dict(state)


def random_states() -> dict[str, Any]:
    """Return the states of the default generators of minigrad, Python and NumPy."""
    version, words, gauss = random.getstate()
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - the global generator is the one that programs use
    state = legacy["state"]
    # NumPy's default bit generator; the state of another one, which the program has set, is not saved.
    simple = legacy["bit_generator"] == "MT19937"
    return {
        "minigrad": state_of(default_generator),
        "python": [version, np.array(words, np.int64), gauss],
        "numpy": [state["key"].astype(np.int64), state["pos"], legacy["has_gauss"], legacy["gauss"]]
        if simple
        else None,
    }


def restore_random(states: dict[str, Any]) -> None:
    """Set the states of the default generators."""
    restore(default_generator, states["minigrad"])
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    if states["numpy"] is not None:
        key, *rest = states["numpy"]
        np.random.set_state(("MT19937", host_array(key.to("cpu")).astype(np.uint32), *rest))  # noqa: NPY002


# ---- files ----------------------------------------------------------------------------------------------------------


def written(tree: Any, path: str) -> None:
    """Write a tree and its checksum to a file at `path`."""
    packer = trees.Packer()
    structure = json.dumps(packer.packed(tree, ""))
    arrays = {name: np.ascontiguousarray(host_array(x.detach())).reshape(x.shape) for name, x in packer.tensors.items()}
    metadata = {trees.STRUCTURE: structure, CHECKSUM: checksum(arrays, structure)}
    with trees.replaced(path) as file:
        safetensors.write(file, arrays, metadata, new=True)


def checksum(arrays: dict[str, Any], structure: str) -> str:
    """Return the CRC-32 of the contents of a checkpoint: structure, names, dtypes, shapes and elements.

    For 100 MB, CRC-32 takes 22 ms, and SHA-256 takes 60 ms on a processor with instructions for it.
    """
    facts = [structure, [[name, arrays[name].dtype.name, list(arrays[name].shape)] for name in sorted(arrays)]]
    result = zlib.crc32(json.dumps(facts).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array if np.little_endian else array.byteswap()
        result = zlib.crc32(little.reshape(-1).view(np.uint8).data if array.size else b"", result)
    return f"{result:08x}"


def content(path: str, device: Any) -> Any:
    """Return the tree of a file.  Raises FileError if the file is damaged or is not a checkpoint."""
    with reading(f"Checkpoint: {path}"):
        with open(path, "rb") as file:
            arrays, metadata = safetensors.read(file, os.fstat(file.fileno()).st_size)
        if CHECKSUM not in metadata or trees.STRUCTURE not in metadata:
            raise FileError("the file is not a checkpoint; read the file with mg.load")
        structure = metadata[trees.STRUCTURE]
        if checksum(arrays, structure) != metadata[CHECKSUM]:
            raise FileError(
                "the file is damaged, because its checksum does not match its content; load an older checkpoint"
            )
        return trees.unpacked(json.loads(structure), trees.tensors_on(device, arrays))
