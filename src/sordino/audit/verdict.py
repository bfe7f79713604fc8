"""What an audit says. Three verdicts only, and the second one never means *private*.

``violated``: there is a counter-example, exact or certified. ``not violated at this power``: none was found, and
the report says how large a violation would have been seen. ``not tested``: the audit does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["violated", "not violated at this power", "not tested"]


@dataclass(frozen=True)
class AuditReport:
    """A verdict with its evidence; plain values in ``to_dict``, one sentence to quote in ``sentence``."""

    audit: str
    subject: str
    verdict: Verdict
    sentence: str
    complaints: tuple[str, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def violated(self) -> bool:
        """Whether a counter-example was found."""
        return self.verdict == "violated"

    def __getattr__(self, name: str) -> Any:
        evidence = self.__dict__.get("evidence", {})
        if name in evidence:
            return evidence[name]
        raise AttributeError(f"AuditReport has no {name!r}; its evidence is {sorted(evidence)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "audit": self.audit,
            "subject": self.subject,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "complaints": list(self.complaints),
            "evidence": self.evidence,
        }

    def __str__(self) -> str:
        lines = [f"{self.verdict.upper()} · {self.audit} of {self.subject}", f"  {self.sentence}"]
        return "\n".join([*lines, *(f"  - {complaint}" for complaint in self.complaints)])
