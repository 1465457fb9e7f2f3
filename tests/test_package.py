"""The public surface, and what the documents say about it."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import trncomm as tc
from trncomm import _core
from trncomm.cli import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    """The code blocks of a language, each with a label that says where it is."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for number, code in enumerate(re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)):
            found.append((f"{document.name}:{number}", code))
    return found


@pytest.mark.parametrize(("label", "code"), [pytest.param(*block, id=block[0]) for block in blocks("python")])
def test_python_in_the_documents_runs(label: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some of it writes files.
    monkeypatch.chdir(tmp_path)
    exec(compile(code, label, "exec"), {"__name__": "__document__"})


def commands() -> list[str]:
    lines = [line for _, code in blocks("sh") for line in code.splitlines()]
    return [line for line in lines if line.startswith("./trncomm ")]


@pytest.mark.parametrize("command", commands())
def test_commands_in_the_documents_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_the_readme_shows_python_and_a_command() -> None:
    assert any(label.startswith("README") for label, _ in blocks("python"))
    assert commands()


def test_examples_of_the_core_functions_run() -> None:
    tests = [found for found in doctest.DocTestFinder().find(_core) if found.examples]
    assert len(tests) >= 13, "the functions' docstrings were not found"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for found in tests:
        runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def test_every_public_name_is_documented_and_belongs_to_the_package() -> None:
    for name in tc.__all__:
        value = getattr(tc, name)
        assert value.__doc__, name
        if isinstance(value, type):
            assert value.__module__.split(".")[0] == "trncomm", name


OF_THE_CORE = ["AlgorithmInfo", "Endpoint", "Fabric", "Fault", "Latency", "PacketFormat", "ParameterInfo"]
OF_THE_CORE += ["Proof", "Result", "Schedule", "Topology"]


@pytest.mark.parametrize("name", OF_THE_CORE)
def test_classes_of_the_core_report_the_package_as_their_module(name: str) -> None:
    assert getattr(tc, name).__module__ == "trncomm"


def test_every_error_is_a_trncomm_error_and_bad_arguments_are_value_errors() -> None:
    errors = [getattr(tc, name) for name in tc.__all__ if name.endswith("Error")]
    assert len(errors) == 6
    assert all(issubclass(error, tc.TrncommError) for error in errors)
    assert {error.__name__ for error in errors if issubclass(error, ValueError)} == {
        "AlgorithmError",
        "ArgumentError",
        "TopologyError",
    }


def test_importing_starts_no_command_line_and_prints_nothing() -> None:
    code = "import sys, trncomm; assert not {'click', 'tqdm'} & set(sys.modules), 'loaded too early'"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
