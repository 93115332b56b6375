//===- run_case.h - Imports a small model and interprets it ------------------===//
//
// A case is an npz archive: `model` (the bytes of an ONNX file), `in:NAME` for each of its inputs,
// `out:NAME` for what each output must be, and `tol` (relative and absolute tolerance).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_IMPORT_RUN_CASE_H
#define KINTSUGI_TEST_IMPORT_RUN_CASE_H

#include "base/npz.h"

namespace kintsugi::import {

/// Success if every output is within tolerance. Inputs that the importer must know are bound.
Status runCase(const std::string &path);

} // namespace kintsugi::import

#endif // KINTSUGI_TEST_IMPORT_RUN_CASE_H
