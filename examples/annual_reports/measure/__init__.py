"""Measurements of the parts, each on its own: retrieval, arithmetic, ingestion."""
