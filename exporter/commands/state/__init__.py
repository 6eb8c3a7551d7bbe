"""`state`: copies the counters' state. In: two places. Out: the second contains what the first contains."""
