"""Delays polling until the first discovery of an account has supplied names."""

from collections.abc import Callable, Collection, Iterable

from exporter.collectors.collector import Collector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.platform.errors import CredentialError, PlatformError, TransportError, Unauthorized
from exporter.targets.target import NAMED_BY_SEARCH, Inventory, Target

# A first discovery without an answer (the platform is down, or the key is wrong) is repeated this many times. Then the
# targets are polled without the names that it would have supplied.
FIRST_TRIES = 5
FIRST_RETRY_SECONDS = 10.0


def waits_for_names(target: Target) -> bool:
    """Return whether the labels of a target contain names that the first discovery supplies."""
    return target.kind == "account" or (target.kind in NAMED_BY_SEARCH and not target.name)


def tells_names(collector: Collector) -> bool:
    """Return whether targets wait for this collector's first answer; lists of configured endpoints supply no names."""
    return collector.discovers and not isinstance(collector, EndpointListCollector)


class FirstDiscovery:
    """Tracks the first discovery of each account.

    Args:
        expected: returns the accounts that are discovered now.
        over: accounts whose first discovery ended before a reload.

    Attributes:
        over: the accounts whose first discovery has ended.
    """

    def __init__(self, expected: Callable[[], Collection[str]], over: Iterable[str] = ()) -> None:
        self.over = set(over)
        self._expected = expected
        # Accounts whose discovery has partly succeeded.
        self._begun: set[str] = set()
        self._tries: dict[str, int] = {}

    def missing(self) -> set[str]:
        """Return the accounts whose first discovery has not ended."""
        return set(self._expected()) - self.over

    def are_over(self, silent: Collection[str]) -> bool:
        """Return whether the first discovery of each account has ended, with or without success.

        Of `silent` accounts, which do not answer, the first attempt is enough, although others follow: an account that
        is down must not delay readiness.
        """
        return self.missing() <= self._tries.keys() & set(silent)

    def found(self, account: str, inventory: Inventory) -> None:
        """Record the findings of a discovery, before or at its end."""
        if inventory.names_follow:
            self._begun.add(account)
        elif inventory.names is not None or any(kind in NAMED_BY_SEARCH for kind in inventory.lists):
            self.over.add(account)

    def ended(self, account: str, error: PlatformError | None, unnamed: PlatformError | None) -> bool:
        """Record that a discovery has ended; return whether to repeat it soon, because there was no answer.

        `error` says why it failed, and `unnamed` why the names of configured ids could not be looked up.
        """
        is_unanswered = isinstance(error, TransportError | Unauthorized | CredentialError)
        is_unanswered = (is_unanswered or isinstance(unnamed, TransportError)) and account not in self._begun
        if account in self.over or not is_unanswered or self._tries.get(account, 0) >= FIRST_TRIES:
            self.over.add(account)
            return False
        self._tries[account] = self._tries.get(account, 0) + 1
        return True

    def forget(self, account: str) -> None:
        """Wait for a first discovery again, because a refused one has supplied no names."""
        self.over.discard(account)
        self._begun.discard(account)
        self._tries.pop(account, None)
