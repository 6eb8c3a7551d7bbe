import pytest

from exporter.web.target_query import FilterValues, QueryError, TargetQuery, parse_query

KNOWN = FilterValues(("dns_statistics", "scripts"), ("main", "database:orders"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ([("colector", "scripts")], "there is no parameter 'colector'; there are: search, collector, account, state, "),
        ([("collector", "script")], "collector cannot be 'script'; there are: dns_statistics, scripts"),
        ([("account", "x" * 5000)], f"account cannot be '{'x' * 100}'; there are: main, database:orders"),
        ([("state", "up")], "state cannot be 'up'; there are: failing, stale, pending, ok"),
        ([("sort", "size")], "sort cannot be 'size'; there are: target, name, "),
        ([("order", "up")], "order cannot be 'up'; there are: asc, desc"),
        ([("limit", "0")], "limit must be a whole number from 1 to 1000, not '0'"),
        ([("limit", "10001")], "limit must be a whole number from 1 to 1000, not '10001'"),
        ([("limit", "all")], "limit must be a whole number from 1 to 1000, not 'all'"),
        ([("limit", "9" * 100_000)], f"limit must be a whole number from 1 to 1000, not '{'9' * 50}'"),
        ([("offset", "-1")], "offset must be a whole number from 0 to 1000000000, not '-1'"),
        ([("offset", "\u0664")], "offset must be a whole number from 0 to 1000000000, not '\u0664'"),
        ([("search", "x" * 201)], "search takes 10 words and 200 characters at most"),
        ([("search", "a b c d e f g h i j k")], "search takes 10 words and 200 characters at most"),
        ([("sort", "age"), ("sort", "name")], "sort is given more than once"),
    ],
)
def test_what_cannot_be_understood_is_said(fields: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse_query(fields, KNOWN, TargetQuery(limit=100))
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize(
    ("field", "most"),
    [("search", "a b c d e f g h i j"), ("search", "x" * 200), ("limit", "1000"), ("offset", "1000000000")],
)
def test_a_search_may_have_ten_words_and_200_characters_and_numbers_have_their_bounds(field: str, most: str) -> None:
    assert str(getattr(parse_query([(field, most)], KNOWN, TargetQuery(limit=100)), field)) == most
