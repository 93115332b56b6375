/*===- needy.c - A code object that breaks the rules ----------------------===*/

#include "abi/stage.h"

int putchar(int);

void affine(void *const *buffers, int64_t begin, int64_t end, void *scratch,
            const KinImports *imports) {
  putchar('x');
}
