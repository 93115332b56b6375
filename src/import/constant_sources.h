//===- constant_sources.h - Where a model's constants come from --------------===//
//
// Constant sources over mapped bytes: the model's file, or a file of external data. Nothing is
// copied until a phase asks for the bytes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_CONSTANT_SOURCES_H
#define KINTSUGI_IMPORT_CONSTANT_SOURCES_H

#include "import/onnx_model.h"
#include "te/program.h"

namespace kintsugi::import {

/// A source over bytes of a dense row-major tensor of that type. Booleans other than 0 and 1 are
/// made 1.
std::shared_ptr<const te::ConstantSource> sourceOf(Bytes bytes, ElementType type);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_CONSTANT_SOURCES_H
