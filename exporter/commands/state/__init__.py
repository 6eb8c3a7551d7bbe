"""`state`: copies the counters' state. In: two places. Out: the second holds what the first does."""
