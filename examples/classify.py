"""Classify: two private classifiers of the table of ``make_patients.py``, paid from one ledger; one is saved."""

import pyarrow.parquet

import sordino as so

domain = so.Domain(
    {
        "age": so.Real(0, 120),
        "bmi": so.Real(10, 60),
        "sex": so.Category(["female", "male"]),
        "diagnosis": so.Category(["benign", "malignant"]),
    }
)
ledger = so.Ledger(epsilon=2)
patients = so.open_table("patients.parquet", domain, ledger=ledger)

naive = so.NaiveBayes(epsilon=1).fit(patients, "diagnosis")
gaussian = so.GaussianBayes(epsilon=1).fit(patients, "diagnosis")
print(naive.receipt_)

# Rows of your own: nothing protects them here, and what is said about them is yours.
mine = pyarrow.parquet.read_table("patients.parquet").slice(0, 5)
print(naive.predict(mine))
print(gaussian.predict_proba(mine).round(2))

naive.save("naive.json")
assert (so.load("naive.json").predict(mine) == naive.predict(mine)).all()
