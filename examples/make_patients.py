"""Write patients.parquet and patients.csv: 5000 people who never lived, for the examples in this repository.

Run it where you want the files: ``python examples/make_patients.py``. The CSV has the odd cells that real files have.
"""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet

people = 5000
dice = np.random.default_rng(2024)
age = dice.uniform(18, 95, people).round()
bmi = dice.normal(26, 4, people).round(1)
sex = dice.choice(["female", "male"], people)
diagnosis = np.where(dice.random(people) < age / 250, "malignant", "benign")
columns = {"age": age, "bmi": bmi, "sex": sex, "diagnosis": diagnosis}

pyarrow.parquet.write_table(pa.table(columns), "patients.parquet")

rows = [list(map(str, row)) for row in zip(*columns.values(), strict=True)]
rows[17][1], rows[40][0], rows[41][0], rows[99][2] = "n/a", "", "about 60", "Male"
with open("patients.csv", "w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows([columns, *rows])
