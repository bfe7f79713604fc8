"""Adult: the census income table of 1994. Becker and Kohavi, UCI Machine Learning Repository, CC BY 4.0."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.text import complete_rows, parse
from sordino.domain import Category, Column, Real
from sordino.errors import ParameterError

_ARCHIVE = "https://archive.ics.uci.edu/static/public/2/adult.zip"

FILES = {
    "train": PublishedFile(
        "adult/adult.data", _ARCHIVE, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", "adult.data"
    ),
    "test": PublishedFile(
        "adult/adult.test", _ARCHIVE, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", "adult.test"
    ),
}

#: What the code book says of each column, in the order of the file. The census reports an age above 90 as 90 and a
#: gain above 99,999 dollars as 99,999; whoever is 16 or younger was left out. The survey weight has no bound by
#: definition, nor has the loss: theirs are round numbers far above.
COLUMNS: dict[str, Column] = {
    "age": Real(17, 90, integer=True),
    "workclass": Category(
        ["Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
         "Never-worked"]
    ),
    "fnlwgt": Real(0, 10_000_000, integer=True),
    "education": Category(
        ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
         "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"]
    ),
    "education-num": Real(1, 16, integer=True),
    "marital-status": Category(
        ["Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
         "Married-AF-spouse"]
    ),
    "occupation": Category(
        ["Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
         "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
         "Priv-house-serv", "Protective-serv", "Armed-Forces"]
    ),
    "relationship": Category(["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]),
    "race": Category(["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]),
    "sex": Category(["Female", "Male"]),
    "capital-gain": Real(0, 99_999, integer=True),
    "capital-loss": Real(0, 99_999, integer=True),
    "hours-per-week": Real(0, 99, integer=True),
    "native-country": Category(
        ["United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)",
         "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland",
         "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador",
         "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia",
         "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands"]
    ),
    "income": Category(["<=50K", ">50K"]),
}  # fmt: skip


def load_adult(
    part: Literal["train", "test"] = "train", folder: str | Path | None = None, *, complete: bool = True
) -> pa.Table:
    """The training or the test file: text and whole numbers, in the order of the file.

    ``complete`` leaves out the rows with a missing cell: 30,162 of 32,561 remain, and 15,060 of 16,281. Otherwise
    a missing cell is null.
    """
    if part not in FILES:
        raise ParameterError(f"load_adult: part must be 'train' or 'test'. Got {part!r}.")
    content = read_published(FILES[part], folder)
    # Labels of the test file end in a full stop.
    table = parse("Adult", content.replace(b"50K.", b"50K"), COLUMNS, ", ")
    return complete_rows(table) if complete else table
