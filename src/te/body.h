//===- body.h - A definition's expressions, ready to be evaluated -----------===//
//
// Compiles the expressions of one definition into a small graph with resolved tensors, strides and
// bounds, which is evaluated once for each point of the iterators.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_BODY_H
#define KINTSUGI_TE_BODY_H

#include "te/exact_tensor.h"

#include <deque>

namespace kintsugi::te {

struct BodyNode;

class Body {
public:
  /// `tensors` gives the tensor of each value that the expressions read; they must outlive this.
  Body(const Program &program, const Definition &definition,
       llvm::function_ref<const ExactTensor *(ValueId)> tensors);
  ~Body();

  /// The iterators' values, by number, for the next evaluation.
  llvm::MutableArrayRef<int64_t> point() { return iterators; }
  /// To be called after the point has changed.
  void advance() { ++epoch; }

  bool isFloatBody(unsigned body) const { return isFloat(types[body]); }
  ElementType typeOf(unsigned body) const { return types[body]; }
  double floatValue(unsigned body) { return evalFloat(*roots[body]); }
  int64_t integerValue(unsigned body) { return evalInteger(*roots[body]); }

  /// An input error once a read without a fill was outside of its tensor.
  Status status() const;

private:
  struct Position;
  struct PositionTerm;

  BodyNode *compile(const Expr &expr);
  BodyNode *compileRead(const Expr &expr);
  std::unique_ptr<Position> compile(const Index &index);

  double evalFloat(BodyNode &node);
  double computeFloat(BodyNode &node);
  int64_t evalInteger(BodyNode &node);
  int64_t computeInteger(BodyNode &node);
  int64_t evalPosition(const Position &position);
  /// The row-major place that a read goes to, or -1 if it is outside of its tensor.
  int64_t place(BodyNode &node);
  void leave(const BodyNode &node, size_t dimension, int64_t position);

  friend struct BodyNode;

  const Program &program;
  llvm::function_ref<const ExactTensor *(ValueId)> tensors;
  llvm::SmallVector<Interval> ranges;
  llvm::SmallVector<int64_t> iterators;
  std::deque<BodyNode> nodes;
  std::map<const void *, BodyNode *> compiled;
  llvm::SmallVector<BodyNode *> roots;
  llvm::SmallVector<ElementType> types;
  uint64_t epoch = 1;
  std::optional<Error> failure;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_BODY_H
