"""Publishes the built site: `python -m docs.publish FOLDER` or `python -m docs.publish user@host:path`.

The site is static: any server of files shows it, and a browser shows it from a folder.  A folder is filled by copying,
a host by rsync over ssh.  Files at the target that the site no longer has are removed by rsync, and stay in a folder.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PRIVATE = (".doctrees", ".buildinfo")  # what Sphinx stores for its next build
SITE = Path(__file__).resolve().parent / "_build" / "html"


def publish(target: str, site: Path = SITE) -> int:
    """Copy the site to a folder or to host:path; returns the exit status."""
    if not (site / "index.html").is_file():
        print("docs.publish: the site is not built yet; run `make docs`", file=sys.stderr)
        return 1
    host, colon, _ = target.partition(":")
    if colon and "/" not in host:  # as scp and rsync tell a host from a folder
        if shutil.which("rsync") is None:
            print("docs.publish: rsync is not installed; install it, or name a folder", file=sys.stderr)
            return 1
        leave_out = [f"--exclude={name}" for name in PRIVATE]
        return subprocess.run(["rsync", "-az", "--delete", *leave_out, f"{site}/", target], check=False).returncode
    fault = refusal(target, site)
    if not fault:
        try:
            shutil.copytree(site, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*PRIVATE))
            (Path(target) / ".nojekyll").touch()  # GitHub Pages leaves out folders such as _static without it
        except OSError as error:
            fault = f"{target} cannot be written: {error.strerror or 'some files were not copied'}"
    print(
        f"docs.publish: {fault or f'the site is in {Path(target).resolve()}'}", file=sys.stderr if fault else sys.stdout
    )
    return 1 if fault else 0


def refusal(target: str, site: Path) -> str:
    """Return why a target cannot be meant as a folder, or ""."""
    if not target:
        return "the target is empty; name a folder, or user@host:path"
    if "@" in target and "/" not in target and not Path(target).exists():
        return f"{target} is not a folder; write {target}:path for a host"
    if Path(target).resolve().is_relative_to(site.resolve()):
        return f"{target} is the site itself; name a folder outside it"
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and publish."""
    parser = argparse.ArgumentParser(prog="python -m docs.publish", description="copy the built site to its host")
    parser.add_argument("target", help="a folder, or user@host:path")
    return publish(parser.parse_args(argv).target)


if __name__ == "__main__":
    sys.exit(main())
