"""The command watch: checks service levels in each interval, and forecasts when they are missed."""

from __future__ import annotations

import click

from tailback.cli.options import (
    DURATION_TEXT,
    SETTINGS,
    allow_files_option,
    json_option,
    quiet_option,
    reps_option,
    scenario_file,
    seed_option,
    settings_option,
    threads_option,
)
from tailback.cli.output import console, print_json, print_line, progress_bar, table
from tailback.errors import EXIT_CLAIM, EXIT_OK, UsageError

__all__ = ["watch"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback watch scenario.toml --target 'voice.delay<=10ms' --target 'voice.loss<=0.1%'
  tailback watch scenario.toml --target 'data.loss<=1%' --grow data --grow web --most 3
  tailback watch scenario.toml --target 'data.loss<=1%' --interval 1min --grow data --growth 2 --by fluid

\b
Limits: delay (mean of an interval), loss, jitter (RFC 3550).
Exit codes: 0 every target is kept, 5 at least one is not. A target is kept if the whole confidence interval of the
share of intervals in which it is met is at least --keep.""",
)
@scenario_file
@click.option(
    "--target", "targets", multiple=True, required=True, metavar="GROUP.LIMIT<=VALUE", help="Upper limit to keep."
)
@click.option("--interval", type=DURATION_TEXT, default="1s", show_default=True, help="Length of an interval.")
@click.option(
    "--keep",
    type=click.FloatRange(0, 100, min_open=True),
    default=95.0,
    show_default=True,
    help="Share of intervals, %, in which a target must be kept.",
)
@click.option("--grow", "growing", multiple=True, metavar="GROUP", help="Forecast: a group whose rate grows.")
@click.option(
    "--most",
    type=click.FloatRange(1, min_open=True),
    default=4.0,
    show_default=True,
    help="Forecast: largest factor on the rates.",
)
@click.option(
    "--growth", type=click.FloatRange(0, 1000, min_open=True), help="Forecast: growth of their rates per interval, %."
)
@click.option(
    "--by",
    type=click.Choice(["simulation", "fluid"]),
    default="simulation",
    show_default=True,
    help="Forecast: by simulation, or by the fluid model of a port's policy, which needs no run.",
)
@click.option(
    "--port", metavar="NODE:NEIGHBOUR", help="With --by fluid: the port; default: the only one with a policy."
)
@settings_option
@allow_files_option
@seed_option
@reps_option
@threads_option
@json_option
@quiet_option
def watch(
    file: str,
    targets: tuple[str, ...],
    interval: str,
    keep: float,
    growing: tuple[str, ...],
    most: float,
    growth: float | None,
    by: str,
    port: str | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    seed: int | None,
    reps: int | None,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare the service of groups of flows with targets, in each interval of the scenario FILE.

    With --grow, forecast also the factor on the rates of these groups at which each target is missed; with --growth,
    also the interval in which the rates reach this factor.
    """
    from tailback import service_levels
    from tailback.scenario import load

    scenario = load(file, allow_files=allow_files).with_texts(settings)
    wanted = service_levels.targets(targets)
    share = keep / 100
    with progress_bar("replications", quiet=quiet) as progress:
        found = service_levels.watch(
            scenario, wanted, interval, seed=seed, replications=reps, threads=threads, progress=progress
        )
    if (growth is not None or by == "fluid") and not growing:
        raise UsageError("--growth and --by need --grow with the groups whose rates grow")
    forecasts: list[service_levels.Forecast] = []
    if growing and by == "fluid":
        forecasts = service_levels.fluid_forecast(scenario, wanted, growing, port, most=most)
    elif growing:
        forecasts = service_levels.forecast(
            scenario, wanted, growing, interval, keep=share, most=most, seed=seed, replications=reps, threads=threads
        )

    def intervals_to(factor: float | None) -> int | None:
        return None if factor is None or growth is None else service_levels.intervals_until(factor, growth / 100)

    kept = all(outcome.is_kept(share) for outcome in found)
    if as_json:
        print_json(
            {
                "interval": interval,
                "keep": share,
                "kept": kept,
                "targets": [{**outcome.as_json(), "kept": outcome.is_kept(share)} for outcome in found],
                "forecast": [
                    {
                        "group": forecast.target.group,
                        "factor": forecast.factor,
                        "most": forecast.most,
                        "growing": list(growing),
                        "by": by,
                        "growth": None if growth is None else growth / 100,
                        "intervals": intervals_to(forecast.factor),
                    }
                    for forecast in forecasts
                ],
            }
        )
        return EXIT_OK if kept else EXIT_CLAIM
    rows = []
    for outcome in found:
        interval_ = outcome.compliance
        missed = ", ".join(f"{name} {count} times" for name, count in outcome.missed.items()) or "nothing"
        first = "" if outcome.first_missed_s is None else f"{outcome.first_missed_s:.4g} s"
        shown = f"{100 * interval_.mean:.4g} % [{100 * interval_.lo:.4g}, {100 * interval_.hi:.4g}]"
        rows.append(
            [
                outcome.target.group,
                shown,
                str(outcome.intervals),
                missed,
                first,
                "yes" if outcome.is_kept(share) else "no",
            ]
        )
    columns = ("group", "intervals kept", "of", "missed", "first at", f"kept in {keep:g} %")
    console().print(table(f"Intervals of {interval}", columns, rows, words=1))
    for forecast in forecasts:
        name, together = forecast.target.group, " and ".join(growing)
        words = (
            f"is kept up to {forecast.most:g} times the rate of {together}"
            if forecast.factor is None
            else f"breaks at {forecast.factor:.3g} times the rate of {together}"
        )
        intervals = intervals_to(forecast.factor)
        then = "" if intervals is None else f": growing by {growth:g} % each interval, {_when(intervals, interval)}"
        model = " by the fluid model" if by == "fluid" else ""
        print_line(f"forecast{model}: the target of {name} {words}{then}")
    return EXIT_OK if kept else EXIT_CLAIM


def _when(intervals: int, interval: str) -> str:
    """Return the time after a number of intervals in words."""
    from tailback import _native
    from tailback.run.cost import spoken

    if intervals == 0:
        return "now"
    return f"in interval {intervals}, {spoken(intervals * _native.parse_duration(interval) * 1e-12)} from now"
