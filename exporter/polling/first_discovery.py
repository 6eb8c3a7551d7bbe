"""Which accounts' first discovery has ended: what would be shown without its name waits for that."""

from collections.abc import Callable, Collection, Iterable

from exporter.collectors.collector import Collector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.platform.errors import CredentialError, PlatformError, TransportError, Unauthorized
from exporter.targets.target import Inventory, Target

# Where nobody answers the first discovery, as a platform that is down or a key that is wrong, it is tried again so
# often before anything is polled without the names that it would have told.
FIRST_TRIES = 5
FIRST_RETRY_SECONDS = 10.0
NAMED_BY_DISCOVERY = frozenset({"dns_zone", "script", "shield_zone"})


def waits_for_names(target: Target) -> bool:
    """Whether labels of a target carry names that the first discovery tells: its own, or those of what it lists."""
    return target.kind == "account" or (target.kind in NAMED_BY_DISCOVERY and not target.name)


def tells_names(collector: Collector) -> bool:
    """Whether others wait for its first answer: the lists of configured endpoints name nothing of other collectors."""
    return collector.discovers and not isinstance(collector, EndpointListCollector)


class FirstDiscovery:
    """The first discovery of each account.

    Args:
        expected: the accounts that are discovered at the moment.
        over: accounts whose first discovery ended before a reload.

    Attributes:
        over: the accounts whose first discovery has ended.
    """

    def __init__(self, expected: Callable[[], Collection[str]], over: Iterable[str] = ()) -> None:
        self.over = set(over)
        self._expected = expected
        # Accounts of which a part was answered.
        self._begun: set[str] = set()
        self._tries: dict[str, int] = {}

    def missing(self) -> set[str]:
        """The accounts whose first discovery has not ended."""
        return set(self._expected()) - self.over

    def are_over(self, silent: Collection[str]) -> bool:
        """Whether each account's first discovery has ended, well or not.

        Args:
            silent: accounts that do not answer. Of these it has ended with the first try, though others follow: one
                account that is down must not keep the rest from being ready.
        """
        return self.missing() <= self._tries.keys() & set(silent)

    def told(self, account: str, found: Inventory) -> None:
        """Note what a discovery tells before its end."""
        if found.names_follow:
            self._begun.add(account)
        elif any(kind in NAMED_BY_DISCOVERY for kind in found.lists):
            self.over.add(account)

    def ended(self, account: str, error: PlatformError | None) -> bool:
        """Note that a discovery has ended; returns whether it is to be tried again soon, as nobody answered it."""
        is_unanswered = isinstance(error, TransportError | Unauthorized | CredentialError)
        is_unanswered = is_unanswered and account not in self._begun
        if account in self.over or not is_unanswered or self._tries.get(account, 0) >= FIRST_TRIES:
            self.over.add(account)
            return False
        self._tries[account] = self._tries.get(account, 0) + 1
        return True

    def forget(self, account: str) -> None:
        """Begin anew: a discovery that was refused has told no names, and what is shown before it has none for ever."""
        self.over.discard(account)
        self._begun.discard(account)
        self._tries.pop(account, None)
