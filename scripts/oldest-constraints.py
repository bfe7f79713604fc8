"""Print pip constraints that hold every dependency to its oldest supported release: what pyproject.toml says with >=.

python scripts/oldest-constraints.py > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: Extras whose lower bounds are promises to users; tools of the house (dev, docs) are not.
EXTRAS = ("spark", "plots")

_LOWER = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)(\[[^\]]*\])?>=(?P<version>[0-9.]+)")


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    for requirement in wanted:
        if found := _LOWER.match(requirement):
            print(f"{found['name']}=={found['version']}.*")


if __name__ == "__main__":
    main()
