"""Traces many layers: resumable (a layer that is there is not traced again), N processes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def layer_path(out: Path, split: str, seed: int) -> Path:
    """Where the layer of a seed lies."""
    return out / f"{split}-{seed:06d}.npz"


def _trace(job: tuple[int, str, str, bool, int, int]) -> str:
    seed, split, out, everything, samples, threads = job
    path = layer_path(Path(out), split, seed)
    if path.exists():
        return path.name
    from . import layers, trace

    trace.use_threads(threads)
    layers.save(trace.trace_layer(seed, split, everything=everything, samples=samples), path)
    return path.name


def progress(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """A progress bar (tqdm where installed, else a line now and then), on standard error."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _plain(items, total, what)
    return tqdm(items, total=total, desc=what, file=sys.stderr, mininterval=2)  # type: ignore[no-any-return]


def _plain(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    for k, item in enumerate(items, 1):
        if k == 1 or k == total or k % max(1, total // 50) == 0:
            print(f"{what}: {k}/{total}", file=sys.stderr, flush=True)
        yield item


def trace_many(
    out: Path, *, count: int, seed: int, split: str, processes: int = 0, everything: bool = False, samples: int = 12
) -> int:
    """Trace layers `seed` … `seed + count - 1`; returns how many lie in `out` afterwards."""
    out.mkdir(parents=True, exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    processes = processes or cores
    threads = max(1, cores // processes)
    jobs = [
        (s, split, str(out), everything, samples, threads)
        for s in range(seed, seed + count)
        if not layer_path(out, split, s).exists()
    ]
    if jobs:
        # A plain pool: an executor whose workers retire after some tasks can wait for ever on Python 3.11.
        with get_context("spawn").Pool(min(processes, len(jobs)), maxtasksperchild=40) as pool:
            for _ in progress(pool.imap_unordered(_trace, jobs), len(jobs), f"layers {split}"):
                pass
    return len(list(out.glob(f"{split}-*.npz")))


def main() -> None:
    """Plain entry for an environment that has only the path tracer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=["train", "test"], default="train")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--everything", action="store_true")
    args = parser.parse_args()
    print(
        trace_many(
            args.out,
            count=args.count,
            seed=args.seed,
            split=args.split,
            processes=args.processes,
            everything=args.everything,
        )
    )


if __name__ == "__main__":
    main()
