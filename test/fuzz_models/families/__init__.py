"""The generators; importing this registers all of them."""

from . import (  # noqa: F401
    attention,
    control,
    counted,
    elementwise,
    indexing,
    linear,
    losses,
    movement,
    normalization,
    quantized,
    recurrent,
    reduction,
    signals,
    storage,
    units,
    whole,
    windows,
)
