"""Measurements beside LangGraph's stock savers, in one run on one machine, reported as ratios (see README.md)."""
