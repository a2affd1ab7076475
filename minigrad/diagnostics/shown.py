"""The display of a tensor's elements on a page: few elements as numbers, many elements as a small image.

The image is a PNG of at most 48 x 48 pixels: white at 0, red above, blue below, and black for elements that are not
finite.  The hue of a complex element is its angle.  For larger tensors, a pixel shows the mean of a patch.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.api.page import styled
from minigrad.diagnostics.flow import values
from minigrad.runtime.data import wide
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer

NUMBERS = 12  # largest number of elements that are shown as numbers
SIDE = 48  # largest width and height of an image in pixels
WARM, COLD = np.array([190.0, 40.0, 30.0]), np.array([30.0, 80.0, 170.0])


def shown(x: Tensor) -> dict[str, Any]:
    """Return the parts of an HTML page about a tensor, as a dict.

    "kind" is the dtype and the shape.  "text" contains the elements or their range.  "image" is a data URI if there are
    many elements, otherwise "".  "width" and "height" are the size of the image in pixels.
    """
    elements = values(x)
    kind = f"{x.dtype}{x.shape}"
    if elements.size <= NUMBERS:
        return {"kind": kind, "text": as_text(elements), "image": "", "width": 0, "height": 0}
    grid = as_grid(wide(elements))
    finite = elements[np.isfinite(elements)] if x.dtype.is_inexact else elements
    sizes = np.abs(finite) if x.dtype.is_complex else finite
    text = f"{sizes.min():.4g} to {sizes.max():.4g}" if finite.size else "nothing finite"
    text = f"magnitudes {text}" if x.dtype.is_complex else text
    if finite.size < elements.size:
        text += f", {elements.size - finite.size} not finite"
    height, width = grid.shape
    return {"kind": kind, "text": text, "image": png(coloured(grid)), "width": width, "height": height}


def image_html(value: Mapping[str, Any]) -> str:
    """Return the image of a result of `shown`, enlarged four times, or "" if there is none."""
    if not value["image"]:
        return ""
    size = f'width="{4 * value["width"]}" height="{4 * value["height"]}"'
    return f'<img src="{value["image"]}" {size} alt="{escape(value["text"])}">'


def tensor_html(x: Tensor, text: str) -> str:
    """Return a tensor as HTML for a notebook: its text, after an image if there are many elements."""
    body = f"<pre>{escape(text)}</pre>"
    if isinstance(x, Tracer) or x.numel() <= NUMBERS:
        return body
    value = shown(x)
    name = getattr(x, "name", None) or ("Var" if x.is_variable else "tensor")
    summary = escape(f"{name} {value['kind']}, {value['text']}")
    return styled(f"{image_html(value)} {summary}<details><summary>numbers</summary>{body}</details>")


def grads_html(grads: Mapping[str, Tensor]) -> str:
    """Return gradients by name as an HTML table."""
    rows = ""
    for name, gradient in grads.items():
        value = shown(gradient)
        cell = f"{image_html(value)} {escape(value['text'])} <small>{escape(value['kind'])}</small>"
        rows += f"<tr><th>{escape(name)}</th><td>{cell}</td></tr>"
    return styled(f'<div class="mg-wide"><table><caption>gradients</caption>{rows}</table></div>')


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return the rows of a table as lines; the cells of the first `left` columns are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [cell.ljust(w) if k < left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths))]
        ).rstrip()
        for row in rows
    ]


def as_text(elements: NDArray[Any], digits: int = 4) -> str:
    """Return elements as nested brackets, with four significant digits by default."""
    if elements.ndim == 0:
        return f"{elements.item():.{digits}g}" if elements.dtype.kind in "fc" else str(elements.item())
    return f"[{', '.join(as_text(part, digits) for part in elements)}]"


def as_grid(elements: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix of at most SIDE x SIDE: leading dims are flattened, and a long vector is split into rows."""
    if elements.ndim == 1:
        width = min(len(elements), SIDE) if len(elements) <= SIDE else int(np.ceil(np.sqrt(len(elements))))
        padded = np.concatenate([elements, np.zeros(-len(elements) % width)])
        matrix = padded.reshape(-1, width)
    else:
        matrix = elements.reshape(-1, elements.shape[-1])
    for axis in (0, 1):
        size = matrix.shape[axis]
        if size > SIDE:
            edges = np.linspace(0, size, SIDE + 1).astype(int)
            counts = np.diff(edges)
            of = np.repeat(counts, counts)
            # The elements are divided before they are added, because a sum of large values could overflow.
            with np.errstate(invalid="ignore"):
                matrix = np.add.reduceat(matrix / (of[:, None] if axis == 0 else of), edges[:-1], axis=axis)
    return matrix


def coloured(grid: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a color for each element, paler for elements closer to 0."""
    finite = np.isfinite(grid)
    most = np.abs(grid[finite]).max() if finite.any() else 0.0
    share = np.where(finite, grid, 0.0) / (most or 1.0)
    towards = hues(share) if np.iscomplexobj(share) else np.where(share[..., None] > 0, WARM, COLD)
    colours = 255.0 + np.abs(share)[..., None] * (towards - 255.0)
    colours[~finite] = 0.0
    return colours.round().astype(np.uint8)


def hues(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the color of the angle of each complex number: red at 0, green at a third of the circle, then blue."""
    return 110 + 80 * np.cos(np.angle(numbers)[..., None] - np.arange(3) * (2 * np.pi / 3))


def png(pixels: NDArray[np.uint8]) -> str:
    """Return a data URI of an image with (height, width, 3) bytes.

    Source: the PNG specification (third edition, W3C 2025): signature, IHDR, one zlib stream of rows that each begin
    with filter 0, IEND.
    """
    height, width, _ = pixels.shape
    rows = b"".join(b"\x00" + row.tobytes() for row in pixels)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows, 9)),
             (b"IEND", b"")]  # fmt: skip
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in parts:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return "data:image/png;base64," + base64.b64encode(data).decode()
