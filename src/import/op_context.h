//===- op_context.h - What an operator's import function sees ----------------===//
//
// An ONNX operator is imported by one function, `Status f(OpContext &c)`, that reads its inputs and
// attributes through this context, adds primitive definitions (builder.h; each step of the operator
// one of its own), and sets its outputs. Everything a model can get wrong is an error, never an
// assertion: a function checks ranks, types and extents before it builds expressions from them.
// Attributes of a wrong kind and results that are too large are noted here and reported after the
// function returns.
//
// Example, y = x * 2 elementwise:
//   Status twice(OpContext &c) {
//     te::ValueId x = c.input(0);
//     c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
//       return c.read(x, i) * te::Expr::literal(c.type(x), 2.0);
//     }));
//     return Status::success();
//   }
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OP_CONTEXT_H
#define KINTSUGI_IMPORT_OP_CONTEXT_H

#include "base/tensor.h"
#include "import/builder.h"
#include "import/constant_folder.h"
#include "import/onnx_model.h"
#include "te/check.h"

#include <span>

namespace kintsugi::import {

/// What a name in an ONNX graph stands for. Sequences exist only at import time.
struct Binding {
  std::optional<ValueId> tensor;
  std::shared_ptr<const std::vector<ValueId>> sequence;
  std::shared_ptr<const TensorData> strings; ///< A constant tensor of strings.
};

/// What a run has to look at.
struct CheckedTensor {
  ValueId tensor;
  te::Check check;
};

/// What an operator may ask of the import as a whole.
class GraphImporter {
public:
  virtual ~GraphImporter() = default;
  /// Imports a graph attribute in the node's scope, its inputs bound to `arguments`, and returns
  /// its outputs in order.
  virtual Expected<std::vector<Binding>> importSubgraph(const Graph &graph,
                                                        llvm::ArrayRef<Binding> arguments) = 0;
  /// The same where it only counts if `condition`, one boolean, is `wanted`: what it asks of data
  /// is not asked otherwise.
  virtual Expected<std::vector<Binding>> importBranch(const Graph &graph,
                                                      llvm::ArrayRef<Binding> arguments,
                                                      ValueId condition, bool wanted) = 0;
  /// Elements of an integer tensor have to lie in [low, high), or a run fails: `what` they are for
  /// the node ("index").
  virtual void requireRange(ValueId tensor, int64_t low, int64_t high, const char *what) = 0;
  virtual void require(CheckedTensor checked) = 0;
  /// Between these two, what is imported is the body of a scan (scan_body.h). What it asks of data
  /// is given then; nothing where it counts elements, or adds inputs to the program.
  virtual void enterBody() = 0;
  virtual std::optional<std::vector<CheckedTensor>> leaveBody() = 0;
  /// In its place: what was imported since is not wanted.
  virtual void dropBody() = 0;
  /// Whether a graph may become a body. Once it could not, it is not tried again: the graphs inside
  /// of it would be tried as often as there are graphs around them, twice for each.
  virtual bool mayBeBody(const Graph &graph) const = 0;
  virtual void isNoBody(const Graph &graph) = 0;
  /// Whether data may end scans.
  virtual bool mayEndByData() const = 0;
  /// A tensor that an attribute holds, as a constant (or as strings).
  virtual Expected<Binding> importTensor(const TensorData &tensor) = 0;
  /// The results of a call (calls/call.h) that counts some of them; one that is there already is
  /// not added again.
  virtual Expected<llvm::SmallVector<ValueId>> addCountedCall(llvm::ArrayRef<std::string> names,
                                                              te::Call call) = 0;
  /// Whether there is such a call: what is known behind it may be of more elements than a run has.
  virtual bool hasCountedCalls() const = 0;
};

class OpContext : public Builder {
public:
  OpContext(const Node &node, int64_t opset, std::vector<Binding> inputs, te::Program &program,
            ConstantFolder &constants, GraphImporter &importer);

  //===--------------------------------------------------------------------===//
  // The node

  const Node &node() const { return onnx; }
  int64_t opset() const { return version; }
  unsigned numInputs() const { return inputs.size(); }
  unsigned numOutputs() const { return onnx.outputs.size(); }
  /// Whether the input is there and is a tensor. Required ones are checked before the function
  /// runs.
  bool hasInput(unsigned number) const {
    return number < inputs.size() && inputs[number].tensor.has_value();
  }
  bool hasOutput(unsigned number) const {
    return number < onnx.outputs.size() && !onnx.outputs[number].empty();
  }
  ValueId input(unsigned number) const { return *inputs[number].tensor; }
  /// Nothing where the input is left out.
  Binding binding(unsigned number) const {
    return number < inputs.size() ? inputs[number] : Binding();
  }

  /// The type that an attribute names by ONNX's number; an error for a number that names none.
  Expected<ElementType> elementType(llvm::StringRef name, int64_t otherwise);
  /// Attributes, or the value to take where one is absent. One of another kind fails the node.
  bool hasAttribute(llvm::StringRef name) const { return onnx.attribute(name) != nullptr; }
  /// A graph that must be there.
  Expected<const Graph *> graph(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise);
  std::vector<int64_t> integers(llvm::StringRef name, std::vector<int64_t> otherwise = {});
  std::vector<double> reals(llvm::StringRef name, std::vector<double> otherwise = {});

  /// An error where the node has other attributes: ONNX's schemas know nothing of other domains'
  /// operators.
  Status requireOnly(llvm::ArrayRef<llvm::StringRef> attributes) const;

  //===--------------------------------------------------------------------===//
  // Tensors

  /// The input's elements where they are known at import, else null.
  const Tensor *knownValue(unsigned number) { return constants.value(input(number)); }
  /// An input that must be known at import, such as axes; the error says to bind it.
  Expected<const Tensor *> constantInput(unsigned number, llvm::StringRef role);
  /// The same, of integers; empty where the input is left out.
  Expected<std::vector<int64_t>> constantIntegers(unsigned number, llvm::StringRef role);
  Expected<std::vector<double>> constantReals(unsigned number, llvm::StringRef role);

  /// In [0, rank), counting from the end where negative.
  Expected<unsigned> axis(int64_t axis, unsigned rank) const;
  /// All of them distinct, in the given order; `axes` empty gives none.
  Expected<llvm::SmallVector<unsigned>> axes(std::span<const int64_t> axes, unsigned rank) const;

  /// Errors where the property does not hold; `role` names the tensor in the message.
  Status requireRank(ValueId tensor, unsigned rank, llvm::StringRef role) const;
  Status requireSameType(ValueId a, ValueId b) const;
  Status requireFloat(ValueId tensor) const;
  /// The elements of an integer tensor, `what` they are for the node ("index"), lie in [low, high):
  /// an error for known ones that don't, a check of each run for others.
  Status requireWithin(ValueId tensor, int64_t low, int64_t high, const char *what);
  /// They are positions along a dimension, counted from its end where negative.
  Status requirePositions(ValueId tensor, int64_t extent);
  /// A shape from signed extents; an error where one is negative or too large.
  Expected<Shape> makeShape(std::span<const int64_t> extents) const;
  /// The shape that the tensors broadcast to (numpy's rule).
  Expected<Shape> broadcast(llvm::ArrayRef<ValueId> tensors) const;

  //===--------------------------------------------------------------------===//
  // Results

  /// The results of a call that counts some of them: constants that end at the count where its
  /// operands are known. The last name is that of the count.
  Expected<llvm::SmallVector<ValueId>> countedCall(llvm::ArrayRef<std::string> names,
                                                   te::Call call);

  /// The name of an output; steps on the way to it are called name() + ".step".
  std::string name(unsigned output = 0) const;

  /// What the node does not name is dropped.
  void output(unsigned number, ValueId tensor) { outputBinding(number, {tensor, {}, {}}); }
  void outputBinding(unsigned number, Binding binding) {
    if (number < outputs.size())
      outputs[number] = std::move(binding);
  }

  /// Elements that can't be made.
  Error unsupported(ElementType type) const;
  /// An input error with this reason; the importer adds the file and the node.
  Error error(const llvm::Twine &reason) const { return inputError(reason.str()); }

  ConstantFolder &constants;
  GraphImporter &importer;

  /// What the importer looks at after the function returned.
  std::vector<Binding> takeOutputs() { return std::move(outputs); }
  /// The names of the program's inputs that constantInput() lacked the value of.
  const std::vector<std::string> &unknownInputs() const { return unknown; }

private:
  const Attribute *find(llvm::StringRef name, AttributeKind kind, llvm::StringRef what);

  const Node &onnx;
  int64_t version;
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  std::vector<std::string> unknown;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OP_CONTEXT_H
