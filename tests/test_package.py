"""The package as a whole: what it exports, and what importing it costs."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import labelgrove

HEAVY = [
    "torch",
    "transformers",
    "sklearn",
    "numba",
    "scipy",
    "numpy",
    "pyarrow",
    "pandas",
    "fastapi",
    "uvicorn",
    "ray",
]


def loaded_after(code):
    script = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", labelgrove.__all__)
def test_every_public_name_is_there(name):
    assert getattr(labelgrove, name) is not None
    assert name in dir(labelgrove)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = labelgrove.Nothing


def test_import_loads_nothing_heavy():
    assert loaded_after("import labelgrove").isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "from labelgrove.cli.app import run\nimport contextlib, io\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    assert run({arguments!r}) == 0"
    )
    assert loaded_after(code).isdisjoint(HEAVY)


def test_the_tagger_needs_no_torch_and_compiles_nothing_to_load():
    loaded = loaded_after("from labelgrove import Tagger, read_corpus")
    heavy = ["torch", "transformers", "fastapi", "numba", "sklearn", "scipy.special"]
    assert loaded.isdisjoint(heavy)


def test_no_two_classes_share_a_name():
    source = Path(labelgrove.__file__).parent
    modules_of = {}
    for path in sorted(source.rglob("*.py")):
        module = path.relative_to(source).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                modules_of.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in modules_of.items() if len(modules) > 1} == {}


def test_the_wheel_has_every_file_of_the_package():
    root = Path(__file__).parents[1]
    package = root / "src" / "labelgrove"
    told = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    patterns = told["tool"]["setuptools"]["package-data"]["labelgrove"]
    named = {path for pattern in patterns for path in package.glob(pattern) if path.is_file()}
    there = {
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert there == named
    assert all(
        (path / "__init__.py").exists() for path in {each.parent for each in package.rglob("*.py")}
    )


def test_the_guide_to_installing_lists_every_extra():
    root = Path(__file__).parents[1]
    told = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    page = (root / "docs/guides/installing.md").read_text("utf-8")
    listed = {
        extra
        for line in re.findall(r"^\| (`.+?`) \|", page, re.M)
        for extra in re.findall(r"`([\w-]+)`", line)
    }
    assert listed - {"--cluster"} >= set(told["optional-dependencies"]) - {"snowball"}
    versions = [each for each in told["classifiers"] if "Python :: 3." in each]
    assert versions
    for each in versions:
        assert f"Python {each.rpartition(' ')[2]}" in page
