"""Writes the counts of days as running totals, in OpenMetrics text with timestamps."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TextIO

from exporter.label_values import label_value
from exporter.metric import FamilyInfo, LabelValues

DAY_MS = 86_400_000
# Name of a step → milliseconds between two samples. A day must be a whole number of steps.
STEPS: Mapping[str, int] = {"15m": DAY_MS // 96, "1h": DAY_MS // 24, "3h": DAY_MS // 8}
_EPOCH = date(1970, 1, 1).toordinal()


class PastSeries(NamedTuple):
    """The history of one series of a counter.

    Attributes:
        values: the label values, in the order of the family's label names.
        days: the ordinal of a UTC day (`date.toordinal`) → the count of that day.
    """

    info: FamilyInfo
    values: LabelValues
    days: Mapping[int, float]


def samples(days: Mapping[int, float], step: int) -> Iterator[tuple[int, float]]:
    """Yield the samples of a series: the time in unix milliseconds, and the total of all counts up to this time.

    The count of a day is spread evenly over the day. For a day that is not in `days`, nothing is yielded.

    The first sample of a day is 1 ms after midnight, with the total of the days before. So a query range from midnight
    on contains this sample in Prometheus 2 and also in Prometheus 3, which leaves out the beginning of a range. And if
    days are divided into two files, the last sample of the first file and the first of the second have different times.

    `days` is as in `PastSeries`, and `step` the number of milliseconds between two samples.
    """
    total = 0.0
    for day in sorted(days):
        count = days[day]
        midnight = (day - _EPOCH) * DAY_MS
        yield midnight + 1, total
        for passed in range(step, DAY_MS + 1, step):
            grown = count * passed / DAY_MS
            # Whole numbers take the least space in a block.
            yield midnight + passed, total + (math.floor(grown) if float(count).is_integer() else grown)
        total += count


def write(output: Path, past: Iterable[PastSeries], labels: Mapping[str, str], step: int) -> int:
    """Write series to a file, and return the number of samples. An incomplete file has a name that ends with `.part`.

    `labels` are added to the labels of the series, with values that `label_value` makes valid. `step` is the number of
    milliseconds between two samples.

    Raises:
        OSError: the file cannot be written.
    """
    sample_count = 0
    # A flag may contain bytes that are not UTF-8.
    valid_labels = {name: label_value(value) for name, value in labels.items()}
    unfinished = output.with_name(output.name + ".part")
    by_family = groupby(sorted(past, key=lambda one: one.info.name), key=lambda one: one.info)
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            for info, several in by_family:
                sample_count += _write_family(file, info, several, valid_labels, step)
            file.write("# EOF\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(output)
    finally:
        unfinished.unlink(missing_ok=True)
    return sample_count


def _write_family(
    file: TextIO, info: FamilyInfo, several: Iterable[PastSeries], labels: Mapping[str, str], step: int
) -> int:
    sample_count = 0
    # OpenMetrics names the samples of a counter with the suffix `_total`, and the family without the suffix.
    name = info.name.removesuffix("_total")
    file.write(f"# HELP {name} {_escaped(info.help)}\n# TYPE {name} counter\n")
    for series in several:
        lines = list(_lines(series, labels, step))
        file.writelines(lines)
        sample_count += len(lines)
    return sample_count


def _lines(series: PastSeries, labels: Mapping[str, str], step: int) -> Iterator[str]:
    named = _name_with_labels(series, labels)
    # 17 digits distinguish all floats.
    for at, value in samples(series.days, step):
        yield f"{named} {value:.17g} {at / 1000:.3f}\n"


def _name_with_labels(series: PastSeries, labels: Mapping[str, str]) -> str:
    pairs = (*labels.items(), *zip(series.info.labels, series.values, strict=True))
    label_pairs = ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs)
    return f"{series.info.name}{{{label_pairs}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
