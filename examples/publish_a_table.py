"""Publish a table the older way: Anatomy and k-anonymity, which are not differentially private; each output says so."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import sordino as so

patients = pyarrow.parquet.read_table("patients.parquet")
decades = [f"{10 * int(age // 10)}s" for age in np.array(patients["age"])]
weight = np.digitize(np.array(patients["bmi"]), [21, 24, 27, 30])
rows = pa.table({"age": decades, "sex": patients["sex"], "weight class": weight.astype(str)})

published = so.anatomize(rows, sensitive="weight class", l=3)
print(published)
print(published.qit.slice(0, 3).to_pylist())
print(published.st.slice(0, 3).to_pylist())

print(so.k_anonymize(rows, k=20, quasi_identifiers=["age", "sex"]))
print(so.diversity(rows, quasi_identifiers=["age", "sex"], sensitive="weight class"))
