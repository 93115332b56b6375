"""How a model is compiled and run: the options of a session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ._capi import Progress, UsageError
from .enumerations import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from .files import PathLike
from .no_effect import Entries, Kept, without_effect
from .sizes import Bounds

# Those of sessions, which keywords stand for, too.
OPTIONS = (
    "bind",
    "cache",
    "calibrate",
    "device",
    "dims",
    "disable",
    "fallback",
    "intra_op_num_threads",
    "max_error",
    "max_memory",
    "max_specializations",
    "plan",
    "precision",
    "progress",
    "random_weights",
    "timeout",
    "tune",
)

_LOGS = "nothing is logged; notes of a session and warnings tell what there is to tell"
_MEMORY = "what a run needs is planned when the model is compiled, in one piece, and used again"
_EP = "there are no execution providers but the compiler's targets, which `device` names"
_PLAN = "the compiler decides on all of a model at once, and runs its kernels in the order of its plan; see `plan`, `disable`"


class SessionOptions:
    """How a model is compiled and run. An option that there is not can't be set: none is ignored. Those of ONNX Runtime's that
    mean nothing here are taken and kept, and a warning says so once."""

    __slots__ = ("_entries", "_kept", "_providers", *OPTIONS)

    enable_cpu_mem_arena = Kept(True, _MEMORY)
    enable_mem_pattern = Kept(True, _MEMORY)
    enable_mem_reuse = Kept(True, _MEMORY)
    enable_profiling = Kept(False, "`kintsugi profile` times a model, stage by stage")
    execution_mode = Kept(ExecutionMode.ORT_SEQUENTIAL, _PLAN)
    execution_order = Kept(ExecutionOrder.DEFAULT, _PLAN)
    graph_optimization_level = Kept(GraphOptimizationLevel.ORT_ENABLE_ALL, _PLAN)
    inter_op_num_threads = Kept(0, "operators share the threads of intra_op_num_threads")
    log_severity_level = Kept(-1, _LOGS)
    log_verbosity_level = Kept(0, _LOGS)
    logid = Kept("", _LOGS)
    optimized_model_filepath = Kept("", "`kintsugi compile` writes an artifact, and `kintsugi explain` tells what is in it")
    profile_file_prefix = Kept("onnxruntime_profile_", "`kintsugi profile` times a model, stage by stage")
    use_per_session_threads = Kept(True, "each session has threads of its own")

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}
        self._entries = Entries("SessionOptions")
        self._providers: list[tuple[str, Mapping[str, Any]]] = []
        self.intra_op_num_threads: int = 0  # 0: one thread on each core
        self.device: str = "cpu"  # or "cuda", or "cuda:N": an NVIDIA GPU, by number
        self.precision: str = "f32"  # what f32 values may be rounded to: "f16" or "bf16"
        self.max_error: float | None = None  # by how much of its largest number fewer bits may move an output
        self.cache: bool = True  # keep the artifact, and look for it first
        self.random_weights: bool = False  # make weights whose file is missing from their names
        # Sizes of open dimensions, by name; or which ones they may have: (LOW, HIGH), "LOW..HIGH", or a range.
        self.dims: dict[str, int | Bounds] = {}
        self.max_specializations: int = 16  # how many shapes a session keeps what it compiled for
        self.timeout: float | None = None  # seconds that compiling may take
        self.max_memory: int | None = None  # bytes that compiling may take: by default all that the machine has
        self.bind: Mapping[str, Any] = {}  # inputs whose value is known now, by name: arrays, or .npz files
        self.calibrate: Mapping[str, Any] | PathLike | None = None  # inputs to look at where values get fewer bits
        self.disable: Collection[str] | None = ()  # what not to do: names that `kintsugi rules` lists
        self.plan: str = "search"  # or "greedy", "separate", "exhaustive"
        self.fallback: str | None = None  # or "onnxruntime": who runs what the compiler refuses
        self.tune: float | None = None  # seconds that may be spent on measuring kernels
        # Called as compiling advances, and ten times a second meanwhile, with the phase that it is in, the step and how many
        # steps there are (0: not known), perhaps from another thread. Where it returns False or raises, compiling ends.
        self.progress: Progress | None = None

    @property
    def use_deterministic_compute(self) -> bool:
        """Results are the same bits for the same artifact, device and inputs, whatever is asked for."""
        return True

    @use_deterministic_compute.setter
    def use_deterministic_compute(self, value: bool) -> None:
        pass

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self.dims[name] = size

    def add_initializer(self, name: str, value: Any) -> None:
        """The value of an input with a default, or of any input: the same as in `bind`."""
        self.bind = {**self.bind, name: value.numpy() if hasattr(value, "numpy") else value}

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        raise UsageError("weights in memory are not supported; write them to the files that the model names")

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        raise UsageError("weights in memory are not supported; write them to the files that the model names")

    def add_provider(self, name: str, options: Mapping[str, Any]) -> None:
        """Behind those that were added before; sessions that name neither providers nor a device take the first that is
        here."""
        self._providers.append((name, options))

    def has_providers(self) -> bool:
        return bool(self._providers)

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries.add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        return self._entries.get(key)

    add_free_dimension_override_by_denotation = without_effect(
        "SessionOptions",
        "add_free_dimension_override_by_denotation",
        "dimensions have names, by which `dims` gives them sizes, and runs do otherwise",
    )
    add_provider_for_devices = without_effect("SessionOptions", "add_provider_for_devices", _EP)
    clear_ep_context_data_read_func = without_effect("SessionOptions", "clear_ep_context_data_read_func", _EP)
    set_ep_context_data_read_func = without_effect("SessionOptions", "set_ep_context_data_read_func", _EP)
    set_provider_selection_policy = without_effect("SessionOptions", "set_provider_selection_policy", _EP)
    set_provider_selection_policy_delegate = without_effect(
        "SessionOptions", "set_provider_selection_policy_delegate", _EP
    )
    register_custom_ops_library = without_effect(
        "SessionOptions", "register_custom_ops_library", "kernels of ONNX Runtime's can't be compiled"
    )
    set_load_cancellation_flag = without_effect(
        "SessionOptions", "set_load_cancellation_flag", "`progress` may end compiling, and `timeout` says how long it may take"
    )
