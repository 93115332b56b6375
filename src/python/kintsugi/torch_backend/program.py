"""A graph of which every operator is compiled: a session for each size of its inputs."""

import os
import tempfile
import threading

import numpy
import torch

import kintsugi

from ..compiled import Compiled
from ..once import OnceCache
from . import tensors
from .export import Exported
from .model_file import save
from .operators import values_of
from .session import Session, symbols_of
from .survey import refused_nodes
from .weights import Weights


class Refused(Exception):
    """The compiler does not take a graph. `nodes`: by name, why; nothing where it is not a matter of single nodes."""

    def __init__(self, reason, nodes=()):
        super().__init__(reason)
        self.nodes = dict(nodes)


class Program:
    """`weights`: numbers of the inputs that are weights. Runs take the graph's arguments and give a tuple of its results."""

    def __init__(self, gm, weights, options, entry):
        self._exported = Exported(gm)
        self._options, self._entry = options, entry
        self._values = [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]
        values = values_of(*gm.graph.nodes)
        self._device = tensors.device_of([value for value in values if isinstance(value, torch.Tensor)])
        self._ports = [info.name for info in self._exported.proto.graph.input]
        self._weights = Weights(weights)
        self._is_open = any(map(_is_open, self._values))
        self._sessions, self._lock = OnceCache(options.sizes), threading.Lock()

    def __call__(self, *arguments):
        return self._session_for(arguments).run(arguments)

    #
    # Sessions: what is symbolic is known in one, by the sizes of the arguments. Whoever brings other sizes runs while one is
    # compiled.
    #

    def _session_for(self, arguments):
        with self._lock:
            if self._weights.have_changed(arguments):
                self._sessions = OnceCache(self._options.sizes)
            self._weights.hold(arguments)
            sessions, numbers = self._sessions, self._weights.numbers
        found = sessions.get(self._sizes(arguments), lambda: self._open(arguments, numbers))
        if len(sessions) > self._entry.sizes:
            self._entry.sizes = len(sessions)
        return found

    def _sizes(self, arguments):
        if not self._is_open:
            return ()
        return tuple(each if isinstance(each, int) else tuple(each.shape) for each in arguments)

    def _open(self, arguments, weights):
        """`weights`: numbers of the arguments that are constants."""
        if self._device is None:
            raise Refused("its tensors are on several devices, or on one that is neither a processor nor an NVIDIA GPU")
        constants = self._constants(arguments, weights)
        sizes = self._specialized(arguments, constants)
        keywords = self._options.session | {"device": self._device} | sizes
        with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
            path = os.path.join(folder, "model.onnx")
            save(self._exported.proto, constants, path)
            try:
                session = kintsugi.InferenceSession(path, **keywords)
                if not isinstance(session._program, Compiled):
                    raise kintsugi.InputError("values of its inputs decide what is compiled")
                symbols = symbols_of(self._values, arguments)
                opened = Session(session, self._fed(constants, sizes), self._exported.results, symbols)
            except kintsugi.InputError as problem:
                raise Refused(_plain(problem, path), refused_nodes(path, keywords, self._exported.origins)) from None
            except kintsugi.Error as problem:
                raise Refused(_plain(problem, path)) from None
        self._entry.notes += session.notes
        return opened

    def _constants(self, arguments, weights):
        """By name, the tensors that the model has as constants."""
        found = {self._ports[number]: arguments[number] for number in weights}
        return found | dict(zip(self._ports[len(self._values) :], self._exported.constants))

    def _specialized(self, arguments, constants):
        """What options say of sizes: those of open dimensions, and values of inputs that are sizes."""
        dims, bind = {}, {}
        for info, argument in zip(self._exported.proto.graph.input, arguments):
            if isinstance(argument, int):
                bind[info.name] = numpy.array(argument, numpy.int64)
            elif info.name not in constants:
                sizes = zip(info.type.tensor_type.shape.dim, argument.shape)
                dims |= {dim.dim_param: size for dim, size in sizes if dim.dim_param}
        return {"dims": dims, "bind": bind}

    def _fed(self, constants, sizes):
        """Which arguments runs have, by the names of the session's inputs."""
        known = {*constants, *sizes["bind"]}
        return {port: n for n, port in enumerate(self._ports[: len(self._values)]) if port not in known}


def _plain(problem, path):
    """Without the file, which is gone."""
    return str(problem).replace(f"{path}: ", "")


def _is_open(value):
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return True
