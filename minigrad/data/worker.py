"""A worker process of a loader: it makes batches until the loader closes its pipe.

A thread ends the process if the loader's process has died, also while a batch is made.  The loader never waits for a
busy worker, so the worker reads its pipe only between two batches.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
import traceback
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from minigrad.data.collate import Exhausted, Fetcher
from minigrad.data.datasets import WorkerInfo, set_worker_info
from minigrad.data.memory import Arena, Segment, packed, padded
from minigrad.data.streams import WORKER, plant, seed_of

FETCH, START, SEGMENT, STOP = "fetch", "start", "segment", "stop"  # messages to a worker
MAPPED, PIPED, FAILED, ENDED, READY = "mapped", "piped", "failed", "ended", "ready"  # messages from a worker


def work(pipe: Connection, number: int, count: int, fetcher: Fetcher, initialize: Any) -> None:
    """Run a worker; this is the target function of its process."""
    # Only the loader's process handles Ctrl-C, and then it ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = "1"  # each worker uses one thread, because the workers run in parallel
    if hasattr(select, "poll"):
        threading.Thread(target=watch, args=(pipe.fileno(),), daemon=True).start()
    try:
        Worker(pipe, number, count, fetcher, initialize).run()
    except Broken:
        os._exit(1)


class Broken(Exception):
    """Raised when the pipe is closed, which means that the loader's process has died."""


def watch(descriptor: int) -> None:
    """End the process when the other end of its pipe is closed; messages do not wake this thread."""
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os._exit(1)


class Worker:
    """The state of a worker: its copy of the dataset, and a memory segment per batch that it can make in advance."""

    def __init__(self, pipe: Connection, number: int, count: int, fetcher: Fetcher, initialize: Any) -> None:
        self.pipe, self.number, self.count, self.fetcher, self.initialize = pipe, number, count, fetcher, initialize
        self.segments: dict[int, Segment] = {}
        self.key = (0, 0)
        self.direct = True  # whether the arrays of a batch are made in its segment

    def run(self) -> None:
        """Process messages until the message to stop."""
        while True:
            kind, *rest = pickle.loads(self.transfer(self.pipe.recv_bytes))
            if kind == STOP:
                return
            if kind == SEGMENT:
                self.map(*rest)
            elif kind == START:
                self.reply(-1, self.start, *rest)
            else:
                self.reply(rest[0], self.fetch, *rest)

    def transfer(self, function: Any, *arguments: Any) -> Any:
        """Return the result of a function that reads from the pipe or writes to it; raise Broken if it is closed."""
        try:
            return function(*arguments)
        except (EOFError, OSError):
            raise Broken from None

    def map(self, slot: int, size: int) -> None:
        """Replace the segment of a slot by one whose descriptor follows in the pipe."""
        descriptor = self.transfer(reduction.recv_handle, self.pipe)
        os.set_blocking(self.pipe.fileno(), True)  # socket.setdefaulttimeout of a dataset also applies to the pipe
        self.segments[slot] = Segment(descriptor, size)
        os.close(descriptor)

    def reply(self, batch: int, function: Any, *arguments: Any) -> None:
        """Send the message that a function returns, or the error that it raises."""
        try:
            message = function(*arguments)
        except Exhausted:
            message = ENDED, batch
        except Exception as error:
            message = FAILED, batch, portable(error), traceback.format_exc()
        self.transfer(self.pipe.send_bytes, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def start(self, key: tuple[int, int]) -> Any:
        """Start an epoch; in the first epoch, call the function `worker_init_fn`."""
        self.key = key
        seed = seed_of(key, self.number, WORKER)
        set_worker_info(WorkerInfo(self.number, self.count, seed, self.fetcher.dataset))
        self.fetcher.start()
        if self.initialize is not None:
            plant(seed)
            self.initialize(self.number)
            self.initialize = None  # called once per process, also if the process serves many epochs
        return READY, -1

    def fetch(self, batch: int, slot: int, indices: Any) -> Any:
        """Make a batch, and return it as a message."""
        if self.fetcher.draws:
            plant(seed_of(self.key, batch))
        segment = self.segments.get(slot)
        if segment is None:
            data, buffers = packed(self.fetcher.fetch(indices))
            need = sum(padded(buffer.nbytes) for buffer in buffers)
            return PIPED, batch, data, [bytearray(buffer) for buffer in buffers], need
        arena = Arena(segment)
        data, buffers = packed(self.fetcher.fetch(indices, arena if self.direct else None))
        spans = arena.arrange(buffers)
        copies = [bytearray(buffer) for buffer in buffers] if spans is None else []
        buffers.clear()
        if not arena.release():
            # The dataset has stored an array of the batch.  The next batch in the segment would change that array, so
            # the segment is left to the dataset, and further batches are made in other memory and copied.
            self.direct = False
            del self.segments[slot]
            copies = copies or [bytearray(segment.map[at : at + size]) for at, size in spans or ()]
        elif spans is not None:
            return MAPPED, batch, data, spans
        return PIPED, batch, data, copies, arena.used


def portable(error: Exception) -> bytes | None:
    """Return an error as a pickle, or None if it cannot be restored from one."""
    try:
        data = pickle.dumps(error)
        return data if isinstance(pickle.loads(data), type(error)) else None
    except Exception:
        return None
