#include "cost/margins.h"

#include <limits>

namespace kintsugi::cost {

Margins Margins::none() {
  constexpr double none = -std::numeric_limits<double>::infinity();
  return {none, none, none, none, none, none, none, none, none, none, none, none, none};
}

} // namespace kintsugi::cost
