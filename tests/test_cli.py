from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

import trncomm as tc
from trncomm import _core
from trncomm.cli import main

Captured = pytest.CaptureFixture[str]


def command(text: str) -> int:
    """The exit code of `trncomm` with these arguments."""
    return main(text.split())


def test_compare_prints_a_table(capsys: Captured) -> None:
    options = "-b 1K -e 1M -f 32 --algorithms ring,direct"
    assert command(f"compare --machine trn3-ultraserver --collective all_reduce {options}") == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines() if line[:10].strip().isdigit()] == ["1024", "32768", "1048576"]
    assert "Avg bus bandwidth" in out
    assert err == "", "the progress bar is for terminals"


def test_compare_can_step_by_bytes(capsys: Captured) -> None:
    assert command("compare -b 0 -e 300 -i 100 --algorithms ring --json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["size(B)"] for row in report["results"]] == [0, 100, 200, 300]


def test_figures_can_be_set(capsys: Captured) -> None:
    assert command("run --json -b 1M --set servers=1 --set rack_bandwidth=1TB/s") == 0
    assert json.loads(capsys.readouterr().out)["ranks"] == 8


def test_run_prints_the_result(capsys: Captured) -> None:
    assert command("run --collective all_gather --algorithm ring -b 1M -d bf16 --model loggp") == 0
    expected = tc.simulate(
        tc.machines.trn3_ultraserver(), "all_gather", "1M", algorithm="ring", dtype="bf16", model="loggp"
    )
    assert capsys.readouterr().out == f"{expected}\n"


def test_an_algorithm_can_be_told_things(capsys: Captured) -> None:
    assert command("run --json -b 1M --algorithm hierarchical -p levels=2,72 -p outer=direct --model loggp") == 0
    told = json.loads(capsys.readouterr().out)
    assert command("run --json -b 1M --algorithm hierarchical --model loggp") == 0
    assert told["messages"] != json.loads(capsys.readouterr().out)["messages"]


def test_faults_are_given_as_text(capsys: Captured) -> None:
    assert command("run --json -b 1M --model loggp --fault late:5:200us --fault link-down:0-144:both") == 0
    broken = json.loads(capsys.readouterr().out)
    expected = tc.simulate(
        tc.machines.trn3_ultraserver(),
        "all_reduce",
        "1M",
        algorithm="ring",
        model="loggp",
        faults=[tc.late(5, by="200us"), tc.link_down((0, 144), both=True)],
    )
    assert broken["time_ps"] == expected.time_ps
    assert command("compare --json -b 1M -e 1M --algorithms ring --fault late:5:200us") == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["time(ps)"] > 200_000_000


def test_the_fabric_can_be_set(capsys: Captured) -> None:
    fabric = "--set buffer=64KiB --set arbitration=round-robin --set virtual_channels=2 --set queues=4"
    assert command(f"run -b 1M --algorithm direct {fabric} --set memory_bandwidth=4.9TB/s --set touches=1,1,1") == 0
    assert "queue" in capsys.readouterr().out


def test_a_hundred_thousand_chips_can_be_run(capsys: Captured) -> None:
    cluster = "--machine trn3-ultracluster --algorithm hierarchical --model flow -b 1G"
    assert command(f"run {cluster} --pad --no-verify") == 0
    out = capsys.readouterr().out
    assert "100800 ranks" in out
    assert "folded    1 of 100800 ranks" in out


def test_machines_shows_figures_with_their_sources(capsys: Captured) -> None:
    assert command("machines") == 0
    assert "trn3-ultraserver" in capsys.readouterr().out
    assert command("machines trn3-ultraserver --sources") == 0
    out = capsys.readouterr().out
    for word in ("rack_bandwidth", "320 GB/s", "published", "trn3-arch.rst", "assumed"):
        assert word in out
    # The third party's lanes, and no figure on which both agree.
    _, other = out.split("With --profile lane-count:")
    assert "512 GB/s" in other
    assert "launch" not in other


def test_machines_shows_figures_alone_unless_asked_for_sources(capsys: Captured) -> None:
    assert command("machines trn3-ultraserver --profile lane-count") == 0
    out = capsys.readouterr().out
    assert "512 GB/s" in out
    assert "SemiAnalysis" not in out


def test_algorithms_lists_them(capsys: Captured) -> None:
    assert command("algorithms all_reduce") == 0
    out = capsys.readouterr().out
    for known in tc.algorithms("all_reduce"):
        assert known.name in out


def test_without_a_command_it_shows_help(capsys: Captured) -> None:
    assert command("") == 0
    assert "compare" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        "compare --machine trn9",
        "compare --collective all_reduec",
        "compare --algorithms rinng",
        "compare -b 8Q",
        "compare -b 2K -e 1K",
        "compare -f 2 -i 5",
        "compare -f 1",
        "compare -d bf61",
        "compare --set racks",
        "compare --set rocks=3",
        "compare --set rack_bandwidth=0",
        "compare --model pakcet",
        "compare --profile lanes",
        "run -b 10 -d fp32",
        "run --root 1",
        "run -p levels",
        "run -p colour=red",
        "run --fault link-dwon:3",
        "run --fault link-down:999999",
        "run --fault late:5:soon",
        "compare --fault slow:5:0.5",
        "run --set policy=ecmp",
        "run --set touches=1,1 --set memory_bandwidth=1TB/s",
        "run --set queues=0",
        "machines trn9",
        "algorithms all_reduec",
        "comapre",
        "compare --no-such-option",
    ],
)
def test_bad_input_is_one_line_on_standard_error(arguments: str, capsys: Captured) -> None:
    assert command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("trncomm: ")


def test_a_failure_that_isnt_the_users_has_code_1(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def fail(_: tc.Schedule) -> tc.Proof:
        raise tc.ScheduleError("rank 3 lacks rank 1")

    monkeypatch.setattr(_core, "verify", fail)
    assert command("run -b 1K") == 1
    assert capsys.readouterr().err == "trncomm: rank 3 lacks rank 1\n"


def test_interrupted_it_prints_the_sizes_that_are_done(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    run, calls = _core.run, 0

    def interrupted_run(*arguments: object, **keywords: object) -> tc.Result:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return run(*arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "run", interrupted_run)
    assert command("compare -b 1K -e 1M --algorithms ring,direct --json") == 130
    out, err = capsys.readouterr()
    assert [row["size(B)"] for row in json.loads(out)["results"]] == [1024, 1024]
    assert err == "trncomm: interrupted after 3 of 12 runs\n"


def test_on_a_terminal_a_bar_shows_progress_and_an_interrupt_ends_it() -> None:
    """The first size is long done when the bar appears, and the second takes seconds."""
    terminal, end = pty.openpty()
    # A terminal without a width has no bar.
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    # What starts the tests may have told them to ignore interrupts, which a new process inherits.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from trncomm.cli import main; sys.exit(main())"
    options = ["-b", "1M", "-e", "8G", "-f", "8192", "--model", "packet"]
    options += ["--collective", "all_to_all", "--algorithms", "direct"]
    command = [sys.executable, "-c", code, "compare", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True) as process:
        os.close(end)
        shown = b""
        while b"%" not in shown:
            shown += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        table = process.stdout.read()
    # Ends in an error, as nobody has the other end any more.
    with suppress(OSError):
        while text := os.read(terminal, 1024):
            shown += text
    os.close(terminal)
    assert process.returncode == 130
    assert [line.split()[0] for line in table.splitlines() if line[:10].strip().isdigit()] == ["1048576"]
    assert b"interrupted after 1 of 2 runs" in shown


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "trncomm", "compare", "-e", "1K", "--algorithms", "ring"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
