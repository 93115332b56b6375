/*===- math.c - exp, erf and tanh whose bits follow no C library ----------===*/

#include "abi/math.h"

#include <stdint.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

/* coefficients[0] + x * (coefficients[1] + x * ...) */
static double polynomial(const double *coefficients, int count, double x) {
  double sum = coefficients[count - 1];
  for (int i = count - 2; i >= 0; --i)
    sum = sum * x + coefficients[i];
  return sum;
}

#define POLYNOMIAL(coefficients, x)                                                                \
  polynomial(coefficients, sizeof(coefficients) / sizeof(*coefficients), x)

static double absolute(double x) { return x < 0 ? -x : x; }

/* 2^exponent, which must be that of a normal number. */
static double powerOfTwo(int64_t exponent) {
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof(power));
  return power;
}

/* x = k ln 2 + r with |r| <= ln(2) / 2; e^r = 1 + r + r^2 (1/2! + r/3! + ... + r^11/13!), whose
   remainder is below 2^-57. */
double kinExp(double x) {
  static const double reciprocalFactorials[] = {
      1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const double log2e = 1.44269504088896338700e+00;
  const double ln2High =
      6.93147180369123816490e-01; /* 32 zero bits at the end: k * ln2High is exact. */
  const double ln2Low = 1.90821492927058770002e-10;
  const double toInteger = 0x1.8p52; /* Adding it rounds to an integer. */

  if (x != x)
    return x + x;
  if (x > 709.782712893384)
    return x * 0x1p1023; /* Overflows. */
  if (x < -745.1332191019412)
    return 0;
  double k = (x * log2e + toInteger) - toInteger;
  double r = (x - k * ln2High) - k * ln2Low;
  double value = 1 + (r + r * r * POLYNOMIAL(reciprocalFactorials, r));
  int64_t exponent = (int64_t)k, half = exponent / 2; /* Two factors reach the denormals. */
  return value * powerOfTwo(half) * powerOfTwo(exponent - half);
}

/* Below 1: x + x p(x^2), p interpolating erf(x)/x - 1 at Chebyshev nodes (error 2e-17).
   Above: 1 - e^(-x^2) q((x - 2) / (x + 2)), q interpolating e^(x^2) erfc(x) likewise over 1 <= x <=
   6 (2e-18). */
double kinErf(double x) {
  static const double small[] = {
      1.28379167095512586e-01,  -3.76126389031837483e-01, 1.12837916709548791e-01,
      -2.68661706450767923e-02, 5.22397762481801448e-03,  -8.54832698083379003e-04,
      1.20553311116427105e-04,  -1.49255952668311818e-05, 1.64610004841213676e-06,
      -1.63503127010546952e-07, 1.46597752740474363e-08,  -1.13728488567916737e-09,
      5.95717614774891131e-11};
  static const double large[] = {
      2.55395676310505748e-01,  -4.27185847413958486e-01, 2.41658194242465846e-01,
      -7.89785810157061091e-02, 3.73289240439783360e-03,  6.99746173697157834e-03,
      -8.47143252991950052e-04, -9.81976941103864182e-04, 4.35555868657548168e-05,
      1.74359474002051574e-04,  2.75271755572272460e-05,  -2.75622091611293528e-05,
      -1.39982837727849762e-05, 1.30585771222780166e-06,  4.01174964732506695e-06,
      1.27256766184022810e-06,  -1.13525714772736269e-06};
  double magnitude = absolute(x);
  if (!(magnitude >= 1)) /* NaN too. */
    return x + x * POLYNOMIAL(small, x * x);
  double sign = x < 0 ? -1 : 1;
  if (magnitude >= 6)
    return sign;
  double scaled = POLYNOMIAL(large, (magnitude - 2) / (magnitude + 2));
  return sign * (1 - kinExp(-magnitude * magnitude) * scaled);
}

/* Below 0.6245: x + x^3 p(x^2), p interpolating (tanh(x)/x - 1)/x^2 at Chebyshev nodes (error
   9e-18). Above: 1 - 2 / (e^(2x) + 1). */
double kinTanh(double x) {
  static const double small[] = {
      -3.33333333333333315e-01, 1.33333333333330473e-01,  -5.39682539679021828e-02,
      2.18694885192308661e-02,  -8.86323510810931373e-03, 3.59212181303199740e-03,
      -1.45577590058703255e-03, 5.89663127012390008e-04,  -2.37598643927923106e-04,
      9.25871912910965558e-05,  -3.12192236285096654e-05, 6.49399186321893495e-06};
  double magnitude = absolute(x), square = x * x;
  if (x == 0)
    return x;                 /* Keeps its sign. */
  if (!(magnitude >= 0.6245)) /* NaN too. */
    return x + x * (square * POLYNOMIAL(small, square));
  double sign = x < 0 ? -1 : 1;
  if (magnitude > 22)
    return sign;
  return sign * (1 - 2 / (kinExp(2 * magnitude) + 1));
}

float kinExpf(float x) { return (float)kinExp((double)x); }
float kinErff(float x) { return (float)kinErf((double)x); }
float kinTanhf(float x) { return (float)kinTanh((double)x); }
