"""What the process changes of the interpreter for itself."""

import gc
import resource
import sys
import weakref

import pytest

from exporter.responsive import runtime


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_a_reference_cycle_is_excluded_from_collections_until_the_next_settling() -> None:
    node = Node()
    alive = weakref.ref(node)
    try:
        runtime.settle()
        del node
        gc.collect()
        assert alive() is not None
        runtime.settle()
        assert alive() is None
    finally:
        gc.unfreeze()


def test_threads_change_more_often_and_garbage_is_collected_more_rarely_in_a_process_of_its_own() -> None:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        sys.setswitchinterval(0.005)
        gc.set_threshold(700, 11, 10)
        runtime.share()
        assert (round(sys.getswitchinterval(), 6), gc.get_threshold()) == (0.002, (20_000, 11, 35))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)


@pytest.mark.parametrize(("soft", "files"), [(1024, 1024), (resource.RLIM_INFINITY, sys.maxsize)])
def test_the_limit_of_files_is_the_soft_one(monkeypatch: pytest.MonkeyPatch, soft: int, files: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))
    assert runtime.file_limit() == files
