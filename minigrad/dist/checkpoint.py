"""A checkpoint of all processes of a group: one file, which process 0 writes and reads.

The model, the optimizer and the scheduler are equal in all processes, so the file contains those of process 0.  Random
numbers and the position of a loader differ between processes, so the file contains them for each process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from minigrad.api.files import checkpoints, trees
from minigrad.data import DataLoader
from minigrad.dist.group import communicator
from minigrad.errors import FileError
from minigrad.ops.generators import Generator

OWN: Final = (Generator, DataLoader)  # objects whose states differ between processes


class Checkpoint(checkpoints.Checkpoint):
    """Save and restore training in several processes; every process calls `save` and `load`.

    model, optimizer, scheduler, loader, generator, folder, keep and kwargs: The same as for `mg.Checkpoint`.  Only
    process 0 reads and writes the folder.
    group: The processes of the checkpoint; all processes if None.

    For each process, the states of its loaders, its generators and the default generators are saved.  All other states
    and the values given to `save` are those of process 0.  If training is killed and resumed with the same number of
    processes, the results have the same bits as without the interruption.  To resume with another number of processes,
    load the file with `mg.Checkpoint` in each process; random numbers then continue from those of process 0.

    >>> import tempfile
    >>> checkpoint = mg.dist.Checkpoint(generator=mg.Generator(7), folder=tempfile.mkdtemp())  # doctest: +SKIP
    >>> path = checkpoint.save(epoch=3)  # doctest: +SKIP
    >>> checkpoint.load()  # doctest: +SKIP
    {'epoch': 3}
    """

    def __init__(
        self, model: Any = None, optimizer: Any = None, scheduler: Any = None, loader: Any = None,
        generator: Generator | None = None, *, folder: str | os.PathLike[str] = "checkpoints", keep: int = 3,
        group: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, optimizer, scheduler, loader, generator, folder=folder, keep=keep, **kwargs)
        self.group = group

    def save(self, /, **values: Any) -> str:
        """Write a checkpoint; every process calls this method, and returns when the file is on disk.

        values: The same as for `mg.Checkpoint`; the values of process 0 are written.

        Returns: The path of the file.

        Raises ArgumentError in every process, if a state cannot be stored in a file.
        """
        comm = communicator(self.group)
        state = self._state()
        each = comm.gather({**state, "states": {name: state["states"][name] for name in self._own()}})
        return for_all(comm, lambda: self._written({**state, "processes": each}, values))

    def load(self, map_location: Any = None) -> dict[str, Any] | None:
        """Restore the newest intact checkpoint; every process calls this method.

        map_location (device): The same as for `mg.Checkpoint`.

        Returns (dict or None): The values that process 0 passed to `save`; None if its folder has no checkpoint.

        Raises FileError in every process, if no checkpoint is intact, or if the newest intact checkpoint lacks the
        state of an object or was written by another number of processes.
        """
        comm = communicator(self.group)
        newest = for_all(comm, lambda: self._newest(trees.target(map_location)))
        if newest is None:
            return None
        tree, path = newest
        each = tree.get("processes", [])
        if len(each) != comm.size:
            count = f"{len(each)} processes" if len(each) > 1 else "1 process"
            raise FileError(
                f"Checkpoint: {path} was written by {count}, but is read by {comm.size}; start {count}, or load the file "
                f"with mg.Checkpoint, which restores the generators of process 0"
            )
        own = each[comm.rank]
        return self._restored({**tree, "random": own["random"], "states": {**tree["states"], **own["states"]}}, path)

    def _own(self) -> list[str]:
        """Return the names of the objects whose states differ between processes."""
        return [name for name, part in self.parts.items() if name == "loader" or isinstance(part, OWN)]


def for_all(comm: Any, act: Callable[[], Any]) -> Any:
    """Call a function in process 0, and return its result or raise its error in every process."""
    outcome: Any = None
    if comm.rank == 0:
        try:
            outcome = act(), None
        except Exception as error:  # the other processes wait for the outcome, even if it is an error
            outcome = None, error
    result, failure = comm.bcast(outcome)
    if failure is not None:
        raise failure
    return result
