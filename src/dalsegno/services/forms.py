"""Forms: small bodies that many threads have in common, kept once per tenant.

Rules of this module:

* A form says how the states of a graph look, never what is in them: the names of channels and nodes, the triggers. So
  it outlives the threads that used it. Only an erasure takes one away, when no other thread uses it, since a name may
  be a person's.
* A form is found by the digest of its text, in the transaction that uses it: a number that a process remembers may be
  another form's by then, in a database that was restored or has failed over. It is kept until the commit, so that no
  erasure takes it in between.
* Two writers that add the same one at the same moment leave two, which is harmless; neither waits for the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from dalsegno.contracts import Op, Step
from dalsegno.errors import Damaged

__all__ = ["digest_of_form", "drop_unused", "forms", "sound_form"]


def digest_of_form(body: bytes) -> bytes:
    """What a form is found by: the first 16 bytes of the SHA-256 of its text."""
    return hashlib.sha256(body).digest()[:16]


@lru_cache(maxsize=1024)
def sound_form(body: str | None, digest: bytes | None) -> str:
    """A form's body, believed only when the digest is its own: names in other places would make another state of it.

    Raises:
        Damaged: it is not, or there is no such form.
    """
    if body is None or digest is None or digest_of_form(body.encode()) != bytes(digest):
        raise Damaged("a form", expected="a body of its digest", found=str(body)[:100])
    return body


def forms(tenant: int, bodies: Iterable[bytes], found: Mapping[bytes, int]) -> Op[dict[bytes, int]]:
    """Numbers of forms by body; what the tenant does not have yet is added.

    Args:
        tenant: tenant's number.
        bodies: the forms.
        found: numbers, by digest, of those the tenant has.
    """
    numbers: dict[bytes, int] = {}
    for body in sorted(set(bodies)):
        digest = digest_of_form(body)
        number = found.get(digest)
        if number is None:
            ((number,),) = yield Step("form_add", {"tenant": tenant, "digest": digest, "body": body.decode()})
        numbers[body] = number
    return numbers


def drop_unused(tenant: int) -> Op[None]:
    """Delete forms that no checkpoint of the tenant uses; locked first, so that one that is being used stays."""
    for (number,) in (yield Step("forms_unused", {"tenant": tenant})):
        named = {"tenant": tenant, "form": number}
        yield (Step("form_lock", named), Step("form_drop", named))
