"""Protected facts: what a shortened conversation must still say.

Rules of this package are written at the head of its modules; the contract is what stands here.
"""

from dalsegno.core.facts.finding import facts_in
from dalsegno.core.facts.kinds import ATOMS, FIGURES, WORDINGS, Fact, Kind
from dalsegno.core.facts.stated import FactIndex, invented, survives
from dalsegno.core.facts.subjects import said_in
from dalsegno.core.facts.table import FactTable, Row, Said

__all__ = [
    "ATOMS",
    "FIGURES",
    "WORDINGS",
    "Fact",
    "FactIndex",
    "FactTable",
    "Kind",
    "Row",
    "Said",
    "facts_in",
    "invented",
    "said_in",
    "survives",
]
