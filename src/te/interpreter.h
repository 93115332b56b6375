//===- interpreter.h - The meaning of a program, computed -------------------===//
//
// Evaluates a program element by element: integers exact (they wrap around at their width), floats
// in double whatever their type says, rounded only where tensors come in and go out. It is the
// reference that tests compare with, and serves for small shapes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_INTERPRETER_H
#define KINTSUGI_TE_INTERPRETER_H

#include "base/cancel.h"
#include "te/exact_tensor.h"

namespace kintsugi::te {

/// The outputs, in the program's order, for inputs in the program's order. The program is verified.
/// Input errors: an input of another type or shape, a gather outside of its tensor, element types
/// that can't be computed with, constants that can't be loaded.
Expected<std::vector<ExactTensor>> evaluate(const Program &program,
                                            llvm::ArrayRef<ExactTensor> inputs,
                                            const CancelToken &cancel = {});

/// The same with tensors in their own types.
Expected<std::vector<Tensor>> interpret(const Program &program, llvm::ArrayRef<TensorView> inputs,
                                        const CancelToken &cancel = {});

} // namespace kintsugi::te

#endif // KINTSUGI_TE_INTERPRETER_H
