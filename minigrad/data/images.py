"""Image data sets as tensors with labels, and folders of image files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minigrad.data.datasets import Dataset, Indices, rows
from minigrad.data.files import MissingFile
from minigrad.errors import FileError, MinigradError
from minigrad.ops.creation import from_numpy
from minigrad.runtime.tensor import Tensor

EXTENSIONS: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
WHITE: Final = 255  # the largest uint8 value


class Images(Dataset[tuple[Any, Any]]):
    """Images (n, channels, height, width) as float32 in [0, 1], with int64 labels."""

    classes: Sequence[str] = ()

    def __init__(
        self, root: Any, train: bool = True, transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None, download: bool = False,
    ) -> None:  # fmt: skip
        self.root, self.train = root, train
        self.transform, self.target_transform = transform, target_transform
        images, labels = self.arrays()
        if len(images) != len(labels):
            raise FileError(
                f"{type(self).__name__}: expected a label for each image, got {len(images)} images and {len(labels)} "
                "labels; download the files again"
            )
        self.images = from_numpy(np.divide(images, np.float32(WHITE), dtype=np.float32, order="C"))
        self.targets = from_numpy(labels.astype(np.int64))

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Return the uint8 images (n, channels, height, width) and the labels (n,) that the files contain."""
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return transformed(self, self.images[index], int(self.targets[index].item()))

    @property
    def __getbatch__(self) -> Callable[[Indices], list[Tensor]]:
        """The function for whole batches; AttributeError if a transform must be applied to each image."""
        if self.transform is not None or self.target_transform is not None:
            raise AttributeError(
                "a dataset with a transform has no __getbatch__, because the transform is applied to each image"
            )
        return lambda indices: [rows(self.images, indices), rows(self.targets, indices)]

    @property
    def draws(self) -> bool:
        """Return whether a transform may draw random numbers."""
        return self.transform is not None or self.target_transform is not None

    def __len__(self) -> int:
        return int(self.targets.shape[0])


class ImageFolder(Dataset[tuple[Any, int]]):
    """Read image files from one folder per class, such as `root/cat/1.png` and `root/dog/7.jpg`, with Pillow.

    root: Folder that contains one folder per class. Classes are numbered in the order of their names.
    transform and target_transform: Functions that are applied to each image, a float32 tensor (3, height, width) in [0,
    1], or to each label.
    loader: Function that receives a path and returns the image; by default, Pillow reads the file as RGB.
    size: Height and width to which Pillow scales the images, so that images of different sizes can form a batch.

    Raises FileError if `root` has no folders, or a folder has no images; or, when an image is read, if its file is
    damaged.

    `classes` contains the names, `class_to_idx` maps names to indices, and `samples` contains pairs of path and index,
    as in torchvision.
    """

    def __init__(
        self, root: Any, transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None, loader: Callable[[str], Any] | None = None,
        *, size: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.root, self.transform, self.target_transform = os.fspath(root), transform, target_transform
        self.loader, self.size = loader, size
        kinds = sorted(each.name for each in os.scandir(self.root) if each.is_dir()) if os.path.isdir(self.root) else []
        if not kinds:
            raise MissingFile(
                f"ImageFolder: {os.path.abspath(self.root)} has no folders; create a folder for each class and put its "
                "images there"
            )
        self.classes = kinds
        self.class_to_idx = {name: number for number, name in enumerate(kinds)}
        self.samples = [
            (path, number) for number, name in enumerate(kinds) for path in files(os.path.join(self.root, name))
        ]
        self.targets = [number for _, number in self.samples]
        empty = [name for name in kinds if self.class_to_idx[name] not in set(self.targets)]
        if empty:
            raise MissingFile(f"ImageFolder: {os.path.join(os.path.abspath(self.root), empty[0])} has no image "
                f"({', '.join(EXTENSIONS)}); put an image there or remove the folder")  # fmt: skip

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, label = self.samples[index]
        return transformed(self, self.loader(path) if self.loader is not None else read_image(path, self.size), label)

    def __len__(self) -> int:
        return len(self.samples)


def transformed(dataset: Images | ImageFolder, image: Any, label: int) -> tuple[Any, Any]:
    """Return an image and its label after the transforms of a dataset are applied."""
    if dataset.transform is not None:
        image = dataset.transform(image)
    return image, label if dataset.target_transform is None else dataset.target_transform(label)


def files(folder: str) -> list[str]:
    """Return the sorted paths of the images in a folder and its subfolders."""
    return sorted(
        os.path.join(path, name)
        for path, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.lower().endswith(EXTENSIONS)
    )


def read_image(path: Any, size: tuple[int, int] | None = None) -> Tensor:
    """Read an image file as a tensor.

    path: Path of an image file in a format that Pillow reads.
    size: Height and width to which the image is scaled.

    Returns: float32 tensor of shape (3, height, width): red, green and blue in [0, 1].

    Raises FileError if Pillow is not installed, or cannot read the file.
    """
    try:
        from PIL import Image
    except ImportError:
        raise FileError(
            "read_image: Pillow is required to read images, but it is not installed; run pip install 'pillow>=10'"
        ) from None
    try:
        with Image.open(path) as file:
            image = file.convert("RGB")
            if size is not None:
                image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
            values = np.asarray(image)
    except FileNotFoundError:
        raise MissingFile(
            f"read_image: there is no file {os.path.abspath(os.fspath(path))}; put the image there or correct the path"
        ) from None
    except MinigradError:
        raise
    except Exception as error:  # Pillow raises exceptions of many types for damaged files
        raise FileError(
            f"read_image: Pillow cannot read {os.fspath(path)} ({error}); check that the file is an image"
        ) from None
    return from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)).astype(np.float32) / np.float32(WHITE))
