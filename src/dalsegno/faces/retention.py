"""`ds.retention`: how long threads and their checkpoints are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dalsegno.contracts import Op, Store
from dalsegno.core.retention import RetentionPolicy
from dalsegno.errors import Misuse
from dalsegno.faces.face import Face
from dalsegno.faces.status import statuses
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.services import retention
from dalsegno.services.retention import ThreadPlan
from dalsegno.services.threads_row import Scope

__all__ = ["Retention", "RetentionReport"]

_PAGE = 500

Policies = RetentionPolicy | Sequence[RetentionPolicy]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReport:
    """What policies did, or would do.

    Attributes:
        dry_run: whether nothing was changed.
        looked_at: threads that were looked at.
        threads: those of which something goes, or is held although a policy lets it go.
    """

    dry_run: bool
    looked_at: int
    threads: tuple[ThreadPlan, ...]

    @property
    def expired(self) -> int:
        """Threads that go whole."""
        return sum(each.expires is not None for each in self.threads)

    @property
    def checkpoints(self) -> int:
        """Checkpoints that go from threads that stay."""
        return sum(len(each.drops) for each in self.threads)

    @property
    def held(self) -> int:
        """Threads that are left alone because they are in use."""
        return sum(each.held is not None for each in self.threads)

    @property
    def size_bytes(self) -> int:
        """Bytes of the bodies that go."""
        return sum(each.size_bytes for each in self.threads)

    @property
    def disk_bytes(self) -> int:
        """An estimate of what that takes in the database."""
        return sum(each.disk_bytes for each in self.threads)


class Retention(Face):
    """Carries out policies on the threads of a tenant (and user)."""

    def __init__(self, store: Store, scope: Callable[[], Scope], saver: DalsegnoSaver) -> None:
        """Take the store, the scope, and the checkpointer whose memory forgets too."""
        super().__init__(store, scope)
        self._saver = saver

    def run(
        self,
        policy: Policies,
        dry_run: bool = False,  # noqa: FBT001, FBT002 - as a worker calls it
        *,
        progress: Progress | None = None,
    ) -> RetentionReport:
        """Let go what the policies say, thread by thread, each in a transaction of its own.

        It may be killed at any moment and run again, and several may run at once.

        Args:
            policy: one, or several of which the first that a thread's tags match decides.
            dry_run: change nothing, and say what would go.
            progress: told (threads done, threads in all) after each.

        Raises:
            Misuse: that is no policy.
        """
        policies = _checked(policy)
        total = self._run(retention.count)
        plans: list[ThreadPlan] = []
        done = 0
        for name in self._names():
            plan = self._treat(name, policies, act=not dry_run)
            if plan is not None:
                plans.append(plan)
            done += 1
            if progress is not None:
                progress(done, max(total, done))
        return RetentionReport(dry_run=dry_run, looked_at=done, threads=tuple(plans))

    def plan(self, policy: Policies, *, progress: Progress | None = None) -> RetentionReport:
        """What `run` would do now; nothing is changed."""
        return self.run(policy, dry_run=True, progress=progress)

    async def arun(
        self,
        policy: Policies,
        dry_run: bool = False,  # noqa: FBT001, FBT002 - as a worker calls it
        *,
        progress: Progress | None = None,
    ) -> RetentionReport:
        """Async face of `run`, in a worker thread: it looks at everything."""
        return await asyncio.to_thread(self.run, policy, dry_run, progress=progress)

    async def aplan(self, policy: Policies, *, progress: Progress | None = None) -> RetentionReport:
        """Async face of `plan`, in a worker thread."""
        return await asyncio.to_thread(self.run, policy, True, progress=progress)  # noqa: FBT003 - `run` takes it so

    def _names(self) -> Iterator[str]:
        after: str | None = None
        while names := self._run(lambda scope: retention.page(scope, after, _PAGE)):  # noqa: B023 - run at once
            yield from names
            after = names[-1]

    def _treat(self, name: str, policies: Sequence[RetentionPolicy], *, act: bool) -> ThreadPlan | None:
        def looked(scope: Scope) -> Op[ThreadPlan | None]:
            return retention.treat(scope, name, policies, _standing, act=False)

        plan = self._run(looked)
        if not act or plan is None or plan.held is not None:
            return plan
        # Only now the thread is locked, and everything is asked again.
        plan = self._run(
            lambda scope: retention.treat(scope, name, policies, _standing, act=True), write=True, key=name
        )
        if plan is not None and plan.expires is not None:
            self._saver.forget(name)
        return plan


def _standing(scope: Scope, name: str) -> Op[str]:
    found = yield from statuses(scope, [name])
    return str(found[name])


def _checked(policy: object) -> tuple[RetentionPolicy, ...]:
    policies = (policy,) if isinstance(policy, RetentionPolicy) else policy
    if not isinstance(policies, Sequence) or not policies:
        msg = f"{policy!r} is no policy; give a dalsegno.RetentionPolicy, or several"
        raise Misuse(msg)
    for each in policies:
        if not isinstance(each, RetentionPolicy):
            msg = f"{each!r} is no policy; give a dalsegno.RetentionPolicy, or several"
            raise Misuse(msg)
    return tuple(policies)
