"""Convolution with 3x3 taps by Winograd's algorithm F(4x4, 3x3): 36 multiply-adds for 4x4 outputs instead of 144.

      image 6x6 --input_transform--> 36 values \
                                                36 products --output_transform--> outputs 4x4
      weight 3x3 -weight_transform-> 36 values /

`transform_weight` transforms the weight.  A task of `convolve` is some rows of tiles.  It copies the pixels that these
tiles read, channels last, and transforms every tile in vectors of channels.  Then, for each of the 36 points, it
multiplies the tiles by the weight (tiles x channels of the image x channels of the output).  So all data stay in the
second-level cache, and the products use the register tile of `matmul.py`.  The gradient of the image is the same
computation with the weight flipped.  The gradient of the weight is the transpose of these transforms: `convolve_weight`
multiplies the transformed gradient by the transformed image and sums over the tiles, and `add_weights` adds the sums of
its tasks and transforms them back.

Free names as in `matmul.py`, with the transforms of `winograd_transforms.py` and the copy of `elementwise.py`.

Numbers: images: their count.  outs, ins: channels of the output and of the image.  down, across: rows and columns of
tiles in one image.  share: rows of tiles of a task.  block: how many of these rows are multiplied at a time.  height,
width: of the image.  high, wide: of the output.  low1, low2: the lowest position that output 0 reads.  x, y, w, b:
offsets and strides of image, output, weight and bias.  in_weight: the offset of each tap in the weight, ordered by
position in the image.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.elementwise import clear, transpose_copy
from minigrad.kernels.cpu.target import imported, tiles
from minigrad.kernels.fields import Fields, loop

TRANSFORMS = (
    "input_transform", "output_transform", "gradient_transform", "weight_transform", "weight_gradient_transform",
)  # fmt: skip

WINOGRAD = Fields(
    "images outs ins down across share block height width high wide low1 low2 x x_image x_channel x1 x2 "
    "y y_image y_channel y1 y2 w w_out w_in b b_out biased",
    "in_weight[9]",
)


def multiples(table, step):  # type: ignore[no-untyped-def]
    """Set table[k] to k * step."""
    for k in range(len(table)):
        table[k] = k * step


def channels_last(x, at, channel, row, deep, rows, cols, channels, z, pitch):  # type: ignore[no-untyped-def]
    """z[(i * cols + j) * pitch + c] = x[at + c * channel + i * row + j * deep].

    Behind the last pixel, one more pixel is set to zero.
    """
    lines = 1 if row == cols * deep else rows
    for i in range(lines):
        transpose_copy(x, at + i * row, channel, deep, z, i * cols * pitch, pitch, 1, channels, rows * cols // lines)
    clear(z, rows * cols * pitch, pitch)


def positions(near, y, x, top, bottom, cols, pitch, side):  # type: ignore[no-untyped-def]
    """Write the positions of the pixels of a square that begins at (y, x), in rows top to bottom - 1.

    A pixel outside these rows or columns has the position behind the last pixel, where there are zeros.
    """
    outside = (bottom - top) * cols * pitch
    for i in range(side):
        for j in range(side):
            inside = top <= y + i < bottom and 0 <= x + j < cols
            near[i * side + j] = ((y + i - top) * cols + x + j) * pitch if inside else outside


def transform_row(x, row, N, pixels, near, pitch, values, to, far):  # type: ignore[no-untyped-def]
    """Transform one row of tiles of the image; tile t begins at values[to + t * pitch]."""
    n = row // N.down
    y = row % N.down * 4 + N.low1
    top = max(0, min(y, N.height))
    bottom = max(top, min(N.height, y + 6))
    at = N.x + n * N.x_image + top * N.x1
    channels_last(x, at, N.x_channel, N.x1, N.x2, bottom - top, N.width, N.ins, pixels, pitch)
    reused = False
    for tile in range(N.across):
        left = tile * 4 + N.low2
        # All tiles in the middle of a row have the same relative positions.
        middle = left >= 0 and left + 6 <= N.width and y >= 0 and y + 6 <= N.height
        if not (middle and reused):
            positions(near, y, 0 if middle else left, top, bottom, N.width, pitch, 6)
        reused = middle
        at = left * pitch if middle else 0
        for c in range(0, pitch, LANES):
            input_transform(pixels, at + c, near, values, to + tile * pitch + c, far)


def transforms(words, dtype, functions):  # type: ignore[no-untyped-def]
    """Return the lines of `tiles`, and those that define the transforms of some functions."""
    read = {word for function in functions for word in function.__code__.co_names}
    lines = [f'{word} = winograd_transform("{word}", "{dtype}", LANES)' for word in TRANSFORMS if word in read]
    made = imported("winograd_transforms", "winograd_transform", *lines, beside=("emitting.py",))
    return tiles(words, dtype, functions) + made


PLAIN = multiples, clear
TILED = *PLAIN, transpose_copy, channels_last, positions, transform_row


@loop(WINOGRAD, results=1, helpers=PLAIN, imports=transforms)
def transform_weight(w, panels, N):  # type: ignore[no-untyped-def]
    """panels[point, c, m] = the transformed taps.  A task is one channel of the image."""
    M, C = N.outs, N.ins
    pitch = (M + LANES - 1) // LANES * LANES
    taps = workspace(9 * pitch, T)
    tables = workspace(45, np.int64)
    multiples(tables[0:9], pitch)
    multiples(tables[9:45], C * pitch)
    clear(taps, 0, 9 * pitch)
    for c in range(first, last):
        for k in range(9):
            q = N.w + c * N.w_in + N.in_weight[k]
            for m in range(M):
                taps[np.uint64(k * pitch + m)] = w[np.uint64(q)]
                q += N.w_out
        for m in range(0, pitch, LANES):
            weight_transform(taps, m, tables[0:9], panels, c * pitch + m, tables[9:45])
    leave(tables, taps)


@loop(WINOGRAD, helpers=TILED, imports=transforms)
def winograd(x, panels, bias, out, N):  # type: ignore[no-untyped-def]
    """out[n, m, o] = bias[m] + the sum over c and taps of w[m, c, tap] * x[n, c, o + position of the tap].

    A task is `share` rows of tiles.
    """
    M, C, down, across = N.outs, N.ins, N.down, N.across
    deep = (C + LANES - 1) // LANES * LANES
    pitch = (M + LANES - 1) // LANES * LANES
    # LANES more elements: otherwise the points of a tile might be a power of two apart, in the same set of a cache.
    image_point = N.share * across * deep + LANES
    output_point = N.share * across * pitch + LANES
    pixels = workspace((6 * N.width + 1) * deep, T)
    values = workspace(36 * image_point, T)
    products = workspace(36 * output_point, T)
    results = workspace((4 * N.wide + 1) * pitch, T)
    added = workspace(pitch, T)
    tables = workspace(124, np.int64)
    multiples(tables[36:72], image_point)
    multiples(tables[72:108], output_point)
    clear(pixels, 0, (6 * N.width + 1) * deep)
    clear(added, 0, pitch)
    for m in range(M if N.biased > 0 else 0):
        added[m] = bias[N.b + m * N.b_out]
    for task in range(first, last):
        start = task * N.share
        end = min(N.images * down, start + N.share)
        tiles = (end - start) * across
        for row in range(start, end):
            to = (row - start) * across * deep
            transform_row(x, row, N, pixels, tables[0:36], deep, values, to, tables[36:72])
        for point in range(36):
            for m in range(0, pitch, NR):
                w = min(NR, pitch - m)
                right = point * C * pitch + m
                for i in range(0, tiles, MR):
                    left = point * image_point + i * deep
                    z = point * output_point + i * pitch + m
                    h = min(MR, tiles - i)
                    tile(values, left, deep, 1, panels, right, pitch, w, products, z, pitch, C, h, w, T(1), False)
        for row in range(start, end):
            y = row % down * 4
            rows = min(4, N.high - y)
            for col in range(across):
                positions(tables[108:124], y, col * 4, y, y + rows, N.wide, pitch, 4)
                q = ((row - start) * across + col) * pitch
                for m in range(0, pitch, LANES):
                    output_transform(products, q + m, tables[72:108], results, m, tables[108:124], added, m)
            to = N.y + row // down * N.y_image + y * N.y1
            lines = 1 if N.y1 == N.wide * N.y2 else rows
            for i in range(lines):
                q = i * N.wide * pitch
                transpose_copy(results, q, pitch, 1, out, to + i * N.y1, N.y_channel, N.y2, rows * N.wide // lines, M)
    leave(tables, added, results, products, values, pixels)


@loop(WINOGRAD, results=1, helpers=TILED, imports=transforms)
def winograd_weight(x, y, slabs, N):  # type: ignore[no-untyped-def]
    """slab[point, m, c] = the sum over tiles of the transformed gradient times the transformed image.

    A task is `share` rows of tiles, `block` rows at a time; it sums into its own slab.
    """
    M, down, across = N.outs, N.down, N.across
    deep = (N.ins + LANES - 1) // LANES * LANES
    pitch = (M + LANES - 1) // LANES * LANES
    image_point = N.block * across * deep + LANES
    output_point = N.block * across * pitch + LANES
    pixels = workspace((6 * N.width + 1) * deep, T)
    values = workspace(36 * image_point, T)
    incoming = workspace((4 * N.wide + 1) * pitch, T)
    gradients = workspace(36 * output_point, T)
    tables = workspace(124, np.int64)
    multiples(tables[36:72], image_point)
    multiples(tables[72:108], output_point)
    clear(pixels, 0, (6 * N.width + 1) * deep)
    clear(incoming, 0, (4 * N.wide + 1) * pitch)
    for task in range(first, last):
        slab = task * 36 * M * deep
        low = task * N.share
        high = min(N.images * down, low + N.share)
        for start in range(low, high, N.block):
            end = min(high, start + N.block)
            tiles = (end - start) * across
            for row in range(start, end):
                corner = (row - start) * across
                transform_row(x, row, N, pixels, tables[0:36], deep, values, corner * deep, tables[36:72])
                q = row % down * 4
                rows = min(4, N.high - q)
                at = N.y + row // down * N.y_image + q * N.y1
                channels_last(y, at, N.y_channel, N.y1, N.y2, rows, N.wide, M, incoming, pitch)
                for col in range(across):
                    positions(tables[108:124], q, col * 4, q, q + rows, N.wide, pitch, 4)
                    for m in range(0, pitch, LANES):
                        z = (corner + col) * pitch + m
                        gradient_transform(incoming, m, tables[108:124], gradients, z, tables[72:108])
            more = start > low
            for point in range(36):
                for c in range(0, deep, NR):
                    w = min(NR, deep - c)
                    right = point * image_point + c
                    for m in range(0, M, MR):
                        left = point * output_point + m
                        z = slab + (point * M + m) * deep + c
                        h = min(MR, M - m)
                        tile(gradients, left, 1, pitch, values, right, deep, w, slabs, z, deep, tiles, h, w, T(1), more)
    leave(tables, gradients, incoming, values, pixels)


@loop(WINOGRAD, helpers=PLAIN, imports=transforms)
def add_weights(slabs, out, N):  # type: ignore[no-untyped-def]
    """Add the slabs in their order, and transform the sum to the weight's gradient.  A task is one output channel."""
    M, C = N.outs, N.ins
    deep = (C + LANES - 1) // LANES * LANES
    one = 36 * M * deep
    chunks = (N.images * N.down + N.share - 1) // N.share
    total = workspace(36 * deep, T)
    taps = workspace(9 * deep, T)
    table = workspace(36, np.int64)
    multiples(table, deep)
    for m in range(first, last):
        for point in range(36):
            line = total[point * deep : (point + 1) * deep]
            at = (point * M + m) * deep
            for c in range(deep):
                line[c] = slabs[at + c]
            for chunk in range(1, chunks):
                slab = slabs[at + chunk * one : at + chunk * one + deep]
                for c in range(deep):
                    line[c] = T(line[c] + slab[c])
        for c in range(0, deep, LANES):
            weight_gradient_transform(total, c, table, taps, c, table)
        to = N.w + m * N.w_out
        for c in range(C):
            for k in range(9):
                out[to + N.in_weight[k]] = taps[k * deep + c]
            to += N.w_in
    leave(table, taps, total)
