"""Three answers about the table of ``make_patients.py``, paid from a ledger that is kept on disk."""

import sordino as so

domain = so.Domain(
    {
        "age": so.Real(0, 120),
        "bmi": so.Real(10, 60),
        "sex": so.Category(["female", "male"]),
        "diagnosis": so.Category(["benign", "malignant"]),
    }
)
ledger = so.Ledger.open("first-answers.ledger", epsilon=3, delta=1e-6, pure=2)
patients = so.open_table("patients.parquet", domain, ledger=ledger)

print(patients.plan("mean", "age", epsilon=0.1, rows=5000))

for answer in (
    patients.count(epsilon=0.1),
    patients.mean("age", epsilon=0.1),
    patients.covariance(["age", "bmi"], epsilon=0.5, delta=1e-6),
):
    low, high = answer.interval(0.95)
    print(answer.value, "between", low, "and", high)

print(answer.receipt)
print(ledger)
