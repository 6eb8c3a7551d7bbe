"""Any answer gives a payload or a typed error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.api.operations import OPERATIONS
from exporter.platform.errors import PlatformError
from exporter.platform.http.responses import failure_in, payload, status_error
from exporter.platform.operation import Operation
from exporter.platform.wire import unexpected_in
from tests.platform.damage import damaged
from tests.platform.payloads import GOOD


def test_every_operation_has_a_good_payload() -> None:
    assert list(GOOD) == [operation.name for operation in OPERATIONS]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@given(data=st.data())
def test_a_damaged_answer_is_a_model_or_a_typed_error(operation: Operation[Any], data: st.DataObject) -> None:
    raw = data.draw(damaged(operation.name))
    try:
        value = payload(operation, raw, 200)
    except PlatformError:
        return
    assert [name for name in unexpected_in(value) if not name] == []
    repr(value)


@given(raw=st.sampled_from(list(GOOD)).flatmap(damaged) | st.binary(max_size=200))
def test_any_body_of_an_error_status_is_understood(raw: bytes) -> None:
    failure = failure_in(raw)
    assert len(failure.message) <= 300
    error = status_error(422, raw, None)
    assert [type(text) for field in error.fields for text in field] == [str] * 2 * len(error.fields)
