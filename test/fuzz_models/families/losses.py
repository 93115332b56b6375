"""How far predictions are from labels: classes with and without weights, labels that are ignored."""

import math

from ..maker import Unfit, block


def labelled(m, x):
    """Labels for scores [N, C, ...], of which some are ignored, but not the first; and ignore_index, or None."""
    classes, shape = x.shape[1], (x.shape[0], *x.shape[2:])
    ignored = m.d.choice([None, -100, classes + 2, classes - 1])
    below = classes - 1 if ignored == classes - 1 else classes
    if not below or not x.size:
        raise Unfit("no classes")
    m.g._count += 1
    dims = "".join(f", {e}" for e in shape)
    recipe = f"integers({m.g._count}, 0, {below}{dims})"
    if ignored is not None:
        later = f"(np.arange({math.prod(shape)}).reshape({shape}) > 0)"
        recipe = f"chosen(some({m.g._count}, 0.2{dims}) & {later}, {ignored}, {recipe})"
    return m.input(shape, m.d.choice(["int64", "int32"]), recipe), ignored


@block("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", weight=4)
def loss(m):
    x = m.tamed(m.pick((2, 3, 4)), 4.0)
    labels, ignored = labelled(m, x)
    inputs, attributes = [x, labels], {"reduction": m.d.choice(["mean", "sum", "none"])}
    if ignored is not None:
        attributes["ignore_index"] = ignored
    if m.d.flag():
        m.g._count += 1
        inputs.append(m.g.constant(f"uniform({m.g._count}, 0.25, 1.5, {x.shape[1]})", (x.shape[1],), bound=1.5))
    shape = labels.shape if attributes["reduction"] == "none" else ()
    if m.d.flag():
        m.keep(m.g.node("NegativeLogLikelihoodLoss", inputs, shape, bound=4.0, **attributes))
        return
    outputs = [(shape, "float")] + ([(x.shape, "float")] if m.d.flag() else [])
    m.keep(*m.g.node("SoftmaxCrossEntropyLoss", inputs, None, outputs=outputs, bound=8.0, **attributes))
