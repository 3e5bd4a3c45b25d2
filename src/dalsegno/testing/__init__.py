"""For those who build on a store, or build one: faults on demand, comparable snapshots, conformance."""

from dalsegno.testing.cases import CASES, Case, OpenStore
from dalsegno.testing.conformance import Conformance, Verdict, check_store
from dalsegno.testing.faults import CutConnections, Fault, Kill, Moment, Point, RaiseError, Sleep
from dalsegno.testing.faulty import FaultyStore, connect_over
from dalsegno.testing.operations import OPERATIONS, Operation, prepare
from dalsegno.testing.snapshots import Snapshot, differences, snapshot

__all__ = [
    "CASES",
    "OPERATIONS",
    "Case",
    "Conformance",
    "CutConnections",
    "Fault",
    "FaultyStore",
    "Kill",
    "Moment",
    "OpenStore",
    "Operation",
    "Point",
    "RaiseError",
    "Sleep",
    "Snapshot",
    "Verdict",
    "check_store",
    "connect_over",
    "differences",
    "prepare",
    "snapshot",
]
