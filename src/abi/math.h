/*===- math.h - exp, erf and tanh whose bits follow no C library ----------===*/
/*
 * Plain IEEE 754 arithmetic in double, rounded to nearest, never contracted: the same bits on every
 * machine. In double within 2 units in the last place, in float correctly rounded but for rare
 * ties; infinities, NaN, zeros and denormals as C's Annex F has them.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_MATH_H
#define KINTSUGI_ABI_MATH_H

#ifdef __cplusplus
extern "C" {
#endif

double kinExp(double x);
double kinErf(double x);
double kinTanh(double x);
float kinExpf(float x);
float kinErff(float x);
float kinTanhf(float x);

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_ABI_MATH_H */
