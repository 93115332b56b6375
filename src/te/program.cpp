#include "te/program.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

const char *nameOf(Combiner combiner) {
  static const char *const names[] = {"sum", "prod",   "max",    "min",          "and",
                                      "or",  "argmax", "argmin", "softmax_stats"};
  return names[static_cast<unsigned>(combiner)];
}

unsigned resultsOf(Combiner combiner) { return combiner == Combiner::SoftmaxStats ? 2 : 1; }

unsigned bodiesOf(Combiner combiner) { return isArgForm(combiner) ? 2 : 1; }

bool isArgForm(Combiner combiner) {
  return combiner == Combiner::ArgMax || combiner == Combiner::ArgMin;
}

llvm::SmallVector<Interval> Definition::ranges() const {
  llvm::SmallVector<Interval> result;
  for (const Iterator &iterator : parallel)
    result.push_back(Interval::of(iterator.extent));
  if (reduction)
    for (const Iterator &iterator : reduction->iterators)
      result.push_back(Interval::of(iterator.extent));
  return result;
}

std::string Program::unique(std::string wanted) {
  std::string candidate = wanted.empty() ? "t" : wanted;
  while (usedNames.count(candidate))
    candidate = (wanted.empty() ? "t" : wanted) + "." + std::to_string(usedNames[wanted]++);
  usedNames[candidate] = 1;
  return candidate;
}

ValueId Program::addValue(Value value) {
  value.name = unique(std::move(value.name));
  values.push_back(std::move(value));
  return {static_cast<uint32_t>(values.size() - 1)};
}

uint32_t Program::addNode(Node node) {
  nodes.push_back(std::move(node));
  origins.push_back(currentOrigin);
  return nodes.size() - 1;
}

ValueId Program::addInput(std::string name, ElementType type, Shape shape) {
  ValueId id = addValue({std::move(name), type, std::move(shape), ValueKind::Input});
  inputs.push_back(id);
  return id;
}

ValueId Program::addConstant(std::string name, ElementType type, Shape shape,
                             std::shared_ptr<const ConstantSource> source) {
  Value value{std::move(name), type, std::move(shape), ValueKind::Constant};
  value.constant = std::move(source);
  return addValue(std::move(value));
}

ValueId Program::define(std::string name, ElementType type, Definition definition) {
  return defineMany({std::move(name)}, {type}, std::move(definition))[0];
}

llvm::SmallVector<ValueId> Program::defineMany(llvm::ArrayRef<std::string> names,
                                               llvm::ArrayRef<ElementType> types,
                                               Definition definition) {
  Shape shape;
  for (const Iterator &iterator : definition.parallel)
    shape.push_back(iterator.extent);
  llvm::SmallVector<ValueId> results;
  for (auto [number, pair] : llvm::enumerate(llvm::zip(names, types))) {
    Value value{std::get<0>(pair), std::get<1>(pair), shape};
    value.node = nodes.size();
    value.result = number;
    results.push_back(addValue(std::move(value)));
  }
  definition.results.assign(results.begin(), results.end());
  addNode(std::move(definition));
  return results;
}

llvm::SmallVector<ValueId> Program::addScan(llvm::ArrayRef<std::string> names, Scan scan) {
  size_t carried = scan.initial.size();
  llvm::SmallVector<ValueId> results;
  for (auto [number, output] : llvm::enumerate(scan.body->outputs)) {
    const Value &inner = scan.body->value(output.value);
    Shape shape;
    if (number >= carried)
      shape.push_back(scan.trip);
    shape.append(inner.shape.begin(), inner.shape.end());
    Value value{names[number], inner.type, std::move(shape)};
    value.node = nodes.size();
    value.result = number;
    results.push_back(addValue(std::move(value)));
  }
  scan.results.assign(results.begin(), results.end());
  addNode(std::move(scan));
  return results;
}

llvm::SmallVector<ValueId> Program::addCall(llvm::ArrayRef<std::string> names,
                                            llvm::ArrayRef<ElementType> types,
                                            llvm::ArrayRef<Shape> shapes, Call call) {
  llvm::SmallVector<ValueId> results;
  for (size_t number = 0; number < names.size(); ++number) {
    Value value{names[number], types[number], shapes[number]};
    value.node = nodes.size();
    value.result = number;
    results.push_back(addValue(std::move(value)));
  }
  call.results.assign(results.begin(), results.end());
  addNode(std::move(call));
  return results;
}

void Program::addOutput(std::string outputName, ValueId value) {
  outputs.push_back({std::move(outputName), value});
}

const Definition *Program::definitionOf(ValueId id) const {
  const Value &v = value(id);
  return v.kind == ValueKind::Result ? std::get_if<Definition>(&nodes[v.node]) : nullptr;
}

llvm::SmallVector<ValueId> readsOf(const Expr &expr) {
  llvm::SmallVector<ValueId> reads;
  expr.walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read && !llvm::is_contained(reads, e.readValue()))
      reads.push_back(e.readValue());
  });
  return reads;
}

llvm::SmallVector<ValueId> Program::operandsOf(uint32_t node) const {
  llvm::SmallVector<ValueId> operands;
  auto add = [&](ValueId id) {
    if (!llvm::is_contained(operands, id))
      operands.push_back(id);
  };
  if (const auto *definition = std::get_if<Definition>(&nodes[node])) {
    for (const Expr &body : definition->bodies)
      llvm::for_each(readsOf(body), add);
  } else if (const auto *scan = std::get_if<Scan>(&nodes[node])) {
    llvm::for_each(scan->initial, add);
    llvm::for_each(scan->captured, add);
  } else {
    llvm::for_each(std::get<Call>(nodes[node]).operands, add);
  }
  return operands;
}

llvm::ArrayRef<ValueId> Program::resultsOf(uint32_t node) const {
  return std::visit([](const auto &n) -> llvm::ArrayRef<ValueId> { return n.results; },
                    nodes[node]);
}

Expr inlineInto(const Expr &consumer, const Definition &producer, llvm::ArrayRef<Extent> shape) {
  assert(!producer.reduction && "only pointwise definitions are inlined");
  ValueId inlined = producer.results[0];
  return rewrite(consumer, [&](const Expr &expr) {
    if (expr.kind() != ExprKind::Read || expr.readValue() != inlined)
      return expr;
    Expr body = substitute(producer.bodies[0], expr.readIndices());
    const Expr *fill = expr.readFill();
    if (!fill)
      return body;
    std::optional<Expr> inside;
    for (auto [index, extent] : llvm::zip(expr.readIndices(), shape)) {
      Expr number = Expr::index(index, ElementType::I64);
      Expr low =
          Expr::binary(BinaryOp::LessEqual, Expr::literal(ElementType::I64, int64_t(0)), number);
      Expr high =
          Expr::binary(BinaryOp::Less, number, Expr::literal(ElementType::I64, extent.constant()));
      Expr both = Expr::binary(BinaryOp::And, low, high);
      inside = inside ? Expr::binary(BinaryOp::And, *inside, both) : both;
    }
    return inside ? Expr::select(*inside, body, *fill) : body;
  });
}

} // namespace kintsugi::te
