"""Findings as a SARIF 2.1.0 log, the form that code hosts and editors read.

Rules of this module:

* A place is a path as the command line saw it, and a line; where neither is known, the field or node alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalsegno.core.lint import LintFinding
from dalsegno.core.lint_rules import IDS

__all__ = ["sarif"]


def sarif(findings: Sequence[LintFinding], version: str) -> dict[str, Any]:
    """Findings as a SARIF 2.1.0 log.

    Args:
        findings: of one run.
        version: of this package.
    """
    ids = sorted(IDS)
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "dalsegno lint",
                        "semanticVersion": version,
                        "rules": [{"id": id_, "shortDescription": {"text": IDS[id_]}} for id_ in ids],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": each.rule,
                        "ruleIndex": ids.index(each.rule),
                        "level": each.level,
                        "message": {"text": f"{each.subject}: {each.why}. {each.fix}."},
                        "locations": [_location(each)],
                    }
                    for each in findings
                ],
            }
        ],
    }


def _location(each: LintFinding) -> dict[str, Any]:
    path, _, line = each.place.rpartition(":")
    if not path:
        path, line = each.place, ""
    found: dict[str, Any] = {"logicalLocations": [{"name": each.subject, "fullyQualifiedName": each.subject}]}
    if path:
        physical: dict[str, Any] = {"artifactLocation": {"uri": path.replace("\\", "/").replace(" ", "%20")}}
        if line.isdigit():
            physical["region"] = {"startLine": int(line)}
        found["physicalLocation"] = physical
    return found
