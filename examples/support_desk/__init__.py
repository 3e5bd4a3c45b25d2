"""A support desk: a planner, executors side by side, a critic, a reply; short states, effects once.

python -m examples.support_desk chat
python -m examples.support_desk selftest
python -m examples.support_desk kill-and-resume
python -m examples.support_desk cost
"""
