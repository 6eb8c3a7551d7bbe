"""What the process changes of the interpreter for itself."""

import gc
import weakref

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
