"""Makes a virtual environment with JupyterLab and the kernel, and prints its folder.

The environment is kept in modellog's cache folder and made anew when its
requirements change; the kernel in it is always this source tree's bin/modellog.
Needs nothing but Python.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cache_dir() -> Path:
    """modellog's cache folder, as lm/store finds it."""
    if own := os.environ.get("MODELLOG_CACHE"):
        return Path(own).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):
        return Path(xdg, "modellog")
    sub = "Library/Caches" if platform.system() == "Darwin" else ".cache"
    return Path.home() / sub / "modellog"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def install_requirements(python: Path, files: list) -> None:
    """Runs pip, which tells its progress in one line of a terminal."""
    args = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    for f in files:
        args += ["-r", str(f)]
    pip = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    terminal = sys.stderr.isatty()
    lines, found = [], 0
    for line in pip.stdout:
        lines.append(line)
        words = line.split()
        if terminal and words and words[0] in ("Collecting", "Installing"):
            found += words[0] == "Collecting"
            what = words[1] if words[0] == "Collecting" else "all of them: unpacking"
            print(f"\r\033[K  {found} packages · {what}", end="", file=sys.stderr, flush=True)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if pip.wait() != 0:
        raise SystemExit("".join(lines[-15:]) + "pip could not install " + ", ".join(f.name for f in files))


def make(directory: Path, files: list) -> None:
    """Makes the environment unless it is there with these requirements."""
    wanted = hashlib.sha256(sys.version.encode() + b"".join(f.read_bytes() for f in files)).hexdigest()
    stamp = directory / "modellog-requirements"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if sys.version_info < (3, 10):
        raise SystemExit(f"JupyterLab needs Python 3.10 or later; this is {platform.python_version()}")
    say(f"Making a virtual environment with JupyterLab in {directory} (about a minute)")
    shutil.rmtree(directory, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(directory)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        raise SystemExit(f"{made.stdout}python3 -m venv failed; on Debian and Ubuntu it needs the package python3-venv")
    install_requirements(directory / "bin" / "python", files)
    stamp.write_text(wanted)


def install_kernel(directory: Path) -> None:
    modellog = ROOT / "bin" / "modellog"
    if not modellog.exists():
        raise SystemExit("there is no bin/modellog; run make first")
    run = subprocess.run([str(modellog), "kernel", "install", "--prefix", str(directory)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{run.stdout}modellog kernel install failed")


def main() -> None:
    """With the argument "browser" the environment can drive a browser, too."""
    files = [ROOT / "notebooks" / "requirements.txt"]
    name = "notebooks"
    if sys.argv[1:] == ["browser"]:
        files.append(ROOT / "notebooks" / "requirements-browser.txt")
        name = "notebooks-browser"
    directory = cache_dir() / name
    make(directory, files)
    install_kernel(directory)
    print(directory)


if __name__ == "__main__":
    main()
