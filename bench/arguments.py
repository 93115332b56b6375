"""What the benchmarks' command lines have in common."""

import contenders
import models


def choose_models(parser, options):
    """`options.paths` of the models named; a usage error for one that the zoo lacks."""
    try:
        options.paths = models.choose(options.models)
    except KeyError as error:
        parser.error(error.args[0])


def check_peers(parser, options):
    """A usage error for a peer that nobody knows."""
    unknown = set(options.peers) - set(contenders.PEERS)
    if unknown:
        parser.error(f"no peer '{unknown.pop()}'; there are {', '.join(contenders.PEERS)}")
