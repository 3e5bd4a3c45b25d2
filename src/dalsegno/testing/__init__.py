"""For those who build on a store, or build one: faults on demand, comparable snapshots, conformance."""

from dalsegno.testing.faults import (
    CutConnections,
    Fault,
    FaultyStore,
    Kill,
    Moment,
    Point,
    RaiseError,
    Sleep,
    connect_over,
)
from dalsegno.testing.operations import OPERATIONS, Operation, prepare
from dalsegno.testing.snapshots import Snapshot, differences, snapshot

__all__ = [
    "OPERATIONS",
    "CutConnections",
    "Fault",
    "FaultyStore",
    "Kill",
    "Moment",
    "Operation",
    "Point",
    "RaiseError",
    "Sleep",
    "Snapshot",
    "connect_over",
    "differences",
    "prepare",
    "snapshot",
]
