//===- weights.h - The initializers' bytes -----------------------------------===//
//
// Gives each tensor of a model its constant source: a view into the model's file, into a file of
// external data beneath the model's folder, or random values where that file is missing and the
// user asked for them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_WEIGHTS_H
#define KINTSUGI_IMPORT_WEIGHTS_H

#include "base/status.h"
#include "import/onnx_model.h"
#include "te/program.h"

namespace kintsugi::import {

class Weights {
public:
  Weights(std::string folder, bool randomWhereMissing)
      : folder(std::move(folder)), randomWhereMissing(randomWhereMissing) {}

  /// Errors say what is wrong with the external data; not for strings.
  Expected<std::shared_ptr<const te::ConstantSource>> source(const TensorData &tensor);
  unsigned numRandom() const { return random; }

private:
  Expected<Bytes> external(const std::string &location);

  std::string folder;
  bool randomWhereMissing;
  unsigned random = 0;
  std::map<std::string, Bytes> files; ///< Mapped already, by location.
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_WEIGHTS_H
