"""Every exception that Sordino raises on purpose.

SordinoError
├── DomainError        a public fact is missing, contradictory or impossible
├── ParameterError     an argument of a call breaks its rule (epsilon, delta, level, a method's name …)
├── TableError         the table cannot be read, or does not match its domain
├── PassError          a pass over the table failed after its charge was made
├── BudgetError        a ledger refuses a charge; nothing was charged
├── LedgerError        a ledger file cannot be used
├── ModelError         a model file cannot be used
└── NoiseError         noise of the declared law cannot be drawn exactly

Messages read ``who: rule. Got value. Next step.`` The value is always public: an argument, a declared bound,
a budget. Nothing computed from rows is ever formatted into a message, and an error raised in place of
another library's error is raised outside its ``except`` block, so that no chain leads back to a row.
"""

from __future__ import annotations

import os


def file_problem(error: BaseException) -> str:
    """What is wrong with a file, in the system's words for the number of its error; else the error's type.

    The error's own text may quote a path or a cell, and is not looked at.

    >>> file_problem(FileNotFoundError(2, "a secret")), file_problem(ValueError("a secret"))
    ('no such file or directory', 'ValueError')
    """
    number = getattr(error, "errno", None)
    if not isinstance(number, int) or not number:
        return type(error).__name__
    words = os.strerror(number)
    return words[:1].lower() + words[1:]


class SordinoError(Exception):
    """Base of all errors raised on purpose; the command line prints these in one line and exits with 2."""


class DomainError(SordinoError, ValueError):
    """A public fact is missing, contradictory or impossible."""


class ParameterError(SordinoError, ValueError):
    """An argument breaks the rule of the call."""


class TableError(SordinoError):
    """The table cannot be read, or does not match its domain."""


class PassError(SordinoError):
    """A pass over the table failed after its charge: the charge stands, and nothing is released."""


class BudgetError(SordinoError):
    """The ledger refuses a charge. Nothing was charged and nothing was read."""


class LedgerError(SordinoError):
    """A ledger file is not one, cannot be written, or belongs to something else."""


class ModelError(SordinoError, ValueError):
    """A model file is not one, or holds a model that this package does not have."""


class NoiseError(SordinoError):
    """Noise of the declared law cannot be drawn exactly at this scale."""
