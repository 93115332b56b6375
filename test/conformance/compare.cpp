#include "compare.h"

#include "base/element_type.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace kintsugi::conformance {

namespace {

std::string describe(const Tensor &tensor) {
  std::ostringstream text;
  text << nameOf(tensor.type()) << '[';
  for (size_t i = 0; i < tensor.rank(); ++i)
    text << (i ? ", " : "") << tensor.shape()[i];
  text << ']';
  return text.str();
}

bool close(double actual, double expected, double rtol, double atol) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected))
    return actual == expected;
  return std::abs(actual - expected) <= atol + rtol * std::abs(expected);
}

/// How many elements are wrong, and the first one, shown by `show`.
std::optional<std::string> countWrong(int64_t count, const std::function<bool(int64_t)> &right,
                                      const std::function<std::string(int64_t)> &show) {
  int64_t wrong = 0, first = 0;
  for (int64_t i = count - 1; i >= 0; --i)
    if (!right(i)) {
      ++wrong;
      first = i;
    }
  if (wrong == 0)
    return std::nullopt;
  return std::to_string(wrong) + " of " + std::to_string(count) + " elements differ, first [" +
         std::to_string(first) + "]: " + show(first);
}

std::string instead(double actual, double expected) {
  std::ostringstream text;
  text.precision(9);
  text << actual << " instead of " << expected;
  return text.str();
}

} // namespace

std::optional<std::string> difference(const Tensor &actual, const Tensor &expected, double rtol,
                                      double atol) {
  if (actual.type() != expected.type() || actual.shape() != expected.shape())
    return "is " + describe(actual) + " instead of " + describe(expected);
  int64_t count = expected.count();
  if (expected.type() == ElementType::Str)
    return countWrong(
        count, [&](int64_t i) { return actual.strings()[i] == expected.strings()[i]; },
        [&](int64_t i) {
          return "'" + actual.strings()[i] + "' instead of '" + expected.strings()[i] + "'";
        });
  TensorView a = actual.view(), e = expected.view();
  if (isFloat(expected.type())) {
    if (expected.type() == ElementType::BF16)
      rtol = std::max(rtol, 1.0 / 64);
    return countWrong(
        count, [&](int64_t i) { return close(loadDouble(a, i), loadDouble(e, i), rtol, atol); },
        [&](int64_t i) { return instead(loadDouble(a, i), loadDouble(e, i)); });
  }
  if (isComplex(expected.type()))
    return "is complex, which this comparison does not know";
  return countWrong(
      count, [&](int64_t i) { return loadBits(a, i) == loadBits(e, i); },
      [&](int64_t i) {
        return std::to_string(loadInteger(a, i)) + " instead of " +
               std::to_string(loadInteger(e, i));
      });
}

} // namespace kintsugi::conformance
