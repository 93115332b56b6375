#include "orchestrate/plan_text.h"

#include "base/checked.h"
#include "te/constant.h"
#include "te/parse_tokens.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace kintsugi::orchestrate {

using namespace te;

namespace {

constexpr int64_t maxNumber = INT64_MAX;

class PlanParser {
public:
  PlanParser(llvm::StringRef text, llvm::StringRef file) : lexer(text, file) {}

  Expected<Plan> parse() {
    KINTSUGI_RETURN_IF_ERROR(header());
    while (lexer.peek().isWord("buffer"))
      KINTSUGI_RETURN_IF_ERROR(buffer());
    KINTSUGI_RETURN_IF_ERROR(orderInputs());
    while (lexer.peek().isWord("kernel"))
      KINTSUGI_RETURN_IF_ERROR(kernel());
    while (lexer.peek().isWord("stage"))
      KINTSUGI_RETURN_IF_ERROR(stage());
    while (lexer.peek().isWord("output"))
      KINTSUGI_RETURN_IF_ERROR(output());
    placed.resize(plan.stages.size(), false);
    KINTSUGI_RETURN_IF_ERROR(tree("constants", plan.constants));
    KINTSUGI_RETURN_IF_ERROR(tree("root", plan.root));
    if (lexer.peek().kind != TokenKind::End)
      return unexpected(lexer, lexer.peek(), "the end of the plan");
    for (auto [number, isPlaced] : llvm::enumerate(placed))
      if (!isPlaced)
        return lexer.errorAt(lexer.peek().offset,
                             "stage " + std::to_string(number) + " stands in neither tree");
    return std::move(plan);
  }

private:
  Error here(const std::string &reason) { return lexer.errorAt(lexer.peek().offset, reason); }

  template <typename T> Status clause(llvm::StringRef word, T &number, int64_t high) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, word));
    KINTSUGI_ASSIGN(number, expectInteger(lexer, "a number after '" + word.str() + "'", 0, high));
    return Status::success();
  }

  Status clause(llvm::StringRef word, double &number) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, word));
    KINTSUGI_ASSIGN(number, expectReal(lexer, "a number after '" + word.str() + "'"));
    return Status::success();
  }

  /// The number of the next entry of a table.
  Status nextOf(llvm::StringRef table, size_t size) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, table));
    KINTSUGI_ASSIGN([[maybe_unused]] int64_t number,
                    expectInteger(lexer, "the number of the next " + table.str(), size, size));
    return Status::success();
  }

  Expected<unsigned> bufferNumber() {
    if (plan.buffers.empty())
      return here("the plan has no buffers");
    KINTSUGI_ASSIGN(int64_t number,
                    expectInteger(lexer, "a buffer's number", 0, plan.buffers.size() - 1));
    return static_cast<unsigned>(number);
  }

  Status header() {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "plan"));
    KINTSUGI_ASSIGN(plan.model, expectQuoted(lexer, "the model's name in quotes"));
    KINTSUGI_RETURN_IF_ERROR(clause("arena", plan.arenaBytes, maxNumber));
    KINTSUGI_RETURN_IF_ERROR(clause("objective", plan.objectiveSeconds));
    KINTSUGI_RETURN_IF_ERROR(clause("gap", plan.gap));
    return clause("candidates", plan.candidates, UINT32_MAX);
  }

  //===- Tables ---------------------------------------------------------------===//

  Status buffer() {
    KINTSUGI_RETURN_IF_ERROR(nextOf("buffer", plan.buffers.size()));
    size_t offset = lexer.peek().offset;
    PlanBuffer buffer;
    KINTSUGI_ASSIGN(buffer.name, expectQuoted(lexer, "the buffer's name in quotes"));
    KINTSUGI_ASSIGN(buffer.type, expectType(lexer));
    KINTSUGI_RETURN_IF_ERROR(expectList(lexer, [&]() -> Status {
      KINTSUGI_ASSIGN(int64_t extent, expectInteger(lexer, "an extent", 0, maxIndexNumber));
      buffer.shape.push_back(extent);
      return Status::success();
    }));
    std::optional<int64_t> bytes = bytesOf(buffer.type, plainShape(buffer.shape));
    if (!bytes)
      return lexer.errorAt(offset, "buffer \"" + buffer.name +
                                       "\" has no size in bytes, or too large a one");
    buffer.bytes = *bytes;
    KINTSUGI_RETURN_IF_ERROR(home(buffer));
    plan.buffers.push_back(std::move(buffer));
    return Status::success();
  }

  Status home(PlanBuffer &buffer) {
    if (acceptWord(lexer, "source")) {
      buffer.kind = BufferKind::Source;
      KINTSUGI_ASSIGN(std::string identity, expectQuoted(lexer, "the constant's identity"));
      buffer.source = std::make_shared<NamedConstant>(std::move(identity));
      return Status::success();
    }
    if (lexer.peek().isWord("size")) {
      buffer.kind = BufferKind::Size;
      return clause("size", buffer.port, mostOpenDimensions - 1);
    }
    if (acceptWord(lexer, "derived")) {
      buffer.kind = BufferKind::Derived;
      return Status::success();
    }
    if (lexer.peek().isWord("input")) {
      buffer.kind = BufferKind::Input;
      return clause("input", buffer.port, UINT32_MAX);
    }
    if (!acceptWord(lexer, "temporary"))
      return unexpected(lexer, lexer.peek(), "input, size, source, derived or temporary");
    KINTSUGI_RETURN_IF_ERROR(clause("at", buffer.arenaOffset, maxNumber));
    if (buffer.bytes > plan.arenaBytes || buffer.arenaOffset > plan.arenaBytes - buffer.bytes)
      return here("buffer \"" + buffer.name + "\" does not lie in the arena of " +
                  std::to_string(plan.arenaBytes) + " bytes");
    return Status::success();
  }

  /// Ports are numbers from 0, each of one buffer.
  Status orderInputs() {
    size_t count = llvm::count_if(plan.buffers,
                                  [](const PlanBuffer &b) { return b.kind == BufferKind::Input; });
    plan.inputs.assign(count, ~0u);
    for (auto [number, buffer] : llvm::enumerate(plan.buffers)) {
      if (buffer.kind != BufferKind::Input)
        continue;
      if (buffer.port >= count || plan.inputs[buffer.port] != ~0u)
        return here("input " + std::to_string(buffer.port) +
                    " is given twice or leaves a gap; the ports are 0 to " +
                    std::to_string(count - 1) + ", each of one buffer");
      plan.inputs[buffer.port] = number;
    }
    return Status::success();
  }

  Status kernel() {
    lexer.take();
    size_t offset = lexer.peek().offset;
    Kernel kernel;
    KINTSUGI_ASSIGN(kernel.symbol, expectName(lexer, "the kernel's name"));
    if (!kernels.try_emplace(kernel.symbol, plan.kernels.size()).second)
      return lexer.errorAt(offset, "a second kernel '" + kernel.symbol + "'");
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "key"));
    size_t keyOffset = lexer.peek().offset;
    KINTSUGI_ASSIGN(std::string key, expectQuoted(lexer, "the kernel's key in quotes"));
    std::optional<Hash128> hash = Hash128::parse(key);
    if (!hash)
      return lexer.errorAt(keyOffset, "the key is not 32 hexadecimal digits");
    kernel.key = *hash;
    KINTSUGI_RETURN_IF_ERROR(clause("seconds", kernel.predictedSeconds));
    plan.kernels.push_back(std::move(kernel));
    return Status::success();
  }

  Status stage() {
    KINTSUGI_RETURN_IF_ERROR(nextOf("stage", plan.stages.size()));
    Stage stage;
    KINTSUGI_RETURN_IF_ERROR(acceptWord(lexer, "call") ? callee(stage) : kernelOf(stage));
    KINTSUGI_RETURN_IF_ERROR(operands(stage));
    KINTSUGI_RETURN_IF_ERROR(clause("definitions", stage.definitions, UINT32_MAX));
    KINTSUGI_RETURN_IF_ERROR(clause("seconds", stage.predictedSeconds));
    KINTSUGI_RETURN_IF_ERROR(clause("moves", stage.movedBytes, maxNumber));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "serves"));
    KINTSUGI_RETURN_IF_ERROR(expectList(lexer, [&]() -> Status {
      KINTSUGI_ASSIGN(std::string origin, expectQuoted(lexer, "an operator's name in quotes"));
      KINTSUGI_ASSIGN(int64_t operations, expectInteger(lexer, "its operations", 0, maxNumber));
      stage.origins.push_back(std::move(origin));
      stage.operations.push_back(operations);
      return Status::success();
    }));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "{"));
    while (!acceptSign(lexer, "}")) {
      KINTSUGI_ASSIGN(std::string line, expectQuoted(lexer, "an expression in quotes, or '}'"));
      stage.expressions += line + "\n";
    }
    plan.stages.push_back(std::move(stage));
    return Status::success();
  }

  Status callee(Stage &stage) {
    stage.kind = Stage::Kind::Call;
    KINTSUGI_ASSIGN(stage.callee, expectName(lexer, "the called operation"));
    const Token &token = lexer.peek();
    if (!token.isSign("{"))
      return unexpected(lexer, token, "the attributes as a JSON object");
    size_t offset = token.offset;
    KINTSUGI_ASSIGN(llvm::StringRef object, lexer.takeObject());
    Expected<Json> attributes = parseJson({object.data(), object.size()});
    if (!attributes.ok())
      return lexer.errorAt(offset, "the attributes are not JSON: " + attributes.error().message);
    stage.attributes = std::move(*attributes);
    return Status::success();
  }

  Status kernelOf(Stage &stage) {
    if (!acceptWord(lexer, "kernel"))
      return unexpected(lexer, lexer.peek(), "'kernel' or 'call'");
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(std::string name, expectName(lexer, "a kernel's name"));
    auto found = kernels.find(name);
    if (found == kernels.end())
      return lexer.errorAt(offset, "there is no kernel '" + name + "' above");
    stage.kernel = found->second;
    return Status::success();
  }

  Status operands(Stage &stage) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "operands"));
    size_t offset = lexer.peek().offset;
    KINTSUGI_RETURN_IF_ERROR(expectList(lexer, [&]() -> Status {
      KINTSUGI_ASSIGN(unsigned number, bufferNumber());
      stage.operands.push_back(number);
      return Status::success();
    }));
    KINTSUGI_RETURN_IF_ERROR(clause("results", stage.results, stage.operands.size()));
    for (unsigned result : llvm::ArrayRef(stage.operands).take_back(stage.results))
      KINTSUGI_RETURN_IF_ERROR(writable(result, offset));
    return Status::success();
  }

  Status writable(unsigned number, size_t offset) {
    BufferKind kind = plan.buffers[number].kind;
    if (kind == BufferKind::Derived || kind == BufferKind::Temporary)
      return Status::success();
    return lexer.errorAt(offset, "buffer " + std::to_string(number) +
                                     " is written; only derived and temporary ones may be");
  }

  Status output() {
    lexer.take();
    Plan::Output output;
    KINTSUGI_ASSIGN(output.name, expectQuoted(lexer, "the output's name in quotes"));
    KINTSUGI_ASSIGN(output.buffer, bufferNumber());
    while (lexer.peek().isWord("dimension")) {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(Plan::Count counted, count(plan.buffers[output.buffer]));
      if (llvm::any_of(output.counts, [&](auto &c) { return c.dimension == counted.dimension; }))
        return lexer.errorAt(offset, "dimension " + std::to_string(counted.dimension) +
                                         " has an extent already");
      output.counts.push_back(counted);
    }
    plan.outputs.push_back(std::move(output));
    return Status::success();
  }

  Expected<Plan::Count> count(const PlanBuffer &output) {
    size_t offset = lexer.peek().offset;
    Plan::Count result;
    KINTSUGI_RETURN_IF_ERROR(clause("dimension", result.dimension, UINT32_MAX));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "extent"));
    KINTSUGI_ASSIGN(result.buffer, bufferNumber());
    const PlanBuffer &extent = plan.buffers[result.buffer];
    if (result.dimension < output.shape.size() && extent.type == ElementType::I64 &&
        extent.shape.empty())
      return result;
    return lexer.errorAt(offset,
                         "the extent is no scalar i64, or of a dimension that is not there");
  }

  //===- Trees ----------------------------------------------------------------===//

  Status tree(llvm::StringRef name, PlanNode &node) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, name));
    KINTSUGI_ASSIGN(node, this->node(0));
    return Status::success();
  }

  Expected<PlanNode> node(unsigned depth) {
    if (depth > maxNesting)
      return here("the tree is deeper than " + std::to_string(maxNesting));
    PlanNode node;
    if (acceptWord(lexer, "stage")) {
      node.kind = PlanNode::Kind::Stage;
      KINTSUGI_RETURN_IF_ERROR(placeStage(node));
      return node;
    }
    if (acceptWord(lexer, "copy")) {
      node.kind = PlanNode::Kind::Copy;
      KINTSUGI_RETURN_IF_ERROR(copies(node.copies, 1));
      return node;
    }
    size_t offset = lexer.peek().offset;
    if (acceptWord(lexer, "repeat"))
      KINTSUGI_RETURN_IF_ERROR(repeat(node));
    else if (acceptWord(lexer, "branch"))
      KINTSUGI_RETURN_IF_ERROR(branch(node));
    else if (acceptWord(lexer, "lanes"))
      node.kind = PlanNode::Kind::Lanes;
    else if (acceptWord(lexer, "joined"))
      KINTSUGI_RETURN_IF_ERROR(joined(node));
    else if (!acceptWord(lexer, "sequence"))
      return unexpected(lexer, lexer.peek(),
                        "stage, copy, sequence, repeat, branch, lanes or joined");
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "{"));
    while (!acceptSign(lexer, "}")) {
      KINTSUGI_ASSIGN(PlanNode child, this->node(depth + 1));
      node.children.push_back(std::move(child));
    }
    if (node.kind == PlanNode::Kind::Repeat && node.children.size() != 1)
      return lexer.errorAt(offset, "a repeat has one child, its body");
    if (node.kind == PlanNode::Kind::Branch && node.children.size() != 2)
      return lexer.errorAt(offset, "a branch has two children, then and otherwise");
    if (node.kind == PlanNode::Kind::Joined && !isOfKernels(node))
      return lexer.errorAt(offset, "what is joined is stages of kernels and sequences of them");
    return node;
  }

  Status placeStage(PlanNode &node) {
    if (plan.stages.empty())
      return here("the plan has no stages");
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(node.stage,
                    expectInteger(lexer, "a stage's number", 0, plan.stages.size() - 1));
    if (placed[node.stage])
      return lexer.errorAt(offset, "stage " + std::to_string(node.stage) + " stands twice");
    placed[node.stage] = true;
    return Status::success();
  }

  Status repeat(PlanNode &node) {
    node.kind = PlanNode::Kind::Repeat;
    KINTSUGI_ASSIGN(node.count, expectInteger(lexer, "how often it repeats", 0, maxIndexNumber));
    if (acceptWord(lexer, "step"))
      KINTSUGI_RETURN_IF_ERROR(scalar(node.step, ElementType::I64));
    if (node.step != ~0u)
      KINTSUGI_RETURN_IF_ERROR(writable(node.step, lexer.peek().offset));
    if (acceptWord(lexer, "while"))
      KINTSUGI_RETURN_IF_ERROR(scalar(node.condition, ElementType::Bool));
    if (acceptWord(lexer, "carry"))
      KINTSUGI_RETURN_IF_ERROR(copies(node.copies, 1));
    if (acceptWord(lexer, "stack"))
      KINTSUGI_RETURN_IF_ERROR(copies(node.stacks, node.count));
    return Status::success();
  }

  Status joined(PlanNode &node) {
    node.kind = PlanNode::Kind::Joined;
    return clause("seconds", node.predictedSeconds);
  }

  bool isOfKernels(const PlanNode &joined) const {
    auto isKernel = [&](const PlanNode &node) {
      return node.kind == PlanNode::Kind::Stage &&
             plan.stages[node.stage].kind == Stage::Kind::Kernel;
    };
    return !joined.children.empty() && llvm::all_of(joined.children, [&](const PlanNode &phase) {
      return isKernel(phase) || (phase.kind == PlanNode::Kind::Sequence &&
                                 !phase.children.empty() && llvm::all_of(phase.children, isKernel));
    });
  }

  Status branch(PlanNode &node) {
    node.kind = PlanNode::Kind::Branch;
    return scalar(node.condition, ElementType::Bool);
  }

  Status scalar(unsigned &number, ElementType type) {
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(number, bufferNumber());
    const PlanBuffer &buffer = plan.buffers[number];
    if (buffer.type == type && buffer.shape.empty())
      return Status::success();
    return lexer.errorAt(offset, "buffer " + std::to_string(number) + " is no scalar of type " +
                                     std::string(nameOf(type)));
  }

  /// Copies into buffers that hold `times` what is copied.
  Status copies(std::vector<BufferCopy> &list, uint64_t times) {
    return expectList(lexer, [&]() -> Status {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(unsigned from, bufferNumber());
      KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ">"));
      KINTSUGI_ASSIGN(unsigned to, bufferNumber());
      KINTSUGI_RETURN_IF_ERROR(writable(to, offset));
      uint64_t bytes = 0;
      if (__builtin_mul_overflow(plan.buffers[from].bytes, times, &bytes) ||
          bytes != plan.buffers[to].bytes)
        return lexer.errorAt(offset, "buffer " + std::to_string(to) + " has " +
                                         std::to_string(plan.buffers[to].bytes) + " bytes, not " +
                                         std::to_string(times) + " times those of buffer " +
                                         std::to_string(from));
      list.push_back({from, to});
      return Status::success();
    });
  }

  Lexer lexer;
  Plan plan;
  llvm::StringMap<unsigned> kernels; ///< By symbol.
  std::vector<bool> placed;          ///< Stages that stand in a tree.
};

} // namespace

Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef file) {
  return PlanParser(text, file).parse();
}

} // namespace kintsugi::orchestrate
