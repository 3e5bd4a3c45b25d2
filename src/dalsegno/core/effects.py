"""Names that sound like an effect on the world, and names of what a field holds: hints, never proof.

Rules of this module:

* A name is read as its words: `sendEmail`, `send_email` and `send-email` are the same two. The first verb counts, so
  `get_send_history` reads and `send_history` sends.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_effect", "is_send", "names_recipient", "words_of"]


def _listed(words: str) -> list[str]:
    return words.split()


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SENDS: Final = frozenset(_listed("send email mail notify sms message post publish tweet reply forward invite"))
_EFFECTS: Final = _SENDS | frozenset(
    _listed(
        "create add insert delete remove drop update set write save upload pay charge refund transfer withdraw "
        "deposit buy sell order book reserve cancel submit approve reject deploy restart merge commit push issue "
        "assign grant revoke schedule execute purchase ship rename move archive modify reset put patch"
    )
)
_READS: Final = frozenset(
    _listed(
        "get list read search find look lookup fetch query show describe check count load view compute calculate "
        "convert translate summarize classify validate parse format estimate predict render draft plan think select "
        "retrieve calc is has"
    )
)
_RECIPIENT: Final = frozenset(
    _listed(
        "to recipient recipients address email mail channel user phone number target receiver audience contact "
        "customer room chat addressee cc room_id chat_id webhook url topic"
    )
)


def words_of(name: str) -> list[str]:
    """The words of a name, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def is_effect(name: str) -> bool:
    """Whether a name says that something is done to the world."""
    return _verb(name) in _EFFECTS


def is_send(name: str) -> bool:
    """Whether a name says that something is sent to someone."""
    return _verb(name) in _SENDS


def names_recipient(parameter: str) -> bool:
    """Whether a parameter's name says that it holds who gets something."""
    return any(word in _RECIPIENT for word in words_of(parameter))


def _verb(name: str) -> str:
    return next((word for word in words_of(name) if word in _READS or word in _EFFECTS), "")
