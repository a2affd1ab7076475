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
        return subprocess.run(["rsync", "-az", "--delete", f"{site}/", target], check=False).returncode
    shutil.copytree(site, target, dirs_exist_ok=True)
    (Path(target) / ".nojekyll").touch()  # GitHub Pages leaves out folders such as _static without it
    print(f"docs.publish: the site is in {Path(target).resolve()}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and publish."""
    parser = argparse.ArgumentParser(prog="python -m docs.publish", description="copy the built site to its host")
    parser.add_argument("target", help="a folder, or user@host:path")
    return publish(parser.parse_args(argv).target)


if __name__ == "__main__":
    sys.exit(main())
