//===- random_weights.h - Weights and feeds made from names ------------------===//
//
// Structure-only models (the zoo) name weights that are not there. Their values follow a rule that
// depends on a tensor's name and shape alone, so that any two programs that follow it compute the
// same thing. Element i of a tensor draws
//   u = top 24 bits of splitmix64(fnv1a64(name) + (i + 1) * 0x9E3779B97F4A7C15) * 2^-24  in [0, 1)
// and all arithmetic is f32, rounded once to the tensor's type at the end.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_RANDOM_WEIGHTS_H
#define KINTSUGI_IMPORT_RANDOM_WEIGHTS_H

#include "base/tensor.h"
#include "te/program.h"

namespace kintsugi::import {

/// The weight of that name: u + 0.5 for rank 0 and 1 (scales, variances), otherwise
/// (u - 0.5) * sqrt(12 / fan), the factor rounded to f32. fan is sqrt(size) / 4 for rank 2; else
/// size / shape[0], or the last extent where shape[0] is 1. An input error unless the type is f16,
/// f32 or f64.
Expected<std::shared_ptr<const te::ConstantSource>>
randomWeight(const std::string &name, ElementType type, std::vector<int64_t> shape);

/// The feed of that name: floats uniform on [-1.73, 1.73) times `scale`, integers in [0, 100),
/// booleans even. Another salt gives another feed. An input error for types that are none of these.
Expected<Tensor> randomFeed(const std::string &name, ElementType type, std::vector<int64_t> shape,
                            std::string_view salt = "", float scale = 1);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_RANDOM_WEIGHTS_H
