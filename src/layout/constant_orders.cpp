#include "layout/constant_orders.h"

#include "layout/reorder.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {

using namespace te;

namespace {

class Orderer {
public:
  Orderer(const Program &program, explain::Log *log)
      : program(program), log(log), constant(constantNodes(program)),
        isFixed(program.numValues(), false), wanted(program.numValues()) {}

  std::optional<Program> run() {
    for (const Program::Output &output : program.outputs)
      isFixed[output.value.number] = true;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      lookAt(node);
    std::vector<Order> orders(program.numValues());
    bool changes = false;
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      ValueId result = program.resultsOf(node)[0];
      if (!canChange(node) || wanted[result.number]->empty())
        continue;
      orders[result.number] = *wanted[result.number];
      changes = true;
      tell(program.value(result).name, orders[result.number]);
    }
    return changes ? std::optional(reorder(program, orders)) : std::nullopt;
  }

private:
  /// Another constant may read in any order.
  void lookAt(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition) {
      for (ValueId operand : program.operandsOf(node))
        isFixed[operand.number] = true;
      return;
    }
    if (constant[node])
      return;
    for (const Expr &body : definition->bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && isOfConstants(e.readValue()))
          addRead(e, definition->parallel.size());
      });
  }

  bool isOfConstants(ValueId id) const {
    const Value &value = program.value(id);
    return value.kind == ValueKind::Result && constant[value.node];
  }

  void addRead(const Expr &read, unsigned parallel) {
    unsigned value = read.readValue().number;
    std::optional<Order> order = orderOf(read, parallel);
    if (!order || (wanted[value] && *wanted[value] != *order))
      isFixed[value] = true;
    wanted[value] = order;
  }

  bool canChange(uint32_t node) const {
    llvm::ArrayRef<ValueId> results = program.resultsOf(node);
    return constant[node] && std::holds_alternative<Definition>(program.nodes[node]) &&
           results.size() == 1 && !isFixed[results[0].number] && wanted[results[0].number];
  }

  /// The order in which a read's loops step through its value; nullopt where an index is more than
  /// a parallel iterator and a constant. Dimensions of one element lie anywhere.
  std::optional<Order> orderOf(const Expr &read, unsigned parallel) const {
    llvm::ArrayRef<Extent> shape = program.shape(read.readValue());
    llvm::SmallVector<std::pair<int, unsigned>> dimensions;
    size_t singles = 0;
    for (auto [dimension, index] : llvm::enumerate(read.readIndices())) {
      int iterator = (index - Index(index.constantTerm())).asIterator();
      bool isSingle = shape[dimension].constant() == 1;
      if (!isSingle && (iterator < 0 || iterator >= static_cast<int>(parallel)))
        return std::nullopt;
      dimensions.push_back({isSingle ? -1 : iterator, dimension});
      singles += isSingle;
    }
    llvm::sort(dimensions);
    Order order;
    for (auto [iterator, dimension] : dimensions)
      order.push_back(dimension);
    if (llvm::is_sorted(llvm::drop_begin(order, singles)))
      order.clear();
    return order;
  }

  void tell(const std::string &name, const Order &order) const {
    if (!log)
      return;
    log->add({"formats",
              "value '" + name + "'",
              "dimensions stored in the order " + textOf(order),
              {"it is computed of constants alone, and read in this order"},
              {}});
  }

  const Program &program;
  explain::Log *log;
  std::vector<bool> constant;               ///< By node.
  std::vector<bool> isFixed;                ///< By value, as what follows.
  std::vector<std::optional<Order>> wanted; ///< What the readers so far want; nullopt: nothing.
};

} // namespace

std::optional<Program> constantsAsRead(const Program &program, explain::Log *log) {
  return Orderer(program, log).run();
}

} // namespace kintsugi::layout
