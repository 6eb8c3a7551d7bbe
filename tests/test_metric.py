import pytest

from exporter.collectors.collector import measure
from exporter.metric import FamilyInfo, Kind, Metric, declaration
from exporter.platform.errors import WrongShape


def test_what_a_payload_cannot_give_fails_the_poll_whole() -> None:
    def broken(_payload: object) -> float:
        raise ValueError("half a date")

    info = FamilyInfo("edge_a", "A.", Kind.GAUGE)
    metrics: tuple[Metric[object], ...] = (Metric("edge_a", "A.", lambda _: 1), Metric("edge_b", "B.", broken))
    with pytest.raises(WrongShape, match="edge_b cannot be read from the answer: half a date"):
        measure((), (info, info), metrics, object())


def test_a_declaration_in_the_state_of_an_earlier_version_is_known() -> None:
    assert declaration(("/things", "days")).hex() == "4e27780fe529322ade0fc5dd"
