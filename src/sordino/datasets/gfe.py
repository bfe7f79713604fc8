"""Grammatical Facial Expressions: frames of faces. Freitas, Peres, Lima and Barbosa, UCI Machine Learning Repository.

CC BY 4.0. Two people, nine expressions, one recording each. A frame is 100 points of the face.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.numbers import read_numbers
from sordino.domain import Real
from sordino.errors import TableError

Floats = np.ndarray[Any, np.dtype[np.float64]]

_ARCHIVE = "https://archive.ics.uci.edu/static/public/317/grammatical+facial+expressions.zip"

#: Each point has a place in the picture, 640 by 480 pixels, and a distance from the camera in millimetres; 0 where the
#: camera had no reading, and at most the four metres that it sees by its maker's word.
COLUMNS: dict[str, Real] = {
    f"{axis}{point}": Real(0, top) for point in range(100) for axis, top in (("x", 640), ("y", 480), ("z", 4000))
}

#: Digests of the points and of the targets of each recording, line ends made LF.
_DIGESTS = {
    "a_affirmative": (
        "d6243220c9d02f505f4f14c3626a35aa8d5293497cc89866e4bfcd1b318d5c29",
        "86891ee55ad079dde5981368e72cd8848c5cb6b28d8cac47ffcacb1c2aaaeec0",
    ),
    "a_conditional": (
        "e4441046a34af20f85a316400dfde776da8dc7da8d8a08c6112fd929185d7e5c",
        "e9d18b38428bddef79c4d0b95c3887c4d0e99fe1ba9a8d2c33a08cc4840ba3eb",
    ),
    "a_doubt_question": (
        "fc72c81fcedbb16e33b35815d18352d8021fab674ab87f0bd44786763c04f31e",
        "c09b30754a8125cb4557ea3e97ca652b68d6888717613f43b881bd727ab67d33",
    ),
    "a_emphasis": (
        "60332354491ab76496a0480e2e17017c970ba61ac95ad1fd149fcf9c837d5b9b",
        "4d2282206a70feafff02d0d075e4041c4e1b44a2e157b07d2402ee9ea1f7eda2",
    ),
    "a_negative": (
        "6f7c383fb851bf404e73dc8b08eef7176b5121313a018567b50ad51c1f9a7aab",
        "9369f95a94be38bc78d3d93b7b6e8b72d5054042dba5a1720a4f255c8212d8e5",
    ),
    "a_topics": (
        "fb6c1f8d7806070674c7a261189c89479c1739e251f78b07a406cab68c837e26",
        "ce769f0cc10085739ac2014affe388701700cc90b7e22944e2d119399479ab0e",
    ),
    "a_wh_question": (
        "d40d0f4058f18a29f4089f5b85bda322fa76be8286003289b71a96644c57506f",
        "bb9adf13f6ee5f38109fd18b4cf9ead54bd506e0a1a83702ed9550779c8e9896",
    ),
    "a_yn_question": (
        "f0657fc6bdea70a3a98b0893ce9b7166484b3d3f711fe5b632e2cf8f7a458016",
        "e6c6c9fd8f7a3982ae3c671c5f63a11613e509ebbfa4c4a419e5abe26e0361b7",
    ),
    "b_affirmative": (
        "8288c425348125a502e42fd9b4a2d5ebd125345c812f693b8811acd4bef8d93e",
        "d2a1c030f8ddf7c7e139e7dbf2d4192670d1c4e85f7aae3c7bfee744ce6f6798",
    ),
    "b_doubt_question": (
        "cb135ab900bcc18f9f8c4891fc4b542796ea30061b6c69c31e0d2710bc3abf5a",
        "162740fe024f285f38d7a6f2723a0185e51e2c25a2d1d96f38b4b309a6aad873",
    ),
    "b_emphasis": (
        "f8b58ae39ef2a8deb829e857d3cda41257d1b0d9b09223828d56a5364f0a4fc9",
        "f24ccff46f693b49799e0f9b4bf162785144a42633cf7d7168ed12f0df3f9cdf",
    ),
    "b_negative": (
        "dc432e127417018f779a8929be95f30a7250c205946a99dad66fd5c0785cd554",
        "1638a0feded205ecb67f7b3a694c4c044e237515bdcdd76a7023a86d8914b101",
    ),
    "b_relative": (
        "8122b31703f66d3e1a2075c9f7a065b849db084da2c7f734ae78023146463e9e",
        "2f932de61662fabf01694f9f71650258e4cffa3491402f8d72a57e5ede1908b6",
    ),
    "b_topics": (
        "82ea35e953f7074dea9a45100a2ab8a078c1f9c7b4afcc9dac82414dfc45f0d7",
        "15a03ffbb89995b9971231004562dac98a73602d1df1ab0d63a00bffe76e6ec1",
    ),
    "b_wh_question": (
        "89a1e6b2db7a74ea99e4086fcc3f26ba3f54643a8f672e340575b7409c423a88",
        "d98a8317e4f4199d6f42e7d10085338b7b90d299e705b12341340c0ad486ef93",
    ),
    "b_yn_question": (
        "943817892a41222619dd03888f32f957478f2ed594db18f93e4017cdbcf9a1ff",
        "15d92e259a165509506f9b57b595d7a7bef1e21ea372c8d966b5045e98e1544f",
    ),
}

#: What can be had of the two others: rows of someone's random splits, in no order; of a_relative 1,010 of 2,330.
_RECOVERED = {
    "a_relative": "3419d5a323b61c04ce5cd0e2184927ed3d351a490e788dec1372a19fb7735e0f",
    "b_conditional": "d611caab1c6c24b09a671ec9e16b3bca062fab67695c1835809e016ac50fc559",
}

#: The recordings, by who was filmed and what was said.
RECORDINGS = tuple(sorted((*_DIGESTS, *_RECOVERED)))


@dataclass(frozen=True)
class Frames:
    """Points of each frame (in the order of ``COLUMNS``), 1 while the expression is made, and its recording."""

    points: Floats
    targets: np.ndarray[Any, np.dtype[np.int64]]
    recordings: np.ndarray[Any, Any]


def load_gfe(folder: str | Path | None = None, recordings: tuple[str, ...] = RECORDINGS) -> Frames:
    """All frames, recording by recording: 26,616 of the published 27,936 where two recordings are recovered ones."""
    parts = [_recording(name, folder) for name in recordings]
    names = np.repeat(recordings, [len(targets) for _, targets in parts])
    return Frames(np.vstack([points for points, _ in parts]), np.concatenate([each for _, each in parts]), names)


def _recording(name: str, folder: str | Path | None) -> tuple[Floats, np.ndarray[Any, np.dtype[np.int64]]]:
    """The published pair of files; where a recording is known to be recovered, one file if the pair is not there."""
    points, targets = _DIGESTS.get(name, ("", ""))
    pair = (
        PublishedFile(f"gfe/{name}_datapoints.txt", _ARCHIVE if points else "", points, f"{name}_datapoints.txt"),
        PublishedFile(f"gfe/{name}_targets.txt", _ARCHIVE if points else "", targets, f"{name}_targets.txt"),
    )
    contents = _contents(pair, folder, optional=name in _RECOVERED)
    if contents is None:
        recovered = PublishedFile(f"gfe/{name}_recovered.csv", "", _RECOVERED[name])
        rows = read_numbers(f"GFE, {name}", read_published(recovered, folder), 301, names=True)
        return rows[:, :-1], rows[:, -1].astype(np.int64)
    rows = read_numbers(f"GFE, {name}", contents[0], 301, None, names=True)[:, 1:]  # the first one is the time
    labels = np.array(contents[1].split(), dtype=np.int64)
    if len(labels) != len(rows):
        raise TableError(f"datasets: {name!r} must have a target per frame. Fetch both files again.")
    return rows, labels


def _contents(
    pair: tuple[PublishedFile, PublishedFile], folder: str | Path | None, optional: bool
) -> tuple[bytes, bytes] | None:
    """Both files; None where they are not there and need not be."""
    try:
        return read_published(pair[0], folder), read_published(pair[1], folder)
    except TableError:
        if not optional:
            raise
    return None
