"""Transforms of whole batches: images (n, channels, height, width) on any device, with a few ops each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.roles import Number
from minigrad.data.samplers import COUNT
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import arange, tensor
from minigrad.ops.generators import Generator, expect_generator
from minigrad.ops.nn.embedding import one_hot
from minigrad.ops.pointwise.compare import where
from minigrad.ops.random import rand, randint
from minigrad.ops.shape.padding import pad
from minigrad.runtime.tensor import Tensor, describe


class Compose:
    """Apply transforms one after another."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, batch: Any) -> Any:
        for transform in self.transforms:
            batch = transform(batch)
        return batch


class Normalize:
    """Subtract a mean from each channel, and divide by a standard deviation.

    mean and std: One number per channel, or one number for all channels.

    >>> mg.data.Normalize([0.5], [0.25])(mg.ones(1, 1, 1, 2)).tolist()
    [[[[2.0, 2.0]]]]
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean, self.std = list(mean), list(std)
        if len(self.mean) != len(self.std) or not all(each > 0 for each in self.std):
            raise ArgumentError(
                f"Normalize: mean and std must have the same length, and std must be positive, got mean={self.mean} "
                f"and std={self.std}; pass one value of each per channel"
            )

    def __call__(self, images: Tensor) -> Tensor:
        expect_images("Normalize", images)
        if len(self.mean) not in (1, images.shape[1]):
            raise ShapeError(
                f"Normalize: expected {len(self.mean)} channels, one per value of mean, got {describe(images)}; pass "
                "one mean and std per channel"
            )
        mean, std = (
            tensor(each, dtype=images.dtype, device=images.device).reshape(-1, 1, 1) for each in (self.mean, self.std)
        )
        return (images - mean) / std


class RandomCrop:
    """Pad images with zeros, and cut a random window out of each image.

    size: Height and width of the windows.
    padding: Number of rows or columns of zeros that are added on each side.
    """

    def __init__(self, size: int | tuple[int, int], padding: int = 0, generator: Generator | None = None) -> None:
        expect_generator("RandomCrop", generator)
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        for each in self.size:
            COUNT.expect("RandomCrop", size=each)
        Number(0, whole=True, example=4).expect("RandomCrop", padding=padding)
        self.padding, self.generator = padding, generator

    def __call__(self, images: Tensor) -> Tensor:
        expect_images("RandomCrop", images)
        n, (height, width) = images.shape[0], self.size
        padded = pad(images, (self.padding,) * 4) if self.padding else images
        slack = [have - want for have, want in zip(padded.shape[2:], self.size)]
        if min(slack) < 0:
            raise ShapeError(
                f"RandomCrop: the padded images must have a height and width of at least {self.size}, got "
                f"{describe(images)}; pass a larger padding"
            )
        top, left = (
            randint(0, most + 1, (n, 1), generator=self.generator, device=images.device) for most in slack
        )  # fmt: skip
        rows = top + arange(height, device=images.device)
        columns = left + arange(width, device=images.device)
        which = arange(n, device=images.device).reshape(n, 1, 1)
        cut = padded.permute(0, 2, 3, 1)[which, rows.reshape(n, height, 1), columns.reshape(n, 1, width)]
        return cut.permute(0, 3, 1, 2).contiguous()


class RandomHorizontalFlip:
    """Flip each image horizontally with probability p."""

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        expect_generator("RandomHorizontalFlip", generator)
        Number(0, 1, noun="probability", example=0.5).expect("RandomHorizontalFlip", p=p)
        self.p, self.generator = p, generator

    def __call__(self, images: Tensor) -> Tensor:
        expect_images("RandomHorizontalFlip", images)
        chosen = rand(images.shape[0], 1, 1, 1, generator=self.generator, device=images.device) < self.p
        return where(chosen, images.flip(-1), images)


class OneHot:
    """Convert integer labels to float rows that are 1 at the index of the class and 0 elsewhere.

    >>> mg.data.OneHot(3)(mg.tensor([2, 0])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    def __init__(self, classes: int) -> None:
        COUNT.expect("OneHot", classes=classes)
        self.classes = classes

    def __call__(self, labels: Tensor) -> Tensor:
        return one_hot(labels, self.classes).to("float32")


def expect_images(name: str, images: Any) -> None:
    """Raise ShapeError unless images are a tensor (n, channels, height, width)."""
    if not isinstance(images, Tensor) or images.ndim != 4:
        raise ShapeError(
            f"{name}: expected images (n, channels, height, width), got {describe(images)}; add the missing dims with "
            "unsqueeze"
        )
