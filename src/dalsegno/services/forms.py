"""Forms: small bodies that many threads have in common, kept once per tenant.

Rules of this module:

* A form says how the states of a graph look, never what is in them: the names of channels and nodes, the triggers. So
  it outlives the threads that used it. Only an erasure takes one away, when no other thread uses it, since a name may
  be a person's.
* Who is about to use a form keeps it until the commit, so that no erasure takes it in between.
* A form is found by the digest of its text. Two writers that add the same one at the same moment leave two, which is
  harmless; neither waits for the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dalsegno.contracts import Op, Step
from dalsegno.services.loading import json_text

__all__ = ["digest_of_form", "drop_unused", "forms"]


def digest_of_form(body: bytes) -> bytes:
    """What a form is found by: the first 16 bytes of the SHA-256 of its text."""
    return hashlib.sha256(body).digest()[:16]


def forms(tenant: int, bodies: Sequence[bytes]) -> Op[dict[bytes, int]]:
    """Numbers of forms by body; what the tenant does not have yet is added."""
    digests = {digest_of_form(body): body for body in bodies}
    if not digests:
        return {}
    named = {"tenant": tenant, "digests": json_text([digest.hex() for digest in digests])}
    found: dict[bytes, int] = {}
    for digest, number in (yield Step("forms_find", named)):
        body = digests[bytes(digest)]
        found[body] = min(number, found.get(body, number))
    for digest, body in digests.items():
        if body not in found:
            rows = yield Step("form_add", {"tenant": tenant, "digest": digest, "body": body.decode()})
            found[body] = rows[0][0]
    return found


def drop_unused(tenant: int) -> Op[None]:
    """Delete forms that no checkpoint of the tenant uses; locked first, so that one that is being used stays."""
    for (number,) in (yield Step("forms_unused", {"tenant": tenant})):
        named = {"tenant": tenant, "form": number}
        yield (Step("form_lock", named), Step("form_drop", named))
