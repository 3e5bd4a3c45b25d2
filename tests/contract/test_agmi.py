"""What the public tamper suite `agent-memory-integrity` says of the audit and of the checkpoint store, as docs/audit.md tells it.

The suite writes through the public API, edits the database behind it, reopens it and asks. Its adapters here stand for an
attacker who knows the tables: one who takes rows away moves the counters and heads beside them too, and one who adds a row
makes it as sound as its place allows. `dalsegno audit verify` and `dalsegno check` are what is asked; the read path of a
checkpointer is asked apart.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest

import dalsegno
from dalsegno.core.chain import digest_of, link

pytest.importorskip("agmi", reason="the suite is not installed (extra `test`)")
from agmi.adapters.base import MemoryAdapter, Record
from agmi.check import run

MINE, OTHER = "agmi-thread", "agmi-other"
EDITS = ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9")


class Store(MemoryAdapter):
    """A SQLite file with one connection of ours, and raw access beside it."""

    supports_replay = supports_metadata = supports_snapshot = True
    detection_point = "audit"
    key: str | None = None

    def setup(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="agmi-"))
        self._db = self._folder / "agents.db"
        self.reload()

    def teardown(self) -> None:
        self._ds.close()
        shutil.rmtree(self._folder)

    def reload(self) -> None:
        if hasattr(self, "_ds"):
            self._ds.close()
        self._ds = dalsegno.connect(f"sqlite:///{self._db}", audit_key=self.key)

    def snapshot_store(self) -> Any:
        self._ds.close()
        token = self._copy_store(self._db)
        self.reload()
        return token

    def restore_store(self, token: Any) -> None:
        self._ds.close()
        self._restore_store(token, self._db)
        self.reload()

    def sql(self, text: str, *values: Any) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self._db)) as db:
            found = db.execute(text, values).fetchall()
            db.commit()
        return found

    def thread(self, name: str) -> int:
        return int(self.sql("SELECT thread FROM ds_threads WHERE name = ?", name)[0][0])

    def owner_of(self, record: Record) -> str:
        return str(record.fields["thread"])

    def read_all_raw(self) -> list[Record]:
        return self._records(MINE)

    def read_other_raw(self) -> list[Record]:
        return self._records(OTHER)

    def seed(self, n: int) -> None:
        self._seed(MINE, n)

    def seed_other(self, n: int) -> None:
        self._seed(OTHER, n)


class Audit(Store):
    """The audit of actions; a record is one row, a move of an action."""

    name = "dalsegno audit"
    COLUMNS = ("tenant", "thread", "seq", "at", "digest", "hash", "body")

    def _seed(self, thread: str, n: int) -> None:
        for number in range(n):
            with self._ds.actions.perform(
                "act", {"n": f"{thread} {number}"}, kind="create", scope="thread", thread_id=thread
            ):
                pass
        with (
            contextlib.suppress(dalsegno.errors.ApprovalRequired),
            self._ds.actions.perform("asks", {}, kind="create", scope="thread", thread_id=thread, approve=True),
        ):
            pass

    def append_genuine(self) -> None:
        (waiting,) = self._ds.actions.list(MINE, state="awaiting_approval")
        self._ds.actions.approve(waiting.action_id, by="mara")

    def _records(self, thread: str) -> list[Record]:
        rows = self.sql(
            f"SELECT {', '.join(self.COLUMNS)} FROM ds_audit WHERE thread = ? ORDER BY seq", self.thread(thread)
        )
        return [Record(seq=place, fields=dict(zip(self.COLUMNS, row, strict=True))) for place, row in enumerate(rows)]

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['thread']}:{record.fields['seq']}"

    def payload_of(self, record: Record) -> str:
        return str(record.fields["body"])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["body"] = record.fields["body"].replace('"move":', '"moved":')
        return record

    def write_raw(self, record: Record) -> None:
        rows = self.read_all_raw()
        if record.seq >= len(rows):
            self._append(record)
            return
        self._put(rows[record.seq], record)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self._put(self.read_all_raw()[victim_seq], donor)

    def _put(self, slot: Record, content: Record) -> None:
        """A text into a slot, with a digest that fits and the hash that its place would have given it."""
        before = self.sql(
            "SELECT hash FROM ds_audit WHERE thread = ? AND seq = ?", slot.fields["thread"], slot.fields["seq"] - 1
        )
        digest = digest_of(content.fields["body"])
        hash_ = link(
            slot.fields["tenant"], slot.fields["thread"], slot.fields["seq"], slot.fields["at"], digest,
            before[0][0] if before else None,
        )  # fmt: skip
        self.sql(
            "UPDATE ds_audit SET body = ?, digest = ?, hash = ? WHERE thread = ? AND seq = ?",
            content.fields["body"], digest, hash_, slot.fields["thread"], slot.fields["seq"],
        )  # fmt: skip

    def _append(self, record: Record) -> None:
        """A row after the last, chained to it; the head is told of it."""
        last = self.read_all_raw()[-1].fields
        body, digest = record.fields["body"], digest_of(record.fields["body"])
        seq = last["seq"] + 1
        hash_ = link(last["tenant"], last["thread"], seq, last["at"], digest, last["hash"])
        self.sql(
            "INSERT INTO ds_audit VALUES (?, ?, ?, ?, ?, ?, ?)",
            last["tenant"],
            last["thread"],
            seq,
            last["at"],
            digest,
            hash_,
            body,
        )
        self.move_head()

    def delete_raw(self, seq: int) -> None:
        rows = self.read_all_raw()
        self.sql("DELETE FROM ds_audit WHERE thread = ? AND seq = ?", self.thread(MINE), rows[seq].fields["seq"])
        if seq == len(rows) - 1:
            self.move_head()

    def move_head(self) -> None:
        last = self.read_all_raw()[-1].fields
        self.sql(
            "UPDATE ds_audit_heads SET seq = ?, hash = ? WHERE thread = ?", last["seq"], last["hash"], last["thread"]
        )

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {"at": self.read_all_raw()[seq].fields["at"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        self.sql("UPDATE ds_audit SET at = ? WHERE thread = ? AND seq = ?", meta["at"] + 1, self.thread(MINE), seq + 1)

    def verify(self) -> bool:
        verdict = self._ds.actions.verify()
        self.verify_detail = ", ".join(sorted({each.kind for each in verdict.breaks}))
        return verdict.sound


class LeftHead(Audit):
    """The same, by an attacker who does not know of the heads."""

    name = "dalsegno audit, heads left as they were"

    def move_head(self) -> None:
        pass


class Kept(Audit):
    """The same, where the heads of the last verification are kept out of the attacker's reach."""

    name = "dalsegno audit, heads kept elsewhere"

    def setup(self) -> None:
        self._kept: Any = None
        super().setup()

    def seed(self, n: int) -> None:
        super().seed(n)
        self._kept = self._ds.actions.verify().heads

    def append_genuine(self) -> None:
        super().append_genuine()
        self._kept = self._ds.actions.verify(self._kept).heads

    def verify(self) -> bool:
        verdict = self._ds.actions.verify(self._kept)
        self.verify_detail = ", ".join(sorted({each.kind for each in verdict.breaks}))
        return verdict.sound


class Sealed(Audit):
    """The same, sealed with a key that the attacker does not have."""

    name = "dalsegno audit, sealed"
    key = "0123456789abcdef"


class SealedKept(Kept):
    """The same, sealed, and the heads kept elsewhere."""

    name = "dalsegno audit, sealed and heads kept elsewhere"
    key = "0123456789abcdef"


class Checkpoints(Store):
    """The checkpoint store, asked with `dalsegno check`; a record is one checkpoint."""

    name = "dalsegno checkpoints, check"
    COLUMNS = ("tenant", "thread", "ckpt", "ns", "id", "parent", "branch", "created_at", "source", "step", "version", "run", "meta", "shape", "graph", "frame", "state")  # fmt: skip

    def _seed(self, thread: str, n: int) -> None:
        for number in range(n):
            self._put(thread, f"{thread} says {number}", number)

    def _put(self, thread: str, said: str, step: int) -> None:
        from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint

        config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        found = self._ds.checkpointer.get_tuple(config)
        made = create_checkpoint(found.checkpoint if found else empty_checkpoint(), None, step)
        made["channel_values"], made["channel_versions"] = {"state": said}, {"state": step + 1}
        self._ds.checkpointer.put(
            found.config if found else config, made, {"source": "loop", "step": step}, {"state": step + 1}
        )

    def append_genuine(self) -> None:
        self._put(MINE, "late", 99)

    def _records(self, thread: str) -> list[Record]:
        rows = self.sql(
            f"SELECT {', '.join(self.COLUMNS)} FROM ds_checkpoints WHERE thread = ? ORDER BY ckpt", self.thread(thread)
        )
        return [Record(seq=place, fields=dict(zip(self.COLUMNS, row, strict=True))) for place, row in enumerate(rows)]

    def identity_of(self, record: Record) -> str:
        return record.fields["id"].hex()

    def payload_of(self, record: Record) -> str:
        return str(record.fields["state"])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["state"] = record.fields["state"].replace("says", "SAYS")
        return record

    def write_raw(self, record: Record) -> None:
        rows = self.read_all_raw()
        if record.seq < len(rows):
            self.replay_onto(record.seq, record)
            return
        last = rows[-1].fields
        fields = {
            **record.fields, "ckpt": last["ckpt"] + 2, "parent": last["ckpt"],
            "id": (int.from_bytes(last["id"], "big") + 1).to_bytes(16, "big"),
        }  # fmt: skip
        self.sql(f"INSERT INTO ds_checkpoints VALUES ({', '.join('?' * len(self.COLUMNS))})", *fields.values())
        self._move_head()

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        slot = self.read_all_raw()[victim_seq].fields
        self.sql(
            "UPDATE ds_checkpoints SET state = ? WHERE thread = ? AND ckpt = ?",
            donor.fields["state"],
            slot["thread"],
            slot["ckpt"],
        )

    def delete_raw(self, seq: int) -> None:
        self.sql(
            "DELETE FROM ds_checkpoints WHERE thread = ? AND ckpt = ?",
            self.thread(MINE),
            self.read_all_raw()[seq].fields["ckpt"],
        )
        self._move_head()

    def _move_head(self) -> None:
        last = self.read_all_raw()[-1].fields
        self.sql("UPDATE ds_namespaces SET head = ? WHERE thread = ? AND ns = 0", last["ckpt"], last["thread"])
        self.sql("UPDATE ds_threads SET checkpoints = ? WHERE thread = ?", last["ckpt"], last["thread"])

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {"step": self.read_all_raw()[seq].fields["step"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        slot = self.read_all_raw()[seq].fields
        self.sql(
            "UPDATE ds_checkpoints SET step = ? WHERE thread = ? AND ckpt = ?",
            meta["step"] + 1,
            slot["thread"],
            slot["ckpt"],
        )

    def verify(self) -> bool:
        findings = self._ds.threads.check().findings
        self.verify_detail = ", ".join(sorted({each.kind for each in findings}))
        return not findings


class Reading(Checkpoints):
    """The same, asked by reading it as a run that goes on does."""

    name = "dalsegno checkpoints, read path"
    detection_point = "read"

    def verify(self) -> bool:
        config = {"configurable": {"thread_id": MINE}}
        try:
            return bool(self._ds.checkpointer.get_tuple(config) and list(self._ds.checkpointer.list(config)))
        except dalsegno.errors.DalsegnoError as error:
            self.verify_detail = str(error)
            return False


R, A = "REPORTED", "ACCEPTED"
VERDICTS = {
    Audit: (R, A, R, R, A, R, R, R, A),
    LeftHead: (R, R, R, R, R, R, R, R, A),
    Kept: (R, R, R, R, A, R, R, R, R),
    Sealed: (R, R, R, R, R, R, R, R, A),
    SealedKept: (R, R, R, R, R, R, R, R, R),
    Checkpoints: (A, A, R, A, A, A, A, A, A),
    Reading: (A, A, A, A, A, A, A, A, A),
}


def row(name: str, verdicts: tuple[str, ...]) -> str:
    """A row of the table in docs/audit.md."""
    return f"| {name} | {' | '.join(each.lower() for each in verdicts)} |"


@pytest.mark.parametrize("adapter", VERDICTS)
def test_the_verdict_of_the_public_suite_is_the_one_in_the_docs(adapter):
    rows = run(adapter())
    assert [each["edit"].split()[0] for each in rows] == list(EDITS)
    found = tuple(each["verdict"] for each in rows)
    assert found == VERDICTS[adapter], [(each["edit"], each["verdict"], each["detail"]) for each in rows]
    page = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
    if page.is_file():  # the tests also run from a copy without the pages
        assert row(adapter.name, found) in page.read_text(encoding="utf-8")
