"""The command line of likewise, as a person calls it.

Each function imports all that its calls need, so that no call is charged with an import.
"""


def first_ranking(threads):
    import os
    import subprocess
    import sys
    import tempfile
    import time

    def rank(data):
        with tempfile.TemporaryDirectory() as folder:
            write_csv(f"{folder}/table.csv", data)
            command = [sys.executable, "-m", "likewise", "compare", "table.csv", "--label", "label"]
            command += [] if data["whole"] else ["--methods", "Euclidean,RCA"]
            environment = {**os.environ, "LIKEWISE_CACHE": folder}
            start = time.perf_counter()
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            times, found = [], 0
            for line in process.stdout:
                times.append(time.perf_counter() - start)
                if line.startswith("First ranking"):
                    found = line.count("%")
                    break
            process.terminate()
            process.wait()
        return {"first_s": times[-1], "progress_s": times[0], "n_ranked": found}

    return rank


def report(threads):
    import time

    from likewise.evaluation import compare
    from likewise.report import render, summarise

    def make(data):
        X, y = data["X"], data["y"]
        comparison = compare(X[:4000], y[:4000], ["Euclidean", "RCA"], n_repeats=1)
        start = time.perf_counter()
        summary = summarise(X, y, comparison=comparison)
        page = render(summary)
        total = time.perf_counter() - start
        fit = float(summary["run"]["facts"]["fit of the metric shown"].split()[0])
        return {"beyond_s": total - fit, "fit_s": fit, "page_mb": len(page.encode()) / 1e6}

    return make


def clone_to_report(threads):
    import os
    import subprocess
    import sys
    import tempfile
    import time
    from pathlib import Path

    root = Path(__file__).parents[2]

    def run(data):
        with tempfile.TemporaryDirectory() as folder:
            write_csv(f"{folder}/table.csv", data)
            start = time.perf_counter()
            command = [sys.executable, "-m", "likewise"]
            if data["whole"]:
                clone = f"{folder}/likewise"
                # What is installed here must not be found there.
                kept = ("PATH", "HOME", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE")
                bare = {name: os.environ[name] for name in kept if name in os.environ}
                subprocess.run(["git", "clone", "-q", str(root), clone], check=True)
                subprocess.run(["make", "-s", "demo"], cwd=clone, env=bare, check=True)
                command = [f"{clone}/.venv/bin/likewise"]
            began = time.perf_counter()
            options = ["--label", "label", *([] if data["whole"] else ["--methods", "Euclidean"])]
            command += ["report", "table.csv", *options, "--output", "report.html"]
            subprocess.run(command, cwd=folder, check=True)
            ended = time.perf_counter()
            size = Path(folder, "report.html").stat().st_size
        return {"total_s": ended - start, "report_s": ended - began, "page_bytes": size}

    return run


def write_csv(path, data):
    lines = [",".join([*(f"x{i}" for i in range(data["X"].shape[1])), "label"])]
    rows = zip(data["X"].tolist(), data["y"].tolist(), strict=True)
    lines += [",".join([*map(repr, row), f"c{label}"]) for row, label in rows]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
