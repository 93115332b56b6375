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

/// Elements of a shape, and points of an iteration space: doubles, since a file may claim any.
double elementsOf(llvm::ArrayRef<Extent> shape);
double pointsOf(llvm::ArrayRef<Iterator> iterators);

/// How many steps of a scan to reckon with: all, or where data end it no more than loops make that
/// are made for a purpose.
double stepsOf(const Scan &scan);

double operationsOf(const Definition &definition);
double operationsOf(const Node &node);

/// Of one run.
double operationsOf(const Program &program);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPERATIONS_H
