#include "calls/call.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/count.h"
#include "te/program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::te {

namespace {

/// Checks one definition's body: read ranks and types, iterators that exist, reads that stay
/// inside.
class BodyVerifier {
public:
  BodyVerifier(const Program &program, uint32_t node, const Definition &definition)
      : program(program), node(node), iterators(definition.numIterators()),
        ranges(definition.ranges()) {}

  Status check(const Expr &expr, bool guarded) {
    if (!checked[guarded].insert(expr.identity()).second)
      return Status::success();
    KINTSUGI_RETURN_IF_ERROR(checkTypes(expr));
    if (expr.kind() == ExprKind::Index)
      KINTSUGI_RETURN_IF_ERROR(checkIndex(expr.indexValue(), guarded));
    if (expr.kind() == ExprKind::Read)
      KINTSUGI_RETURN_IF_ERROR(checkRead(expr, guarded));
    for (const auto &[number, operand] : llvm::enumerate(expr.operands()))
      KINTSUGI_RETURN_IF_ERROR(
          check(operand, guarded || (expr.kind() == ExprKind::Select && number > 0)));
    return Status::success();
  }

private:
  /// That the operation exists for its operands' type.
  Status checkTypes(const Expr &expr) {
    bool fine = true;
    if (expr.kind() == ExprKind::Unary)
      fine = supports(expr.unaryOp(), expr.operand(0).type());
    if (expr.kind() == ExprKind::Binary)
      fine = supports(expr.binaryOp(), expr.operand(0).type());
    if (expr.kind() == ExprKind::Cast)
      fine = supportsCast(expr.operand(0).type(), expr.type());
    if (expr.kind() == ExprKind::Index)
      fine = isInteger(expr.type()) || isFloat(expr.type());
    return fine ? Status::success()
                : Status(fail("applies an operation to a type that it is not defined for"));
  }

  Status checkIndex(const Index &index, bool guarded) {
    for (const Term &term : index.terms()) {
      const Atom &atom = term.atom;
      if (atom.kind == AtomKind::Iterator && atom.iterator >= iterators)
        return fail("an index uses an iterator that does not exist");
      if (atom.kind == AtomKind::FloorDiv || atom.kind == AtomKind::Mod)
        KINTSUGI_RETURN_IF_ERROR(checkIndex(atom.operand, guarded));
      if (atom.kind == AtomKind::Data) {
        if (!isInteger(atom.data->type()))
          return fail("a gather's index must be an integer");
        KINTSUGI_RETURN_IF_ERROR(check(*atom.data, guarded));
      }
    }
    return Status::success();
  }

  Status checkRead(const Expr &read, bool guarded) {
    if (read.readValue().number >= program.numValues())
      return fail("reads a value that does not exist");
    const Value &value = program.value(read.readValue());
    if (value.kind == ValueKind::Result && value.node >= node)
      return fail("reads '" + value.name + "' before it is defined");
    if (value.type != read.type())
      return fail("reads '" + value.name + "' as another element type");
    if (value.shape.size() != read.readIndices().size())
      return fail("reads '" + value.name + "' with a wrong number of indices");
    for (auto [index, extent] : llvm::zip(read.readIndices(), value.shape)) {
      KINTSUGI_RETURN_IF_ERROR(checkIndex(index, guarded));
      if (!read.readFill() && !guarded && index.isStatic() &&
          !rangeOf(index, ranges).within(Interval::of(extent)))
        return fail("reads '" + value.name + "' outside of its extents without a fill");
    }
    return read.readFill() ? check(*read.readFill(), guarded) : Status::success();
  }

  Error fail(const std::string &reason) const {
    return internalError("definition of '" + program.value(program.resultsOf(node)[0]).name + "' " +
                         reason);
  }

  const Program &program;
  uint32_t node;
  unsigned iterators;
  llvm::SmallVector<Interval> ranges;
  llvm::SmallPtrSet<const void *, 16> checked[2]; ///< Without and with a guard around.
};

Status verifyReduction(const Program &program, const Reduction &reduction,
                       const Definition &definition) {
  const std::string &name = program.value(definition.results[0]).name;
  ElementType accumulator = reduction.accumulator;
  bool fits = supports(BinaryOp::Max, accumulator);
  if (reduction.combiner == Combiner::Sum || reduction.combiner == Combiner::Prod)
    fits = supports(BinaryOp::Add, accumulator);
  else if (reduction.combiner == Combiner::And || reduction.combiner == Combiner::Or)
    fits = supports(BinaryOp::And, accumulator);
  else if (reduction.combiner == Combiner::SoftmaxStats)
    fits = isFloat(accumulator);
  if (!fits)
    return internalError("'" + name + "' reduces in a type that its combiner is not defined for");
  if (!supportsCast(definition.bodies[0].type(), accumulator))
    return internalError("'" + name + "' reduces a type that its accumulator can't hold");
  bool hasPayload = definition.bodies.size() == 2;
  for (ValueId result : definition.results)
    if (isStorageOnly(program.value(result).type) ||
        !supportsCast(hasPayload ? definition.bodies[1].type() : accumulator,
                      program.value(result).type))
      return internalError("'" + name + "' has a type that the reduction can't give");
  return Status::success();
}

Status verifyDefinition(const Program &program, uint32_t node, const Definition &definition) {
  unsigned bodies = 1, results = 1;
  if (definition.reduction) {
    bodies = bodiesOf(definition.reduction->combiner);
    results = resultsOf(definition.reduction->combiner);
  }
  if (definition.bodies.size() != bodies || definition.results.size() != results)
    return internalError("a definition has a wrong number of bodies or results");
  for (ValueId result : definition.results) {
    const Value &value = program.value(result);
    if (value.node != node || value.shape.size() != definition.parallel.size())
      return internalError("'" + value.name + "' does not match its definition");
    for (auto [extent, iterator] : llvm::zip(value.shape, definition.parallel))
      if (extent != iterator.extent)
        return internalError("'" + value.name + "' has another shape than its iterators");
  }
  ElementType type = program.value(definition.results[0]).type;
  const std::string &name = program.value(definition.results[0]).name;
  if (!definition.reduction && definition.bodies[0].type() != type)
    return internalError("'" + name + "' has another element type than its body");
  if (definition.reduction)
    KINTSUGI_RETURN_IF_ERROR(verifyReduction(program, *definition.reduction, definition));
  BodyVerifier verifier(program, node, definition);
  for (const Expr &body : definition.bodies)
    KINTSUGI_RETURN_IF_ERROR(verifier.check(body, false));
  return Status::success();
}

bool sameTensor(const Value &a, const Value &b) { return a.type == b.type && a.shape == b.shape; }

/// The body's inputs are the step, the carried and the captured tensors; its first outputs carry
/// on.
Status verifyScan(const Program &program, const Scan &scan) {
  const Program &body = *scan.body;
  size_t carried = scan.initial.size();
  if (body.inputs.size() != 1 + carried + scan.captured.size() ||
      body.outputs.size() != scan.results.size() || carried > scan.results.size())
    return internalError("a scan's body has a wrong number of inputs or outputs");
  const Value &step = body.value(body.inputs[0]);
  if (step.type != ElementType::I64 || !step.shape.empty())
    return internalError("a scan's first input '" + step.name + "' must be an i64 of rank 0");
  for (size_t i = 1; i < body.inputs.size(); ++i) {
    const Value &inner = body.value(body.inputs[i]);
    const Value &outer =
        program.value(i <= carried ? scan.initial[i - 1] : scan.captured[i - 1 - carried]);
    if (!sameTensor(inner, outer))
      return internalError("a scan's input '" + inner.name + "' has another type or shape than '" +
                           outer.name + "'");
    if (i <= carried && !sameTensor(inner, body.value(body.outputs[i - 1].value)))
      return internalError("a scan carries '" + inner.name + "' on as another type or shape");
  }
  if (scan.goesOnWhile && (carried == 0 || body.value(body.inputs[1]).type != ElementType::Bool ||
                           !body.value(body.inputs[1]).shape.empty()))
    return internalError("a scan that data end must carry one boolean first");
  if (scan.goesOnWhile == false && !scan.isBranch())
    return internalError("a scan of several steps must go on while its condition is true");
  return body.verify();
}

/// That a call exists and gives results of the declared types and shapes.
Status verifyCall(const Program &program, const Call &call) {
  const calls::Call *known = calls::find(call.callee);
  if (!known)
    return internalError("calls '" + call.callee + "', which is no operation");
  std::vector<calls::TensorType> operands;
  for (ValueId operand : call.operands)
    operands.push_back({program.value(operand).type, plainShape(program.shape(operand))});
  Expected<std::vector<calls::ResultType>> results = known->infer(operands, call.attributes);
  if (!results.ok())
    return internalError("'" + call.callee + "': " + results.error().message);
  bool fits = llvm::equal(*results, call.results, [&](const calls::ResultType &type, ValueId id) {
    return type.type == program.value(id).type && type.shape == plainShape(program.shape(id));
  });
  return fits ? Status::success()
              : Status(internalError("'" + call.callee +
                                     "' gives results of other types or shapes than declared"));
}

} // namespace

/// That an output is the extent of one before it, which no other is.
static Status verifyCount(const Program &program, size_t number, const Count &count) {
  const Program::Output &output = program.outputs[number];
  llvm::ArrayRef<Program::Output> before(program.outputs.data(), number);
  auto found = llvm::find_if(before, [&](const Program::Output &each) {
    return each.name == count.output && !isReservedName(each.name);
  });
  bool isExtent = found != before.end() && count.dimension < program.shape(found->value).size() &&
                  program.value(output.value).type == ElementType::I64 &&
                  program.shape(output.value).empty();
  if (!isExtent)
    return internalError("output '" + output.name +
                         "' is no scalar i64 behind an output with that dimension");
  bool isSecond = llvm::any_of(before, [&](const Program::Output &each) {
    std::optional<Count> other = countOf(each);
    return other && other->output == count.output && other->dimension == count.dimension;
  });
  return isSecond ? Status(internalError("output '" + output.name +
                                         "' is the second count of that dimension"))
                  : Status::success();
}

Status Program::verify() const {
  if (origins.size() != nodes.size())
    return internalError("a program must have one origin for each node");
  llvm::StringSet<> names;
  for (const Value &value : values)
    if (!names.insert(value.name).second)
      return internalError("two values are named '" + value.name + "'");
  names.clear();
  for (const Output &output : outputs) {
    if (output.value.number >= values.size())
      return internalError("output '" + output.name + "' does not exist");
    if (!names.insert(output.name).second)
      return internalError("two outputs are named '" + output.name + "'");
  }
  for (auto [number, output] : llvm::enumerate(outputs))
    if (std::optional<Count> count = countOf(output))
      KINTSUGI_RETURN_IF_ERROR(verifyCount(*this, number, *count));
  for (uint32_t node = 0; node < nodes.size(); ++node)
    KINTSUGI_RETURN_IF_ERROR(verifyNode(node));
  return Status::success();
}

Status Program::verifyNode(uint32_t node) const {
  for (ValueId operand : operandsOf(node)) {
    if (operand.number >= values.size())
      return internalError("a node reads a value that does not exist");
    const Value &v = value(operand);
    if (v.kind == ValueKind::Result && v.node >= node)
      return internalError("'" + v.name + "' is read before it is defined");
  }
  if (const auto *definition = std::get_if<Definition>(&nodes[node]))
    return verifyDefinition(*this, node, *definition);
  if (const auto *scan = std::get_if<Scan>(&nodes[node]))
    return verifyScan(*this, *scan);
  return verifyCall(*this, std::get<Call>(nodes[node]));
}

} // namespace kintsugi::te
