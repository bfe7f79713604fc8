"""Public data sets: from a folder, from the cache, and over HTTP from a server of our own."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sordino import Domain, SordinoError, open_table
from sordino.datasets import (
    adult,
    blog_feedback,
    breast_cancer_wisconsin,
    folder,
    gfe,
    mnist,
    nursery,
    realdisp,
    twitter,
)
from sordino.datasets.folder import PublishedFile, read_published

CONTENT = b"usual, proper\n"


@dataclass
class Publisher:
    """A folder that is served over HTTP, and the paths that were asked for."""

    place: Path
    address: str
    asked: list[str] = field(default_factory=list)

    def file(self, name: str, content: bytes, *, sha256: str | None = None) -> PublishedFile:
        (self.place / name).write_bytes(content)
        digest = hashlib.sha256(CONTENT).hexdigest() if sha256 is None else sha256
        return PublishedFile("school/school.data", f"{self.address}/{name}", digest)


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    place = tmp_path / "served"
    place.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(place)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(folder.VARIABLE, raising=False)
    yield Publisher(place, f"http://127.0.0.1:{server.server_port}", asked)
    server.shutdown()
    server.server_close()
    thread.join()


# --- the published files


def test_adult_has_the_published_rows() -> None:
    assert [adult.load_adult(part).num_rows for part in ("train", "test")] == [30_162, 15_060]
    whole = adult.load_adult("train", complete=False)
    assert whole.num_rows == 32_561
    assert {name: whole[name].null_count for name in whole.column_names if whole[name].null_count} == {
        "workclass": 1836, "occupation": 1843, "native-country": 583,
    }  # fmt: skip
    assert Counter(whole["income"].to_pylist()) == {"<=50K": 24_720, ">50K": 7_841}
    assert Counter(adult.load_adult("test", complete=False)["income"].to_pylist()) == {"<=50K": 12_435, ">50K": 3_846}


def test_nursery_has_the_published_rows() -> None:
    table = nursery.load_nursery()
    assert Counter(table["class"].to_pylist()) == {
        "not_recom": 4320, "recommend": 2, "very_recom": 328, "priority": 4266, "spec_prior": 4044,
    }  # fmt: skip
    attributes = list(zip(*(table[name].to_pylist() for name in table.column_names[:-1]), strict=True))
    assert len(set(attributes)) == 12_960


def test_breast_cancer_wisconsin_has_the_published_rows() -> None:
    table = breast_cancer_wisconsin.load_breast_cancer_wisconsin()
    assert Counter(table["class"].to_pylist()) == {"benign": 444, "malignant": 239}
    whole = breast_cancer_wisconsin.load_breast_cancer_wisconsin(complete=False)
    assert Counter(whole["class"].to_pylist()) == {"benign": 458, "malignant": 241}
    assert whole["bare-nuclei"].null_count == 16 == whole.num_rows - table.num_rows


def test_mnist_has_the_published_digits() -> None:
    images, digits = mnist.load_mnist()
    assert images.shape == (60_000, 784)
    assert images.max() == 255
    assert np.bincount(digits).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(mnist.load_mnist("test")[1]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.parametrize("content", [b"", b"\x00\x00\x08\x01\x00\x00\x00\x05abc", b"\x00\x00\x0d\x01\x00\x00\x00\x01a"])
def test_digits_in_another_format_are_refused(tmp_path: Path, content: bytes) -> None:
    for file in mnist.FILES["train"]:
        (tmp_path / Path(file.place).name).write_bytes(content)
    with pytest.raises(SordinoError, match="idx format"):
        mnist.load_mnist(folder=tmp_path)


def test_blog_feedback_has_the_published_rows() -> None:
    posts, comments = blog_feedback.load_blog_feedback()
    assert posts.shape == (52_397, 280)
    assert (comments == 0).mean() == pytest.approx(0.64, abs=0.005)
    assert len(blog_feedback.load_blog_feedback("test")[1]) == 7_624


def test_a_recording_of_faces_has_the_published_frames() -> None:
    frames = gfe.load_gfe(recordings=("a_affirmative", "a_relative"))
    assert frames.points.shape == (1062 + 1010, 300)
    assert [int(frames.targets[frames.recordings == name].sum()) for name in ("a_affirmative", "a_relative")] == [
        414,
        256,
    ]
    lows, highs = (np.array([getattr(each, end) for each in gfe.COLUMNS.values()]) for end in ("low", "high"))
    assert (frames.points >= lows).all()
    assert (frames.points <= highs).all()
    assert len(gfe.RECORDINGS) == 18


def test_a_recovered_recording_gives_way_to_the_published_one(tmp_path: Path) -> None:
    names = " ".join(map(str, range(301)))
    (tmp_path / "a_relative_datapoints.txt").write_text(f"{names}\n" + " ".join(["1"] * 301) + "\n")
    (tmp_path / "a_relative_targets.txt").write_text("1\n")
    assert gfe.load_gfe(tmp_path, ("a_relative",)).targets.tolist() == [1]
    (tmp_path / "a_relative_targets.txt").write_text("1\n0\n")
    with pytest.raises(SordinoError, match="a target per frame"):
        gfe.load_gfe(tmp_path, ("a_relative",))


def test_files_that_we_never_had_are_read_from_a_folder_alone(tmp_path: Path, publisher: Publisher) -> None:
    for load in (twitter.load_twitter, realdisp.load_realdisp):
        with pytest.raises(SordinoError, match="is not downloaded"):
            load()
    (tmp_path / "Twitter.data").write_text(",".join(["2"] * 77 + ["5.5"]) + "\n")
    topics, buzz = twitter.load_twitter(tmp_path)
    assert topics.shape == (1, 77)
    assert buzz.tolist() == [5.5]
    for file in realdisp.FILES:
        rows = [[0, 0, *[3] * 117, exercise] for exercise in (0, 1, 9, 33)]
        (tmp_path / Path(file.place).name).write_text("\n".join("\t".join(map(str, row)) for row in rows))
    readings, displaced = realdisp.load_realdisp(tmp_path)
    assert readings.shape == (3 * 17, 117)
    assert displaced.tolist() == [1, 0, 1] * 17
    (tmp_path / "Twitter.data").write_text("1,2,three\n")
    with pytest.raises(SordinoError, match="lines of 78 numbers"):
        twitter.load_twitter(tmp_path)


LOADED: dict[Any, Any] = {
    adult: adult.load_adult,
    nursery: nursery.load_nursery,
    breast_cancer_wisconsin: breast_cancer_wisconsin.load_breast_cancer_wisconsin,
}


@pytest.mark.parametrize("home", LOADED, ids=lambda home: home.__name__)
def test_declared_columns_make_a_domain_that_the_table_fits(home: Any) -> None:
    table = LOADED[home]()
    release = open_table(table, Domain(home.COLUMNS)).count(epsilon=1)
    assert abs(release.value - table.num_rows) < 100


def test_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SordinoError, match="'train' or 'test'"):
        adult.load_adult("all")  # type: ignore[arg-type]


# --- folders


@pytest.mark.parametrize("name", ["school/school.data", "school.data", "school/school.data.gz", "school.data.gz"])
def test_a_folder_may_hold_the_file_packed_or_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    assert read_published(PublishedFile("school/school.data", "", ""), tmp_path) == CONTENT


def test_the_folder_given_comes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("given", "variable"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "school.data").write_bytes(name.encode())
    file = PublishedFile("school/school.data", "", "")
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "variable"))
    assert read_published(file) == b"variable"
    assert read_published(file, tmp_path / "given") == b"given"


def test_a_folder_without_the_file_is_refused_and_nothing_is_downloaded(publisher: Publisher, tmp_path: Path) -> None:
    file = publisher.file("school.data", CONTENT)
    with pytest.raises(SordinoError, match="must be in the folder"):
        read_published(file, tmp_path)
    with pytest.raises(SordinoError, match="folder must exist"):
        read_published(file, tmp_path / "nowhere")
    assert publisher.asked == []


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "school.data.gz").write_bytes(gzip.compress(CONTENT * 100)[:-20])
    with pytest.raises(SordinoError, match="cannot be read"):
        read_published(PublishedFile("school/school.data", "", ""), tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [(b"young, proper", "must be a published category"), (b"", "must hold lines of"), (b"a", "must hold lines of")],
)
def test_odd_content_is_refused(tmp_path: Path, line: bytes, words: str) -> None:
    row = b"usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend\n"
    (tmp_path / "nursery.data").write_bytes(row.replace(b"usual", b"young") if b"," in line else line)
    with pytest.raises(SordinoError, match=words):
        nursery.load_nursery(tmp_path)


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    row = b", ".join([b"39", b"Private", b"x", *[b"?"] * 12])
    (tmp_path / "adult.data").write_bytes(row)
    with pytest.raises(SordinoError, match="fnlwgt: must be a whole number"):
        adult.load_adult(folder=tmp_path)


# --- downloads


def test_a_file_is_downloaded_once(publisher: Publisher, tmp_path: Path) -> None:
    file = publisher.file("school.data", CONTENT)
    assert read_published(file) == CONTENT
    assert read_published(file) == CONTENT
    assert publisher.asked == ["/school.data"]
    assert (tmp_path / "cache/sordino/school/school.data").read_bytes() == CONTENT


def test_archives_are_unpacked(publisher: Publisher) -> None:
    with zipfile.ZipFile(publisher.place / "school.zip", "w") as archive:
        archive.writestr("school.data", CONTENT)
    packed = publisher.file("school.data.gz", gzip.compress(CONTENT))
    zipped = replace(packed, url=f"{publisher.address}/school.zip", member="school.data")
    assert folder.download(packed) == folder.download(zipped) == CONTENT
    with pytest.raises(SordinoError, match="KeyError"):
        folder.download(replace(zipped, member="other.data"))


def test_content_that_is_not_the_published_one_is_refused_and_not_kept(publisher: Publisher, tmp_path: Path) -> None:
    file = publisher.file("school.data", b"something else")
    with pytest.raises(SordinoError, match="not the published one"):
        read_published(file)
    assert not list(tmp_path.glob("cache/**/school.data"))


def test_a_damaged_cache_is_mended(publisher: Publisher, tmp_path: Path) -> None:
    file = publisher.file("school.data", CONTENT)
    kept = tmp_path / "cache/sordino/school/school.data"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT[:3])
    assert read_published(file) == CONTENT
    assert kept.read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_costs_only_the_next_download(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file where the cache should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    assert read_published(publisher.file("school.data", CONTENT)) == CONTENT


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/school.data", "not an address"])
def test_a_publisher_that_does_not_answer_is_said_in_one_line(publisher: Publisher, address: str) -> None:
    file = replace(publisher.file("school.data", CONTENT), url=address)
    with pytest.raises(SordinoError, match="could not be downloaded") as caught:
        read_published(file)
    assert folder.VARIABLE in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_missing_page_is_said_in_one_line(publisher: Publisher) -> None:
    file = replace(publisher.file("school.data", CONTENT), url=f"{publisher.address}/nowhere")
    with pytest.raises(SordinoError, match="HTTPError"):
        read_published(file)


PUBLISHED = [
    *adult.FILES.values(),
    nursery.FILE,
    breast_cancer_wisconsin.FILE,
    *mnist.FILES["train"],
    *mnist.FILES["test"],
    *blog_feedback.FILES["train"],
]


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.place)
def test_real_files_have_the_published_content(file: PublishedFile) -> None:
    publisher = (
        "ossci-datasets.s3.amazonaws.com/mnist/" if "mnist" in file.place else "archive.ics.uci.edu/static/public/"
    )
    assert file.url.startswith(f"https://{publisher}")
    content = read_published(file)
    assert hashlib.sha256(content).hexdigest() == file.sha256
