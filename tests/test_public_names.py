"""The public names are what is written here, each loads when it is first used, and none brings heavy packages along."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sordino

PUBLIC = [
    "Category",
    "Cost",
    "DeFinettiAttack",
    "Domain",
    "GaussianBayes",
    "GaussianMixture",
    "GradientEM",
    "LargeMarginMixture",
    "Ledger",
    "MembershipAttack",
    "NaiveBayes",
    "PrivateClassifier",
    "PrivateTable",
    "RONGauss",
    "Real",
    "Receipt",
    "Release",
    "SordinoError",
    "TableSynthesizer",
    "ThresholdRule",
    "anatomize",
    "audit_epsilon",
    "audit_ledger",
    "audit_losses",
    "audit_noise",
    "audit_replay",
    "audit_residuals",
    "audit_sensitivity",
    "bayes_error",
    "diversity",
    "k_anonymize",
    "load",
    "open_table",
]

#: Seconds to load, or engines that a user may not have.
HEAVY = ["sklearn", "pyspark", "matplotlib", "pandas", "polars"]
UNUSED_UNTIL_ASKED = [*HEAVY, "opendp", "duckdb", "pyarrow", "numpy", "scipy", "typer", "rich", "threadpoolctl"]


def loaded_after(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter holds after running some code."""
    ask = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    source = str(Path(sordino.__file__).parents[1])
    finished = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{ask}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(finished.stdout.split())


def test_public_names_are_the_written_ones() -> None:
    assert sorted(sordino.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_loads_and_explains_itself(name: str) -> None:
    assert inspect.getdoc(getattr(sordino, name))
    assert name in dir(sordino)


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'open_tables'"):
        _ = sordino.open_tables
    assert set(dir(sordino)) == {*PUBLIC, "__version__"}


def test_star_brings_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from sordino import *", names)
    assert set(names) - {"__builtins__"} == set(PUBLIC)


def test_import_alone_loads_no_other_package() -> None:
    assert loaded_after("import sordino").isdisjoint(UNUSED_UNTIL_ASKED)


def test_opening_a_table_loads_nothing_heavy() -> None:
    assert loaded_after("import sordino; sordino.open_table").isdisjoint(HEAVY)


def test_answers_on_arrays_and_files_load_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n30\n40\n")
    code = f"""
import numpy, sordino as so
domain = so.Domain({{"age": so.Real(0, 120)}})
so.open_table(numpy.ones((3, 1)), domain, columns=["age"]).mean("age", epsilon=1)
so.open_table({str(tmp_path / "people.csv")!r}, domain, ledger=so.Ledger(epsilon=1)).count(epsilon=1)
"""
    assert loaded_after(code).isdisjoint(HEAVY)


def test_the_check_sees_a_package_that_is_loaded() -> None:
    assert {"duckdb", "pyarrow"} <= loaded_after("import sordino, duckdb, pyarrow")
