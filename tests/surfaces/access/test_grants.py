"""What a grant covers: whole parts of a namespace's path, and a ladder of scopes (I8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.engine.base.inputs import check_namespace
from wellkept.errors import InvalidField
from wellkept.server.access import EVERYTHING, SCOPES, Grant, allowed, check_pattern, check_scopes, home
from wellkept.server.access.grants import covers


@pytest.mark.parametrize(
    ("pattern", "namespace", "covered"),
    [
        ("acme/*", "acme/a", True),
        ("acme/*", "acme/a/b", True),
        ("acme/*", "acme", False),
        ("acme/*", "acme2", False),
        ("acme/*", "acme2/a", False),
        ("acme/*", "acm/a", False),
        ("acme/*", "ACME/a", False),
        ("acme/*", "x/acme/a", False),
        ("acme/*", "acme/../other", True),  # no file system: two dots are a name like any other
        ("acme/*", "acme/", False),
        ("acme/*", "acme//a", False),
        ("acme/*", " acme / a ", True),  # as it is kept
        ("acme/*", "", False),
        ("acme/*", "/", False),
        ("acme", "acme", True),
        ("acme", "acme/a", False),
        ("acme", "acme2", False),
        ("*", "default", True),
        ("*", "a/b/c", True),
        ("*", "", False),
        ("*/ci", "acme/ci", True),
        ("*/ci", "acme/x/ci", False),
        ("*/ci", "ci", False),
        ("a/*/c/*", "a/b/c/d/e", True),
        ("a/*/c/*", "a/b/c", False),
        ("地点/*", "地点/東京", True),
        ("地点/*", "地点2/東京", False),
    ],
)
def test_a_pattern_covers_whole_parts_of_a_path(pattern: str, namespace: str, *, covered: bool) -> None:
    """Design §9: bearer tokens are bound to namespaces; `acme/*` has nothing to do with acme2."""
    assert covers(pattern, namespace) is covered


@pytest.mark.parametrize(
    ("held", "reached"),
    [
        ({"read"}, ("read",)),
        ({"write"}, ("read", "write")),
        ({"admin"}, SCOPES),
        ({"read", "admin"}, SCOPES),
        (set(), ()),
    ],
)
def test_a_scope_holds_those_before_it(held: set[str], reached: tuple[str, ...]) -> None:
    grant = Grant("a", ("n",), frozenset(held))  # type: ignore[arg-type]
    assert tuple(scope for scope in SCOPES if allowed(grant, "n", scope)) == reached
    assert not any(allowed(grant, "m", scope) for scope in SCOPES)


def test_without_tokens_everything_that_is_a_namespace_is_open() -> None:
    assert all(allowed(EVERYTHING, name, scope) for name in ("default", "a/b") for scope in SCOPES)
    assert not allowed(EVERYTHING, "a//b", "read")


_PARTS = st.text(alphabet="ab*2 ", min_size=0, max_size=3)
_PATHS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join)


@given(_PATHS, _PATHS)
def test_a_name_is_judged_as_what_it_is_kept_as(pattern: str, name: str) -> None:
    """I8: spaces around a part must not bypass a pattern: the checked and the opened namespace are the same."""
    try:
        pattern, kept = check_pattern(pattern), check_namespace(name)
    except InvalidField:
        return
    assert covers(pattern, name) == covers(pattern, kept)


@given(_PATHS, _PATHS)
def test_no_pattern_without_a_star_covers_more_than_itself(pattern: str, name: str) -> None:
    try:
        pattern, name = check_pattern(pattern), check_namespace(name)
    except InvalidField:
        return
    if "*" not in pattern:
        assert covers(pattern, name) == (pattern == name)


@pytest.mark.parametrize("pattern", ["", "  ", "a//b", "/a", "a/", "ac*", "a/**", "*a", "a\nb", "a" * 201])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises((InvalidField, ValueError)):
        check_pattern(pattern)


@pytest.mark.parametrize("scopes", [[], [""], ["root"], ["read", "READ"]])
def test_what_is_no_scope_is_refused(scopes: list[str]) -> None:
    with pytest.raises(InvalidField):
        check_scopes(scopes)


@pytest.mark.parametrize(
    ("patterns", "meant"),
    [
        (("default",), "default"),
        (("*",), "default"),
        (("acme/ci",), "acme/ci"),  # the only one there is
        (("acme/ci", "default"), "default"),
        (("acme/ci", "acme/b"), "default"),  # refused: nobody can tell which is meant
        (("acme/*",), "default"),
    ],
)
def test_a_request_that_names_no_namespace_means_the_stores_own_or_the_only_one(
    patterns: tuple[str, ...], meant: str
) -> None:
    assert home(Grant("a", patterns, frozenset({"read"})), "default") == meant
