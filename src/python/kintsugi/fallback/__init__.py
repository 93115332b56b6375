"""Models with operators that the compiler does not know, run in parts by it and by ONNX Runtime.

Needs the packages onnx and onnxruntime, as nothing else in kintsugi does; so nothing here is imported before a session
asks for it."""
