"""Texts that nobody meant: an answer or an error of the package's own, never a panic."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trncomm as tc
from trncomm import _core
from trncomm.cli import main

HOSTILE = st.one_of(
    st.text(max_size=40), st.from_regex(r"[-+]?[0-9.eE_]{0,30} ?[kKMGTPunm]?i?[bB]?(/s)?", fullmatch=True)
)


@given(HOSTILE)
def test_any_text_is_a_size_rate_and_duration_or_refused(text: str) -> None:
    for parse in (_core.parse_size, _core.parse_bandwidth, _core.parse_duration):
        with suppress(tc.ArgumentError, tc.TopologyError):
            assert 0 <= parse(text) < 2**64


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["-b", "--set", "--fault", "-d", "--algorithm", "--collective", "-p", "--root"]), HOSTILE)
def test_any_argument_of_the_command_gets_an_exit_code(option: str, text: str) -> None:
    with suppress(SystemExit):
        assert main(["run", "--machine", "trn1", "--model", "loggp", option, text]) in (0, 1, 2)


@pytest.mark.parametrize("names", [["a" * 10_000], ["\x00"], ["ring\n"]])
def test_absurd_names_of_algorithms_are_refused(names: list[str]) -> None:
    with pytest.raises(tc.AlgorithmError):
        tc.build(tc.machines.trn1(), "all_reduce", names[0])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_a_full_disk_is_said_in_a_line() -> None:
    arguments = [sys.executable, "-m", "trncomm", "run", "--machine", "trn1", "-b", "1K"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1
