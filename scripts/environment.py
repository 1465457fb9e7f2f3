"""Make `.venv` at the root of the checkout: pinned packages, and trncomm built in release mode.

Does nothing when neither the packages nor the Rust sources have changed since the last call.
Needs Python 3.11 or later and a Rust toolchain, and the standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements-dev.lock"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main() -> int:
    """Bring the environment up to date; the exit code says whether that worked."""
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(cargo_home / "bin")])
    if shutil.which("cargo") is None:
        return _refuse("no cargo found: install a Rust toolchain (https://rustup.rs)")
    try:
        _step("packages", _digest([LOCK]), _install_packages)
        _step("build", _digest(_build_inputs()), _build)
    except subprocess.CalledProcessError as error:
        return _refuse(f"{error.cmd[0]} failed with exit code {error.returncode}")
    return 0


def _step(name: str, digest: str, act: Callable[[], None]) -> None:
    """Run `act` unless the stamp of that name holds `digest`."""
    stamp = VENV / f"{name}.stamp"
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == digest:
        return
    act()
    stamp.write_text(digest)


def _install_packages() -> None:
    _say(f"installing packages into {VENV}")
    # Packages that the lock no longer names must not linger, so an old environment is replaced.
    venv.create(VENV, clear=True, with_pip=True)
    _pip("install", "--require-hashes", "--requirement", str(LOCK))


def _build() -> None:
    _say("building the Rust core in release mode (about a minute the first time)")
    _pip("install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def _pip(*arguments: str) -> None:
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _build_inputs() -> list[Path]:
    names = ["Cargo.toml", "Cargo.lock", "pyproject.toml"]
    # What the package is made of; the tests and benchmarks of the core are not.
    sources = [path for pattern in ("*/Cargo.toml", "*/src/**/*.rs") for path in (ROOT / "rust").glob(pattern)]
    return [ROOT / name for name in names] + sorted(sources)


def _digest(paths: list[Path]) -> str:
    """A fingerprint of the interpreter, the place of the checkout, and the files' names and contents."""
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for path in paths:
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _say(message: str) -> None:
    print(f"trncomm: {message}", file=sys.stderr, flush=True)


def _refuse(message: str) -> int:
    _say(message)
    return 1


if __name__ == "__main__":
    sys.exit(main())
