"""LangGraph and LangChain: the one room that imports them."""
