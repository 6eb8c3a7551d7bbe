"""The change of a refused key is noticed."""

from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry

from exporter.daemon.accounts import AccountObserver
from exporter.platform.api import dns
from exporter.platform.errors import CredentialError, PlatformError
from exporter.platform.http.credential import Credential
from exporter.telemetry import Telemetry
from tests.platform.clients import Reply, answered, good

# The key that is sent and what the platform says of it; the key that is there afterwards; whether it is replaced, and
# whether the platform has refused it. None is a key that cannot be read.
CASES = {
    "no call was made": (None, "", "old", False, False),
    "refused, and still the same": ("old", "refused", "old", False, True),
    "refused, and then another": ("old", "refused", "new", True, True),
    "accepted, and then another": ("old", "accepted", "new", False, False),
    "refused, and then unreadable": ("old", "refused", None, False, True),
    "refused, and then another that is accepted": ("old", "outrun", "new", True, True),
    "unreadable, and still so": (None, "unread", None, False, True),
    "unreadable, and then not": (None, "unread", "new", True, True),
    "no text for a header": ("not\na header", "unsent", "not\na header", False, True),
}


@pytest.mark.parametrize(("sent", "said", "later", "is_replaced", "is_refused"), CASES.values(), ids=CASES)
async def test_a_refused_key_is_known_to_be_replaced(
    sent: str | None, said: str, later: str | None, *, is_replaced: bool, is_refused: bool
) -> None:
    key = sent

    def read() -> str:
        if key is None:
            raise CredentialError("the key cannot be read")
        return key

    credential = Credential("access_key", read)
    match said:
        case "refused":
            credential.refuse(await credential.current_key())
        case "accepted":
            credential.accept("old")
        case "outrun":
            credential.refuse("old")
            credential.accept("new")
        case "unread" | "unsent":
            credential.refuse("new")
            with pytest.raises(CredentialError):
                await credential.current_key()
    key = later
    assert (credential.is_replaced(), credential.problem != "") == (is_replaced, is_refused)


async def test_a_401_refuses_the_key_until_it_is_accepted() -> None:
    refused, answers = [], (Reply(403), Reply(401), Reply(500), good('{"TotalQueriesServed": 7}'))
    async with answered(*answers) as (kit, _):
        for _ in answers:
            with suppress(PlatformError):
                await dns.read_statistics(kit.calls, 102)
            refused.append(kit.client.credential.problem)
    assert refused == ["", "is not accepted", "is not accepted", ""]


async def test_a_call_without_a_usable_key_counts_as_a_failure_and_not_as_a_request() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    async with answered(good("{}"), read=lambda: "") as (kit, _):
        kit.client.observer = AccountObserver(telemetry, "main", kit.clock)
        await kit.failure()
    call = {"account": "main", "operation": "dns_statistics"}
    found = telemetry.registry.get_sample_value("edge_api_request_failures_total", {**call, "reason": "credential"})
    assert (found, next(iter(telemetry.requests.collect())).samples) == (1.0, [])
