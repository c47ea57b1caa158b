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


def pip_install(python: Path, requirements: Path) -> None:
    """Runs pip, which tells its progress in one line of a terminal."""
    pip = subprocess.Popen(
        [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "-r", str(requirements)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    terminal = sys.stderr.isatty()
    lines, found = [], 0
    for line in pip.stdout:
        lines.append(line)
        words = line.split()
        if terminal and words and words[0] in ("Collecting", "Installing"):
            found += words[0] == "Collecting"
            what = words[1] if words[0] == "Collecting" else "unpacking them"
            print(f"\r\033[K  {found} packages · {what}", end="", file=sys.stderr, flush=True)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if pip.wait() != 0:
        raise SystemExit("".join(lines[-15:]) + f"pip could not install what {requirements.name} names")


def create(directory: Path) -> None:
    """Makes an empty virtual environment."""
    if sys.version_info < (3, 10):
        raise SystemExit(f"JupyterLab needs Python 3.10 or later; this is {platform.python_version()}")
    shutil.rmtree(directory, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(directory)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        raise SystemExit(f"{made.stdout}python3 -m venv failed; on Debian and Ubuntu it needs the package python3-venv")


def once(directory: Path, what: str, inputs: bytes, do) -> bool:
    """Does what was not done in the environment with these inputs."""
    stamp = directory / f"modellog-{what}"
    wanted = hashlib.sha256(inputs).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    do()
    stamp.write_text(wanted)
    return True


def make(directory: Path, browser: bool) -> None:
    python = directory / "bin" / "python"
    lab = ROOT / "notebooks" / "requirements.txt"

    def anew():
        say(f"Making a virtual environment with JupyterLab in {directory} (about a minute)")
        create(directory)
        pip_install(python, lab)

    once(directory, "jupyterlab", sys.version.encode() + lab.read_bytes(), anew)
    if browser:
        driver = ROOT / "notebooks" / "requirements-browser.txt"
        once(directory, "browser", driver.read_bytes(), lambda: pip_install(python, driver))


def install_kernel(directory: Path) -> None:
    modellog = ROOT / "bin" / "modellog"
    if not modellog.exists():
        raise SystemExit("there is no bin/modellog; run make first")

    def install():
        run = subprocess.run([str(modellog), "kernel", "install", "--prefix", str(directory)], stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{run.stdout}modellog kernel install failed")

    spec = directory / "share" / "jupyter" / "kernels" / "modellog" / "kernel.json"
    if not spec.exists():
        (directory / "modellog-kernel").unlink(missing_ok=True)
    # What is installed depends on nothing else.
    kept = "\n".join(os.environ.get(v, "") for v in ("MODELLOG_HOME", "MODELLOG_CACHE", "XDG_DATA_HOME", "PATH"))
    once(directory, "kernel", modellog.read_bytes() + f"{modellog}\n{kept}".encode(), install)
    # Cells call it by its name, too: !modellog probct build.
    command = directory / "bin" / "modellog"
    if not command.is_symlink() or command.readlink() != modellog:
        command.unlink(missing_ok=True)
        command.symlink_to(modellog)


def main() -> None:
    """With the argument "browser" the environment can drive a browser, too."""
    directory = cache_dir() / "notebooks"
    make(directory, sys.argv[1:] == ["browser"])
    install_kernel(directory)
    print(directory)


if __name__ == "__main__":
    main()
