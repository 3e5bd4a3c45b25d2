"""Claim: `dalsegno memory` shows what is remembered, for people and programs, and forgets what it is told to."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import dalsegno
from dalsegno.cli import app


@pytest.fixture
def shop(sqlite_url: str) -> str:
    with dalsegno.connect(sqlite_url) as ds:
        ds.journal.append("t", "message", "user", "I live in Lyon\x1b[31m")
        ds.memory.remember("user", "home", "Lyon", thread_id="t", evidence=[1], user="ann")
        ds.memory.remember("refunds", "policy", "within 30 days", source="handbook")
    return sqlite_url


def run(*words: str) -> SimpleNamespace:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)


def test_facts_are_listed_searched_shown_and_forgotten(shop: str):
    listed = json.loads(run("memory", "list", "--json", "--store", shop).stdout)
    assert [(each["user"], each["value"]) for each in listed] == [("ann", "Lyon"), (None, "within 30 days")]
    assert "Lyon" in run("memory", "list", "--store", shop).stdout
    hers = json.loads(run("memory", "list", "--json", "--store", shop, "--user", "ann").stdout)
    assert [each["value"] for each in hers] == ["Lyon"]
    found = json.loads(run("memory", "search", "refunds", "--json", "--store", shop).stdout)
    assert [each["value"] for each in found] == ["within 30 days"]
    shown = json.loads(run("memory", "show", listed[0]["id"][:8], "--json", "--store", shop).stdout)
    assert shown["evidence"] == [{"thread_id": "t", "seq": 1, "author": "user"}]
    assert run("memory", "show", "nothing", "--store", shop).returncode == 3
    assert run("memory", "forget", "--store", shop).returncode == 2
    gone = json.loads(run("memory", "forget", "--subject", "refunds", "--json", "--store", shop).stdout)
    assert gone == {"forgotten": 1}
    assert run("memory", "forget", listed[0]["id"], "--store", shop).returncode == 0
    assert json.loads(run("memory", "list", "--json", "--store", shop).stdout) == []
