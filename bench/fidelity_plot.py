"""The plot beside the fidelity table: one panel for each source, one line for each subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["plot"]

WIDTH, HEIGHT, LEFT, TOP, GAP = 190, 150, 46, 46, 22
TITLE = "Protected facts of removed messages that can still be reached, after 1 to 10 compactions"
COLOURS = ("#0b6e4f", "#c1440e", "#6b7280")
DASHES = ("", "6 3", "2 3")


def plot(curves: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """An SVG of the share of protected facts that is reachable, by compactions so far.

    Args:
        curves: source → subject → share after each compaction, from 0 to 1.
    """
    names = list(dict.fromkeys(name for lines in curves.values() for name in lines))
    total = LEFT + len(curves) * (WIDTH + GAP)
    height = TOP + HEIGHT + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" font-family="sans-serif">',
        "<style>text { font-size: 11px }</style>",
        "<title>Protected facts reachable after each compaction</title>",
        f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="16" fill="#111827">{TITLE}</text>',
    ]
    for at, (source, lines) in enumerate(curves.items()):
        parts += _panel(LEFT + at * (WIDTH + GAP), source, lines, names, with_scale=at == 0)
    x = LEFT
    for at, name in enumerate(names):
        y = height - 12
        parts.append(
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 26}" y2="{y - 4}" stroke="{COLOURS[at]}" stroke-width="2.5" '
            f'stroke-dasharray="{DASHES[at]}"/><text x="{x + 32}" y="{y}" fill="#111827">{escape(name)}</text>'
        )
        x += 60 + 7 * len(name)
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    left: int, source: str, lines: Mapping[str, Sequence[float]], names: Sequence[str], *, with_scale: bool
) -> list[str]:
    parts = [f'<text x="{left}" y="{TOP - 8}" font-weight="bold" fill="#111827">{escape(source)}</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + HEIGHT * (1 - share)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDTH}" y2="{y:.1f}" stroke="#e5e7eb"/>')
        if with_scale:
            parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#374151">{share:.0%}</text>')
    for name, shares in lines.items():
        step = WIDTH / max(1, len(shares) - 1)
        points = " ".join(f"{left + at * step:.1f},{TOP + HEIGHT * (1 - share):.1f}" for at, share in enumerate(shares))
        at = names.index(name)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[at]}" stroke-width="2.5" '
            f'stroke-dasharray="{DASHES[at]}"/>'
        )
    for at, label in ((0, "1"), (4, "5"), (9, "10")):
        x, y = left + at * WIDTH / 9, TOP + HEIGHT + 15
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="#374151">{label}</text>')
    return parts
