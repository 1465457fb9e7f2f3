"""The `trncomm` command: the library's words, with the options of nccom-test.

Tables go to standard output; errors (one line) and the progress bar go to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

import click
from tabulate import tabulate
from tqdm import tqdm

from trncomm import _core, comparison, faults, machines, quantities, simulation
from trncomm.errors import TrncommError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["main"]

_FAILURE = 1
_BAD_INPUT = 2
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; the process's own if not given.

    Returns:
        The exit code: 0, 1 for a failure, 2 for bad input, 130 when interrupted.
    """
    try:
        code = _trncomm.main(args=arguments, prog_name="trncomm", standalone_mode=False)
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    except TrncommError as error:
        _complain(str(error))
        return _BAD_INPUT if isinstance(error, ValueError) else _FAILURE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`| head`); what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILURE
    except OSError as error:
        # A full disk, say. What is still buffered would fail again when the process ends.
        _complain(f"can't write or read: {error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return _FAILURE
    return code if isinstance(code, int) else 0


@click.group(
    name="trncomm",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="trncomm")
@click.pass_context
def _trncomm(context: click.Context) -> None:
    """Simulate collective communication on Trainium-class networks."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _options(*options: Callable[[Callable[..., int]], Callable[..., int]]) -> Callable[..., Callable[..., int]]:
    """Several options as one decorator, shown in the order given."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_machine_options = _options(
    click.option(
        "--machine",
        default="trn3-ultraserver",
        show_default=True,
        help="A name, as `trncomm machines` lists them, or a machine file (.yaml).",
    ),
    click.option("--profile", help="Whose figures to follow where sources disagree."),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIGURE=VALUE",
        help="Change a figure of the machine: --set rack_bandwidth=640GB/s. Can be repeated.",
    ),
)

_fault_option = click.option(
    "--fault",
    "broken",
    multiple=True,
    metavar="FAULT",
    help="What is wrong: link-down:LINK, link-slow:LINK:FRACTION, link-errors:LINK:RATE, node-down:NODE, "
    "late:RANK:TIME or slow:RANK:TIMES; a LINK is a number or SOURCE-DESTINATION, with :both for both directions. "
    "Can be repeated.",
)

_collective_options = _options(
    click.option("--collective", default="all_reduce", show_default=True, help="all_reduce, all_gather, ..."),
    click.option("-d", "--datatype", default="uint8", show_default=True, help="Element type: bf16, fp32, ..."),
    click.option("--reduce-datatype", help="Element type that values are added in, if not that."),
    click.option("--root", type=click.IntRange(min=0), default=0, show_default=True, help="Of a rooted collective."),
)


_run_options = _options(
    click.option("-b", "--bytes", "size", default="64M", show_default=True, help="The size."),
    click.option("--algorithm", default="ring", show_default=True, help="`trncomm algorithms COLLECTIVE` lists them."),
    click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Tell the algorithm something: a number, numbers with commas, or a name. Can be repeated.",
    ),
    click.option(
        "--model",
        type=click.Choice(get_args(simulation.Model)),
        default="packet",
        show_default=True,
        help="What contends.",
    ),
    click.option("--pad", is_flag=True, help="Round the size up to equal chunks, so that equal ranks are run once."),
    click.option("--no-fold", is_flag=True, help="Run every rank, also where they are alike."),
    click.option("--no-leap", is_flag=True, help="Run every event, also where they repeat."),
    click.option("--no-verify", is_flag=True, help="Don't prove first that the schedule does what it promises."),
)


@_trncomm.command()
@_machine_options
@_collective_options
@_fault_option
@click.option("-b", "--minbytes", default="1K", show_default=True, help="The first size.")
@click.option("-e", "--maxbytes", default="1G", show_default=True, help="No size is above it.")
@click.option("-f", "--stepfactor", type=click.IntRange(min=2), help="Multiply sizes by it.  [default: 4]")
@click.option("-i", "--stepbytes", help="Add it to sizes instead.")
@click.option("--algorithms", help="Names separated by commas; all that fit if not given.")
@click.option(
    "--model",
    type=click.Choice(get_args(simulation.Model)),
    default=comparison.DEFAULT_MODEL,
    show_default=True,
    help="What contends.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report of nccom-test instead of a table.")
def compare(
    *,
    machine: str,
    profile: machines.Profile | None,
    overrides: tuple[str, ...],
    collective: str,
    datatype: str,
    reduce_datatype: str | None,
    root: int,
    broken: tuple[str, ...],
    minbytes: str,
    maxbytes: str,
    stepfactor: int | None,
    stepbytes: str | None,
    algorithms: str | None,
    model: simulation.Model,
    as_json: bool,
) -> int:
    """Compare algorithms for a collective over a range of sizes.

    Interrupted, it prints the sizes done so far.
    """
    if stepfactor is not None and stepbytes is not None:
        raise click.UsageError("give -f or -i, not both")
    factor = 4 if stepfactor is None else stepfactor
    planned = comparison.plan(
        _topology(machine, profile, overrides),
        collective,
        quantities.sizes(minbytes, maxbytes, factor=factor, step=stepbytes),
        algorithms=None if algorithms is None else [name.strip() for name in algorithms.split(",")],
        model=model,
        dtype=datatype,
        reduce_dtype=reduce_datatype,
        root=root,
        faults=[faults.parse(text) for text in broken],
    )
    done: list[_core.Result] = []
    interrupted = False
    with _progress_bar() as progress:
        try:
            done.extend(planned.results(progress=progress))
        except KeyboardInterrupt:
            interrupted = True
    # A size that some algorithms lack would name the fastest of the others.
    whole_sizes = len(done) // len(planned.schedules)
    table = planned.table(done[: whole_sizes * len(planned.schedules)])
    click.echo(table.to_json() if as_json else table)
    if interrupted:
        _complain(f"interrupted after {len(done)} of {len(planned.sizes) * len(planned.schedules)} runs")
        return _INTERRUPTED
    return 0


@_trncomm.command()
@_machine_options
@_collective_options
@_fault_option
@_run_options
@click.option("--json", "as_json", is_flag=True, help="Print an object instead of text.")
def run(
    *,
    machine: str,
    profile: machines.Profile | None,
    overrides: tuple[str, ...],
    collective: str,
    datatype: str,
    reduce_datatype: str | None,
    root: int,
    broken: tuple[str, ...],
    size: str,
    algorithm: str,
    parameters: tuple[str, ...],
    model: simulation.Model,
    pad: bool,
    no_fold: bool,
    no_leap: bool,
    no_verify: bool,
    as_json: bool,
    why: bool = False,
) -> int:
    """Simulate one collective and say what it took."""
    with _progress_bar() as progress:
        result = simulation.simulate(
            _topology(machine, profile, overrides),
            collective,
            size,
            algorithm=algorithm,
            model=model,
            dtype=datatype,
            reduce_dtype=reduce_datatype,
            root=root,
            parameters={name: _parameter(value) for name, value in _assignments("--parameter", parameters).items()},
            faults=[faults.parse(text) for text in broken],
            verify=not no_verify,
            pad=pad,
            fold=not no_fold,
            leap=not no_leap,
            progress=progress,
        )
    if why:
        explanation = result.explain()
        click.echo(json.dumps(explanation.parts, indent=2) if as_json else explanation)
    else:
        click.echo(json.dumps(_summary(result), indent=2) if as_json else result)
    return 0


@_trncomm.command()
@_machine_options
@_collective_options
@_fault_option
@_run_options
@click.option("--json", "as_json", is_flag=True, help="Print picoseconds by part instead of text.")
@click.pass_context
def explain(context: click.Context, /, **arguments: object) -> int:
    """Simulate one collective and say why it takes as long as it does."""
    code: int = context.invoke(run, **arguments, why=True)
    return code


@_trncomm.command()
@_machine_options
@_collective_options
@_fault_option
@_run_options
@click.option("--json", "as_json", is_flag=True, help="Print an object instead of text.")
def estimate(
    *,
    machine: str,
    profile: machines.Profile | None,
    overrides: tuple[str, ...],
    collective: str,
    datatype: str,
    reduce_datatype: str | None,  # noqa: ARG001 - costs nothing to simulate
    root: int,
    broken: tuple[str, ...],
    size: str,
    algorithm: str,
    parameters: tuple[str, ...],
    model: simulation.Model,
    pad: bool,
    no_fold: bool,
    no_leap: bool,  # noqa: ARG001 - what leaps save isn't known before
    no_verify: bool,  # noqa: ARG001 - nothing is proved
    as_json: bool,
) -> int:
    """Say what `run` will cost, before it is made."""
    found = simulation.estimate(
        _topology(machine, profile, overrides),
        collective,
        size,
        algorithm=algorithm,
        model=model,
        dtype=datatype,
        root=root,
        parameters={name: _parameter(value) for name, value in _assignments("--parameter", parameters).items()},
        faults=[faults.parse(text) for text in broken],
        pad=pad,
        fold=not no_fold,
    )
    figures = {
        "ranks_run": found.ranks_run,
        "links_run": found.links_run,
        "messages": found.messages,
        "messages_run": found.messages_run,
        "packet_hops_run": found.packet_hops_run,
        "memory_bytes": found.memory_bytes,
        "seconds": found.seconds,
    }
    rows = [(name, f"{value:,}") for name, value in figures.items()]
    click.echo(json.dumps(figures, indent=2) if as_json else tabulate(rows, tablefmt="plain", disable_numparse=True))
    return 0


@_trncomm.command(name="machines")
@click.argument("name", required=False)
@click.option("--profile", help="Whose figures to follow where sources disagree.")
@click.option("--sources", is_flag=True, help="Say where each figure is from, and in what other profiles differ.")
def show_machines(*, name: str | None, profile: machines.Profile | None, sources: bool) -> int:
    """List the machines, or the figures of the machine NAME, or what a machine file describes."""
    if name is None:
        every = [machines.machine(known) for known in machines.names()]
        click.echo(tabulate([(known.name, known.summary) for known in every], tablefmt="plain"))
        return 0
    if machines.is_file(name):
        click.echo(machines.build(name))
        return 0
    found = machines.machine(name)
    shown = machines.figures(name, profile=profile)
    click.echo(found.summary + "\n")
    _show_figures(shown, sources=sources)
    for other, figures in found.profiles.items() if sources else ():
        if differing := [figure for figure in figures if figure not in shown]:
            click.echo(f"\nWith --profile {other}:\n")
            _show_figures(differing, sources=True)
    return 0


def _show_figures(figures: Sequence[machines.Figure], *, sources: bool) -> None:
    """A line for each figure, and where it is from."""
    columns = 4 if sources else 3
    rows = [(figure.name, str(figure), figure.label, figure.source)[:columns] for figure in figures]
    headers = ["figure", "value", "label", "source"][:columns]
    widths = [None, None, None, 70][:columns]
    click.echo(tabulate(rows, headers, tablefmt="simple", disable_numparse=True, maxcolwidths=widths))


@_trncomm.command(name="algorithms")
@click.argument("collective")
def show_algorithms(*, collective: str) -> int:
    """List the algorithms for COLLECTIVE."""
    rows = [
        (known.name, known.summary, known.ranks, ", ".join(known.parameters), known.source)
        for known in _core.algorithms(collective)
    ]
    headers = ["algorithm", "what it does", "ranks", "parameters", "source"]
    click.echo(tabulate(rows, headers, tablefmt="simple", maxcolwidths=[None, 50, 20, 20, 40]))
    return 0


def _topology(machine: str, profile: machines.Profile | None, overrides: tuple[str, ...]) -> _core.Topology:
    return machines.build(machine, profile=profile, overrides=_assignments("--set", overrides))


def _assignments(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """The names and values of an option that takes NAME=VALUE and can be repeated."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{option} takes NAME=VALUE, got {text!r}")
        found[name.strip()] = value.strip()
    return found


def _parameter(text: str) -> simulation.Parameter:
    """A number, numbers with commas between them, or else a name."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        return text
    return int(text) if len(parts) == 1 else [int(part) for part in parts]


def _summary(result: _core.Result) -> dict[str, int | float | str | None]:
    latency = result.latency
    return {
        "collective": result.collective,
        "algorithm": result.algorithm,
        "topology": result.topology_name,
        "ranks": result.ranks,
        "model": result.model,
        "size_bytes": result.size_bytes,
        "time_ps": result.time_ps,
        "bound_ps": result.bound_ps,
        "bound": result.bound_name,
        "algbw_GBps": result.algbw / 1e9,
        "busbw_GBps": result.busbw / 1e9,
        "messages": result.messages,
        "latency_p50_ps": None if latency is None else latency.percentile(50),
        "latency_p99_ps": None if latency is None else latency.percentile(99),
        "latency_max_ps": None if latency is None else latency.max_ps,
        "packet_hops": result.packet_hops,
        "events": result.events,
    }


@contextmanager
def _progress_bar() -> Iterator[simulation.Progress | None]:
    """A bar on standard error if that is a terminal; it appears when the work takes over half a second."""
    if not sys.stderr.isatty():
        yield None
        return
    layout = "{percentage:3.0f}% |{bar}| {elapsed} < {remaining}"
    with tqdm(total=1.0, file=sys.stderr, leave=False, delay=0.5, bar_format=layout) as bar:

        def report(fraction: float, _time_ps: int) -> None:
            bar.update(fraction - bar.n)

        yield report


def _complain(message: str) -> None:
    """One line on standard error."""
    click.echo(f"trncomm: {' '.join(message.split())}", err=True)
