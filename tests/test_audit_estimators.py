"""What every registered estimator and synthesiser releases: noise of the declared law, and no more loss than declared.

The noise is the real one, so clean tests can fail by chance: each calibration with probability at most 6.8e-4
(``docs/proofs/audit-bounds.md``; by the normal tail 6e-5), each test of residuals 1e-6; all together below 1 %. One way
to fit each estimator is calibrated here, with 300 runs; all of them, with 5000 and with twins that draw half of the
noise, in ``benchmarks/audit.py``.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from sordino.audit.calibration import ALARM
from sordino.audit.losses import audit_losses
from sordino.audit.noise import audit_residuals
from sordino.audit.registered import DOMAINS, ESTIMATORS, EVERY, ONLY, far_apart, subjects
from sordino.privacy.noise import SecureNoise

_SYNTHESISERS = {name for asked in ONLY.values() for name in asked if "synthesizer" in name}
LEARNERS = [(neighbours, name) for neighbours, name in EVERY if name in ESTIMATORS or name in _SYNTHESISERS]

#: The first way to fit each estimator, under the two relations in turn.
FIRST = list(dict.fromkeys(name.split(",")[0] for _, name in LEARNERS))
CALIBRATED = [
    (relation, name)
    for place, name in enumerate(FIRST)
    for relation in ("add-remove", "substitute")[place % 2 :][:1]
    if name in subjects(relation)
]


@pytest.mark.parametrize(("neighbours", "name"), CALIBRATED)
def test_an_estimator_loses_what_it_declares(neighbours, name):
    more, fewer = far_apart(neighbours)
    report = audit_losses(
        subjects(neighbours)[name], more, fewer, DOMAINS[neighbours], runs=300, random_state=0, name=name
    )
    assert report.verdict == "not violated at this power", str(report)
    assert abs(report.z) < ALARM
    assert report.largest_loss > 0


@pytest.mark.parametrize(("neighbours", "name"), LEARNERS)
def test_noise_of_an_estimator_follows_the_declared_law(neighbours, name):
    more, _ = far_apart(neighbours)
    report = audit_residuals(subjects(neighbours)[name], more, DOMAINS[neighbours], runs=8, name=name)
    assert not report.violated, str(report)


class Halved(SecureNoise):
    def draw(self, laws):
        return super().draw([replace(law, scale=law.scale / 2) for law in laws])


def test_twin_half_of_the_noise_is_seen():
    more, fewer = far_apart("add-remove")
    report = audit_losses(
        subjects("add-remove")["naive Bayes"], more, fewer, DOMAINS["add-remove"], runs=1500, noise=Halved()
    )
    assert report.violated
    assert report.multiplier > 1.5
