"""Convolution by 3x3 taps through products at points: 36 multiply-adds for 4x4 outputs instead of 144.

      image 6x6 --of_image--> 36 values \
                                          36 products, one for each point --of_points--> outputs 4x4
      weight 3x3 -of_weight-> 36 values /

`pack_points` evaluates the weight, once.  A task of `through_points` takes some rows of tiles: it lays the pixels that
they see side by side, channels last, evaluates every tile at the 36 points in vectors of channels, and multiplies, for
each point, the tiles by the weight (tiles x channels of the image x channels of the output).  So all of it stays in the
second cache, and the products run on the register tile of `matmul.py`.  The gradient of the image is the same with
the weight turned around.  That of the weight is the transpose of these maps: `sum_points` multiplies the evaluated
gradient by the evaluated image and sums over the tiles, and `add_points` goes back from the points to the taps.

Free names as in `matmul.py`, with the maps of `points.py`.

Numbers: images, outs, ins: channels of the output and of the image.  down, across: rows and columns of tiles in one
image.  share: rows of tiles of a task, block: of those, how many are multiplied at a time.  height, width; high, wide:
of the image and of the output.  low1, low2: the lowest position that output 0 sees.  x, y, w, b: offsets and strides of
image, output, weight and bias.  in_weight: where each tap is, by position in the image.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

WINOGRAD = Fields(
    "images outs ins down across share block height width high wide low1 low2 x x_image x_channel x1 x2 "
    "y y_image y_channel y1 y2 w w_out w_in b b_out biased",
    "in_weight[9]",
)


def turn(x, at, step, deep, z, to, pitch, one, wide, long):  # type: ignore[no-untyped-def]
    """z[to + i * pitch + j * one] = x[at + j * step + i * deep] for j < wide, i < long."""
    if deep == 1 and one == 1 and wide >= SIDE and long >= SIDE:
        # The last square overlaps the one before.
        for p in range(0, long, SIDE):
            i = min(p, long - SIDE)
            for q in range(0, wide, SIDE):
                j = min(q, wide - SIDE)
                transpose(x, at + j * step + i, step, z, to + i * pitch + j, pitch)
    else:
        for j in range(wide):
            for i in range(long):
                z[np.uint64(to + i * pitch + j * one)] = x[np.uint64(at + j * step + i * deep)]


def lay(x, at, channel, row, deep, rows, cols, channels, z, pitch):  # type: ignore[no-untyped-def]
    """Pixels side by side, channels last: z[(i * cols + j) * pitch + c] = x[at + c * channel + i * row + j * deep]."""
    if row == cols * deep:
        turn(x, at, channel, deep, z, 0, pitch, 1, channels, rows * cols)
    else:
        for i in range(rows):
            turn(x, at + i * row, channel, deep, z, i * cols * pitch, pitch, 1, channels, cols)


def positions(near, y, x, top, bottom, cols, pitch, side):  # type: ignore[no-untyped-def]
    """Where the pixels of a square that begins at (y, x) lie in rows top to bottom - 1; behind them those outside."""
    outside = (bottom - top) * cols * pitch
    for i in range(side):
        for j in range(side):
            inside = top <= y + i < bottom and 0 <= x + j < cols
            near[i * side + j] = ((y + i - top) * cols + x + j) * pitch if inside else outside


def evaluate(x, task, N, pixels, near, points, pitch, values, far, nothing):  # type: ignore[no-untyped-def]
    """A row of tiles of the image at the points; tile t of the task begins at values[t * pitch]."""
    n = task // N.down
    y = task % N.down * 4 + N.low1
    top = max(0, min(y, N.height))
    bottom = max(top, min(N.height, y + 6))
    at = N.x + n * N.x_image + top * N.x1
    lay(x, at, N.x_channel, N.x1, N.x2, bottom - top, N.width, N.ins, pixels, pitch)
    end = (bottom - top) * N.width * pitch
    for c in range(pitch):
        pixels[end + c] = T(0)
    shifted = False
    for tile in range(N.across):
        at = tile * 4 + N.low2
        # Tiles in the middle of a row share their positions.
        middle = at >= 0 and at + 6 <= N.width and y >= 0 and y + 6 <= N.height
        if not (middle and shifted):
            positions(near, y, 0 if middle else at, top, bottom, N.width, pitch, 6)
        shifted = middle
        for c in range(0, pitch, LANES):
            of_image(
                pixels, c + (at * pitch if middle else 0), near, values, points + tile * pitch + c, far, nothing, 0
            )


def pack_points(w, panels, N):  # type: ignore[no-untyped-def]
    """Each task evaluates the taps of one channel of the image: panels[point, c, m]."""
    M = N.outs
    C = N.ins
    pitch = (M + LANES - 1) // LANES * LANES
    taps = workspace(9 * pitch, T)
    near = workspace(9, np.int64)
    far = workspace(36, np.int64)
    nothing = workspace(LANES, T)
    for k in range(LANES):
        nothing[k] = T(0)
    for k in range(9):
        near[k] = k * pitch
    for k in range(36):
        far[k] = k * C * pitch
    for c in range(first, last):
        at = N.w + c * N.w_in
        for k in range(9):
            q = at + N.in_weight[k]
            for m in range(M):
                taps[k * pitch + m] = w[np.uint64(q)]
                q += N.w_out
            for m in range(M, pitch):
                taps[k * pitch + m] = T(0)
        for m in range(0, pitch, LANES):
            of_weight(taps, m, near, panels, c * pitch + m, far, nothing, 0)
    leave(nothing)
    leave(far)
    leave(near)
    leave(taps)


def through_points(x, panels, bias, out, N):  # type: ignore[no-untyped-def]
    """out[n, m, o] = bias[m] + the sum over c and taps of w[m, c, tap] * x[n, c, o + position of the tap].

    Each task makes `share` rows of tiles.
    """
    M = N.outs
    C = N.ins
    down = N.down
    across = N.across
    deep = (C + LANES - 1) // LANES * LANES
    pitch = (M + LANES - 1) // LANES * LANES
    most = N.share * across
    # A few elements more: neighbouring points of one tile would else be a power of two apart, in the same few lines of
    # the nearest cache.
    from_point = most * deep + LANES
    to_point = most * pitch + LANES
    pixels = workspace((6 * N.width + 1) * deep, T)
    values = workspace(36 * from_point, T)
    products = workspace(36 * to_point, T)
    results = workspace((4 * N.wide + 1) * pitch, T)
    near = workspace(36, np.int64)
    far = workspace(36, np.int64)
    back = workspace(36, np.int64)
    kept = workspace(16, np.int64)
    added = workspace(pitch + LANES, T)
    for k in range(36):
        far[k] = k * from_point
        back[k] = k * to_point
    for k in range(pitch + LANES):
        added[k] = bias[N.b + k * N.b_out] if N.biased > 0 and k < M else T(0)
    if deep > C:
        for k in range((6 * N.width + 1) * deep):
            pixels[k] = T(0)
    for task in range(first, last):
        start = task * N.share
        end = min(N.images * down, start + N.share)
        tiles = (end - start) * across
        for row in range(start, end):
            evaluate(x, row, N, pixels, near, (row - start) * across * deep, deep, values, far, added[pitch:])
        for point in range(36):
            for m in range(0, pitch, NR):
                w = min(NR, pitch - m)
                right = point * C * pitch + m
                for i in range(0, tiles, MR):
                    left = point * from_point + i * deep
                    z = point * to_point + i * pitch + m
                    h = min(MR, tiles - i)
                    tile(values, left, deep, 1, panels, right, pitch, w, products, z, pitch, C, h, w, T(1), False)
        for row in range(start, end):
            y = row % down * 4
            bottom = min(N.high, y + 4)
            for col in range(across):
                positions(kept, y, col * 4, y, bottom, N.wide, pitch, 4)
                q = ((row - start) * across + col) * pitch
                for m in range(0, pitch, LANES):
                    of_points(products, q + m, back, results, m, kept, added, m)
            to = N.y + row // down * N.y_image + y * N.y1
            if N.y1 == N.wide * N.y2:
                turn(results, 0, pitch, 1, out, to, N.y_channel, N.y2, (bottom - y) * N.wide, M)
            else:
                for i in range(bottom - y):
                    turn(results, i * N.wide * pitch, pitch, 1, out, to + i * N.y1, N.y_channel, N.y2, N.wide, M)
    leave(added)
    leave(kept)
    leave(back)
    leave(far)
    leave(near)
    leave(results)
    leave(products)
    leave(values)
    leave(pixels)


def sum_points(x, y, slabs, N):  # type: ignore[no-untyped-def]
    """slab[point, m, c] = the sum over tiles of the gradient times the image, both at a point.

    Each task sums over `share` rows of tiles into a slab of its own, `block` rows at a time.
    """
    M = N.outs
    C = N.ins
    down = N.down
    across = N.across
    deep = (C + LANES - 1) // LANES * LANES
    pitch = (M + LANES - 1) // LANES * LANES
    most = N.block * across
    from_point = most * deep + LANES
    to_point = most * pitch + LANES
    pixels = workspace((6 * N.width + 1) * deep, T)
    values = workspace(36 * from_point, T)
    gradients = workspace((4 * N.wide + 1) * pitch, T)
    at_points = workspace(36 * to_point, T)
    near = workspace(36, np.int64)
    far = workspace(36, np.int64)
    back = workspace(36, np.int64)
    read = workspace(16, np.int64)
    nothing = workspace(LANES, T)
    for k in range(36):
        far[k] = k * from_point
        back[k] = k * to_point
    for k in range(LANES):
        nothing[k] = T(0)
    for k in range((6 * N.width + 1) * deep):
        pixels[k] = T(0)
    for k in range((4 * N.wide + 1) * pitch):
        gradients[k] = T(0)
    rows = N.images * down
    for task in range(first, last):
        slab = task * 36 * M * deep
        for start in range(task * N.share, min(rows, (task + 1) * N.share), N.block):
            end = min(rows, (task + 1) * N.share, start + N.block)
            tiles = (end - start) * across
            for row in range(start, end):
                first_tile = (row - start) * across
                evaluate(x, row, N, pixels, near, first_tile * deep, deep, values, far, nothing)
                q = row % down * 4
                bottom = min(N.high, q + 4)
                at = N.y + row // down * N.y_image + q * N.y1
                lay(y, at, N.y_channel, N.y1, N.y2, bottom - q, N.wide, M, gradients, pitch)
                outside = (bottom - q) * N.wide * pitch
                for m in range(pitch):
                    gradients[outside + m] = T(0)
                for col in range(across):
                    positions(read, q, col * 4, q, bottom, N.wide, pitch, 4)
                    for m in range(0, pitch, LANES):
                        z = (first_tile + col) * pitch + m
                        of_outputs(gradients, m, read, at_points, z, back, nothing, 0)
            more = start > task * N.share
            for point in range(36):
                for c in range(0, deep, NR):
                    w = min(NR, deep - c)
                    right = point * from_point + c
                    for m in range(0, M, MR):
                        left = point * to_point + m
                        z = slab + (point * M + m) * deep + c
                        h = min(MR, M - m)
                        tile(at_points, left, 1, pitch, values, right, deep, w, slabs, z, deep, tiles, h, w, T(1), more)
    leave(nothing)
    leave(read)
    leave(back)
    leave(far)
    leave(near)
    leave(at_points)
    leave(gradients)
    leave(values)
    leave(pixels)


def add_points(slabs, out, N):  # type: ignore[no-untyped-def]
    """The weight's gradient from the slabs, added in their order; a task is one channel of the output."""
    M = N.outs
    C = N.ins
    deep = (C + LANES - 1) // LANES * LANES
    one = 36 * M * deep
    chunks = (N.images * N.down + N.share - 1) // N.share
    total = workspace(36 * deep, T)
    taps = workspace(9 * deep, T)
    near = workspace(36, np.int64)
    far = workspace(9, np.int64)
    nothing = workspace(LANES, T)
    for k in range(LANES):
        nothing[k] = T(0)
    for k in range(36):
        near[k] = k * deep
    for k in range(9):
        far[k] = k * deep
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
            of_products(total, c, near, taps, c, far, nothing, 0)
        to = N.w + m * N.w_out
        for c in range(C):
            for k in range(9):
                out[to + N.in_weight[k]] = taps[k * deep + c]
            to += N.w_in
    leave(nothing)
    leave(far)
    leave(near)
    leave(taps)
    leave(total)
