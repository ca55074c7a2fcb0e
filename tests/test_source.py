"""What the source must be: free of dangerous calls (RELIABILITY E1), ordered, exact in names."""

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
# The rooms of docs/architecture.md: a module imports only from its own row and those before it.
ROOMS = [
    "deferred",
    "remedies",
    "foreign_options",
    "errors",
    "registry",
    "display",
    "randomness",
    "hashing",
    "parallel",
    "version",
    "config",
    "tokenizers",
    "fields",
    "readers",
    "data",
    "surveys",
    "documents",
    "datasets",
    "nn",
    "model",
    "training",
    "store",
    "metrics",
    "search",
    "torch_engine",
    "engine",
    "prediction",
    "explanations",
    "drawing",
    "explain",
    "baselines",
    "runs",
    "tasks",
    "reports",
    "export",
    "scheduling",
    "serving",
    "api",
    "demos",
    "lessons",
    "cli",
]
OUTSIDE = ["__init__", "__main__"]  # the package's face; it may name every room
UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "joblib",
}
UNSAFE_CALLS = {
    "eval",
    "exec",
    "compile",
    "torch.load",
    "torch.save",
    "torch.jit.load",
    "torch.serialization.load",
    "numpy.fromregex",
    "os.system",
    "os.popen",
    "yaml.load",
    "pandas.read_pickle",
}
UNSAFE_SETTINGS = {"shell", "allow_pickle"}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_bytes())


def name_of(path: Path) -> str:
    """A module by its place in the package."""
    return path.relative_to(SOURCE / "seqloom").as_posix()


def problems(law: Callable[[Path], Iterable[str]]) -> list[str]:
    """What a law finds wrong in all modules, each with the module's name."""
    return [f"{name_of(path)}: {found}" for path in MODULES for found in law(path)]


def aliases(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for, in full: `np` is numpy, `load` is torch.load."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                names[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                names[name.asname or name.name] = f"{node.module}.{name.name}"
    return names


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """A dotted expression with its first part resolved."""
    if isinstance(node, ast.Attribute):
        return f"{full_name(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def is_false(setting: ast.keyword) -> bool:
    """Whether an argument is switched off in so many letters."""
    return isinstance(setting.value, ast.Constant) and setting.value.value is False


def dangers(tree: ast.AST) -> Iterator[str]:
    """Every construct that E1 forbids, with its line."""
    names = aliases(tree)
    unsafe_names = {name for name in names.values() if name.split(".")[0] in UNSAFE_MODULES}
    yield from (f"imports {name}" for name in sorted(unsafe_names))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield f"{node.lineno}: assert"
        if isinstance(node, ast.Attribute | ast.Name) and full_name(node, names) in UNSAFE_CALLS:
            yield f"{node.lineno}: {full_name(node, names)}"
        if isinstance(node, ast.keyword) and node.arg in UNSAFE_SETTINGS and not is_false(node):
            yield f"{node.value.lineno}: {node.arg}"
        if isinstance(node, ast.Constant) and node.value in UNSAFE_MODULES:
            yield f"{node.lineno}: names {node.value}"


def test_nothing_dangerous() -> None:
    """E1: no pickle, torch.load, eval, exec, shell or assert."""
    assert problems(lambda path: dangers(tree_of(path))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import torch as t\nt.load('x')",
        "from torch import load as read\nread('x')",
        "import importlib\nimportlib.import_module('pickle')",
        "eval('1')",
        "run = exec",
        "subprocess.run('ls', shell=True)",
        "subprocess.run('ls', shell=flag)",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "def check(x):\n    assert x",
    ],
)
def test_the_danger_is_seen(code: str) -> None:
    """E1: the scan above finds what it is there to find."""
    assert list(dangers(ast.parse(code)))


def room(path: Path) -> str:
    """The room of a module: the name right below the package."""
    return path.relative_to(SOURCE / "seqloom").parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Every module imported anywhere in a file, with the name taken."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, None) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((module, name.name) for name in node.names)


def backward_imports(path: Path) -> Iterator[str]:
    """Every import of a module from a room after its own, from none, or by a relative name."""
    here = room(path)
    if here in OUTSIDE:
        return
    for module, name in imported(tree_of(path)):
        parts = module.split(".")
        there = parts[1] if len(parts) > 1 else name
        if module.startswith("."):
            yield f"a relative import of {module}"
        elif parts[0] == "seqloom" and there not in ROOMS[: ROOMS.index(here) + 1]:
            yield f"{here} imports {there}"


def test_imports_never_point_back() -> None:
    """A module imports only from its own room and from those before it in that order."""
    assert problems(backward_imports) == []


def draws(tree: ast.AST) -> Iterator[str]:
    """Every import in a file of what draws: pictures, pages, and what is built on them."""
    drawing = ("matplotlib", "seqloom.drawing", "seqloom.explain.plots")
    for module, name in imported(tree):
        full = f"{module}.{name}" if name else module
        if full.startswith(drawing):
            yield full


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if (SOURCE / "seqloom/explanations") in path.parents],
    ids=lambda path: path.name,
)
def test_what_computes_an_explanation_does_not_draw(path: Path) -> None:
    """explanations/ gives plain values, which explain/plots/ shows."""
    assert list(draws(tree_of(path))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import matplotlib.pyplot",
        "from seqloom import drawing",
        "def f():\n    from seqloom.drawing.views import write",
        "from seqloom.explain import plots",
        "from seqloom.explain.plots.terminal import panels",
    ],
)
def test_a_drawing_import_is_seen(code: str) -> None:
    assert list(draws(ast.parse(code)))


def declared(path: Path, tree: ast.Module) -> list[str]:
    """The module's `__all__`, a plain list of names; one that is only a docstring needs none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    assert len(tree.body) <= 1, f"{path}: has no __all__"
    return []


def _with_deferred(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module; of a package that imports its names late, these imports too."""
    late = any(module == "seqloom.deferred" for module, _ in imported(tree))
    for node in tree.body:
        yield node
        if late and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body


def bound(tree: ast.Module) -> Iterator[str]:
    """Every name that a module binds at its top."""
    for node in _with_deferred(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from (name.asname or name.name for name in node.names)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def inexact_names(path: Path) -> Iterator[str]:
    """What is wrong with the `__all__` of a module."""
    if path.name == "__main__.py":
        return
    tree = tree_of(path)
    names = declared(path, tree)
    if len(names) != len(set(names)):
        yield "a name stands twice in __all__"
    yield from (f"{name} is not there" for name in sorted(set(names) - set(bound(tree))))
    if path.name == "__init__.py":
        ours = {name or "" for module, name in imported(tree) if module.startswith("seqloom.")}
        ours -= {"deferred_names", "__version__"}
        yield from (f"{name} is not in __all__" for name in sorted(ours - set(names)))


def test_all_is_exact() -> None:
    """`__all__` names each thing once, and it exists; a package offers all it takes from within."""
    assert problems(inexact_names) == []


def test_the_face_of_the_package() -> None:
    """Every name that the package promises is there when it is asked for."""
    package = importlib.import_module("seqloom")
    assert all(hasattr(package, name) for name in package.__all__)


def test_only_declared_names_are_imported() -> None:
    """What one module takes from another is in the other's `__all__`, or is a module itself."""
    offers = {}
    for path in MODULES:
        parts = list(path.relative_to(SOURCE).with_suffix("").parts)
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if parts[-1] != "__main__":
            offers[module] = set(declared(path, tree_of(path)))
    strangers = [
        f"{path.relative_to(SOURCE)}: {name} from {module}"
        for path in MODULES
        for module, name in imported(tree_of(path))
        if name is not None and module in offers and f"{module}.{name}" not in offers
        if name not in offers[module]
    ]
    assert strangers == []


MOST_FILES, MOST_LINES, LONGEST_FILE = 20, 4_500, 445
MORE_FILES = {"explanations": 23}  # which may only become fewer


@pytest.mark.parametrize(
    "package",
    sorted(path for path in (SOURCE / "seqloom").iterdir() if any(path.glob("*.py"))),
    ids=lambda path: path.name,
)
def test_a_package_can_be_surveyed(package: Path) -> None:
    """A package has few files at its top level, and not too many lines in all."""
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in package.rglob("*.py"))
    assert len(list(package.glob("*.py"))) <= MORE_FILES.get(package.name, MOST_FILES)
    assert lines <= MOST_LINES


def test_a_file_can_be_read_at_once() -> None:
    lengths = {name_of(path): path.read_bytes().count(b"\n") for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_tests_mirror_the_packages() -> None:
    """A folder of tests is named after the package that it tests, but for the users' own parts."""
    folders = {path.name for path in TESTS.iterdir() if any(path.glob("*.py"))}
    packages = {path.name for path in (SOURCE / "seqloom").iterdir() if path.is_dir()}
    assert folders - packages <= {"extending"}


def test_shared_cases_are_not_in_tests() -> None:
    """What two tests need is in a module of its own: no test is imported from another."""
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                if any(name.startswith("test_") for name in names):
                    found.append(f"{path.relative_to(TESTS)}: {ast.unparse(node)}")
    assert not found


FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
FRONT_ENDS = ("cli", "demos")
FLAGS_MEANT = {
    "api/report.py": "the commands that repeat a report",
    "foreign_options.py": "what other toolkits call options",
    "config/searches.py": "the declared flag of an option",
    "drawing/notebook.py": "variables of a style sheet",
    "drawing/page.py": "variables of a style sheet",
    "drawing/results/forecast_errors.py": "what a shortened table leaves out",
    "engine/builder.py": "a command line of its own",
    "runs/processes/workers.py": "the command line of a worker",
    "tasks/language_model.py": "the command to try next",
    "tasks/series.py": "the command to try next",
    "tasks/task.py": "the command to try next",
    "tasks/text.py": "the command to try next",
}


def flags_in_messages(tree: ast.AST, *, everywhere: bool) -> Iterator[str]:
    """Flags in the texts of a module without its docstrings, or in those of its errors alone."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    errors = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Error", "Remedy"))
    ]
    for root in [tree] if everywhere else errors:
        for node in ast.walk(root):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                yield from FLAG.findall(str(node.value))


def flags_of(path: Path) -> Iterable[str]:
    """The flags of the command line in a module that is not part of it."""
    name = name_of(path)
    if name.startswith(FRONT_ENDS):
        return ()
    return flags_in_messages(tree_of(path), everywhere=name not in FLAGS_MEANT)


def test_a_message_names_no_flag_of_the_command_line() -> None:
    """A remedy names an option as data; only the command line words it as a flag."""
    assert problems(flags_of) == []


def test_a_flag_in_a_message_is_found() -> None:
    wrong = 'def f():\n    """--doc"""\n    raise DataError("bad", remedy=f"{a}, --skip-bad")\n'
    assert [*flags_in_messages(ast.parse(wrong), everywhere=False)] == ["--skip-bad"]
    assert [*flags_in_messages(ast.parse("CURE = 'give --run'"), everywhere=True)] == ["--run"]
