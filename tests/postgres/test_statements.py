"""Every statement names one namespace, so that none can meet another (I8), wherever its rows lie."""

from __future__ import annotations

import re

import pytest

from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.sql import migrations, queries

TABLES = ("memory", "words", "vector", "alias", "link", "conflict", "journal", "journal_memory", "namespace")
ADMINISTRATION = {
    "namespace.names": "the header lists them all",
    "verify.namespaces": "verify goes through them all",
    "verify.strangers": "looks for rows of no namespace",
}
USED = re.compile(rf"(FROM|JOIN|UPDATE|INTO)\s+wellkept\.({'|'.join(TABLES)})\b(?:\s+AS\s+(\w+))?")
SPREAD = [name for name, text in queries().items() if USED.search(text)]


@pytest.mark.parametrize("name", SPREAD)
def test_a_statement_names_its_namespace_for_every_table_it_reads_or_writes(name: str) -> None:
    text = queries()[name]
    if name in ADMINISTRATION:
        assert "%(ns)s" not in text
        return
    if text.startswith("INSERT"):
        columns, values = re.search(r"\((ns, [^)]*)\)\s*(?:VALUES|SELECT)\s*\(?(%\(ns\)s|%s),", text, re.S).groups()  # type: ignore[union-attr]
        assert columns.split(", ")[0] == "ns" and values
        return
    if name == "memory.update":  # values by place, for a row at a time
        assert text.rstrip().endswith("WHERE ns = %s AND id = %s")
        return
    for _, table, alias in USED.findall(text):
        bound = rf"\b{alias}\.ns = %\(ns\)s" if alias else r"\bns = %\(ns\)s"
        assert re.search(bound, text), f"{name}: {table} is not bound to a namespace"


def test_every_table_that_holds_rows_of_a_namespace_is_led_by_it_and_spread_by_it() -> None:
    script = "".join(text for _, text in migrations())
    for table in TABLES:
        body = re.search(rf"CREATE TABLE wellkept\.{table} \((.*?)\n\)(.*?);", script, re.S)
        assert body is not None, table
        assert body[1].strip().startswith("ns bigint")
        assert re.search(r"PRIMARY KEY \(ns\b|ns bigint PRIMARY KEY", body[1]), table
        assert "PARTITION BY HASH (ns)" in body[2] or table == "namespace", table
    for index, keys in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+) ON [\w.]+ \(([^;]*?)\)", script):
        assert keys.startswith("ns"), index  # the index of words is led by its terms, which begin with the number


def test_the_number_of_a_namespace_follows_from_its_name_for_good() -> None:
    """It stands in every key: another number would be another namespace."""
    assert number_of("default") == 9172803562442545617
    assert number_of("acme/alice") != number_of("acme/alic") != number_of("ACME/ALICE")
    assert all(0 <= number_of(name) < 2**63 for name in ("", "default", "名前", "a" * 200))
