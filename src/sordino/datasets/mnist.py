"""MNIST: handwritten digits. LeCun, Cortes and Burges, from NIST Special Databases 1 and 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from sordino.datasets.folder import PublishedFile, read_published
from sordino.errors import ParameterError, TableError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"


def _published(name: str, sha256: str) -> PublishedFile:
    return PublishedFile(f"mnist/{name}", f"{_MIRROR}/{name}.gz", sha256)


#: Images and labels of each part.
FILES = {
    "train": (
        _published("train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        _published("train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    ),
    "test": (
        _published("t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        _published("t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ),
}


def load_mnist(part: Literal["train", "test"] = "train", folder: str | Path | None = None) -> tuple[Bytes, Bytes]:
    """Images as rows of 784 bytes, 0 (paper) to 255 (ink), and their digits: 60,000 to train and 10,000 to test."""
    if part not in FILES:
        raise ParameterError(f"load_mnist: part must be 'train' or 'test'. Got {part!r}.")
    images, labels = (_array(file, read_published(file, folder)) for file in FILES[part])
    return images.reshape(len(images), -1), labels


def _array(file: PublishedFile, content: bytes) -> Bytes:
    """The idx format: two zeros, a type (8: bytes), the number of axes, their lengths in four bytes each, the cells."""
    axes = content[3] if content[:3] == b"\x00\x00\x08" else 0
    start = 4 + 4 * axes
    lengths = tuple(int.from_bytes(content[place : place + 4], "big") for place in range(4, start, 4))
    if not axes or len(content) != start + int(np.prod(lengths)):
        raise TableError(f"datasets: {file.place!r} must hold bytes in the idx format. Fetch the file again.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(lengths)
