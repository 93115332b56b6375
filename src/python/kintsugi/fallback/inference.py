"""Types and shapes as ONNX Runtime infers them, which knows more operators than ONNX does."""

import onnxruntime

from .ports import info_of


def options_beneath(folder):
    """ONNX Runtime's, of a session of bytes whose weights may be in files beneath `folder`; it prints nothing."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    return options


def told_by_onnxruntime(proto, folder):
    """By name, a ValueInfoProto for each output of a model whose weights may be in files beneath `folder`; of a model that
    ONNX Runtime does not take, of none."""
    options = options_beneath(folder)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # Its errors have no class in common; who runs a part with the operator tells of them.
        return {}
    return {port.name: info_of(port) for port in session.get_outputs()}
