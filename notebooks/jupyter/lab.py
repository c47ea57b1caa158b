"""Opens the first notebook in JupyterLab; or prints the address where there is no display."""

import os
import subprocess
import sys
from pathlib import Path

import environment

FOLDER = Path(__file__).resolve().parents[1]


def main() -> None:
    notebooks = sorted(p.name for p in FOLDER.glob("*.ipynb"))
    if not notebooks:
        raise SystemExit(f"there are no notebooks in {FOLDER}")
    os.chdir(FOLDER)
    jupyter = str(Path(sys.prefix, "bin", "jupyter"))
    environment.use(os.environ)
    # Jupyter shows figures of strangers' notebooks as text; these are ours.
    trust = subprocess.run([jupyter, "trust", *notebooks], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if trust.returncode != 0:
        print(f"{trust.stdout}the shipped figures are shown when their cells have been run", file=sys.stderr)
    command = [jupyter, "lab", "--log-level=WARN", f"--LabApp.default_url=/lab/tree/{notebooks[0]}"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        command.append("--allow-root")  # as in a container
    display = any(os.environ.get(v) for v in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform.startswith("linux") and not display:
        command.append("--no-browser")  # rather than one within this terminal
    sys.stdout.flush()
    os.execv(jupyter, command)


if __name__ == "__main__":
    main()
