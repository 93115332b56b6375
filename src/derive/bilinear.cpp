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
constexpr int64_t output3of4[] = {
    1, 1, 1,  0, //
    0, 1, -1, 0, //
    0, 1, 1,  1, //
};
constexpr int64_t kernel4of2[] = {
    1, 0,  //
    1, 1,  //
    1, -1, //
    0, 1,  //
};
constexpr int64_t kernel4of3[] = {
    1, 0,  0, //
    1, 1,  1, //
    1, -1, 1, //
    0, 0,  1, //
};
constexpr int64_t denominators4[] = {1, 2, 2, 1};

// Interpolation at 0, 2/3, -2/3, 3/2, -3/2 and infinity. With 1, -1, 2, -2 in their place the
// numbers are rounder, and errors in f32 four times as large: what these points have in common is
// that neither their powers nor their distances are far from 1 (Barabasz, Anderson, Soodhalter and
// Gregg, Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural
// Networks, 2020).
constexpr int64_t input6[] = {
    36, 0,   -97, 0,   36, 0,  //
    0,  -18, -27, 8,   12, 0,  //
    0,  18,  -27, -8,  12, 0,  //
    0,  -12, -8,  27,  18, 0,  //
    0,  12,  -8,  -27, 18, 0,  //
    0,  36,  0,   -97, 0,  36, //
};
constexpr int64_t inputDenominator6 = 32;
constexpr int64_t output4of6[] = {
    16, 27, 27,  8,  8,   0,  //
    0,  18, -18, 12, -12, 0,  //
    0,  12, 12,  18, 18,  0,  //
    0,  8,  -8,  27, -27, 16, //
};
constexpr int64_t output2of6[] = {
    16, 27, 27,  8,  8,   0,  //
    0,  18, -18, 12, -12, 16, //
};
constexpr int64_t outputDenominator6 = 16;
constexpr int64_t kernel6of3[] = {
    8,    0,    0,    //
    -576, -384, -256, //
    -576, 384,  -256, //
    256,  384,  576,  //
    256,  -384, 576,  //
    0,    0,    8,    //
};
constexpr int64_t denominators6of3[] = {9, 585, 585, 585, 585, 9};
constexpr int64_t kernel6of5[] = {
    8,     0,     0,     0,     0,     //
    -5184, -3456, -2304, -1536, -1024, //
    -5184, 3456,  -2304, 1536,  -1024, //
    256,   384,   576,   864,   1296,  //
    256,   -384,  576,   -864,  1296,  //
    0,     0,     0,     0,     8,     //
};
constexpr int64_t denominators6of5[] = {9, 5265, 5265, 585, 585, 9};

const BilinearAlgorithm algorithms[] = {
    {"F(3, 2)", 3, 2, input4, 1, kernel4of2, denominators4, output3of4, 1},
    {"F(2, 3)", 2, 3, input4, 1, kernel4of3, denominators4, output2of4, 1},
    {"F(4, 3)", 4, 3, input6, inputDenominator6, kernel6of3, denominators6of3, output4of6,
     outputDenominator6},
    {"F(2, 5)", 2, 5, input6, inputDenominator6, kernel6of5, denominators6of5, output2of6,
     outputDenominator6},
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
        if (coefficient != (k == i + j ? common * inputDenominator * outputDenominator : 0))
          return false;
      }
  return true;
}

llvm::ArrayRef<BilinearAlgorithm> bilinearAlgorithms() { return algorithms; }

} // namespace kintsugi::derive
