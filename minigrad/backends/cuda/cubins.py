"""Machine code of CUDA kernels in the kernel cache, and the properties that can be read without a device.

A file records the text, the compute capability and the versions from which it was made, and the hash of its content.
It is used only if all of these agree.  It is next to the text, in a folder of the kernel cache and under its rules
(`kernels/store.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minigrad.backends.cuda.runtime import Program
from minigrad.errors import KernelError
from minigrad.kernels import objects
from minigrad.kernels.notice import forgo
from minigrad.kernels.store import cache_folder, locked, publish

MAGIC = b"minigrad cubin 1\n"
RESERVED = 1024  # bytes of shared memory per block that CUDA reserves; assemblers count them


@dataclass(frozen=True)
class Compiled:
    """The machine code of a kernel.

    entry: the kernel's name in the machine code.
    log: the report of the assembler.
    """

    entry: str
    ptx: str
    cubin: bytes
    log: str

    def counted(self, words: str) -> int:
        """Return the number before some words of the log; 0 if the words do not occur."""
        match = re.search(rf"(\d+) {words}", self.log)
        return int(match[1]) if match else 0

    @property
    def registers(self) -> int:
        """The number of registers per thread."""
        return self.counted("registers")

    @property
    def stack(self) -> int:
        """The number of bytes of a thread's own memory, for arrays outside registers."""
        return self.counted("bytes stack frame")

    @property
    def spills(self) -> int:
        """The number of bytes that are stored and loaded for lack of registers."""
        return self.counted("bytes spill stores") + self.counted("bytes spill loads")

    @property
    def shared(self) -> int:
        """The number of bytes of shared memory per block."""
        return max(0, self.counted("bytes smem") - RESERVED) if self.counted("bytes smem") else 0

    @property
    def widest(self) -> int:
        """The number of bits of the widest access to global memory."""
        accesses = re.findall(r"\b(?:ld|st)\.global(?:\.(?!v\d)[a-z]+)*(?:\.v(\d))?\.[a-z](\d+)\b", self.ptx)
        return max((int(count or 1) * int(bits) for count, bits in accesses), default=0)

    @property
    def double(self) -> bool:
        """Return whether the kernel computes in float64."""
        return bool(re.search(r"\b(?:add|sub|mul|fma|div|sqrt|cvt)\.(?:\w+\.)*f64\b", self.ptx))

    def report(self) -> str:
        """Return a description of the resources, one per line."""
        return "\n".join([
            f"registers      {self.registers} a thread",
            f"stack          {self.stack} bytes a thread, of which {self.spills} are spilled registers",
            f"shared memory  {self.shared} bytes a block",
            f"widest access  {self.widest} bits",
            f"float64        {'used' if self.double else 'not used'}",
        ])  # fmt: skip


def from_cache(program: Program, made_for: str, make: Callable[[], Compiled]) -> Compiled:
    """Return machine code from the cache, or compile it now and cache it if possible."""
    try:
        folder = cache_folder() / "cuda"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / program.file
        publish(path, program.text)
    except (KernelError, OSError) as error:
        forgo(str(error))
        return make()
    kept = path.with_suffix(f".{hashlib.sha256(made_for.encode()).hexdigest()[:8]}.cubin")
    result = read(kept, program, made_for)
    if result is None:
        with locked(path):
            result = read(kept, program, made_for)
            if result is None:
                result = make()
                with suppress(OSError):  # a full disk must not prevent the launch
                    objects.write(kept, packed(result, program, made_for))
    return result


def packed(code: Compiled, program: Program, made_for: str) -> bytes:
    """Return the content of a file: its kind, the hash of the rest, a line of facts, the code."""
    facts = {"for": made_for, "text": objects.digest(program.text), "entry": code.entry, "ptx": code.ptx,
             "log": code.log}  # fmt: skip
    body = json.dumps(facts).encode() + b"\n" + code.cubin
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read(path: Path, program: Program, made_for: str) -> Compiled | None:
    """Return the code in a file; None if there is no complete file that matches."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    said, _, body = content.removeprefix(MAGIC).partition(b"\n")
    if not content.startswith(MAGIC) or hashlib.sha256(body).hexdigest().encode() != said:
        return None
    head, _, cubin = body.partition(b"\n")
    with suppress(ValueError, KeyError, TypeError):  # another program has written a file with invalid facts
        facts = json.loads(head)
        if facts["for"] == made_for and facts["text"] == objects.digest(program.text):
            return Compiled(facts["entry"], facts["ptx"], cubin, facts["log"])
    return None
