"""Claim: both stores define the same statements with the same parameters, as `contracts.py` and ARCHITECTURE.md say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dalsegno
from dalsegno.stores.statements import load_statements

SQLITE = load_statements("dalsegno.stores.sqlite")
POSTGRES = load_statements("dalsegno.stores.postgres")
SPELLINGS = {"sqlite": re.compile(r"(?<![:\w]):([a-z_]\w*)"), "postgres": re.compile(r"%\(([a-z_]\w*)\)s")}
NOT_CODE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
PYTHON = "\n".join(module.read_text(encoding="utf-8") for module in Path(dalsegno.__file__).parent.rglob("*.py"))


def parameters(store: str, statement: str) -> set[str]:
    """Names of a statement's parameters, as its database's driver spells them."""
    return set(SPELLINGS[store].findall(NOT_CODE.sub("", statement)))


def test_both_stores_define_the_same_names():
    assert set(SQLITE) == set(POSTGRES)


@pytest.mark.parametrize("name", sorted(SQLITE.keys() & POSTGRES.keys()))
def test_the_statement_has_the_same_parameters(name: str):
    assert parameters("sqlite", SQLITE[name]) == parameters("postgres", POSTGRES[name])


@pytest.mark.parametrize("name", sorted(SQLITE))
def test_the_statement_is_asked_for(name: str):
    assert f'"{name}"' in PYTHON, f"nothing yields {name}"


def test_parameters_are_told_from_casts_and_text():
    assert parameters("postgres", "SELECT %(a)s::jsonb, '%(b)s' -- %(c)s") == {"a"}
    assert parameters("sqlite", "SELECT :a, ':b', x::text, ' -- :c' FROM t WHERE n = :d_2 -- :e") == {"a", "d_2"}
