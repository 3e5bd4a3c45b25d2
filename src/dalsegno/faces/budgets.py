"""`ds.budgets`: what runs, threads and the tenant have spent."""

from __future__ import annotations

from dalsegno.core.budgets import Spent
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_text
from dalsegno.faces.face import Face
from dalsegno.services import spending
from dalsegno.services.ids import thread_name
from dalsegno.services.spending import Account, RunSpent, Standing

__all__ = ["Budgets"]


class Budgets(Face):
    """Accounts of runs, threads and the tenant, changed in one transaction each."""

    def reserve(self, account: Account, ask: Spent) -> Standing:
        """Set something aside before it is spent, if there is room for it. `Budget` does it around each model call.

        Args:
            account: whose budgets, and their limits.
            ask: what is about to be spent, as far as it is known.

        Returns:
            How the account stands. Refused: nothing was set aside. Granted: it counts as spent from now on, also when
            this process dies before it says what it really was.

        Raises:
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
            Misuse: an argument is none.
        """
        name = _told(account, ask)
        return self._run(lambda scope: spending.reserve(scope, account, ask), write=True, key=name)

    async def areserve(self, account: Account, ask: Spent) -> Standing:
        """Async face of `reserve`."""
        name = _told(account, ask)
        return await self._arun(lambda scope: spending.reserve(scope, account, ask), write=True, key=name)

    def settle(self, account: Account, difference: Spent) -> None:
        """Correct what was set aside.

        Args:
            account: whose budgets.
            difference: what it really was, less what was set aside; may be below 0.

        Raises:
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
            Misuse: an argument is none.
        """
        name = _told(account, difference)
        self._run(lambda scope: spending.settle(scope, account, difference), write=True, key=name)

    async def asettle(self, account: Account, difference: Spent) -> None:
        """Async face of `settle`."""
        name = _told(account, difference)
        await self._arun(lambda scope: spending.settle(scope, account, difference), write=True, key=name)

    def spent(self, thread_id: str, run: str = "") -> Spent:
        """What a thread has spent, or one run of it; nothing for a run that it does not know.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        a_text("run", run)
        name = thread_name(thread_id)
        return self._run(lambda scope: spending.spent(scope, name, run))

    async def aspent(self, thread_id: str, run: str = "") -> Spent:
        """Async face of `spent`."""
        a_text("run", run)
        name = thread_name(thread_id)
        return await self._arun(lambda scope: spending.spent(scope, name, run))

    def runs(self, thread_id: str) -> list[RunSpent]:
        """What each run of a thread has spent; the one that spent last stands at the end.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return self._run(lambda scope: spending.runs(scope, thread_name(thread_id)))

    async def aruns(self, thread_id: str) -> list[RunSpent]:
        """Async face of `runs`."""
        return await self._arun(lambda scope: spending.runs(scope, thread_name(thread_id)))

    def tenant(self, period: str = "") -> Spent:
        """What the tenant has spent in a period, over all users and threads, deleted ones included."""
        a_text("period", period)
        return self._run(lambda scope: spending.tenant(scope, period))

    async def atenant(self, period: str = "") -> Spent:
        """Async face of `tenant`."""
        a_text("period", period)
        return await self._arun(lambda scope: spending.tenant(scope, period))


def _told(account: object, amounts: object) -> str:
    if not isinstance(account, Account) or not isinstance(amounts, Spent):
        raise Misuse("give an Account and what was Spent.")
    return thread_name(account.thread)
