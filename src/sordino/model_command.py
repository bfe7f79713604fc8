"""``sordino fit`` and ``sordino predict``: a model from a private table, and what it says about rows of your own."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.errors import ModelError, ParameterError, TableError
from sordino.row_file import RowFile
from sordino.terminal import (
    AsJson,
    Force,
    Progress,
    budget,
    example,
    file,
    number,
    one_of,
    print_json,
    require_apart,
    require_unpaid,
    require_writable,
    saved,
)

if TYPE_CHECKING:
    import pyarrow as pa

ESTIMATOR_NAMES = (
    "GaussianBayes GaussianMixture GradientEM LargeMarginMixture NaiveBayes PrivateClassifier RONGauss "
    "TableSynthesizer ThresholdRule"
)

Table = Annotated[str, typer.Argument(metavar="TABLE", help="A .parquet, .csv, .feather or .arrow file, or a glob.")]
Estimator = Annotated[str, one_of("ESTIMATOR", ESTIMATOR_NAMES)]
Rows = Annotated[str, typer.Argument(metavar="TABLE", help="A .parquet, .csv, .feather or .arrow file.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that sordino fit wrote.")]
Target = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="The column to learn.")]
DomainFile = Annotated[Path, file("--domain", words="Public facts about the table: see 'sordino init'.")]
Epsilon = Annotated[str, number("--epsilon", "What the model may cost.")]
Delta = Annotated[str, number("--delta", "Above 0: Gaussian noise. 0: pure privacy.")]
LedgerFile = Annotated[Path | None, file("--ledger", words="The budget that pays: see 'sordino ledger'.")]
NoLedger = Annotated[bool, typer.Option("--no-ledger", help="Keep no budget; the receipt says so.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The data set's name in the ledger.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; several.")
]
ModelFile = Annotated[Path, file("-o", "--output", words="The model to write, as JSON.")]
Predictions = Annotated[Path, file("-o", "--output", words="The predictions to write: .csv or .parquet.")]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="A column per class, or per component, with its probability.")
]

FIT_EXAMPLE = example(
    "sordino fit patients.parquet NaiveBayes --target diagnosis --domain patients.toml "
    "--ledger patients.ledger --epsilon 0.5 -o model.json"
)
PREDICT_EXAMPLE = example("sordino predict model.json patients.parquet -o predictions.csv")

#: Said by options of their own, or not for a private fit.
_NOT_SET = ("epsilon", "delta", "domain", "bounds", "classes", "neighbours", "ledger", "random_state")

_ROWS_PER_BATCH = 65_536


def fit(
    table: Table,
    estimator: Estimator,
    *,
    target: Target = None,
    domain: DomainFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    ledger: LedgerFile = None,
    no_ledger: NoLedger = False,
    name: Name = None,
    setting: Settings = None,
    output: ModelFile = Path("model.json"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn a model from a private table, pay for it, and write it as plain JSON with its receipt."""
    from sordino import Domain, open_table

    chosen = _configured(estimator, setting or [], epsilon, delta)
    if target is None and getattr(chosen, "needs_target", False):
        raise ParameterError(f"fit: {estimator} learns a column. Name it with --target COLUMN.")
    require_apart("fit", [output], [table, domain, ledger])
    require_unpaid("fit", output, force)
    require_writable("fit", output)
    opened = open_table(table, Domain.from_toml(domain), ledger=budget("fit", ledger, no_ledger), name=name)
    with Progress("learning") as opened.session.progress:
        model = chosen.fit(opened, target) if target is not None else chosen.fit(opened)
    if not saved("fit", model, output, force):
        raise typer.Exit(2)
    if as_json:
        return print_json({"path": str(output), "estimator": estimator, "receipt": model.receipt_.to_dict()})
    typer.echo(f"Wrote {output}: {estimator}, learned from releases alone. It may be published.\n\n{model.receipt_}")


def predict(
    model: Model,
    table: Rows,
    *,
    output: Predictions = Path("predictions.csv"),
    probabilities: Probabilities = False,
    as_json: AsJson = False,
) -> None:
    """Apply a model to rows of your own. What is written is about those rows: nothing protects them here."""
    from sordino import load

    if model.suffix.lower() in (".csv", ".parquet", ".feather", ".arrow"):
        raise ModelError(f"predict: the model comes first, then the table. Got {str(model)!r} for the model.")
    require_apart("predict", [output], [model, table])
    loaded = load(model)
    if not hasattr(loaded, "predict"):
        raise ModelError(f"predict: {str(model)!r} holds a {type(loaded).__name__}, which predicts nothing.")
    if probabilities and not hasattr(loaded, "predict_proba"):
        raise ParameterError(f"predict: a {type(loaded).__name__} gives no probabilities. Leave --probabilities out.")
    if not hasattr(loaded, "feature_names_in_"):
        raise ModelError(f"predict: {str(model)!r} was learned from an array and names no columns. Predict in Python.")
    features = [str(each) for each in loaded.feature_names_in_]
    with Progress("predicting"), RowFile("predict", output) as rows:
        for batch in _batches(table, features):
            rows.write(_predicted(loaded, batch, probabilities))
    if as_json:
        return print_json({"path": str(output), "estimator": type(loaded).__name__, "rows": rows.written})
    typer.echo(f"Wrote {output}: {rows.written} predictions, one per row and in their order. They are about your rows.")


def _configured(name: str, settings: Sequence[str], epsilon: str, delta: str) -> Any:
    """An estimator with the parameters that were typed; everything is checked before anything is paid."""
    from importlib import import_module

    from sordino.models.saved import ESTIMATORS

    if name not in ESTIMATORS:
        raise ParameterError(f"fit: the estimator must be one of {', '.join(ESTIMATORS)}. Got {name!r}.")
    kind = getattr(import_module(ESTIMATORS[name]), name)
    known = [each for each in inspect.signature(kind).parameters if each not in _NOT_SET]
    given: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in known:
            raise ParameterError(f"fit: --set takes NAME=VALUE with one of {', '.join(known)}. Got {setting!r}.")
        given[key] = _typed(value)
    return kind(epsilon=epsilon, delta=delta, **given)


def _typed(value: str) -> Any:
    """A value as JSON has it (3, true, null, [1, 2]); any other text is itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _batches(path: str, features: Sequence[str]) -> Iterator[pa.Table]:
    """The feature columns of the rows, in their order; CSV cells are read as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import dataset

    kind = Path(path).suffix.lower().removeprefix(".")
    kinds: dict[str, Any] = {"parquet": "parquet", "feather": "feather", "arrow": "feather", "csv": None}
    if kind not in kinds:
        raise TableError(f"predict: {path!r} must be a .parquet, .csv, .feather or .arrow file.")
    as_text = arrow_csv.ConvertOptions(column_types=dict.fromkeys(features, pa.string()), strings_can_be_null=True)
    problem = ""
    try:
        rows = dataset.dataset(path, format=kinds[kind] or dataset.CsvFileFormat(convert_options=as_text))
        missing = [name for name in features if name not in rows.schema.names]
        if missing:
            problem = f"has no column {missing[0]!r}"
        else:
            for batch in rows.to_batches(columns=list(features), batch_size=_ROWS_PER_BATCH):
                yield pa.Table.from_batches([batch])
    except (OSError, ValueError) as error:  # Arrow's own errors are of these kinds
        problem = f"cannot be read ({type(error).__name__})"
    if problem and not Path(path).exists():
        raise TableError(f"predict: there is no file {path!r}.")
    if problem:
        hint = " A CSV file needs UTF-8, and commas between cells." if kind == "csv" and "column" not in problem else ""
        raise TableError(f"predict: {path!r} {problem}.{hint}")


def _predicted(model: Any, rows: pa.Table, probabilities: bool) -> pa.Table:
    import pyarrow as pa

    columns = {"prediction": pa.array(model.predict(rows))}
    if probabilities:
        shares = model.predict_proba(rows).T
        names = getattr(model, "classes_", range(len(shares)))  # a mixture's components have no other names
        columns |= {f"probability of {name}": pa.array(share) for name, share in zip(names, shares, strict=True)}
    return pa.table(columns)
