"""Random models in the shapes and idioms that exporters write, checked against ONNX Runtime and the interpreter.

./dev fuzz-models --seed N --count M runs it; README.md beside this file says how it works.
"""
