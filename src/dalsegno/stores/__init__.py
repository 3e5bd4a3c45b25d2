"""Stores: the only rooms that know SQL and drivers. Everything above speaks to `dalsegno.contracts.Store`."""
