"""The same laws on Spark: the same bits as anywhere else, and a lost worker releases nothing and says nothing.

``local[2]`` runs the driver's threads; ``local-cluster[2,1,1024]`` starts workers as processes of their own, which
know nothing but what is sent to them. Both share one Java machine, so these tests run one after another.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import odd_records
import sordino
from odd_records import broken, typed_table, ways
from people import CASES, COUNT, DOMAIN, arrow, make_records
from sordino import Category, Domain, Ledger, Real
from sordino.cost import Cost
from sordino.engine.local import accumulate
from sordino.engine.spark import accumulate_on_spark
from sordino.errors import PassError, TableError
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.statistics.components import ComponentMoments, ComponentMoves, Components, ComponentSizes
from sordino.statistics.count import Count
from sordino.statistics.gradients import Gradients
from sordino.statistics.lattice import LatticeCells
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Ball, Box
from sordino.table.clipping import Batch, Integers
from sordino.table.opening import check_domain, open_source
from sordino.table.spark import SparkSource

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

MASTERS = ["local[2]", "local-cluster[2,1,1024]"]
RECORDS = make_records(COUNT)
SECRET = 73.123456789


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where Java writes; what is set before it starts, it passes on to every worker."""
    import pyspark

    folder = tmp_path_factory.mktemp("spark")
    sources = os.pathsep.join([str(Path(sordino.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": sources,
        }.items():
            patch.setenv(name, value)
        yield folder


@pytest.fixture(scope="module", params=MASTERS)
def spark(request: pytest.FixtureRequest, logs: Path) -> Iterator[Any]:
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers cannot import this file
    with errors_go_to(logs / "java.log"):
        session = (
            SparkSession.builder.master(request.param)
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.warehouse.dir", str(logs / "warehouse"))
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.task.maxFailures", "2")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@contextlib.contextmanager
def errors_go_to(path: Path) -> Iterator[None]:
    """Java keeps the standard error that it was started with: give it a file that a test can read."""
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def frame_of(spark: Any, records: Any, partitions: int | None = None) -> Any:
    frame = spark.createDataFrame(arrow(records))
    return frame if partitions is None else frame.repartition(partitions)


@pytest.mark.parametrize(
    "name", ["GaussianBayes", "LargeMarginMixture", "PrivateClassifier", "RONGauss", "ThresholdRule"]
)
def test_gaussian_classes_and_rules_learn_the_same_bits_on_spark(spark: Any, name: str) -> None:
    """Ranges, counts, sums and the hits of a choice: with one seed, so that the noise is the same too."""
    generator = np.random.default_rng(3)
    labels = generator.integers(2, size=1500)
    cells = {f"x{place}": generator.normal(labels, 1) for place in range(3)}
    domain = Domain({**dict.fromkeys(cells, sordino.Real(-9, 9)), "label": sordino.Category([0, 1])})
    rows = pa.table({**cells, "label": labels})
    frame = spark.createDataFrame(rows).repartition(3)

    descent: dict[str, Any] = {"solver": "gradient-descent", "rounds": 2, "components": 2}
    projected: dict[str, Any] = {"n_components": 2, "projection": "bought"}
    options = {"LargeMarginMixture": descent, "RONGauss": projected}.get(name, {})

    def learned(table: Any) -> dict[str, Any]:
        model = getattr(sordino, name)(epsilon=2, random_state=0, **options)
        model.fit(sordino.open_table(table, domain), "label")
        return {key: value for key, value in vars(model).items() if isinstance(value, np.ndarray)}

    found, expected, twin = learned(frame), learned(rows), learned(rows[:-3])
    assert found.keys() == expected.keys()
    assert all(value.tobytes() == expected[key].tobytes() for key, value in found.items())
    assert any(value.tobytes() != expected[key].tobytes() for key, value in twin.items())


def test_rounds_of_em_have_the_same_bits_on_spark(spark: Any) -> None:
    """Shares among components, cells and gradients, all in one pass."""
    generator = np.random.default_rng(4)
    means = generator.uniform(-4, 4, (3, 4))
    cells = means[generator.integers(3, size=2500)] + generator.normal(size=(2500, 4))
    rows = pa.table({f"x{place}": cells[:, place] for place in range(4)})
    names = tuple(rows.column_names)
    domain, of = Domain(dict.fromkeys(names, Real(-9, 9))), Ball(names, 1.5)
    shared = Components(of, tuple(map(tuple, (means / 13.5).tolist())), 50.0, (0.0, 0.0, -0.5))
    asked = [
        ComponentSizes(shared),
        ComponentMoves(shared, 0.5),
        ComponentMoments(shared, 0.5),
        LatticeCells(of, ((0.0,), (-0.1, 0.2))),
        Sum(Gradients(names, "mixture", (1.0, -1.0, 0.5, 0.0), 1.0, 3.0)),
    ]
    found = accumulate_on_spark(SparkSource(spark.createDataFrame(rows).repartition(3)), domain, asked)
    expected, twin = (accumulate(open_source(table), domain, asked).exact_values() for table in (rows, rows[:-1]))
    assert found.exact_values() == expected != twin


def test_perturbed_minimiser_on_spark_is_refused_before_it_is_charged(spark: Any) -> None:
    domain, ledger = sordino.Domain({"x": sordino.Real(0, 1), "y": sordino.Category([0, 1])}), sordino.Ledger(1)
    table = sordino.open_table(spark.createDataFrame(pa.table({"x": [0.5, 0.25], "y": [0, 1]})), domain, ledger=ledger)
    with pytest.raises(sordino.SordinoError, match="solver='gradient-descent'"):
        sordino.LargeMarginMixture(0.5).fit(table, "y")
    assert ledger.entries() == []


@dataclass(frozen=True)
class CountsBlocks(Count):
    """Wrong: one for every block, so that the total depends on how the rows were split."""

    def block_total(self, batch: Batch) -> Integers:
        return super().block_total(batch) // max(1, len(batch))


def totals(frame: Any) -> tuple[dict[str, tuple[int, ...]], int]:
    """The total of every case, and of the twin: all in one pass."""
    source = open_source(frame)
    assert isinstance(source, SparkSource)
    check_domain(source, DOMAIN)
    statistics = [*(case.statistic for case in CASES.values()), CountsBlocks()]
    *found, twin = accumulate_on_spark(source, DOMAIN, statistics).totals()
    return dict(zip(CASES, (total.exact_values for total in found), strict=True)), twin.exact_values[0]


def test_total_on_spark_is_the_same_bits_for_every_partition(spark: Any) -> None:
    expected = {name: case.expected(RECORDS) for name, case in CASES.items()}
    twins = set()
    for partitions in (1, 5):
        found, twin = totals(frame_of(spark, RECORDS, partitions))
        assert found == expected
        twins.add(twin)
    assert len(twins) == 2  # the same check sees a total that depends on the split


def test_one_odd_record_adds_its_own_map_on_spark(spark: Any) -> None:
    """The law of ``test_one_odd_record.py``, with every seventh kind of odd record: each is a job of its own."""
    typed = ways()["pyarrow, plain"]

    def opened(rows: list[dict[str, Any]], folder: Path) -> Session:
        return Session.open(spark.createDataFrame(typed_table(rows, "plain")), odd_records.DOMAIN, random_state=0)

    assert list(broken(replace(typed, open=opened, odd=lambda: typed.odd()[::7]), "Spark")) == []


def test_partitions_without_rows_add_nothing(spark: Any) -> None:
    few = RECORDS[:2]
    expected = {name: case.expected(few) for name, case in CASES.items()}
    assert totals(frame_of(spark, few, 6))[0] == expected
    assert totals(frame_of(spark, RECORDS).where("false").union(frame_of(spark, few)))[0] == expected


def test_total_of_an_empty_data_frame_is_zero(spark: Any) -> None:
    for empty in (frame_of(spark, []), frame_of(spark, RECORDS).where("false")):
        assert totals(empty)[0] == {name: case.expected([]) for name, case in CASES.items()}


def test_column_of_any_name_is_read(spark: Any) -> None:
    names = ("a.b", "with `ticks`", "größe", "select")
    frame = spark.createDataFrame([(0.5, 1.0, 2.0, 3.0, 4.0), (0.5, 5.0, 6.0, 7.0, 8.0)], ["c0", *names])
    domain = Domain({name: Real(-(2**20), 2**20) for name in names})
    found = accumulate_on_spark(SparkSource(frame), domain, [Sum(Box(names)), Sum(Box(names[::-1]))])
    assert found.exact_values() == [(6, 8, 10, 12), (12, 10, 8, 6)]


def test_session_answers_from_spark_with_a_receipt(spark: Any) -> None:
    ledger = Ledger(epsilon=1)
    table = sordino.open_table(frame_of(spark, RECORDS, 3), DOMAIN, ledger=ledger, name="people")
    answer = table.count(epsilon=1)
    assert answer.receipt.private
    assert abs(answer.value - COUNT) < 40  # false alarm: exp(-40)
    assert len(ledger.entries()) == 1


def test_naive_bayes_counts_the_same_bits_on_spark(spark: Any) -> None:
    """With one seed, so that the noise is the same too; a table with another record is the twin."""
    codes = np.random.default_rng(3).integers(4, size=(500, 9))
    domain = Domain({f"c{place}": sordino.Category(range(4)) for place in range(9)})
    rows = pa.table({name: codes[:, place] for place, name in enumerate(domain.columns)})
    frame = spark.createDataFrame(rows).repartition(3)

    def released(table: Any) -> list[Any]:
        model = sordino.NaiveBayes(epsilon=1, random_state=0).fit(sordino.open_table(table, domain), "c8")
        return [model.class_log_prior_, *model.feature_log_prob_, *model.counts_]

    for found, expected, twin in zip(released(frame), released(rows), released(rows[:-1]), strict=True):
        assert found.tobytes() == expected.tobytes()
        assert found.tobytes() != twin.tobytes()


@dataclass(frozen=True)
class LosesItsWorker(Count):
    """Ends the worker's process in the middle of the pass."""

    driver: int = 0

    def block_total(self, batch: Batch) -> Integers:
        if os.getpid() != self.driver:
            os._exit(1)
        return super().block_total(batch)


@dataclass(frozen=True)
class Tells(Count):
    """Fails with a cell in its message, twice over."""

    def block_total(self, batch: Batch) -> Integers:
        secret = float(batch.numbers("age")[0])
        try:
            raise KeyError(f"cell {secret}")
        except KeyError as error:
            raise ValueError(f"another cell {secret}") from error


@pytest.mark.parametrize(
    "wrong", [LosesItsWorker(("age",), driver=os.getpid()), Tells(("age",))], ids=["lost", "tells"]
)
def test_failure_on_a_worker_releases_nothing_and_the_charge_stands(spark: Any, logs: Path, wrong: Count) -> None:
    ledger = Ledger(epsilon=1)
    records = [{**record, "age": SECRET} for record in RECORDS[:20]]
    session = Session.open(frame_of(spark, records, 2), DOMAIN, ledger=ledger, name="people")
    with pytest.raises(PassError, match="The charge stands and nothing was released") as caught:
        session.answer([Question(wrong, Cost.pure("0.5"))])
    assert [entry.amount for entry in ledger.entries()] == [Cost.pure("0.5").epsilon]
    assert caught.value.__cause__ is caught.value.__context__ is None
    said = str(caught.value) + written(spark, logs)
    assert "73.12" not in said
    ledger.charge([("another", Cost.pure("0.5"), {})])  # nothing more is gone


def written(spark: Any, logs: Path) -> str:
    """What Java wrote, and what executors did: those of a cluster write below the folder of Spark itself."""
    executors = Path(os.environ["SPARK_HOME"]) / "work" / spark.sparkContext.applicationId
    files = (path for folder in (logs, executors) for path in folder.rglob("*") if path.is_file())
    return "".join(path.read_text(errors="replace") for path in files)


def test_the_log_check_sees_what_workers_write(spark: Any, logs: Path) -> None:
    """The twin: a function of somebody else's that prints a cell is found in the files that the check reads."""

    def prints(batches: Any) -> Any:
        for batch in batches:
            raise ValueError(f"cell {batch.column(0)[0].as_py()} told")
        yield from ()

    cell = 91.0625 + len(spark.sparkContext.master)  # another for each master: both write into one folder
    frame = spark.createDataFrame([(cell,)], ["age"])
    with pytest.raises(Exception, match="told"):
        frame.mapInArrow(prints, "age double").collect()
    waited = time.monotonic() + 30
    while str(cell) not in written(spark, logs) and time.monotonic() < waited:
        time.sleep(0.5)  # executors in processes of their own write when they come to it
    assert str(cell) in written(spark, logs)


def test_declared_complete_column_is_refused_in_public_words(spark: Any) -> None:
    domain = Domain({"age": replace(DOMAIN.real("age"), missing="reject"), "sex": Category(["female", "male"])})
    records = [{**record, "age": SECRET} for record in RECORDS[:20]]
    complete = Session.open(frame_of(spark, records, 3), domain, random_state=0)
    (total,) = complete.answer([Question(Count(("age",)), Cost.pure(1))])
    assert "complete in age only" in str(total.receipt)
    ledger = Ledger(epsilon=1)
    incomplete = frame_of(spark, [*records, {**RECORDS[0], "age": None}], 3)
    with pytest.raises(PassError, match=r"column 'age' is declared complete .* The charge stands") as caught:
        Session.open(incomplete, domain, ledger=ledger).answer([Question(Count(("age",)), Cost.pure(1))])
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "73.12" not in str(caught.value)
    assert len(ledger.entries()) == 1


def test_data_frame_that_does_not_match_is_refused_before_any_job(spark: Any) -> None:
    frame = frame_of(spark, RECORDS)
    for domain, said in (
        (Domain({"height": Real(0, 1)}), "no column 'height'"),
        (Domain({"sex": Real(0, 1)}), "'sex' is stored as text but declared as Real"),
        (Domain({"age": Category(["a"])}), "'age' is stored as numbers but declared as Category of str"),
    ):
        with pytest.raises(TableError, match=said):
            Session.open(frame, domain)
    alike = spark.createDataFrame([(1.0, 2.0)], ["x", "X"])
    with pytest.raises(TableError, match="'x' and 'X' cannot be told apart"):
        open_source(alike)
    with pytest.raises(TableError, match="read on the cluster only"):
        list(SparkSource(frame).blocks(("age",)))
