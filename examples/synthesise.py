"""Synthesise: rows of people who never were, with the columns and types of the table of ``make_patients.py``."""

import pyarrow.parquet

import sordino as so

domain = so.Domain(
    {
        "age": so.Real(0, 120, integer=True),
        "bmi": so.Real(10, 60),
        "sex": so.Category(["female", "male"]),
        "diagnosis": so.Category(["benign", "malignant"]),
    }
)
patients = so.open_table("patients.parquet", domain, ledger=so.Ledger(epsilon=1, delta=1e-6))

synthesizer = so.TableSynthesizer(epsilon=1, delta=1e-6, target="diagnosis").fit(patients)
fake = synthesizer.sample(1000)
pyarrow.parquet.write_table(fake, "fake-patients.parquet")

print(fake.slice(0, 3).to_pylist())
print(synthesizer.receipt_)
