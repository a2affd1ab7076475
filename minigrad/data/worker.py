"""A worker process of a loader: it makes batches until the loader closes its pipe.

A thread ends the process if the loader's process has died, also while a batch is made.  The loader never waits for a
busy worker, so the worker reads its pipe only between two batches.

A worker reads its pipe only between two batches.  If the loader waited for it while it sends a batch through a full
pipe, both would wait forever.  So the loader itself sends only as much as certainly fits into the buffer of the pipe.
Beyond that, a thread sends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import select
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing import connection, reduction
from multiprocessing.connection import Connection
from typing import Any, Final

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


# ---- the loader's end of the pipe to a worker: sending never waits for the worker ------------------------------------


OVERHEAD: Final = 1 << 10  # bytes of the buffer that a message takes in addition to its own bytes, at most
SHARE: Final = 4  # the loader itself fills this fraction of the buffer: systems count memory in different ways


class Channel:
    """A pipe to a worker, which answers requests in their order."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self.socket = socket_of(pipe)
        buffer = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) if self.socket is not None else 0
        self.capacity = buffer // SHARE
        self.unread = 0  # bytes in the buffer that the worker may not have read
        self.since = 0  # bytes of these that were sent since the last request
        self.requests: deque[int] = deque()  # for each request without an answer, the bytes up to its end
        self.tasks: queue.SimpleQueue[Any] | None = None
        self.thread: threading.Thread | None = None

    def request(self, *message: Any) -> None:
        """Send a message that the worker answers; raise OSError if the worker has ended."""
        self.send(message)
        self.requests.append(self.since)
        self.since = 0

    def send(self, message: tuple[Any, ...], file: int | None = None) -> None:
        """Send a message, and a descriptor of a file, which the channel closes."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        size = len(data) + OVERHEAD * (1 + (file is not None))
        self.unread += size
        self.since += size
        if self.tasks is None and self.unread > self.capacity:
            self.tasks = queue.SimpleQueue()
            self.thread = threading.Thread(target=feed, args=(self.pipe, self.socket, self.tasks), daemon=True)
            self.thread.start()
        if self.tasks is None:
            transmit(self.pipe, self.socket, data, file)
        else:
            self.tasks.put((data, file))

    def receive(self) -> Any:
        """Return the next answer; raise EOFError or OSError if the worker has ended."""
        data = self.pipe.recv_bytes()
        self.unread -= self.requests.popleft()
        return pickle.loads(data)

    def stop(self, message: tuple[Any, ...]) -> None:
        """Send the last message.  It needs no thread, which could not be started while the interpreter ends."""
        if self.tasks is None:
            self.pipe.send_bytes(pickle.dumps(message))
        else:
            self.tasks.put((pickle.dumps(message), None))

    def close(self, patience: float) -> None:
        """Close the pipe to a worker that has ended."""
        if self.tasks is not None and self.thread is not None:
            self.tasks.put(None)
            self.thread.join(patience)
            if self.thread.is_alive():
                return  # the thread still writes to the descriptor, which another file would reuse
        self.pipe.close()
        if self.socket is not None:
            self.socket.close()


def transmit(pipe: Any, end: Any, data: bytes, file: int | None) -> None:
    """Write a message to a pipe, and a descriptor of a file to its socket."""
    try:
        pipe.send_bytes(data)
        if file is not None:
            reduction.sendfds(end, [file])
    finally:
        if file is not None:
            os.close(file)


def feed(pipe: Any, end: Any, tasks: Any) -> None:
    """Send the messages of a queue until None comes; the loader notices the end of the worker when it receives."""
    for task in iter(tasks.get, None):
        with contextlib.suppress(OSError):
            transmit(pipe, end, *task)


def socket_of(pipe: Any) -> socket.socket | None:
    """Return the socket that a pipe consists of, or None on systems with other pipes."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    end = socket.socket(fileno=os.dup(pipe.fileno()))
    end.setblocking(True)  # otherwise, socket.setdefaulttimeout would also apply to the pipe
    return end


def waiter(descriptors: list[int]) -> Callable[[float | None], list[Any]]:
    """Return a function that waits until descriptors can be read, with a limit in seconds, and returns these."""
    if not hasattr(select, "poll"):
        return partial(connection.wait, descriptors)
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return lambda limit: [each for each, _ in poll.poll(None if limit is None else limit * 1000)]
