"""Forks a process for each job it is told, so that hundreds of kills cost no interpreter start each.

Not a test: a program that has only one thread when it forks. It reads one JSON line for each job, `{"job", "pipe"}`,
answers `{"pid"}` at once and `{"status"}` when that process has ended.
"""

import json
import os
import sys

from dalsegno.demo import child


def _child(job: str, pipe: str) -> None:
    out = os.open(pipe, os.O_WRONLY)
    child.perform(child.Job.from_json(job), lambda report: os.write(out, json.dumps(report).encode() + b"\n"))


def answer(value: dict[str, int]) -> None:
    os.write(1, json.dumps(value).encode() + b"\n")


for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        try:
            _child(order["job"], order["pipe"])
        except BaseException as error:  # noqa: BLE001 - a forked child must not go on as the nursery
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    answer({"pid": pid})
    _, status = os.waitpid(pid, 0)
    answer({"status": os.waitstatus_to_exitcode(status)})
