"""The loader's end of the pipe to a worker: sending never waits for the worker.

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
import socket
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing import connection, reduction
from typing import Any, Final

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
