"""What goes into one model call: sections by trust, fidelity, priority and place, within a budget.

The rules stand at the head of the modules: what a section is (`sections`), how it is shown at a level (`showing`), who
gives way (`giving_way`), how it becomes a request (`assembling`) and what is on record about it (`manifest`).
"""

from dalsegno.core.context.assembling import Context
from dalsegno.core.context.manifest import Entry, Manifest
from dalsegno.core.context.sections import Fidelity, Place, Section, Trust
from dalsegno.core.request import Request

__all__ = ["Context", "Entry", "Fidelity", "Manifest", "Place", "Request", "Section", "Trust"]
