"""The rules of the answer cache: when two questions are one, which answers may be kept, which lines are safe.

Rules of this package are written at the head of its modules.
"""
