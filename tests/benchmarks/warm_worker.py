"""Runs many jobs of ``benchmarks/worker.py`` in one process, so that packages are imported once.

Started as ``python -I warm_worker.py WORKER.py``. Each line of stdin names a job and a log file;
each line of stdout is the exit status of that job.
"""

import os
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location


def main(worker_path):
    spec = spec_from_file_location("worker", worker_path)
    worker = module_from_spec(spec)
    spec.loader.exec_module(worker)
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        job, log = line.rstrip("\n").split("\t")
        with open(log, "a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = 0
        try:
            worker.main(job)
        except Exception:  # noqa: BLE001 - the log shows what it was, as that of a process would
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        print(status, file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
