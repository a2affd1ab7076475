"""A program for `stub.c`: all of `device.py` but kernels, which that driver does not run; prints what came of it.

Run by test_device.py with the stub's folder in LD_LIBRARY_PATH.
"""

import ctypes
import json
import os

import minigrad as mg
from minigrad.backends import dlpack
from minigrad.backends.registry import backend_of
from minigrad.errors import DeviceError, StorageError

library = ctypes.CDLL("libcuda.so.1")
report = {}


def asked(name):
    """How often the driver was asked for that."""
    return library.stub_asked(name.encode())


def caught(kind, run):
    """The sentence of an error."""
    try:
        run()
    except kind as error:
        return str(error)
    return None


def copies():
    x = mg.arange(2000, dtype="float32").reshape(20, 100)
    there = x.cuda()
    report["there and back"] = bool((there.cpu() == x).all()) and there[3:5, 1].tolist() == [301.0, 401.0]
    before = asked("copy out")
    report["an item"] = [there[7, 7].item(), asked("copy out") - before]


def pinned():
    x, syncs, records = mg.arange(8, dtype="int32").pin_memory(), asked("sync"), asked("record")
    there = x.to("cuda", non_blocking=True)
    report["pinned"] = [x.is_pinned(), asked("sync") - syncs, asked("record") - records, there.tolist()]
    syncs = asked("sync")
    x.cuda()
    report["pinned, waited for"] = asked("sync") - syncs
    pins = backend_of(mg.device("cuda")).runtime.pins
    del x
    mg.zeros(1).pin_memory().to("cuda", non_blocking=True)
    report["kept"] = [len(pins.reads), asked("unpinned") > 0]


def order():
    s, start, end = mg.cuda.Stream(priority=-1), *(mg.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    with s:
        end.record()
        inside = mg.cuda.current_stream() == s
    waits = asked("wait")
    s.wait_event(start)
    mg.cuda.current_stream().wait_stream(s)
    s.synchronize()
    mg.cuda.synchronize()
    known = mg.cuda.current_stream() == mg.cuda.default_stream()
    report["order"] = [inside, known, asked("wait") - waits, start.elapsed_time(end) >= 0, s.query(), end.query()]


def interop():
    x = mg.tensor([1.0, 2.0, 3.0, 4.0], device="cuda")
    y, waits = mg.from_dlpack(x[1:]), asked("wait")
    s = mg.cuda.Stream()
    x.__dlpack__(stream=s.cuda_stream)
    told = x.__cuda_array_interface__
    found = dlpack.Foreign(x.__dlpack__(max_version=(1, 0)))
    report["interop"] = [
        y.tolist(), y.data_ptr() - x.data_ptr(), asked("wait") - waits, told["stream"],
        found.address == x.data_ptr() == told["data"][0], x.__dlpack_device__(),
    ]  # fmt: skip


def memory():
    mg.cuda.empty_cache()
    mg.cuda.reset_peak_memory_stats()
    first, trims = mg.cuda.memory_allocated(), asked("trim")
    x = mg.empty(1 << 20, dtype="uint8", device="cuda")
    now = mg.cuda.memory_stats()
    report["counted"] = [now.allocated_bytes - first, now.peak_bytes - first, now.total_bytes, asked("trim") - trims]
    del x
    os.environ["MINIGRAD_STUB_MEMORY"] = str(mg.cuda.memory_reserved() + 1000)
    kept = mg.cuda.memory_stats().cached_bytes
    y = mg.empty(kept, dtype="uint8", device="cuda")
    report["no memory"] = caught(StorageError, lambda: mg.empty(1 << 20, dtype="uint8", device="cuda"))
    report["trimmed"] = asked("trim") - trims
    report["held"] = f"{mg.cuda.memory_allocated():,}"
    del y


def graphs():
    library.stub_argument.restype = ctypes.c_uint64
    y = mg.ones(4, device="cuda")

    def step(x):
        z = x * 3.0
        y.add_(z)
        return z

    with mg.override(cuda_graphs=True):
        jitted = mg.jit(fuse=False)(step)
        xs = [mg.ones(4, device="cuda") for _ in range(2)]
        kept, seen, launches = [], [], 0
        for x in (xs[0], xs[0], xs[0], xs[1]):
            launches, changes = asked("launch"), asked("change")
            kept.append(jitted(x))  # the result stays, so that the next one is other memory
            arguments = [library.stub_argument(0) == x.data_ptr(), library.stub_argument(1) == y.data_ptr()]
            seen.append(
                [asked("node"), asked("graph"), asked("change") - changes, asked("launch") - launches, arguments]
            )
    report["graphs"] = seen


def fork():
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        sentence = caught(DeviceError, lambda: mg.tensor([1.0], device="cuda")) or "nothing"
        os.write(writing, sentence.encode())
        os._exit(0)
    os.waitpid(child, 0)
    report["fork"] = os.read(reading, 1000).decode()
    report["after it"] = mg.tensor([5.0], device="cuda").item()


if __name__ == "__main__":
    report["there"] = [mg.cuda.is_available(), mg.cuda.device_count(), mg.cuda.get_device_name()]
    for part in (copies, pinned, order, interop, graphs, memory, fork):
        part()
    print(json.dumps(report))
