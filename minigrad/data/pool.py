"""The worker processes of a loader, controlled from its process: start, messages, crashes, and shutdown."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import time
import weakref
from collections import deque
from multiprocessing import get_all_start_methods, get_context
from typing import Any, Final, NoReturn

from minigrad.data import worker as process
from minigrad.data.collate import Fetcher
from minigrad.data.memory import SEGMENTS, Parcel, Segment, end_of, loans, new_segment, unpacked
from minigrad.data.worker import Channel, waiter
from minigrad.errors import ArgumentError, WorkerError, warn

LOANS: Final = 8  # segments that the program may use at a time, each of which is an open file; more batches are copied
SMALL: Final = 1 << 16  # size in bytes below which a batch is copied, which takes a few microseconds
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
    """Worker processes, each with a pipe and with memory segments in numbered slots.

    A worker needs a slot for each requested batch, and for its batches that the program uses without a copy.
    """

    def __init__(self, fetcher: Fetcher, count: int, initialize: Any, wanted: Any) -> None:
        context = chosen_context(wanted)
        self.count = count
        self.requested: list[deque[int]] = [deque() for _ in range(count)]  # slots in the order of the requests
        self.sizes = [0] * count  # for each worker, the size of a new segment
        self.channels: list[Channel] = []
        self.processes: list[Any] = []
        self.segments: dict[tuple[int, int], Segment] = {}
        # For each worker, and for all (-1): a function that waits, and the workers by the descriptors it waits for.
        self.waiters: dict[int, tuple[Any, dict[int, int], dict[int, int]]] = {}
        self.full = False
        self.ready = False
        # Number of epochs so far.  The pool stores no reference to an epoch, so that the workers end when the epoch is
        # freed.
        self.turn = 0
        self.close = weakref.finalize(self, shutdown, os.getpid(), self.channels, self.processes, self.segments)
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
        self.channels.append(Channel(ours))
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

    def request(self, worker: int, *message: Any) -> None:
        """Send a message that a worker answers."""
        try:
            self.channels[worker].request(*message)
        except OSError:
            self.dead(worker)

    def receive(self, worker: int, timeout: float = 0) -> tuple[Any, int]:
        """Return the next message from a worker, and the slot of the batch, which is -1 for the start of an epoch."""
        self.await_any([worker], timeout)
        try:
            message = self.channels[worker].receive()
        except (EOFError, OSError):  # a worker that dies while it sends a message also raises these errors
            self.dead(worker)
        return message, self.requested[worker].popleft() if message[1] >= 0 else -1

    def await_any(self, workers: list[int], timeout: float) -> int:
        """Return the first of the given workers that has sent a message.

        Raises WorkerError if a worker dies, or if no message arrives within `timeout` seconds (0: no limit).
        """
        chosen = workers[0] if len(workers) == 1 else -1
        if chosen not in self.waiters:
            pipes = {each.pipe.fileno(): worker for worker, each in enumerate(self.channels)}
            watched = [each for each, worker in pipes.items() if chosen in (worker, -1)]
            sentinels = {each.sentinel: worker for worker, each in enumerate(self.processes)}
            self.waiters[chosen] = waiter([*watched, *sentinels]), pipes, sentinels
        wait, pipes, sentinels = self.waiters[chosen]
        ready = wait(timeout or None)
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
        try:
            for worker in range(self.count):
                while self.channels[worker].requests:
                    self.receive(worker)
                self.request(worker, process.START, key)
            for worker in range(self.count):
                message, _ = self.receive(worker)
                if message[0] == process.FAILED:
                    self.failed(worker, message)
        except BaseException:  # a part of a message may be lost, for example after Ctrl-C
            self.close()
            raise
        self.ready = True
        return self.turn

    def ask(self, worker: int, batch: int, indices: Any) -> None:
        """Send the indices of a batch to a worker."""
        slot = self.free_slot(worker)
        self.requested[worker].append(slot)
        self.request(worker, process.FETCH, batch, slot, indices)

    def free_slot(self, worker: int) -> int:
        """Return a slot whose segment neither a request nor the program uses, or a slot that has no segment yet."""
        used = set(self.requested[worker])
        for owner, slot in list(self.segments):
            if owner != worker or slot in used:
                continue
            segment = self.segments[worker, slot]
            if not segment.lent:
                return slot
            used.add(slot)
        vacant = next(slot for slot in itertools.count() if slot not in used)
        if self.sizes[worker]:
            self.enlarge(worker, vacant, self.sizes[worker])
        return vacant

    def taken(self, worker: int, slot: int, message: Any) -> Any:
        """Return the batch in a message, or raise the error that a worker sent."""
        kind, _, *rest = message
        if kind == process.FAILED:
            self.failed(worker, message)
        data, parts = rest[:2]
        if kind == process.MAPPED:
            segment = self.segments[worker, slot]
            copied = end_of(parts) < SMALL or self.full or len(loans) >= LOANS
            return unpacked(data, segment.read(parts) if copied else segment.lend(parts))
        if rest[2]:
            self.sizes[worker] = int(rest[2] * GROWTH)
            self.enlarge(worker, slot, self.sizes[worker])
        return unpacked(data, parts)

    def enlarge(self, worker: int, slot: int, size: int) -> None:
        """Allocate a larger segment for a slot; if memory is insufficient, batches are sent through the pipe."""
        if self.full or not SEGMENTS:
            return
        try:
            number, segment = new_segment(size)
        except OSError as error:
            self.full = True
            warn(
                f"DataLoader: there is no shared memory for a batch of {size / 1e6:.1f} MB ({error.strerror}), so "
                "batches are sent through pipes, which is slower; set fewer workers or smaller batches"
            )
            return
        old = self.segments.pop((worker, slot), None)
        if old is not None:
            old.close()
        self.segments[worker, slot] = segment
        try:
            self.channels[worker].send((process.SEGMENT, slot, size), number)
        except OSError:
            self.dead(worker)

    def failed(self, worker: int, message: Any) -> NoReturn:
        """Raise the error that a worker sent, with its traceback as a note."""
        _, batch, data, text = message
        error = unpacked(data, []) if data is not None else WorkerError(text.strip().rpartition("\n")[2])
        part = "its start" if batch < 0 else f"batch {batch}"
        error.add_note(f"in DataLoader worker {worker} (pid {self.processes[worker].pid}), {part}:\n{text}")
        raise error


def shutdown(owner: int, channels: list[Channel], processes: list[Any], segments: dict[Any, Segment]) -> None:
    """End the workers with a message, and after a second with a signal; do nothing in a fork of the owner."""
    if os.getpid() != owner:
        return
    for channel in channels:
        with contextlib.suppress(OSError):  # this error means that the worker has ended already
            channel.stop((process.STOP,))
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
    for channel in channels:
        channel.close(PATIENCE)
    for held in (channels, processes, segments):
        held.clear()
