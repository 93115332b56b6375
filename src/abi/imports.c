/*===- imports.c - The table of functions that generated code may call ----===*/

#include "abi/imports.h"

#include "abi/math.h"

#include <math.h>
#include <stddef.h>

/* The C library's functions in float are replaced by those in double, rounded once: the same bits
   whatever shortcuts a library takes in float. */
#define ROUNDED(name)                                                                              \
  static float rounded_##name##f(float x) { return (float)name((double)x); }
#define ROUNDED2(name)                                                                             \
  static float rounded_##name##f(float x, float y) { return (float)name((double)x, (double)y); }

ROUNDED(exp2)
ROUNDED(expm1)
ROUNDED(log)
ROUNDED(log2)
ROUNDED(log10)
ROUNDED(log1p)
ROUNDED(sin)
ROUNDED(cos)
ROUNDED(tan)
ROUNDED(asin)
ROUNDED(acos)
ROUNDED(atan)
ROUNDED(sinh)
ROUNDED(cosh)
ROUNDED(asinh)
ROUNDED(acosh)
ROUNDED(atanh)
ROUNDED(cbrt)
ROUNDED2(pow)
ROUNDED2(fmod)
ROUNDED2(atan2)

const KinImports kinImports = {
    .count = KIN_SLOT_COUNT,
    .exp_ = kinExp,
    .exp2_ = exp2,
    .expm1_ = expm1,
    .log_ = log,
    .log2_ = log2,
    .log10_ = log10,
    .log1p_ = log1p,
    .erf_ = kinErf,
    .sin_ = sin,
    .cos_ = cos,
    .tan_ = tan,
    .asin_ = asin,
    .acos_ = acos,
    .atan_ = atan,
    .sinh_ = sinh,
    .cosh_ = cosh,
    .tanh_ = kinTanh,
    .asinh_ = asinh,
    .acosh_ = acosh,
    .atanh_ = atanh,
    .cbrt_ = cbrt,
    .pow_ = pow,
    .fmod_ = fmod,
    .atan2_ = atan2,
    .expf_ = kinExpf,
    .exp2f_ = rounded_exp2f,
    .expm1f_ = rounded_expm1f,
    .logf_ = rounded_logf,
    .log2f_ = rounded_log2f,
    .log10f_ = rounded_log10f,
    .log1pf_ = rounded_log1pf,
    .erff_ = kinErff,
    .sinf_ = rounded_sinf,
    .cosf_ = rounded_cosf,
    .tanf_ = rounded_tanf,
    .asinf_ = rounded_asinf,
    .acosf_ = rounded_acosf,
    .atanf_ = rounded_atanf,
    .sinhf_ = rounded_sinhf,
    .coshf_ = rounded_coshf,
    .tanhf_ = kinTanhf,
    .asinhf_ = rounded_asinhf,
    .acoshf_ = rounded_acoshf,
    .atanhf_ = rounded_atanhf,
    .cbrtf_ = rounded_cbrtf,
    .powf_ = rounded_powf,
    .fmodf_ = rounded_fmodf,
    .atan2f_ = rounded_atan2f,
};

#define KIN_IMPORT(name, kind)                                                                     \
  _Static_assert(offsetof(KinImports, name##_) == KIN_IMPORT_OFFSET(KIN_SLOT_##name), #name);
#include "abi/imports.def"
#undef KIN_IMPORT
