"""The worker processes of a loader, controlled from its process: start, messages, crashes, and shutdown."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
import weakref
from multiprocessing import connection, get_all_start_methods, get_context, reduction
from typing import Any, Final, NoReturn

from minigrad.data import worker as process
from minigrad.data.fetching import Fetcher
from minigrad.data.memory import SEGMENTS, Parcel, Segment, new_file, unpacked
from minigrad.errors import ArgumentError, WorkerError, warn

GROWTH: Final = 1.25  # ratio of a new segment to the batch that did not fit, because batches differ in size
PATIENCE: Final = 1.0  # seconds to wait before workers that do not end are killed
METHODS: Final = ("forkserver", "spawn")


def chosen_context(wanted: Any) -> Any:
    """Return the multiprocessing context; raise ArgumentError for "fork" and for unavailable methods."""
    available = get_all_start_methods()
    if wanted is None:
        wanted = next(method for method in METHODS if method in available)
    context = get_context(wanted) if isinstance(wanted, str) and wanted in available else wanted
    method = getattr(context, "get_start_method", lambda: None)()
    if method not in METHODS:
        raise ArgumentError(
            "DataLoader: multiprocessing_context must be 'forkserver' or 'spawn', because the threads of compiled "
            f"kernels hang in a forked process, got {wanted!r}; pass multiprocessing_context='spawn'"
        )
    if method == "forkserver":
        preload(context)
    return context


def preload(context: Any) -> None:
    """Make the fork server import minigrad once for all workers, unless the program has set other modules."""
    from multiprocessing import forkserver

    if getattr(forkserver._forkserver, "_preload_modules", None) == ["__main__"]:
        context.set_forkserver_preload(["__main__", process.__name__])


class Pool:
    """Worker processes, each with a pipe and with a memory segment for each batch that it can make in advance."""

    def __init__(self, fetcher: Fetcher, count: int, initialize: Any, wanted: Any) -> None:
        context = chosen_context(wanted)
        self.count = count
        self.pipes: list[Any] = []
        self.processes: list[Any] = []
        self.segments: dict[tuple[int, int], Segment] = {}
        self.full = False
        self.ready = False
        self.outstanding = [0] * count  # for each worker, the number of messages that it has not answered
        # Number of epochs so far.  The pool stores no reference to an epoch, so that the workers end when the epoch is
        # freed.
        self.turn = 0
        self.close = weakref.finalize(self, shutdown, os.getpid(), self.pipes, self.processes, self.segments)
        try:
            with contextlib.closing(Parcel(fetcher)) as parcel:
                for number in range(count):
                    self.launch(context, number, parcel, initialize)
        except BaseException:
            self.close()
            raise

    def launch(self, context: Any, number: int, parcel: Parcel, initialize: Any) -> None:
        """Start a process; raise ArgumentError if the dataset cannot be pickled."""
        ours, theirs = context.Pipe()
        self.pipes.append(ours)
        arguments = theirs, number, self.count, parcel, initialize
        started = context.Process(
            target=process.work, args=arguments, name=f"DataLoader worker {number}", daemon=True
        )  # fmt: skip
        try:
            started.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ArgumentError(
                f"DataLoader: cannot send the dataset or a function to a worker process ({error}); define its class "
                f"and functions at the top of a module, or set num_workers=0"
            ) from error
        finally:
            theirs.close()
        self.processes.append(started)

    def send(self, worker: int, *message: Any) -> None:
        """Send a message to a worker."""
        try:
            self.pipes[worker].send(message)
        except OSError:
            self.dead(worker)
        self.outstanding[worker] += 1

    def receive(self, worker: int, timeout: float = 0) -> Any:
        """Return the next message from a worker."""
        if not self.pipes[worker].poll():
            self.await_any([worker], timeout)
        try:
            message = self.pipes[worker].recv()
        except (EOFError, OSError):  # a worker that dies while it sends a message also raises these errors
            self.dead(worker)
        self.outstanding[worker] -= 1
        return message

    def await_any(self, workers: list[int], timeout: float) -> int:
        """Return the first of the given workers that has sent a message.

        Raises WorkerError if a worker dies, or if no message arrives within `timeout` seconds (0: no limit).
        """
        pipes = {self.pipes[worker]: worker for worker in workers}
        sentinels = {each.sentinel: worker for worker, each in enumerate(self.processes)}
        ready = connection.wait([*pipes, *sentinels], timeout or None)
        for each in ready:
            if each in pipes:
                return pipes[each]
        if ready:
            self.dead(sentinels[ready[0]])
        names = ", ".join(f"{worker} (pid {self.processes[worker].pid})" for worker in workers)
        self.close()
        raise WorkerError(
            f"DataLoader: worker {names} has sent no batch for {timeout} s, the value of timeout; pass a longer timeout"
        )

    def dead(self, worker: int) -> NoReturn:
        """Raise WorkerError, which names a worker that ended and the reason."""
        died = self.processes[worker]
        died.join(PATIENCE)
        pid, code = died.pid, died.exitcode
        if code is not None and code < 0:
            why = f"was killed by {signal.Signals(-code).name}"
            why += "; the system does that when memory runs out" if -code == signal.SIGKILL else ""
        else:
            why = f"ended with exit code {code}"
            if not self.ready:
                why += (
                    "; its error is above.  Classes and functions of a dataset have to be in a module, not in a "
                    "notebook or prompt, and a script has to start under `if __name__ == '__main__':`; or pass "
                    "num_workers=0"
                )
        self.close()
        raise WorkerError(f"DataLoader: worker {worker} (pid {pid}) {why}", worker=worker, pid=pid, code=code)

    def start_epoch(self, key: tuple[int, int]) -> int:
        """Start an epoch and return its index; batches of the previous epoch that were not received are dropped."""
        self.turn += 1
        for worker in range(self.count):
            while self.outstanding[worker]:
                self.receive(worker)
            self.send(worker, process.START, key)
        for worker in range(self.count):
            message = self.receive(worker)
            if message[0] == process.FAILED:
                self.failed(worker, message)
        self.ready = True
        return self.turn

    def ask(self, worker: int, batch: int, slot: int, indices: Any) -> None:
        """Send the indices of a batch to a worker; the slot must be free."""
        self.send(worker, process.FETCH, batch, slot, indices)

    def taken(self, worker: int, slot: int, message: Any) -> Any:
        """Return the batch in a message, or raise the error that a worker sent."""
        kind, _, *rest = message
        if kind == process.FAILED:
            self.failed(worker, message)
        data, parts = rest[:2]
        if kind == process.MAPPED:
            return unpacked(data, self.segments[worker, slot].read(parts))
        if rest[2]:
            self.enlarge(worker, slot, int(rest[2] * GROWTH))
        return unpacked(data, parts)

    def enlarge(self, worker: int, slot: int, size: int) -> None:
        """Allocate a larger segment for a slot; if memory is insufficient, batches are sent through the pipe."""
        if self.full or not SEGMENTS:
            return
        try:
            number = new_file(size)
        except OSError as error:
            self.full = True
            warn(
                f"DataLoader: there is no shared memory for a batch of {size / 1e6:.1f} MB ({error.strerror}), so "
                "batches are sent through pipes, which is slower; set fewer workers or smaller batches, or start the "
                "container with docker run --shm-size=1g"
            )
            return
        try:
            old = self.segments.pop((worker, slot), None)
            if old is not None:
                old.close()
            self.segments[worker, slot] = Segment(number, size)
            self.pipes[worker].send((process.SEGMENT, slot, size))
            reduction.send_handle(self.pipes[worker], number, self.processes[worker].pid)
        except OSError:
            self.dead(worker)
        finally:
            os.close(number)

    def failed(self, worker: int, message: Any) -> NoReturn:
        """Raise the error that a worker sent, with its traceback as a note."""
        _, batch, data, text = message
        error = unpacked(data, []) if data is not None else WorkerError(text.strip().rpartition("\n")[2])
        part = "its start" if batch < 0 else f"batch {batch}"
        error.add_note(f"in DataLoader worker {worker} (pid {self.processes[worker].pid}), {part}:\n{text}")
        raise error


def shutdown(owner: int, pipes: list[Any], processes: list[Any], segments: dict[Any, Segment]) -> None:
    """End the workers with a message, and after a second with a signal; do nothing in a fork of the owner."""
    if os.getpid() != owner:
        return
    for pipe in pipes:
        with contextlib.suppress(OSError):  # this error means that the worker has ended already
            pipe.send((process.STOP,))
    end = time.monotonic() + PATIENCE
    for each in processes:
        each.join(max(0.0, end - time.monotonic()))
    for stop in ("terminate", "kill"):
        for each in processes:
            if each.is_alive():
                getattr(each, stop)()
                each.join(PATIENCE)
    for each in processes:
        if not each.is_alive():
            each.close()
    for pipe in pipes:
        pipe.close()
    for segment in segments.values():
        segment.close()
    for held in (pipes, processes, segments):
        held.clear()
