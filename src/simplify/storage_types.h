//===- storage_types.h - Programs without storage-only types ----------------===//
//
// Machines compute in no 4-bit integer and no 8-bit float. Before anything else is done with a
// program, its values of such types become bytes: a value of the program has an element's code in a
// byte of its own, whatever its type, so that tiles that are computed at once write no byte in
// common. Inputs, constants and outputs are as users have them, elements narrower than a byte
// packed. Conversions become arithmetic (simplify/storage_codes.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_STORAGE_TYPES_H
#define KINTSUGI_SIMPLIFY_STORAGE_TYPES_H

#include "base/tensor.h"
#include "te/program.h"

namespace kintsugi::simplify {

bool hasStorageTypes(const te::Program &program);

/// The same computation; inputs and outputs are the same bytes in the same order. Those of
/// storage-only types are u8 here: of the same shape, or, where elements are packed, of as many as
/// there are bytes.
te::Program withoutStorageTypes(const te::Program &program);

/// What a tensor for an input of the program is for the one without storage-only types.
Expected<Tensor> asStoredBytes(const Tensor &tensor);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_STORAGE_TYPES_H
