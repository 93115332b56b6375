"""What the benchmarks' command lines have in common."""

import os
import sys

import contenders
import models


def check_known(parser, word, named, known):
    """A usage error for a name that is not among those known, which `word` says what they are."""
    unknown = set(named) - set(known)
    if unknown:
        parser.error(f"no {word} '{unknown.pop()}'; there are {', '.join(known)}")


def check_peers(parser, options):
    """A usage error for a peer that nobody knows."""
    check_known(parser, "peer", options.peers, contenders.PEERS)


def keep_to(threads):
    """The cores that so many threads of this process, and of those that it starts, run on from here on."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, cores)
    return cores


def run(name, main):
    """Runs a benchmark's main; a model's failure ends it with the benchmark's name ahead."""
    try:
        main()
    except models.Failure as failure:
        sys.exit(f"{name}: {failure}")
