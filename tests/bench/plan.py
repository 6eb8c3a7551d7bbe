"""The sizes and durations of the measurements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes and durations of a run.

    Attributes:
        sizes: numbers of series.
        seconds: how long the servers of a size are scraped in turn, for each encoding.
        crowd_seconds: how long each server is scraped by many clients.
        most_for_crowds: the largest size for that.
        most_repolled: the largest size at which every target is polled again during the scrapes.
        repoll: seconds in which every target is polled once.
        repoll_seconds: how long the exporter is scraped during these polls, for each encoding.
        in_flight: the numbers of calls at once.
        call_seconds: how long calls are made at each number.
        starts: how often the exporter is started.
        idle_targets: numbers of targets of an idle exporter.
        idle: seconds between two polls of each.
        idle_seconds: how long each is measured.
        daemon_series: the number of series of the whole daemon.
        polled_zones: the number of zones for the measurement of whole polls.
        polled_interval: seconds between two polls of each.
        polled_rounds: how many intervals are measured, for each kind of answers.
    """

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 500_000, 1_000_000)
    seconds: float = 12.0
    crowd_seconds: int = 5
    most_for_crowds: int = 100_000
    most_repolled: int = 500_000
    repoll: float = 15.0
    repoll_seconds: float = 20.0
    in_flight: tuple[int, ...] = (1, 8, 64, 256)
    call_seconds: float = 5.0
    starts: int = 7
    idle_targets: tuple[int, ...] = (100, 1_000, 10_000)
    idle: float = 60.0
    idle_seconds: float = 20.0
    daemon_series: int = 100_000
    polled_zones: int = 20_000
    polled_interval: float = 40.0
    polled_rounds: int = 2


QUICK = Plan(
    sizes=(1_000, 10_000),
    seconds=1.0,
    crowd_seconds=1,
    most_for_crowds=1_000,
    repoll=2.0,
    repoll_seconds=2.0,
    in_flight=(1, 64),
    call_seconds=0.9,
    starts=2,
    idle_targets=(1_000,),
    idle=10.0,
    idle_seconds=5.0,
    daemon_series=10_000,
    polled_zones=500,
    polled_interval=5.0,
    polled_rounds=1,
)
