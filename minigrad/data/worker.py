"""A worker process of a loader: it makes batches until the loader closes its pipe.

One thread reads the pipe, so that the loader never waits for a busy worker.  The thread also ends the process if the
loader's process has died.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from minigrad.data.fetching import Exhausted, Fetcher
from minigrad.data.information import WorkerInfo, set_worker_info
from minigrad.data.memory import Segment, packed, padded
from minigrad.data.streams import WORKER, plant, seed_of

FETCH, START, SEGMENT, STOP = "fetch", "start", "segment", "stop"  # messages to a worker
MAPPED, PIPED, FAILED, ENDED, READY = "mapped", "piped", "failed", "ended", "ready"  # messages from a worker


def work(pipe: Connection, number: int, count: int, fetcher: Fetcher, initialize: Any) -> None:
    """Run a worker; this is the target function of its process."""
    # Only the loader's process handles Ctrl-C, and then it ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = "1"  # each worker uses one thread, because the workers run in parallel
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(pipe, tasks), daemon=True).start()
    Worker(pipe, number, count, fetcher, initialize).run(tasks)


def listen(pipe: Connection, tasks: Any) -> None:
    """Move messages from the pipe to a queue, and end the process if the pipe breaks."""
    try:
        while True:
            message = pipe.recv()
            if message[0] == SEGMENT:
                descriptor = reduction.recv_handle(pipe)
                message = (SEGMENT, message[1], Segment(descriptor, message[2]))
                os.close(descriptor)
            tasks.put(message)
            if message[0] == STOP:
                return
    except (EOFError, OSError):
        os._exit(1)  # the pipe is closed, so the loader's process has died


class Worker:
    """The state of a worker: its copy of the dataset, and a memory segment per batch that it can make in advance."""

    def __init__(self, pipe: Connection, number: int, count: int, fetcher: Fetcher, initialize: Any) -> None:
        self.pipe, self.number, self.count, self.fetcher, self.initialize = pipe, number, count, fetcher, initialize
        self.segments: dict[int, Segment] = {}
        self.key = (0, 0)

    def run(self, tasks: Any) -> None:
        """Process messages until the message to stop."""
        while True:
            kind, *rest = tasks.get()
            if kind == STOP:
                return
            if kind == SEGMENT:
                self.segments[rest[0]] = rest[1]
            elif kind == START:
                self.reply(-1, self.start, *rest)
            else:
                self.reply(rest[0], self.fetch, *rest)

    def reply(self, batch: int, function: Any, *arguments: Any) -> None:
        """Send the message that a function returns, or the error that it raises."""
        try:
            message = function(*arguments)
        except Exhausted:
            message = ENDED, batch
        except Exception as error:
            message = FAILED, batch, portable(error), traceback.format_exc()
        self.pipe.send(message)

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
        data, buffers = packed(self.fetcher.fetch(indices))
        need = sum(padded(buffer.nbytes) for buffer in buffers)
        segment = self.segments.get(slot)
        if segment is not None and need <= segment.size:
            return MAPPED, batch, data, segment.write(buffers)
        return PIPED, batch, data, [bytearray(buffer) for buffer in buffers], need


def portable(error: Exception) -> bytes | None:
    """Return an error as a pickle, or None if it cannot be restored from one."""
    try:
        data = pickle.dumps(error)
        return data if isinstance(pickle.loads(data), type(error)) else None
    except Exception:
        return None
