import pytest

from tests.golden import ROOT, assert_golden
from tests.texts import listed

LISTED = ROOT / "tests" / "listed"


@pytest.mark.parametrize("name", ["logs", "messages"])
def test_the_texts_of_the_package_are_those_of_the_list(name: str) -> None:
    assert_golden(listed(name), LISTED / f"{name}.txt")
