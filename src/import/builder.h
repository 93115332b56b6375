//===- builder.h - Adds primitive definitions to a program -------------------===//
//
// Short ways to write definitions: bodies are functions of indices, and iterators, names and types
// follow. A result that is too large is noted here and reported by whoever asked for it, so that
// building needs no checks at every step.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_BUILDER_H
#define KINTSUGI_IMPORT_BUILDER_H

#include "base/tensor.h"
#include "te/program.h"
#include "llvm/ADT/Twine.h"

namespace kintsugi::import {

using te::Expr;
using te::Extent;
using te::Index;
using te::Shape;
using te::ValueId;
using Indices = llvm::ArrayRef<Index>;
using Dims = llvm::ArrayRef<Extent>;
using Pointwise = llvm::function_ref<Expr(Indices)>;
/// The parallel iterators, then the reduction's.
using Reduced = llvm::function_ref<Expr(Indices, Indices)>;

/// No tensor of a model that could ever run has more elements, and no text says a greater extent;
/// sums of a few such numbers don't overflow.
inline constexpr int64_t largestCount = te::maxIndexNumber;

/// How elements of type `type` are accumulated: f32 for f16 and bf16, the type itself otherwise.
ElementType accumulatorFor(ElementType type);

/// Whether arithmetic on the type is supported (all types are representable).
bool computes(ElementType type);

class Builder {
public:
  explicit Builder(te::Program &program) : program(program) {}

  ElementType type(ValueId tensor) const { return program.value(tensor).type; }
  Dims shape(ValueId tensor) const { return program.shape(tensor); }
  unsigned rank(ValueId tensor) const { return shape(tensor).size(); }
  int64_t extent(ValueId tensor, unsigned dimension) const {
    return shape(tensor)[dimension].constant();
  }
  std::vector<int64_t> dims(ValueId tensor) const;
  int64_t count(ValueId tensor) const; ///< Of elements.

  /// An element; the indices must be as many as the rank and stay inside (or inside a select).
  Expr read(ValueId tensor, Indices indices) const;
  /// An element, or `fill` where an index leaves the tensor.
  Expr readOr(ValueId tensor, Indices indices, Expr fill) const;
  /// An element of a tensor that broadcasts to the shape of which `indices` are the coordinates.
  Expr readBroadcast(ValueId tensor, Indices indices) const;
  /// An element of an integer tensor as an index.
  Index gather(ValueId tensor, Indices indices) const { return Index::data(read(tensor, indices)); }
  /// A position of a type that holds `extent`, from which negative ones are counted.
  static Expr wrapped(Expr position, int64_t extent);
  /// The same where negative values count from the end of a dimension of `extent`.
  Index gatherWrapped(Expr position, int64_t extent) const;

  /// result[i...] = body(i...), of the body's type.
  ValueId define(std::string name, Dims shape, Pointwise body);
  /// result[i...] = combine over r of body(i..., r...). The body's type is the accumulator's; the
  /// result is converted to `type`.
  ValueId reduce(std::string name, ElementType type, Dims shape, te::Combiner combiner,
                 Dims reduction, Reduced body);
  /// The payload (of the given type) at the greatest or least key.
  ValueId argReduce(std::string name, Dims shape, te::Combiner combiner, Dims reduction,
                    Reduced key, Reduced payload);
  /// The tensor with another shape of as many elements.
  ValueId reshape(std::string name, ValueId tensor, Dims shape);
  /// result[i...] = tensor at map(i...).
  ValueId view(std::string name, ValueId tensor, Dims shape,
               llvm::function_ref<llvm::SmallVector<Index>(Indices)> map);
  ValueId transpose(std::string name, ValueId tensor, llvm::ArrayRef<unsigned> permutation);
  ValueId castTo(std::string name, ValueId tensor, ElementType type);
  /// A tensor that is known now, such as a table of coefficients.
  ValueId constant(std::string name, Tensor value);

  /// An element of a tensor that is known now (not of strings), as a literal.
  static Expr literalOf(TensorView tensor, int64_t element = 0);

  /// Notes an error to be reported when the work is done; the first one counts.
  void fail(const llvm::Twine &reason);
  Status takeProblem() { return std::move(problem); }

  te::Program &program;

private:
  /// The shape, or one of the same rank with extents 1 (and a noted error) where it is too large.
  Shape bounded(llvm::StringRef name, Dims shape);

  Status problem;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_BUILDER_H
