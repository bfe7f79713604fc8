"""Where a published file comes from: a folder that the caller names, or a download that is checked and kept.

The folder is the argument, or else the environment variable ``SORDINO_DATA``. Without either, the file is taken from
the cache (``XDG_CACHE_HOME``, or ``~/.cache``, then ``sordino``), and downloaded into it when it is not there yet. What
was downloaded must have the published digest; a file in a folder is the caller's own and may differ.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tempfile
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from sordino.errors import ParameterError, TableError

#: The environment variable that names a folder.
VARIABLE = "SORDINO_DATA"

#: Seconds without an answer after which a download is given up.
PATIENCE = 30.0


@dataclass(frozen=True)
class PublishedFile:
    """A file of a public data set: its place in a folder, its publisher's address, and the digest of its content.

    ``member`` names the file inside the archive at ``url``, where the publisher gives a zip archive; a ``url`` that
    ends in ``.gz`` is unpacked; a file without a ``url`` is read from a folder alone. ``sha256`` is that of the
    content, unpacked.
    """

    place: str
    url: str
    sha256: str
    member: str | None = None


def read_published(file: PublishedFile, folder: str | Path | None = None) -> bytes:
    """The content of a published file, from the folder, the cache or its publisher."""
    chosen = folder if folder is not None else os.environ.get(VARIABLE) or None
    if chosen is not None:
        return _from_folder(file, Path(chosen))
    kept = cache_folder() / file.place
    with suppress(OSError):
        content = kept.read_bytes()
        if hashlib.sha256(content).hexdigest() == file.sha256:
            return content
    content = download(file)
    _keep(kept, content)
    return content


def cache_folder() -> Path:
    """Where downloads are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sordino"


def download(file: PublishedFile) -> bytes:
    """The content as its publisher gives it today; refused when its digest is not the published one."""
    if not file.url:
        raise TableError(
            f"datasets: {file.place!r} is not downloaded, for what it should hold is not known here. Put it into a "
            f"folder, and name the folder with folder= or {VARIABLE}."
        )
    problem = ""
    try:
        with urlopen(file.url, timeout=PATIENCE) as answer:
            content = _content(file, answer.read())
    except (OSError, HTTPException, ValueError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        problem = type(error).__name__
    if not problem and hashlib.sha256(content).hexdigest() != file.sha256:
        problem = "its content is not the published one"
    if problem:
        raise TableError(
            f"datasets: {file.place!r} could not be downloaded from {file.url} ({problem}). Put it into a folder, and "
            f"name the folder with folder= or {VARIABLE}."
        )
    return content


def _content(file: PublishedFile, raw: bytes) -> bytes:
    if file.member is not None:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return archive.read(file.member)
    return gzip.decompress(raw) if file.url.endswith(".gz") else raw


def _from_folder(file: PublishedFile, folder: Path) -> bytes:
    """The file at its place in the folder or directly in it, as it is or packed by gzip."""
    if not folder.is_dir():
        raise ParameterError(
            f"datasets: the folder must exist. Got {str(folder)!r}. Name another, or none to download."
        )
    place = Path(file.place)
    for candidate in (folder / place, folder / place.name):
        for path in (candidate, candidate.with_name(f"{candidate.name}.gz")):
            if path.is_file():
                return _unpacked(path)
    raise TableError(
        f"datasets: {file.place!r} or {file.place + '.gz'!r} must be in the folder. Got {str(folder)!r}. "
        "Name another folder, or none to download it."
    )


def _unpacked(path: Path) -> bytes:
    problem = ""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        problem = type(error).__name__
    raise TableError(f"datasets: {str(path)!r} cannot be read ({problem}). It may be cut short; fetch it again.")


def _keep(path: Path, content: bytes) -> None:
    """Write the file whole or not at all; a cache that cannot be written costs only the next download."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(number, "wb") as written:
                written.write(content)
            os.replace(draft, path)
        except OSError:
            os.unlink(draft)
            raise
