//===- program.h - A model as definitions of tensors ------------------------===//
//
// A Program is a table of values and a list of nodes in an order in which every value is defined
// before it is read. A node is a Definition (an expression for each element), a Scan (a sub-program
// repeated along an iterator, with carried tensors) or a Call (an operation by name, see calls/).
// Transposes, reshapes and slices are definitions whose body is a single read; simplify/ composes
// them away where their map allows it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_PROGRAM_H
#define KINTSUGI_TE_PROGRAM_H

#include "base/json.h"
#include "base/status.h"
#include "te/expr.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace kintsugi::te {

using Shape = llvm::SmallVector<Extent, 4>;

/// The bytes of a constant, brought when they are needed: a model's weights may be larger than
/// memory. Row-major, little-endian.
class ConstantSource {
public:
  virtual ~ConstantSource() = default;
  /// Writes all bytes of the tensor to `destination`.
  virtual Status load(std::byte *destination) const = 0;
  /// The bytes in place if they lie in memory or in a mapped file, else null.
  virtual const std::byte *bytes() const { return nullptr; }
  /// Identifies the content for caches: equal identities mean equal bytes.
  virtual std::string identity() const = 0;
};

/// What rules may rely on about every element of a value.
struct Facts {
  std::optional<double> low, high; ///< Bounds of every element that is not NaN.
  bool neverNaN = false;
  bool finite = false;
  bool operator==(const Facts &) const = default;
};

/// Which value of a program an equal program's value equals, element by element.
struct Original {
  uint32_t value; ///< Its number there.
  /// Dimension k here is dimension order[k] there; empty: all are where they are there.
  llvm::SmallVector<unsigned, 4> order;
  auto operator<=>(const Original &other) const {
    return std::tie(value, order) <=> std::tie(other.value, other.order);
  }
  bool operator==(const Original &) const = default;
};

enum class ValueKind : uint8_t { Input, Constant, Result };

struct Value {
  std::string name; ///< Unique in the program; the ONNX tensor's name where there is one.
  ElementType type;
  Shape shape;
  ValueKind kind = ValueKind::Result;
  std::shared_ptr<const ConstantSource> constant; ///< Constant
  /// Result: the node and which of its results. Kept right by Program.
  uint32_t node = ~0u;
  uint32_t result = 0;
  Facts facts;
  /// Of programs that forms are chosen among; kept by rules, simplification and formats for what
  /// they copy or know to be equal.
  std::optional<Original> original;

  bool isEmpty() const {
    return llvm::any_of(shape, [](Extent extent) { return extent.constant() == 0; });
  }
  /// Of all its elements; a double, since a model's file may claim any shape.
  double bytes() const {
    double elements = 1;
    for (Extent extent : shape)
      elements *= double(extent.constant());
    return elements * bitsOf(type) / 8;
  }
};

struct Iterator {
  std::string name;
  Extent extent;
};

enum class Combiner : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  And,
  Or,
  ArgMax,       ///< Bodies: key, payload. Result: the payload at the first greatest key (NaN is
                ///< greatest).
  ArgMin,       ///< The same with the least key (NaN is least).
  SoftmaxStats, ///< Body: x. Results: m = max x, and the sum of exp(x - m).
};

const char *nameOf(Combiner combiner);
unsigned resultsOf(Combiner combiner);
unsigned bodiesOf(Combiner combiner);
/// Whether it is ArgMax or ArgMin.
bool isArgForm(Combiner combiner);

struct Reduction {
  Combiner combiner;
  ElementType accumulator; ///< Type of the running value (of the key for arg forms).
  llvm::SmallVector<Iterator, 3> iterators;
};

/// result[parallel...] = reduce[iterators] bodies, elementwise over the shape of the result.
/// Iterators are numbered: the parallel ones first, in the order of the result's dimensions, then
/// the reduction's.
struct Definition {
  llvm::SmallVector<Iterator, 4> parallel;
  std::optional<Reduction> reduction;
  llvm::SmallVector<Expr, 1> bodies;
  llvm::SmallVector<ValueId, 1> results;

  unsigned numIterators() const {
    return parallel.size() + (reduction ? reduction->iterators.size() : 0);
  }
  /// The range of each iterator, in number order.
  llvm::SmallVector<Interval> ranges() const;
  bool isReduction() const { return reduction.has_value(); }
};

class Program;

/// for step in [0, trip): carried' = body(step, carried). The body is a program of its own whose
/// inputs are: the step (a scalar i64), then one for each carried tensor, then one for each
/// captured value of the outer program; whose outputs are: the next carried tensors, then the
/// stacked ones. Results of the node: the final carried tensors, then for each stacked output a
/// tensor with a leading dimension of `trip`.
///
/// Data may end it: the first carried tensor is one boolean then, and the first step ahead of which
/// it is not what `goesOnWhile` says is not made, nor any behind it. What stacks hold for those is
/// not said. A branch is a scan of one such step, and only that may be made where it is false.
struct Scan {
  Extent trip;
  std::shared_ptr<const Program> body;
  llvm::SmallVector<ValueId, 4> initial;  ///< For each carried tensor, its first value.
  llvm::SmallVector<ValueId, 4> captured; ///< Values of the outer program that the body reads.
  llvm::SmallVector<ValueId, 4> results;
  std::optional<bool> goesOnWhile = std::nullopt; ///< None: all steps are made.

  bool isBranch() const { return goesOnWhile && trip.constant() == 1; }
};

/// An operation by name; never fused. What it means stands in calls/.
struct Call {
  std::string callee;
  Json attributes;
  llvm::SmallVector<ValueId, 4> operands;
  llvm::SmallVector<ValueId, 2> results;
};

using Node = std::variant<Definition, Scan, Call>;

class Program {
public:
  std::string name = "model";

  ValueId addInput(std::string name, ElementType type, Shape shape);
  ValueId addConstant(std::string name, ElementType type, Shape shape,
                      std::shared_ptr<const ConstantSource> source);
  /// Adds a definition with one result of the given type; its shape is the parallel iterators'.
  ValueId define(std::string name, ElementType type, Definition definition);
  /// Adds a definition whose combiner has several results.
  llvm::SmallVector<ValueId> defineMany(llvm::ArrayRef<std::string> names,
                                        llvm::ArrayRef<ElementType> types, Definition definition);
  llvm::SmallVector<ValueId> addScan(llvm::ArrayRef<std::string> names, Scan scan);
  llvm::SmallVector<ValueId> addCall(llvm::ArrayRef<std::string> names,
                                     llvm::ArrayRef<ElementType> types,
                                     llvm::ArrayRef<Shape> shapes, Call call);
  /// Declares an output under a name of its own (a value may be an output under several).
  void addOutput(std::string name, ValueId value);

  const Value &value(ValueId id) const { return values[id.number]; }
  Value &value(ValueId id) { return values[id.number]; }
  llvm::ArrayRef<Extent> shape(ValueId id) const { return value(id).shape; }
  size_t numValues() const { return values.size(); }

  struct Output {
    std::string name;
    ValueId value;
  };

  std::vector<Value> values;
  std::vector<Node> nodes; ///< In an order of execution.
  /// For each node, the names of the ONNX nodes that it serves; kept to the end for errors and
  /// profiles.
  std::vector<std::vector<std::string>> origins;
  /// Given to nodes as they are added.
  std::vector<std::string> currentOrigin;
  std::vector<ValueId> inputs;
  std::vector<Output> outputs;

  const Definition *definitionOf(ValueId id) const;
  /// The values that a node reads, without duplicates, in order of first occurrence.
  llvm::SmallVector<ValueId> operandsOf(uint32_t node) const;
  llvm::ArrayRef<ValueId> resultsOf(uint32_t node) const;

  /// Checks every invariant (types, ranks, order, ranges of reads without a fill, unique names).
  /// The phases call it after each step.
  Status verify() const;
  /// The part of it that one node needs.
  Status verifyNode(uint32_t node) const;

private:
  std::string unique(std::string name);
  ValueId addValue(Value value);
  uint32_t addNode(Node node);

  std::map<std::string, unsigned> usedNames;
};

/// The values that an expression reads, gathers included, in order of first occurrence.
llvm::SmallVector<ValueId> readsOf(const Expr &expr);

/// Inlines a pointwise definition: every read of `definition`'s result inside `consumer` becomes
/// its body with the read's indices substituted for its iterators (the producer's map applied after
/// the consumer's). A read with a fill becomes a select on its bounds.
Expr inlineInto(const Expr &consumer, const Definition &producer, llvm::ArrayRef<Extent> shape);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_PROGRAM_H
