"""The laws of the house, kept by reading the source: imports inside functions count, those for types alone do not.

Each law is a function from the source texts to the places that break it. The twins at the end plant a text that
breaks one law, and the same function must report it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import sordino

#: The river, from upstream to downstream. Rooms of one tuple lie side by side, outside the wall.
RIVER: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("ledger_header",),
    ("whole_file",),
    ("domain",),
    ("cost",),
    ("release",),
    ("table",),
    ("statistics",),
    ("engine",),
    ("privacy",),
    ("repair",),
    ("queries",),
    ("models",),
    ("synthesis",),
    ("report", "anonymity", "attack", "audit", "datasets", "studies"),
    ("question",),
    ("quality",),
    ("owner",),
    ("wording",),
    ("terminal", "row_file"),
    ("demo",),
    (
        "anonymity_command",
        "attack_command",
        "audit_command",
        "model_command",
        "report_command",
        "study_command",
        "synthesis_command",
    ),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(RIVER) for room in rooms}
OUTSIDE = RIVER[LEVEL["report"]]
PUBLIC_SIDE = ("repair", "queries", "models", "synthesis")

#: Packages, and where they may be imported: a module, or a room with all of its modules.
HEAVY: dict[str, tuple[str, ...]] = {
    "pyspark": ("table.spark", "engine.spark"),
    "matplotlib": ("report.figures",),
    "pandas": ("datasets",),
    "polars": (),
    "sklearn": ("models", "synthesis", "attack", "anonymity", "audit", "datasets", "studies", "demo", "quality"),
    "scipy": ("repair", "models", "synthesis", "attack", "anonymity", "audit", "studies", "quality"),
    "typer": (
        "cli",
        "terminal",
        "anonymity_command",
        "attack_command",
        "audit_command",
        "model_command",
        "report_command",
        "study_command",
        "synthesis_command",
    ),
    "rich": ("terminal",),
    "jinja2": ("report",),
    "opendp": ("privacy",),
    "dp_accounting": (),
    "duckdb": ("table.files",),
}

#: Who may run an engine, name the noise or draw it beside the session. Nothing of a private table passes there.
RUNS_AN_ENGINE = {"audit.laws": "adds up made-up records, to check a statistic"}
NAMES_THE_NOISE = {
    "audit.noise": "draws noise to test its law, and releases nothing",
    "audit.losses": "seeds the sampler of the rehearsed runs that it judges",
    "studies.noisy_folds": "draws seeded noise many times over exact counts of public data, and releases nothing",
    "studies.shrinkage_risk": "draws seeded noise over made-up and public counts, and releases nothing",
}
DRAWS_NOISE = {"privacy.rehearsal": "watches a session on made-up records draw, for the audits"}

#: Who may import a module that writes logs.
LOGS = {"audit.replay": "listens to every log, to see that nothing private is written"}

#: Randomness outside privacy/noise.py, and why it protects nobody.
RANDOMNESS = {
    ("engine.self_test", "numpy.random.default_rng"): "fixed public integers, to test the machine's multiplication",
    ("privacy.ledger", "secrets"): "the identity of a new ledger, which is public",
    ("privacy.ledger_file", "secrets"): "a name for the draft of a new file, which is public",
    ("audit.peer_worker", "random"): "handed to an audited callable where numpy is missing; protects nothing",
    ("audit.noise", "random"): "seeds the global generators, to see that secure noise does not listen to them",
    ("audit.noise", "numpy.random.seed"): "likewise",
    ("audit.noise", "numpy.random.get_state"): "likewise",
    ("audit.noise", "numpy.random.set_state"): "likewise",
}

#: Rooms that make up public records, or take public randomness from a generator or a seed given by argument.
PUBLIC_RANDOMNESS = ("models", "synthesis", "quality", *OUTSIDE)

#: Functions that remember their results, and what they are asked with: public numbers, never rows.
REMEMBERED = {
    ("cost", "rho_within"): "epsilon and delta",
    ("statistics.moments", "_two_blocks"): "a dimension",
    ("statistics.moments", "_upper_places"): "a dimension",
    ("table.clipping", "_affine"): "declared bounds",
    ("table.clipping", "_tiled"): "declared bounds",
    ("engine.local", "_controller"): "nothing",
    ("engine.self_test", "require_exact_products"): "nothing",
    ("privacy.noise", "_sampler"): "a law and a scale",
    ("privacy.noise", "_noisy_maximum"): "a scale",
    ("privacy.perturbed_minimiser", "smallest_ridge"): "a loss, a cost and orders",
    ("privacy.perturbed_minimiser", "_normal_scale"): "a loss, a ridge, a cost and an order",
    ("queries.ratio", "_quantiles"): "a law and a level",
}

Sources = Mapping[str, str]


def read_sources() -> dict[str, str]:
    """Every module of the package by its dotted name, without ``sordino.``; a folder's own file by the folder's."""
    root = Path(sordino.__file__).parent
    sources = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        sources[".".join(part for part in parts if part != "__init__")] = path.read_text(encoding="utf-8")
    return sources


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def room(module: str) -> str:
    return module.split(".")[0]


def within(module: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of some modules, or in one of some rooms."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting: list[ast.stmt] = node.orelse
        else:
            yield node
            waiting = [node]  # type: ignore[list-item]
        for each in waiting:
            yield from statements(each)


def imports(module: str, text: str) -> Iterator[str]:
    """Dotted names of all that a module imports while it runs; relative ones made absolute."""
    for node in statements(parsed(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                start = ".".join(["sordino", *module.split(".")[: -node.level], *filter(None, [node.module])])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "?"


def ours(module: str, sources: Sources) -> set[str]:
    """Our modules that a module imports, the root of the package among them as ``""``."""
    found = set()
    for name in imports(module, sources[module]):
        parts = name.split(".")
        if parts[0] != "sordino":
            continue
        inside = parts[1:]
        while inside and ".".join(inside) not in sources:
            inside = inside[:-1]
        found.add(".".join(inside))
    return found


def used_names(text: str) -> Iterator[str]:
    """Dotted names of attributes as they are read, with the usual short name of numpy written out."""
    for node in statements(parsed(text)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            yield name.replace("np.", "numpy.", 1) if name.startswith("np.") else name


# --- the laws ----------------------------------------------------------------------------------------------------


def against_the_stream(sources: Sources) -> list[str]:
    """A module imports only what lies upstream, or in its own room; nobody but the last rooms the whole package."""
    found = []
    for module in filter(None, sources):
        if room(module) not in LEVEL:
            found.append(f"{module} is in no known room")
            continue
        here = LEVEL[room(module)]
        for other in ours(module, sources):
            if other == "" and here < LEVEL["question"]:
                found.append(f"{module} imports the whole package")
            elif other and room(other) in LEVEL and room(other) != room(module):
                beside = here == LEVEL[room(other)] and room(module) in OUTSIDE
                if LEVEL[room(other)] > here or (LEVEL[room(other)] == here and not beside):
                    found.append(f"{module} imports {other} from downstream")
    return found


def in_circles(sources: Sources) -> list[str]:
    """Modules that import each other, directly or around several corners."""
    graph = {module: ours(module, sources) - {module, ""} for module in sources if module}
    found, done = [], set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            found.append(" > ".join((*path[path.index(module) :], module)))
        elif module not in done:
            for other in sorted(graph[module]):
                walk(other, (*path, module))
            done.add(module)

    for module in sorted(graph):
        walk(module, ())
    return found


def engines_beside_the_gate(sources: Sources) -> list[str]:
    """Only the session runs an engine."""
    return [
        f"{module} imports {other}"
        for module in sources
        for other in ours(module, sources)
        if room(other) == "engine" and room(module) != "engine" and module not in ("privacy.session", *RUNS_AN_ENGINE)
    ]


def noise_beside_the_gate(sources: Sources) -> list[str]:
    """Only ``privacy/`` names the noise, and only the session draws it."""
    found = []
    for module, text in sources.items():
        if room(module) != "privacy" and module not in NAMES_THE_NOISE and "privacy.noise" in ours(module, sources):
            found.append(f"{module} imports privacy.noise")
        if room(module) == "privacy" and module not in ("privacy.noise", "privacy.session", *DRAWS_NOISE):
            found += [
                f"{module} draws"
                for name in used_names(text)
                if name.split(".")[-1] in ("draw_many", "_draw_alike") or name.endswith(("noise.draw", "noise.choose"))
            ]
    return found


def looks_from_the_public_side(sources: Sources) -> list[str]:
    """Queries, models and synthesisers ask a session: no table, no engine, no noise, no ledger, no private name.

    ``private_table.py`` names the Ledger, which ``open_table`` hands to the session.
    """
    found = []
    for module in sources:
        if room(module) not in PUBLIC_SIDE:
            continue
        for other in ours(module, sources):
            ledger_named = module == "queries.private_table" and other == "privacy.ledger"
            hidden = other in ("privacy.noise", "privacy.ledger", "privacy.ledger_file", "privacy.rehearsal")
            if room(other) in ("table", "engine") or (hidden and not ledger_named):
                found.append(f"{module} imports {other}")
        for name in used_names(sources[module]):
            owner, _, attribute = name.rpartition(".")
            if attribute.startswith("_") and not attribute.startswith("__") and owner not in ("self", "cls", "super()"):
                found.append(f"{module} reads {name}")
    return found


def randomness_beside_the_noise(sources: Sources) -> list[str]:
    """Randomness is drawn in ``privacy/noise.py``; public randomness comes from an argument. Types may be named."""
    found = []
    for module, text in sources.items():
        if module == "privacy.noise":
            continue
        names = {name for name in imports(module, text) if name.split(".")[0] in ("random", "secrets", "uuid")}
        drawn = {name.split(".")[0] for name in names} | {n for n in imports(module, text) if "numpy.random" in n}
        drawn |= {name for name in used_names(text) if name.startswith("numpy.random.") and name.count(".") == 2}
        drawn |= {name for name in used_names(text) if name in ("os.urandom", "os.getrandom")}
        drawn -= {"numpy.random.Generator", "numpy.random.RandomState"}
        if room(module) in PUBLIC_RANDOMNESS:
            drawn -= {"numpy.random.default_rng"}
        found += [f"{module} uses {name}" for name in sorted(drawn) if (module, name) not in RANDOMNESS]
        for node in statements(parsed(text)):
            seedless = isinstance(node, ast.Call) and not node.args and not node.keywords
            if seedless and ast.unparse(node.func).endswith("default_rng"):
                found.append(f"{module} makes a generator without a seed")
    return found


def heavy_packages_astray(sources: Sources) -> list[str]:
    """Each heavy package is imported where its room is, and never by the package's root."""
    return [
        f"{module or 'sordino'} imports {package}"
        for module, text in sources.items()
        for package in sorted({name.split(".")[0] for name in imports(module, text)} & set(HEAVY))
        if not within(module, HEAVY[package])
    ]


def remembered_functions(sources: Sources) -> list[str]:
    """Only the listed functions remember results: a memory of rows would outlive its pass."""
    found = []
    for module, text in sources.items():
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
                if names & {"cache", "lru_cache"} and (module, node.name) not in REMEMBERED:
                    found.append(f"{module}.{node.name} remembers")
            elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("cache", "lru_cache"):
                decorated = any(
                    node in each.decorator_list for each in ast.walk(parsed(text)) if isinstance(each, ast.FunctionDef)
                )
                if not decorated:
                    found.append(f"{module} makes a memory")
    return found


def rooms_that_keep_apart(sources: Sources) -> list[str]:
    """``report`` draws plain numbers, and what is not private stays in ``studies``."""
    found = []
    for module in sources:
        for other in ours(module, sources):
            if room(module) == "report" and room(other) in OUTSIDE and room(other) != "report":
                found.append(f"{module} imports {other}")
            if within(other, ("studies.published",)) and room(module) != "studies":
                found.append(f"{module} imports {other}")
    return found


def printing(sources: Sources) -> list[str]:
    """Only the command line and the demonstration print; nobody logs or warns, for both would be about rows."""
    found = []
    for module, text in sources.items():
        calls = [ast.unparse(node.func) for node in ast.walk(parsed(text)) if isinstance(node, ast.Call)]
        if room(module) not in ("cli", "demo"):
            found += [f"{module} prints" for name in calls if name in ("print", "sys.stdout.write", "sys.stderr.write")]
        if module not in LOGS:
            found += [f"{module} logs" for name in imports(module, text) if name.split(".")[0] in ("logging", "syslog")]
        found += [f"{module} warns" for name in calls if name in ("warnings.warn", "warn", "warn_explicit")]
    return found


LAWS: tuple[Callable[[Sources], list[str]], ...] = (
    against_the_stream,
    in_circles,
    engines_beside_the_gate,
    noise_beside_the_gate,
    looks_from_the_public_side,
    randomness_beside_the_noise,
    heavy_packages_astray,
    remembered_functions,
    rooms_that_keep_apart,
    printing,
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_holds(law: Callable[[Sources], list[str]]) -> None:
    assert law(read_sources()) == []


def test_every_room_of_today_is_read() -> None:
    assert {"table", "statistics", "engine", "privacy", "queries", "errors", "domain"} <= set(map(room, read_sources()))


def test_every_exception_is_still_needed() -> None:
    sources = read_sources()
    pairs = [*RANDOMNESS, *REMEMBERED]
    named = [*RUNS_AN_ENGINE, *NAMES_THE_NOISE, *DRAWS_NOISE, *LOGS, *(module for module, _ in pairs)]
    assert [module for module in named if module not in sources] == []
    functions = {
        (module, node.name)
        for module, text in sources.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.FunctionDef)
    }
    assert [each for each in REMEMBERED if each not in functions] == []


PLANTED: list[tuple[Callable[[Sources], list[str]], str, str]] = [
    (against_the_stream, "statistics.new", "from sordino.engine.local import accumulate"),
    (against_the_stream, "statistics.new", "def f():\n    import sordino.privacy.session"),
    (against_the_stream, "table.new", "from ..statistics import count"),
    (against_the_stream, "queries.new", "from sordino import open_table"),
    (against_the_stream, "queries.new", "import sordino as so"),
    (against_the_stream, "domain", "from importlib import import_module\nimport_module('sordino.cost')"),
    (against_the_stream, "kitchen.new", ""),
    (against_the_stream, "queries.new", "import sordino.report.figures"),
    (in_circles, "statistics.new", "def f():\n    from sordino.statistics import other"),
    (engines_beside_the_gate, "privacy.new", "from sordino.engine import local"),
    (engines_beside_the_gate, "models.new", "from sordino.engine.local import accumulate"),
    (noise_beside_the_gate, "queries.new", "from sordino.privacy.noise import SecureNoise"),
    (noise_beside_the_gate, "models.new", "if True:\n    from sordino.privacy import noise"),
    (noise_beside_the_gate, "privacy.new", "def f(self, laws):\n    return self._noise.draw(laws)"),
    (looks_from_the_public_side, "models.new", "from sordino.table.opening import open_source"),
    (looks_from_the_public_side, "models.new", "from sordino.privacy.ledger import Ledger"),
    (looks_from_the_public_side, "synthesis.new", "def f(session):\n    return session._source"),
    (looks_from_the_public_side, "queries.new", "def f(table):\n    return table.session._pass([])"),
    (randomness_beside_the_noise, "statistics.new", "import numpy as np\nx = np.random.default_rng(0)"),
    (randomness_beside_the_noise, "models.new", "import numpy as np\nx = np.random.default_rng()"),
    (randomness_beside_the_noise, "models.new", "import numpy as np\nx = np.random.normal()"),
    (randomness_beside_the_noise, "queries.new", "from numpy.random import default_rng"),
    (randomness_beside_the_noise, "privacy.new", "def f():\n    import random"),
    (randomness_beside_the_noise, "table.new", "from secrets import token_hex"),
    (randomness_beside_the_noise, "table.new", "import os\nx = os.urandom(8)"),
    (heavy_packages_astray, "table.new", "import pandas as pd"),
    (heavy_packages_astray, "queries.new", "def f():\n    from sklearn.base import clone"),
    (heavy_packages_astray, "queries.new", "from opendp.measurements import make_laplace"),
    (heavy_packages_astray, "report.new", "import matplotlib.pyplot"),
    (heavy_packages_astray, "", "import typer"),
    (remembered_functions, "table.new", "from functools import cache\n@cache\ndef rows(path): ..."),
    (remembered_functions, "table.new", "import functools\n@functools.lru_cache(maxsize=1)\ndef rows(path): ..."),
    (remembered_functions, "table.new", "from functools import cache\nrows = cache(len)"),
    (rooms_that_keep_apart, "report.new", "from sordino.audit import verdict"),
    (rooms_that_keep_apart, "models.new", "from sordino.studies.published import xi"),
    (rooms_that_keep_apart, "attack.new", "import sordino.studies.published.xi"),
    (printing, "engine.new", "print('73')"),
    (printing, "engine.new", "import logging"),
    (printing, "table.new", "import warnings\nwarnings.warn('a huge cell')"),
]


@pytest.mark.parametrize(("law", "module", "text"), PLANTED, ids=[f"{law.__name__}-{text}" for law, _, text in PLANTED])
def test_law_reports_a_planted_text(law: Callable[[Sources], list[str]], module: str, text: str) -> None:
    package = dict.fromkeys(
        [
            "", "errors", "domain", "cost", "table.opening", "statistics.count", "engine.local", "privacy.session",
            "privacy.noise", "privacy.ledger", "report.figures", "audit.verdict", "studies.published.xi",
        ],
        "",
    )  # fmt: skip
    package["statistics.other"] = "from sordino.statistics.new import f" if module == "statistics.new" else ""
    assert law({**package, module: ""}) == ([f"{module} is in no known room"] if room(module) == "kitchen" else [])
    assert law({**package, module: text}) != []


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_lets_types_and_upstream_pass(law: Callable[[Sources], list[str]]) -> None:
    typed = "if TYPE_CHECKING:\n    from sordino.privacy.session import Session\n    import pandas"
    package = {
        "": "", "errors": "", "statistics.count": "from sordino.errors import SordinoError\n" + typed,
        "privacy.session": "import sordino.engine.local\ndef f(self):\n    return self._noise.draw(())",
        "engine.local": "import numpy as np\ndef f(generator: np.random.Generator): ...",
    }  # fmt: skip
    assert law(package) == []
