"""Makes a virtual environment with JupyterLab, and the kernel beside it, and prints the environment's folder.

The environment is kept in modellog's cache folder, where all source trees with the same
requirements use it. The kernel is each tree's own, in its bin/jupyter; use() makes Jupyter
find it. Needs nothing but Python.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "bin" / "jupyter"  # the prefix of this tree's kernelspec
DATA = KERNEL / "share" / "jupyter"


def use(env) -> None:
    """Has Jupyter find this tree's kernel before all others, and cells its modellog."""
    for variable, folders in (("JUPYTER_PATH", [DATA]), ("PATH", [ROOT / "bin", Path(sys.prefix, "bin")])):
        env[variable] = os.pathsep.join([*map(str, folders), *filter(None, [env.get(variable)])])
    env["JUPYTER_PREFER_ENV_PATH"] = "1"  # and the environment's files before the user's


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
        why = "; on Debian and Ubuntu it needs the package python3-venv" if "ensurepip" in made.stdout else ""
        raise SystemExit(f"{made.stdout}python3 -m venv failed{why}")


@contextlib.contextmanager
def locked(file: Path):
    """Keeps others that make an environment, or install a kernel, waiting."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "a") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is setting up JupyterLab or its kernel; waiting for it")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def is_done(stamp: Path, inputs: bytes) -> bool:
    return stamp.exists() and stamp.read_text() == hashlib.sha256(inputs).hexdigest()


def once(stamp: Path, inputs: bytes, do) -> None:
    """Does what was not done with these inputs."""
    if not is_done(stamp, inputs):
        stamp.unlink(missing_ok=True)
        do()
        stamp.write_text(hashlib.sha256(inputs).hexdigest())


def make(browser: bool) -> Path:
    """Makes the environment where it is missing, and returns its folder."""
    lab = ROOT / "notebooks" / "requirements.txt"
    inputs = sys.version.encode() + lab.read_bytes()
    name = "modellog-jupyterlab"  # of the stamp
    directory = cache_dir() / "notebooks"
    if (directory / name).exists() and not is_done(directory / name, inputs):
        # It has other requirements, and may be in use by another tree.
        directory = directory.with_name("notebooks-" + hashlib.sha256(inputs).hexdigest()[:12])
    python = directory / "bin" / "python"
    if not os.access(python, os.X_OK):
        (directory / name).unlink(missing_ok=True)

    def anew():
        say(f"Making a virtual environment with JupyterLab in {directory} (about a minute)")
        create(directory)
        pip_install(python, lab)

    once(directory / name, inputs, anew)
    if browser:
        driver = ROOT / "notebooks" / "requirements-browser.txt"
        once(directory / "modellog-browser", driver.read_bytes(), lambda: pip_install(python, driver))
    return directory


def install_kernel(directory: Path) -> None:
    modellog = ROOT / "bin" / "modellog"
    if not modellog.exists():
        raise SystemExit("there is no bin/modellog; run make first")

    def install():
        run = subprocess.run([str(modellog), "kernel", "install", "--prefix", str(KERNEL)], stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{run.stdout}modellog kernel install failed")
        # A JupyterLab that has this kernel however it is started; modellog doctor shows it.
        lab = KERNEL / "bin" / "jupyter-lab"
        lab.parent.mkdir(exist_ok=True)
        path = shlex.quote(str(DATA)) + "${JUPYTER_PATH:+:$JUPYTER_PATH}"
        lab.write_text(f"#!/bin/sh\nJUPYTER_PATH={path} exec {shlex.quote(str(directory / 'bin' / 'jupyter-lab'))} \"$@\"\n")
        lab.chmod(0o755)

    stamp = KERNEL / "modellog-kernel"
    if not (DATA / "kernels" / "modellog" / "kernel.json").exists():
        stamp.unlink(missing_ok=True)
    # What is installed depends on nothing else.
    kept = "\n".join(os.environ.get(v, "") for v in ("MODELLOG_HOME", "MODELLOG_CACHE", "XDG_DATA_HOME", "PATH"))
    once(stamp, modellog.read_bytes() + f"{modellog}\n{directory}\n{kept}".encode(), install)


def main() -> None:
    """With the argument "browser" the environment can drive a browser, too."""
    with locked(cache_dir() / "notebooks.lock"):
        directory = make(sys.argv[1:] == ["browser"])
        install_kernel(directory)
    print(directory)


if __name__ == "__main__":
    main()
