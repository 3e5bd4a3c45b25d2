"""The objects a program holds: `ds.journal`, `ds.threads`, `ds.runs`. Each method has an `a…` twin for event loops."""
