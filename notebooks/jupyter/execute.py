"""Executes notebooks, each with a new kernel, and saves them with their outputs.

    python execute.py [--to FOLDER] [--cache FOLDER] [NAME...]

NAME is a notebook's, with or without .ipynb; without one all are executed. They
run in a copy of this folder, so that files that a cell writes go away, with the results
that some read beside it as in the source tree. Saved is
what does not change from run to run: no times, no versions of the kernel, and
nothing that tells of the machine, which is an error that names the cell.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

import environment

FOLDER = Path(__file__).resolve().parents[1]
RESULTS = [Path("evals", suite, "results") for suite in ("probct", "cuc", "preference")]
CELL_SECONDS = 600  # the longest that a cell may take
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Failure(Exception):
    pass


class Client(NotebookClient):
    """A client whose kernel keeps its readings where the test says."""

    cache = None

    def create_kernel_manager(self):
        manager = super().create_kernel_manager()
        # One of the user's would run another modellog.
        if not Path(manager.kernel_spec.resource_dir).is_relative_to(environment.KERNEL):
            raise Failure(f"the kernel in {environment.KERNEL} is missing; run this by make notebooks")
        if self.cache:
            manager.kernel_spec.env["MODELLOG_CACHE"] = self.cache
        return manager


def said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tell_tales(nb, work: str) -> None:
    """Fails where something in the notebook tells of this machine."""
    secret = {str(FOLDER.parent), str(Path.home()), work, os.path.realpath(work), tempfile.gettempdir() + os.sep, sys.prefix}
    secret = {s for s in secret if len(s) > 1}
    for i, cell in enumerate(nb.cells, 1):
        for text in strings(cell):
            for s in secret:
                if (at := text.find(s)) >= 0:
                    raise Failure(f"cell {i} ({cell.id}) tells of this machine: …{text[max(0, at - 40):at + 80]!r}…")


def strings(value):
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)


def is_empty(output) -> bool:
    """Whether it is what a progress bar leaves when it is over."""
    return output.output_type == "display_data" and not any(output.data.values())


def settle(nb) -> None:
    """Takes out what differs from run to run."""
    language = nb.metadata.get("language_info", {})
    kept = ("name", "file_extension", "mimetype", "pygments_lexer", "codemirror_mode")
    nb.metadata = nbformat.NotebookNode(
        kernelspec={"name": "modellog", "display_name": "modellog", "language": "modellog"},
        language_info={k: language[k] for k in kept if k in language},
    )
    for cell in nb.cells:
        cell.metadata = nbformat.NotebookNode({k: v for k, v in cell.metadata.items() if k == "tags"})
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if not is_empty(o)]


def execute(path: Path, work: str, cache) -> tuple:
    # Ids are part of the format since 4.5, and random where they are missing.
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["nbformat"], raw["nbformat_minor"] = 4, 5
    for i, cell in enumerate(raw["cells"], 1):
        cell.setdefault("id", f"cell-{i}")
    nb = nbformat.from_dict(raw)
    for cell in nb.cells:
        # A source that is a list of lines is the same text.
        if isinstance(cell.source, list):
            cell.source = "".join(cell.source)
    code = [c for c in nb.cells if c.cell_type == "code"]
    terminal = sys.stderr.isatty()
    done = 0

    def on_start(cell, cell_index):
        nonlocal done
        done += 1
        if terminal:
            print(f"\r\033[K{path.stem}: cell {done} of {len(code)}", end="", file=sys.stderr, flush=True)

    client = Client(nb, kernel_name="modellog", timeout=CELL_SECONDS, record_timing=False, coalesce_streams=True,
                    resources={"metadata": {"path": work}}, on_cell_start=on_start)
    client.cache = cache
    begin = time.monotonic()
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as e:
        at = next((i for i, c in enumerate(nb.cells, 1) if c.cell_type == "code" and c.execution_count is None and c.source.strip()), 0)
        for i, c in enumerate(nb.cells, 1):
            if c.cell_type == "code" and any(o.output_type == "error" for o in c.outputs):
                at = i
                break
        raise Failure(f"cell {at}: {ANSI.sub('', str(e))}") from e
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    seconds = time.monotonic() - begin
    settle(nb)
    nbformat.validate(nb)
    tell_tales(nb, work)
    return nb, len(code), seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Execute the notebooks and save them with their outputs.")
    parser.add_argument("--to", type=Path, default=FOLDER, help="where the executed notebooks go; without it they are replaced")
    parser.add_argument("--from", type=Path, dest="source", default=FOLDER, help="the folder of the notebooks")
    parser.add_argument("--cache", help="a folder for the kernel's cache of readings")
    parser.add_argument("names", nargs="*")
    o = parser.parse_args()
    paths = sorted(o.source.glob("*.ipynb"))
    if o.names:
        wanted = [n.removesuffix(".ipynb") for n in o.names]
        there = {p.stem: p for p in paths}
        if missing := [n for n in wanted if n not in there]:
            said(f"there is no notebook {', '.join(missing)}; there are: {', '.join(there)}")
            return 2
        paths = [there[n] for n in wanted]
    if not paths:
        said(f"there are no notebooks in {o.source}")
        return 2
    o.to.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in paths:
        with tempfile.TemporaryDirectory(prefix="modellog-notebook-") as root:
            work = os.path.join(root, "notebooks")
            shutil.copytree(o.source, work, ignore=shutil.ignore_patterns(".*", "*.ipynb", "*.go", "jupyter", "testdata"))
            for results in RESULTS:
                shutil.copytree(FOLDER.parent / results, os.path.join(root, results), ignore=shutil.ignore_patterns(".*", "*.jsonl", "*.parquet"))
            try:
                nb, cells, seconds = execute(path, work, o.cache)
            except Failure as e:
                said(f"{path.stem}: {e}")
                failed += 1
                continue
        part = o.to / (path.name + ".part")
        part.write_text(nbformat.writes(nb) + "\n", encoding="utf-8")
        part.replace(o.to / path.name)
        said(f"{path.stem}: {cells} cells, {seconds:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    environment.use(os.environ)
    sys.exit(main())
