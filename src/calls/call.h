//===- call.h - What an operation by name means ---------------------------===//
//
// An operation that is no tensor expression (sorting, scattering by data, sizes that depend on
// data) stays a `call` from the front end to the runtime. Here is everything about it: what
// operands and attributes it takes, the types and shapes of its results, and a body that computes
// them on the host. The importer, the interpreter and the CPU device all use this one description.
//
// Operands and results are dense and row-major. A result whose extent depends on data has a bound
// for it in its shape, elements past the count are zero, and another result, an i64 scalar, holds
// the count.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_CALLS_CALL_H
#define KINTSUGI_CALLS_CALL_H

#include "base/element_type.h"
#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kintsugi::calls {

struct TensorType {
  ElementType type = ElementType::Invalid;
  std::vector<int64_t> shape;

  bool operator==(const TensorType &) const = default;
};

/// The extent of `dimension` is a bound; the scalar result number `countResult` is its true value.
struct CountedDimension {
  size_t dimension = 0;
  size_t countResult = 0;

  bool operator==(const CountedDimension &) const = default;
};

struct ResultType : TensorType {
  std::vector<CountedDimension> counted;
  int64_t below = 0; ///< Elements lie in [0, below), integers all of them; 0: that is not known.

  bool operator==(const ResultType &) const = default;
};

/// Memory for a result, as large as its type says, of undefined content.
struct ResultView {
  ElementType type = ElementType::Invalid;
  std::span<const int64_t> shape;
  std::span<std::byte> bytes;

  TensorView view() const { return {type, shape, bytes}; }
};

/// Checks operand types, shapes and attributes and tells the results'. An input error says what the
/// operation does not take; it does not name the operation, its caller does.
using InferFunction = Expected<std::vector<ResultType>> (*)(std::span<const TensorType> operands,
                                                            const Json &attributes);

/// Computes the results of operands that the rule accepted. An input error where the operands'
/// values are wrong (an index out of range). Any number of threads may be in it; it may allocate.
/// Results overlap neither operands nor each other.
using BodyFunction = Status (*)(std::span<const TensorView> operands, const Json &attributes,
                                std::span<const ResultView> results);

struct Call {
  std::string_view name;
  InferFunction infer;
  BodyFunction body;
  /// What is wrong where operands' values can be: a text for base/fill_numbers.h, whose numbers the
  /// body finds, or device code. Empty where they can't.
  std::string_view failure = "";
};

/// The call of that name; null where there is none.
const Call *find(std::string_view name);

/// All of them, by name.
std::span<const Call *const> all();

/// Finds the call, checks that the views have the types and shapes its rule asks for, and runs it.
/// Errors name the call.
Status run(std::string_view name, std::span<const TensorView> operands, const Json &attributes,
           std::span<const ResultView> results);

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_CALL_H
