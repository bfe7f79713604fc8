"""How large an installation without extras is, and what its largest parts are: a fresh environment, made and measured.

python benchmarks/installed.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 800


def megabytes(paths: list[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths) / 2**20, 1)


def files_of(folder: Path, *, bytecode: bool) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in found if bytecode or path.suffix != ".pyc"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        (site,) = Path(name).glob("lib/python*/site-packages")
        empty = {path.name for path in site.iterdir()}  # pip, which every environment has
        subprocess.run(
            [f"{name}/bin/python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", str(ROOT)], check=True
        )
        brought = [path for path in site.iterdir() if path.name not in empty]
        sizes = {path.name: megabytes(files_of(path, bytecode=False) if path.is_dir() else [path]) for path in brought}
        everything = [file for path in brought for file in (files_of(path, bytecode=True) if path.is_dir() else [path])]
        document = {
            "when": datetime.now(UTC).strftime("%Y-%m-%d"),
            "megabytes": round(sum(sizes.values()), 1),
            "megabytes_with_bytecode": megabytes(everything),
            "limit": LIMIT,
            "largest_parts": dict(sorted(sizes.items(), key=lambda each: -each[1])[:10]),
        }
    (Path(__file__).parent / "results" / "installed.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
