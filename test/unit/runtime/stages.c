/*===- stages.c - Kernels for tests of the runtime, as a code object ------===*/
/* Compiled without a C library, as the linker makes them: see abi/stage.h. */

#include "abi/stage.h"

enum { tile = 64 };

/* y[i] = x[i] * w[i] + b, tiles of 64 of the 1000 elements. */
void affine(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  const float *x = buffers[0], *w = buffers[1], *b = buffers[2];
  float *y = buffers[3];
  for (int64_t i = begin * tile; i < end * tile && i < 1000; ++i)
    y[i] = x[i] * w[i] + b[0];
}

void nothing(void *const *buffers, int64_t begin, int64_t end, void *scratch,
             const KinImports *imports) {}
void start(void *const *buffers, int64_t begin, int64_t end, void *scratch,
           const KinImports *imports) {}
void ticks(void *const *buffers, int64_t begin, int64_t end, void *scratch,
           const KinImports *imports) {}
void meet(void *const *buffers, int64_t begin, int64_t end, void *scratch,
          const KinImports *imports) {}

/* y[i] = tanh(x[i]), likewise. */
void squash(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin * tile; i < end * tile && i < 1000; ++i)
    y[i] = imports->tanhf_(x[i]);
}

/* total = before + step; small = total < limit. */
void accumulate(void *const *buffers, int64_t begin, int64_t end, void *scratch,
                const KinImports *imports) {
  const int64_t *step = buffers[0], *limit = buffers[1];
  const int64_t *before = buffers[2];
  int64_t *total = buffers[3];
  uint8_t *small = buffers[4];
  *total = *before + *step;
  *small = *total < *limit;
}

/* total = 0; small = 1. */
void reset(void *const *buffers, int64_t begin, int64_t end, void *scratch,
           const KinImports *imports) {
  *(int64_t *)buffers[0] = 0;
  *(uint8_t *)buffers[1] = 1;
}

/* total = -before. */
void negate(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  const int64_t *before = buffers[0];
  int64_t *total = buffers[1];
  *total = -*before;
}

/* For each tile the address of the scratch it was given, after filling 100 bytes of it with the
   tile's number and reading them back: 0 where somebody else wrote there meanwhile. */
void locate(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  int64_t *places = buffers[0];
  volatile uint8_t *bytes = scratch;
  for (int64_t t = begin; t < end; ++t) {
    for (int i = 0; i < 100; ++i)
      bytes[i] = (uint8_t)t;
    int same = 1;
    for (int i = 0; i < 100; ++i)
      same &= bytes[i] == (uint8_t)t;
    places[t] = same ? (int64_t)scratch : 0;
  }
}

/* rows[r, c] = 10 r + c for the first `count` columns of a [3, 4] tensor. */
void ragged(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  const int64_t *wanted = buffers[0];
  float *rows = buffers[1];
  int64_t *count = buffers[2];
  *count = *wanted;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      rows[r * 4 + c] = c < *wanted ? 10 * r + c : -1;
}
