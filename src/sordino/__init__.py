"""Sordino: learn from tables of people, and publish data about them, under differential privacy.

The public names are listed here and load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Domain": "sordino.domain",
    "Real": "sordino.domain",
    "Category": "sordino.domain",
    "Cost": "sordino.cost",
    "Ledger": "sordino.privacy.ledger",
    "PrivateTable": "sordino.queries.private_table",
    "open_table": "sordino.queries.private_table",
    "RONGauss": "sordino.synthesis.ron_gauss",
    "Release": "sordino.release",
    "Receipt": "sordino.release",
    "SordinoError": "sordino.errors",
    "GaussianMixture": "sordino.models.gaussian_mixture",
    "GradientEM": "sordino.models.gradient_em",
    "LargeMarginMixture": "sordino.models.large_margin_mixture",
    "NaiveBayes": "sordino.models.naive_bayes",
    "DeFinettiAttack": "sordino.attack.definetti",
    "MembershipAttack": "sordino.attack.membership",
    "anatomize": "sordino.anonymity.anatomy",
    "diversity": "sordino.anonymity.diversity",
    "k_anonymize": "sordino.anonymity.recoding",
    "bayes_error": "sordino.models.bayes_error",
    "audit_epsilon": "sordino.audit.lower_bound",
    "audit_ledger": "sordino.audit.ledger",
    "audit_losses": "sordino.audit.losses",
    "audit_noise": "sordino.audit.noise",
    "audit_replay": "sordino.audit.replay",
    "audit_residuals": "sordino.audit.noise",
    "audit_sensitivity": "sordino.audit.sensitivity",
    "GaussianBayes": "sordino.models.gaussian_bayes",
    "PrivateClassifier": "sordino.models.private_classifier",
    "ThresholdRule": "sordino.models.threshold_rule",
    "TableSynthesizer": "sordino.synthesis.table_synthesizer",
    "load": "sordino.models.saved",
}

__version__ = "0.1.0"
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sordino' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
