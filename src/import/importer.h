//===- importer.h - Walks a model's graphs -----------------------------------===//
//
// Binds names to values, node by node: initializers when they are first used, model-local functions
// inlined, graph attributes in the scope of their node. What a single operator means is not known
// here.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_IMPORTER_H
#define KINTSUGI_IMPORT_IMPORTER_H

#include "import/counts.h"
#include "import/function_table.h"
#include "import/import.h"
#include "import/op_context.h"
#include "import/weights.h"

#include <set>

namespace kintsugi::import {

class Importer final : public GraphImporter {
public:
  /// `sizes`: of what counted calls give, for each in the order in which they are met; inputs stand
  /// for their results then.
  Importer(const Model &model, const std::string &folder, const ImportOptions &options,
           std::optional<std::vector<int64_t>> sizes = std::nullopt)
      : model(model), functions(model), options(options), weights(folder, options.randomWeights),
        constants(program), sizes(std::move(sizes)) {}

  Expected<te::Program> run();

  /// Those of the program, whose outputs have no counts yet.
  std::vector<CountedCall> takeCountedCalls() { return std::move(counted); }

  /// What ConstantFolder::numbers says in the end, where sizes of counted calls are given.
  std::vector<int64_t> takeNumbers() { return std::move(known); }

  /// In the place of run(): goes on past nodes that can't be imported (import.h).
  Expected<std::vector<NodeSurvey>> survey();

  /// How many weights were missing and got random values.
  unsigned numRandomWeights() const { return weights.numRandom(); }

  /// What is worth telling, but no error.
  const std::vector<std::string> &notes() const { return remarks; }

  Expected<std::vector<Binding>> importSubgraph(const Graph &graph,
                                                llvm::ArrayRef<Binding> arguments) override;
  Expected<std::vector<Binding>> importBranch(const Graph &graph, llvm::ArrayRef<Binding> arguments,
                                              ValueId condition, bool wanted) override;
  void requireRange(ValueId tensor, int64_t low, int64_t high, const char *what) override;
  void require(CheckedTensor checked) override;
  void enterBody() override;
  std::optional<std::vector<CheckedTensor>> leaveBody() override;
  void dropBody() override;
  bool mayBeBody(const Graph &graph) const override { return !notBodies.count(&graph); }
  void isNoBody(const Graph &graph) override { notBodies.insert(&graph); }
  bool mayEndByData() const override { return !options.computesAll; }
  Expected<Binding> importTensor(const TensorData &tensor) override;
  Expected<llvm::SmallVector<ValueId>> addCountedCall(llvm::ArrayRef<std::string> names,
                                                      te::Call call) override;
  bool hasCountedCalls() const override { return !counted.empty(); }

private:
  /// In all, with functions and loops unrolled. The search that follows takes far longer for so
  /// many than anyone waits, and a node of a program takes about 600 bytes.
  static constexpr uint64_t mostNodes = 200'000;

  using Opsets = std::map<std::string, int64_t>;

  /// What has to hold for what is imported to count.
  struct Guard {
    ValueId condition;
    bool wanted;
  };

  /// What is set aside while a scan's body is imported.
  struct Around {
    std::vector<Guard> guards;
    std::vector<CheckedTensor> checks;
    size_t countedCalls, inputs;
    std::set<std::string> unknownInputs;
    std::optional<unsigned> failedDepth;
    uint64_t nodesLeft;
  };

  /// The names of a graph or a function body.
  struct Scope {
    Scope *outer = nullptr; ///< Visible too; a function sees none.
    const Opsets *opsets = nullptr;
    const Function *function = nullptr;
    const Node *call = nullptr; ///< Of the function.
    std::string path;           ///< Of the calls that led here, to name nodes by.
    const std::vector<Node> *nodes = nullptr;
    std::map<std::string, const ValueInfo *> declared; ///< What the graph says of its values.
    std::map<std::string, Binding> names;
    std::map<std::string, const TensorData *> initializers; ///< Not bound yet.
    std::map<std::string, const SparseInitializer *> sparse;
    std::map<std::string, std::string> absent; ///< What can't be read, and why.
  };

  static bool hasDefault(const ValueInfo &info, const Scope &scope);
  Status addInput(const ValueInfo &info, Scope &scope);
  NodeSurvey surveyNode(const Node &node, Scope &scope);
  /// Sequences exist at import only: nodes that share one with a refused node are refused, too.
  void refuseSharersOfSequences(const Scope &scope, std::vector<NodeSurvey> &surveys) const;
  /// In the place of a node's outputs, where its import failed.
  void addInputsFor(const Node &node, Scope &scope);
  Expected<Shape> inputShape(const ValueInfo &info);
  Status checkOptionsUsed(const Scope &scope) const;
  Status checkNames() const; ///< Of inputs, outputs and weights.
  Status checkModel() const; ///< What has to hold of it before anything is imported.
  void openGraph(const Graph &graph, Scope &scope);
  /// Those that the outputs need.
  Status importNodes(const std::vector<Node> &nodes, const std::vector<std::string> &outputs,
                     Scope &scope);
  Status importNode(const Node &node, Scope &scope);
  Status importOperator(const Node &node, std::vector<Binding> inputs, Scope &scope);
  Status inlineFunction(const Function &function, const Node &node, std::vector<Binding> inputs,
                        Scope &scope);
  Expected<Node> withReferences(const Node &node, const Scope &scope) const;
  Status bindOutput(const std::string &name, const Binding &binding, Scope &scope);
  Expected<std::vector<Binding>> outputsOf(const Graph &graph, Scope &scope);
  Status addOutput(const ValueInfo &info, Scope &scope);
  Error undefined(const std::string &name, const Scope &scope) const;
  Error fromNode(const Node &node, Error error);

  Expected<Binding> lookUp(const std::string &name, Scope &scope);
  Expected<Binding> bindSparse(const SparseInitializer &sparse);

  const Model &model;
  FunctionTable functions;
  const ImportOptions &options;
  te::Program program;
  Weights weights;
  ConstantFolder constants;
  Scope *current = nullptr;
  unsigned depth = 0; ///< Of functions and graphs inside of each other.
  std::optional<unsigned> failedDepth;
  std::optional<std::vector<int64_t>> sizes;
  std::vector<CountedCall> counted;
  std::vector<int64_t> known;
  bool surveys = false; ///< For parts of the model, between which sizes are known.
  std::vector<Guard> guards;
  std::vector<CheckedTensor> checks; ///< Added behind the model's outputs.
  std::vector<Around> around;        ///< Of bodies inside of each other.
  std::set<const Graph *> notBodies; ///< That could not become some.
  uint64_t nodesLeft = mostNodes;
  std::vector<std::string> remarks;
  std::set<std::string> unknownInputs; ///< Whose value nodes asked for in vain.
};

/// The operators of a model that can't be imported, with the nodes that use them, as one error; or
/// success.
Status checkOperators(const Model &model);

/// The same for one node of the model's own graph, and what it calls and holds.
Status checkOperators(const Model &model, const Node &node);

/// The versions of the operator sets that a model or a function names. An error where ONNX's own is
/// outside of 1 to 28.
Expected<std::map<std::string, int64_t>> opsetsOf(const std::vector<OpsetImport> &imports);

/// "node 'conv1' (Conv)"; a node without a name is called by its first output.
std::string describe(const Node &node);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_IMPORTER_H
