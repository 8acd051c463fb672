"""Runs one rival once and reports time and memory: the whole of a measured process.

Started as ``python -I worker.py JOB.json`` by whichever interpreter the rival needs, so nothing but
NumPy and the standard library may be imported here, old releases included. A rival that raises is
left to raise: the last line of the traceback is what the table shows.
"""

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time

import numpy as np

REPORTED = [
    "likewise",
    "numpy",
    "scipy",
    "scikit-learn",
    "metric-learn",
    "PyLMNN",
    "mlpack",
    "pyDML",
    "river",
    "torch",
    "triton",
    "cuvs",
]
MAX_CALLS = 1000


def main(job_path):
    with open(job_path) as file:
        job = json.load(file)
    with np.load(job["data"]) as archive:
        data = {name: archive[name] for name in archive.files}

    started = time.perf_counter()
    report(job, {"import_started": started})
    call = function_of(job["file"], job["function"])(threads=job["threads"], **job["options"])
    import_s = time.perf_counter() - started
    baseline_mb = peak_memory_mb()

    report(job, {"import_s": import_s, "call_started": time.perf_counter()})
    result, first_s, cpu_s = timed(call, data)
    peak_mb = peak_memory_mb()
    cold = {"cold_s": import_s + first_s}
    report(job, cold)
    np.savez(job["result"], **result)
    del result

    warm_s, calls = first_s, []
    if first_s < job["warm_below_s"]:
        started = time.perf_counter()
        report(job, dict(cold, warm_started=started))
        calls.append(timed(call, data)[1:])
        report(job, cold)
        # The median of many short calls: one of them may meet an interrupt.
        while time.perf_counter() - started < job["repeat_s"] and len(calls) < MAX_CALLS:
            calls.append(timed(call, data)[1:])
        warm_s, cpu_s = sorted(calls)[len(calls) // 2]

    reply = {
        **cold,
        "import_s": import_s,
        "warm_s": warm_s,
        "warm_calls": len(calls),
        "cpu_s": cpu_s,
        "peak_mb": peak_mb,
        "baseline_mb": baseline_mb,
        "added_mb": peak_mb - baseline_mb,
        "product_flops": product_rate(),
        "versions": versions(),
    }
    with open(job["reply"], "w") as file:
        json.dump(reply, file)


def report(job, progress):
    """Replace the progress file, from which bounds follow where this process is stopped."""
    with open(job["progress"] + ".new", "w") as file:
        json.dump(progress, file)
    os.replace(job["progress"] + ".new", job["progress"])


def function_of(path, name):
    spec = importlib.util.spec_from_file_location("rival", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def timed(call, data):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call(data)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def product_rate(n=800):
    """Return this process's rate of matrix products, in operations a second."""
    square = np.random.RandomState(0).normal(size=(n, n))
    return 2.0 * n**3 / min(timed(square.dot, square)[1] for _ in range(4))


def peak_memory_mb():
    """Return the most memory this process ever held, in MB of 10⁶ bytes."""
    try:
        with open("/proc/self/status") as status:
            kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        return kib * 1024 / 1e6
    except OSError:  # not Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def versions():
    found = {"python": platform.python_version()}
    for name in REPORTED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main(sys.argv[1])
