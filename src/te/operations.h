//===- operations.h - How much arithmetic a program asks for ----------------===//
//
// Each scalar operation and each step of a reduction is one, so a multiply-add counts as two; calls
// count none. It is what is asked for, not what a schedule makes of it (which may compute a value
// twice).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_OPERATIONS_H
#define KINTSUGI_TE_OPERATIONS_H

#include "te/program.h"

namespace kintsugi::te {

double operationsOf(const Definition &definition);

/// Of one run.
double operationsOf(const Program &program);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPERATIONS_H
