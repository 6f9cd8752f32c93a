"""`ausguck run`: the appliance. Serves the page, watches the table, keeps the score until it is told to stop."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="the appliance")
    parser.add_argument("--port", type=int, default=8080, help="port of the page (default: 8080)")
    parser.add_argument("--host", default="0.0.0.0", help="address to serve on (default: all)")
    parser.add_argument(
        "--camera", default="auto", help="auto, picamera, usb:N, a file, a folder, an address, or none (default: auto)"
    )
    parser.add_argument("--fps", type=float, help="frames a second of a clip (default: its own)")
    parser.add_argument("--data", type=Path, help="folder of the games and settings (default: $XDG_DATA_HOME/ausguck)")
    parser.add_argument("--models", type=Path, help="folder of the networks (default: the shipped ones)")
    parser.add_argument("--no-panel", action="store_true", help="leave buttons and lights alone")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more on standard error")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run until SIGTERM or Ctrl-C."""
    from device.appliance import Appliance
    from device.errors import DeviceError
    from device.settings import default_data_dir
    from device.web.serve import wait_for_signal

    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.WARNING, format="%(name)s: %(message)s", stream=sys.stderr
    )
    ausguck = Appliance(
        args.data or default_data_dir(),
        camera=args.camera,
        host=args.host,
        port=args.port,
        models=args.models,
        panel_wanted=not args.no_panel,
        fps=args.fps,
    )
    try:
        ausguck.start()
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"the page cannot be served on port {args.port} ({error.strerror}): name another one with --port",
            file=sys.stderr,
        )
        return 2
    wait_for_signal(ausguck.close)
    return 0
