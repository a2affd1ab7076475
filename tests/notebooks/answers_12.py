"""Answers to 12, kernels for a GPU."""

# ruff: noqa: F821
# mypy: ignore-errors

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.exercises import gpu

kernel = mg.cuda.kernel


@kernel
def each_by_itself(x, out, n):
    """One thread does all."""
    if cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x == 0:
        for i in range(n):
            out[n - 1 - i] = x[i]


@kernel
def one_each(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        out[i] = x[n - 1 - i]


@kernel
def forwards(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < n:
        out[i] = x[i]
        i += cuda.gridDim.x * cuda.blockDim.x


@kernel
def one_too_far(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < n:
        out[i] = x[n - i]
        i += cuda.gridDim.x * cuda.blockDim.x


@kernel
def in_a_block(x, out, n):
    i = cuda.threadIdx.x
    while i < n:
        out[i] = x[n - 1 - i]
        i += cuda.blockDim.x


@kernel
def nothing(x, out, n):
    pass


@kernel
def by_one_thread(x, out, n):
    if cuda.threadIdx.x == 0:
        best = x[0]
        for i in range(1, n):
            best = max(best, x[i])
        out[0] = best


@kernel
def sum_of_all(x, out, n):
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        for i in range(n):
            total += x[i]
        out[0] = total


@kernel
def from_zero(x, out, n):
    if cuda.threadIdx.x == 0:
        best = np.float32(0)
        for i in range(n):
            best = max(best, x[i])
        out[0] = best


@kernel
def without_barriers(x, out, n):
    t = cuda.threadIdx.x
    room = cuda.shared.array(16, np.float32)
    room[t] = x[t] if t < n else np.float32(-np.inf)
    cuda.syncthreads()
    half = 8
    while half > 0:
        if t < half:
            room[t] = max(room[t], room[t + half])
        half //= 2
    if t == 0:
        out[0] = room[0]


@kernel
def barrier_inside(x, out, n):
    t = cuda.threadIdx.x
    room = cuda.shared.array(16, np.float32)
    room[t] = x[t] if t < n else np.float32(-np.inf)
    cuda.syncthreads()
    half = 8
    while half > 0:
        if t < half:
            room[t] = max(room[t], room[t + half])
            cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = room[0]


@kernel
def all_write(x, out, n):
    t = cuda.threadIdx.x
    if t < n:
        out[0] = max(out[0], x[t])


@kernel
def by_shared_memory(x, n):
    t = cuda.threadIdx.x
    room = cuda.shared.array(16, np.float32)
    if t < n:
        room[t] = x[t]
    cuda.syncthreads()
    if t < n:
        left = room[t - 1] if t > 0 else room[t]
        right = room[t + 1] if t < n - 1 else room[t]
        x[t] = (left + room[t] + right) / np.float32(3)


@kernel
def with_the_race(x, n):
    t = cuda.threadIdx.x
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        x[t] = (left + x[t] + right) / np.float32(3)


@kernel
def barrier_for_some(x, n):
    t = cuda.threadIdx.x
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        mean = (left + x[t] + right) / np.float32(3)
        cuda.syncthreads()
        x[t] = mean


@kernel
def barrier_too_late(x, n):
    t = cuda.threadIdx.x
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        x[t] = (left + x[t] + right) / np.float32(3)
    cuda.syncthreads()


@kernel
def zeros_beyond(x, n):
    t = cuda.threadIdx.x
    mean = np.float32(0)
    if t < n:
        left = x[t - 1] if t > 0 else np.float32(0)
        right = x[t + 1] if t < n - 1 else np.float32(0)
        mean = (left + x[t] + right) / np.float32(3)
    cuda.syncthreads()
    if t < n:
        x[t] = mean


@kernel
def beyond_the_end(x, n):
    t = cuda.threadIdx.x
    mean = np.float32(0)
    if t < n:
        mean = (x[t - 1] + x[t] + x[t + 1]) / np.float32(3)
    cuda.syncthreads()
    if t < n:
        x[t] = mean


RIGHT: dict[str, list[Any]] = {
    "12.1": [lambda n, threads: -(-n // threads), lambda n, threads: math.ceil(n / threads)],
    "12.2": [gpu.backwards, each_by_itself],
    "12.3": [gpu.largest, by_one_thread],
    "12.4": [gpu.smooth, by_shared_memory],
}
WRONG: dict[str, list[Any]] = {
    "12.1": [
        lambda n, threads: n // threads,
        lambda n, threads: n // threads + 1,
        lambda n, threads: n * threads,
        lambda n, threads: round(n / threads),
        lambda n, threads: max(1, -(-n // threads)),
    ],
    "12.2": [nothing, one_each, forwards, one_too_far, in_a_block, lambda x, out, n: x.flip(0)],
    "12.3": [nothing, sum_of_all, from_zero, without_barriers, barrier_inside, all_write],
    "12.4": [with_the_race, barrier_for_some, barrier_too_late, zeros_beyond, beyond_the_end],
}
