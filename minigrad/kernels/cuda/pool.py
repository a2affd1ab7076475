"""Pooling: a thread computes one element of the result or, for a gradient, of the image.

A window is searched in row-major order, so that the first of several equal elements wins.  A gradient is gathered: for
each element of the image, a thread adds over the windows that contain it, in their order, so that sums are the same in
every run.

Free names: `LOAD_0`, `LOAD_1`, `STORE`, `T`; `LOAD_X` for the operand that has the windows; `LOWEST`, the maximum of no
elements; QUOTIENT, a division.  SPREAD: the elements of a window are not adjacent (dilation).

Numbers: sizes are those of the result (batch, channels, three dims).  to_steps, x_steps, y_steps: the strides of the
result, of the image that is searched or the gradient, and of a second operand.  spots: how many windows there are along
each dim.  image: its sizes.  If `given` is set, `divisor` is the divisor of each sum; otherwise `clip` states whether
padding is excluded from the count.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

POOL = Fields(
    "count x y to divisor given clip",
    "sizes[5] magic[5] shift[5] to_steps[5] x_steps[5] y_steps[5] spots[3] image[3] window[3] stride[3] pad[3] "
    "dilation[3] over[3] over_shift[3]",
)


def apart(i, N):
    """Return the five indices of an element of the result."""
    c = QUOTIENT(i, N.sizes[4], N.magic[4], N.shift[4])
    b = QUOTIENT(c, N.sizes[3], N.magic[3], N.shift[3])
    a = QUOTIENT(b, N.sizes[2], N.magic[2], N.shift[2])
    n = QUOTIENT(a, N.sizes[1], N.magic[1], N.shift[1])
    return n, a - n * N.sizes[1], b - a * N.sizes[2], c - b * N.sizes[3], i - c * N.sizes[4]


def search(x, at, a, b, c, N):
    """Return the largest element of a window, nan if there is one, and its first position in the plane.

    The position is -1 if the window has no element.
    """
    best = LOWEST
    position = np.int64(-1)
    for i in range(N.window[0]):
        p = a * N.stride[0] - N.pad[0] + i * N.dilation[0]
        if p >= 0 and p < N.image[0]:
            for j in range(N.window[1]):
                q = b * N.stride[1] - N.pad[1] + j * N.dilation[1]
                if q >= 0 and q < N.image[1]:
                    for k in range(N.window[2]):
                        r = c * N.stride[2] - N.pad[2] + k * N.dilation[2]
                        if r >= 0 and r < N.image[2]:
                            v = LOAD_X(x[at + p * N.x_steps[2] + q * N.x_steps[3] + r * N.x_steps[4]])
                            if position < 0 or v > best or (v != v and best == best):
                                best = v
                                position = (p * N.image[1] + q) * N.image[2] + r
    return best, position


def largest(in_0, out, N):
    """out = the largest element of each window."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        best = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[0]
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(best)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def largest_at(in_0, out, positions, N):
    """out = the largest element of each window; positions (y_steps) = its position."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        best, position = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(best)
        to = N.y + n * N.y_steps[0] + m * N.y_steps[1] + a * N.y_steps[2] + b * N.y_steps[3] + c * N.y_steps[4]
        positions[to] = max(position, np.int64(0))
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def located(in_0, out, N):
    """out, dense = the position in the plane of the largest element of each window; -1 for a window of padding."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = search(in_0, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[1]
        out[e] = position
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def picked(in_0, in_1, out, N):
    """out = the element of in_0 (y_steps) where in_1 has the largest of the window; 0 for a window of padding."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = search(in_1, N.x + n * N.x_steps[0] + m * N.x_steps[1], a, b, c, N)[1]
        value = T(0)
        if position >= 0:
            row = position // N.image[2]
            at = N.y + n * N.y_steps[0] + m * N.y_steps[1]
            at += row // N.image[1] * N.y_steps[2] + row % N.image[1] * N.y_steps[3]
            value = LOAD_0(in_0[at + position % N.image[2] * N.y_steps[4]])
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(value)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def mean(in_0, out, N):
    """out = the sum of each window, divided by its count."""
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        at = N.x + n * N.x_steps[0] + m * N.x_steps[1]
        acc = T(0)
        for i in range(N.window[0]):
            p = a * N.stride[0] - N.pad[0] + i
            if p >= 0 and p < N.image[0]:
                for j in range(N.window[1]):
                    q = b * N.stride[1] - N.pad[1] + j
                    if q >= 0 and q < N.image[1]:
                        for k in range(N.window[2]):
                            r = c * N.stride[2] - N.pad[2] + k
                            if r >= 0 and r < N.image[2]:
                                acc = T(acc + LOAD_0(in_0[at + p * N.x_steps[2] + q * N.x_steps[3] + r * N.x_steps[4]]))
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(T(acc / T(counted(a, b, c, N))))
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def length(start, window, size, pad, clip):
    """Return how many positions of a window along one dim count."""
    end = min(start + window, size + pad)
    if clip != 0:
        return min(end, size) - max(start, np.int64(0))
    return end - start


def counted(a, b, c, N):
    """Return the divisor of the sum of a window."""
    if N.given != 0:
        return N.divisor
    deep = length(a * N.stride[0] - N.pad[0], N.window[0], N.image[0], N.pad[0], N.clip)
    high = length(b * N.stride[1] - N.pad[1], N.window[1], N.image[1], N.pad[1], N.clip)
    return deep * high * length(c * N.stride[2] - N.pad[2], N.window[2], N.image[2], N.pad[2], N.clip)


def back(in_K, out, N):
    """out = the sum of in_0 over the windows whose largest element is here; in_1, dense, has the positions of these.

    With MEAN, there is no in_1, and the sum is over all windows that contain the element, each divided by its count.
    """
    e = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while e < N.count:
        n, m, a, b, c = apart(e, N)
        position = (a * N.image[1] + b) * N.image[2] + c
        at = N.x + n * N.x_steps[0] + m * N.x_steps[1]
        first = (n * N.sizes[1] + m) * N.spots[0]
        # The windows that contain an element: from the first that reaches it to the last that begins at or before it.
        i0 = a + N.pad[0]
        j0 = b + N.pad[1]
        k0 = c + N.pad[2]
        i1 = i0 - (N.window[0] - 1) * N.dilation[0] + N.stride[0] - 1
        j1 = j0 - (N.window[1] - 1) * N.dilation[1] + N.stride[1] - 1
        k1 = k0 - (N.window[2] - 1) * N.dilation[2] + N.stride[2] - 1
        i = QUOTIENT(max(i1, np.int64(0)), N.stride[0], N.over[0], N.over_shift[0])
        j_first = QUOTIENT(max(j1, np.int64(0)), N.stride[1], N.over[1], N.over_shift[1])
        k_first = QUOTIENT(max(k1, np.int64(0)), N.stride[2], N.over[2], N.over_shift[2])
        acc = T(0)
        while i < N.spots[0] and i * N.stride[0] <= i0:
            j = j_first
            while j < N.spots[1] and j * N.stride[1] <= j0:
                k = k_first
                while k < N.spots[2] and k * N.stride[2] <= k0:
                    here = True
                    if SPREAD:
                        here = (i0 - i * N.stride[0]) % N.dilation[0] == 0
                        here = here and (j0 - j * N.stride[1]) % N.dilation[1] == 0
                        here = here and (k0 - k * N.stride[2]) % N.dilation[2] == 0
                    if LARGEST:
                        here = here and in_1[((first + i) * N.spots[1] + j) * N.spots[2] + k] == position
                    if here:
                        value = LOAD_0(in_0[at + i * N.x_steps[2] + j * N.x_steps[3] + k * N.x_steps[4]])
                        if MEAN:
                            value = T(value / T(counted(i, j, k, N)))
                        acc = T(acc + value)
                    k += 1
                j += 1
            i += 1
        to = N.to + n * N.to_steps[0] + m * N.to_steps[1] + a * N.to_steps[2] + b * N.to_steps[3] + c * N.to_steps[4]
        out[to] = STORE(acc)
        e += np.int64(cuda.gridDim.x) * cuda.blockDim.x
