#include "derive/bilinear.h"

#include <numeric>

namespace kintsugi::derive {

namespace {

// Interpolation at 0, 1, -1 and infinity.
constexpr int64_t input4[] = {
    1, 0,  -1, 0, //
    0, 1,  1,  0, //
    0, -1, 1,  0, //
    0, -1, 0,  1, //
};
constexpr int64_t output2of4[] = {
    1, 1, 1,  0, //
    0, 1, -1, 1, //
};
constexpr int64_t kernel4of3[] = {
    1, 0,  0, //
    1, 1,  1, //
    1, -1, 1, //
    0, 0,  1, //
};
constexpr int64_t denominators4[] = {1, 2, 2, 1};

// Interpolation at 0, 1, -1, 2, -2 and infinity.
constexpr int64_t input6[] = {
    4, 0,  -5, 0,  1, 0, //
    0, -4, -4, 1,  1, 0, //
    0, 4,  -4, -1, 1, 0, //
    0, -2, -1, 2,  1, 0, //
    0, 2,  -1, -2, 1, 0, //
    0, 4,  0,  -5, 0, 1, //
};
constexpr int64_t output4of6[] = {
    1, 1, 1,  1, 1,  0, //
    0, 1, -1, 2, -2, 0, //
    0, 1, 1,  4, 4,  0, //
    0, 1, -1, 8, -8, 1, //
};
constexpr int64_t output2of6[] = {
    1, 1, 1,  1, 1,  0, //
    0, 1, -1, 2, -2, 1, //
};
constexpr int64_t kernel6of3[] = {
    1,  0,  0,  //
    -1, -1, -1, //
    -1, 1,  -1, //
    1,  2,  4,  //
    1,  -2, 4,  //
    0,  0,  1,  //
};
constexpr int64_t kernel6of5[] = {
    1,  0,  0,  0,  0,  //
    -1, -1, -1, -1, -1, //
    -1, 1,  -1, 1,  -1, //
    1,  2,  4,  8,  16, //
    1,  -2, 4,  -8, 16, //
    0,  0,  0,  0,  1,  //
};
constexpr int64_t denominators6[] = {4, 6, 6, 24, 24, 1};

const BilinearAlgorithm algorithms[] = {
    {"F(2, 3)", 2, 3, input4, kernel4of3, denominators4, output2of4},
    {"F(4, 3)", 4, 3, input6, kernel6of3, denominators6, output4of6},
    {"F(2, 5)", 2, 5, input6, kernel6of5, denominators6, output2of6},
};

} // namespace

bool BilinearAlgorithm::isRight() const {
  int64_t n = points(), common = 1;
  for (int64_t denominator : denominators)
    common = std::lcm(common, denominator);
  // The coefficient of d[k] g[j] in y[i].
  for (int64_t i = 0; i < outputs; ++i)
    for (int64_t j = 0; j < taps; ++j)
      for (int64_t k = 0; k < n; ++k) {
        int64_t coefficient = 0;
        for (int64_t p = 0; p < n; ++p)
          coefficient += output[i * n + p] * kernel[p * taps + j] * (common / denominators[p]) *
                         input[p * n + k];
        if (coefficient != (k == i + j ? common : 0))
          return false;
      }
  return true;
}

llvm::ArrayRef<BilinearAlgorithm> bilinearAlgorithms() { return algorithms; }

} // namespace kintsugi::derive
