"""Finds out whether a spare could poll a shard: whether a platform accepts a key of the configuration."""

from collections.abc import Awaitable, Callable, Mapping

from exporter.platform.api import global_search
from exporter.platform.errors import Forbidden, PlatformError
from exporter.polling.pace import Account
from exporter.targets.target import DATABASE_PREFIX

AGAIN_SECONDS = 30.0


async def prove(accounts: Callable[[], Mapping[str, Account]], sleep: Callable[[float], Awaitable[None]]) -> None:
    """Call the platforms of the accounts until one has accepted its key; return at once without accounts."""
    while not await _is_accepted(accounts()):
        await sleep(AGAIN_SECONDS)


async def _is_accepted(accounts: Mapping[str, Account]) -> bool:
    """Return whether a platform has accepted the key of an account, or there is no account, only databases."""
    own = [account for name, account in accounts.items() if not name.startswith(DATABASE_PREFIX)]
    for account in own:
        client = account.client
        try:
            await global_search.count(client.calls_until(client.clocks.monotonic() + AGAIN_SECONDS), "")
        except Forbidden:
            # The key was accepted, but it may not search.
            return True
        except PlatformError:
            continue
        return True
    return not own
