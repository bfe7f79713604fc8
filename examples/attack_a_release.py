"""Attack a release: from the two tables that Anatomy publishes, and nothing else, who has which value."""

import numpy as np
import pyarrow as pa

import sordino as so

dice = np.random.default_rng(1)
age = dice.choice(["20s", "40s", "60s"], 4000)
work = dice.choice(["office", "outdoors"], 4000)
kinds = np.array(["asthma", "burn", "fracture", "gout", "migraine", "ulcer"])
likely = {("20s", "office"): 4, ("20s", "outdoors"): 2, ("40s", "office"): 5, ("40s", "outdoors"): 1,
          ("60s", "office"): 3, ("60s", "outdoors"): 0}  # fmt: skip
known = np.array([kinds[likely[pair]] for pair in zip(age, work, strict=True)])
illness = np.where(dice.random(4000) < 0.6, known, dice.choice(kinds, 4000))
people = pa.table({"age": age, "work": work, "illness": illness})

published = so.anatomize(people, sensitive="illness", l=3)
attack = so.DeFinettiAttack(random_state=0).fit(published.qit, published.st)

truth = people["illness"].take(pa.array(published.rows_))  # for the owner alone
print(f"promised: at most {1 / 3:.0%} of guesses are right; the attack: {attack.score(truth):.0%}")
print(f"people whose value is known better than promised: {np.mean(attack.risk_ > 1 / 3):.0%}")
