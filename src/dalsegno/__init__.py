"""The continuity layer for LLM agents."""
