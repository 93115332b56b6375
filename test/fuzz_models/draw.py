"""Decisions that can be made again: a stream of numbers, random at first, and kept.

Every decision picks from options whose first is the simplest, so a stream of smaller numbers is a simpler model; this
is what the reducer lowers. A stream that ends early goes on with zeros.
"""

import random


class Draw:
    def __init__(self, seed=None, again=None):
        self._random = random.Random(seed) if again is None else None
        self._again = list(again or ())
        self.taken = []

    def index(self, count, weights=None):
        """A number in [0, count)."""
        if self._random is None:
            place = len(self.taken)
            number = self._again[place] % count if place < len(self._again) else 0
        elif weights:
            number = self._random.choices(range(count), weights)[0]
        else:
            number = self._random.randrange(count)
        self.taken.append(number)
        return number

    def choice(self, options, weights=None):
        return options[self.index(len(options), weights)]

    def chance(self, of):
        """Whether something rare happens: once in `of` times."""
        return self.index(2, [of - 1, 1]) == 1

    def flag(self):
        return self.index(2) == 1

    def permutation(self, count):
        rest, result = list(range(count)), []
        while rest:
            result.append(rest.pop(self.index(len(rest))))
        return result
