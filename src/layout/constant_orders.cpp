#include "layout/constant_orders.h"

#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {

using namespace te;

namespace {

class Orderer {
public:
  Orderer(const Program &program, llvm::ArrayRef<OpenInputs> open, std::vector<Order> &orders)
      : program(program), constant(constantNodes(program)), orders(orders),
        isFixed(program.numValues(), false), wanted(program.numValues()) {
    for (const Program::Output &output : program.outputs)
      isFixed[output.value.number] = true;
    for (const OpenInputs &each : open)
      fixOpen(validityOf(program, each));
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
        addReadsOf(*definition, constant[node]);
      else
        for (ValueId operand : program.operandsOf(node))
          isFixed[operand.number] = true;
  }

  void run(explain::Log *log) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      llvm::ArrayRef<ValueId> results = program.resultsOf(node);
      if (!constant[node] || !std::holds_alternative<Definition>(program.nodes[node]) ||
          results.size() != 1)
        continue;
      const std::optional<Order> &order = wanted[results[0].number];
      if (!order || order->empty() || isFixed[results[0].number])
        continue;
      orders[results[0].number] = *order;
      if (log)
        tell(program.value(results[0]).name, *order, *log);
    }
  }

private:
  void fixOpen(const std::vector<Validity> &values) {
    for (auto [value, validity] : llvm::enumerate(values))
      if (validity.isSteps())
        isFixed[value] = true;
  }

  /// Another constant may read in any order.
  void addReadsOf(const Definition &definition, bool isConstant) {
    if (isConstant)
      return;
    llvm::SmallVector<int> places = placesOfLoops(definition);
    for (const Expr &body : definition.bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && isOfConstants(e.readValue()))
          addRead(e, places);
      });
  }

  bool isOfConstants(ValueId id) const {
    const Value &value = program.value(id);
    return value.kind == ValueKind::Result && constant[value.node];
  }

  /// By parallel iterator, where its loop stands among the others: the result's dimensions run as
  /// they are stored.
  llvm::SmallVector<int> placesOfLoops(const Definition &definition) const {
    llvm::SmallVector<int> places;
    for (unsigned k = 0; k < definition.parallel.size(); ++k)
      places.push_back(static_cast<int>(k));
    for (auto [place, dimension] : llvm::enumerate(orders[definition.results[0].number]))
      places[dimension] = static_cast<int>(place);
    return places;
  }

  void addRead(const Expr &read, llvm::ArrayRef<int> places) {
    unsigned value = read.readValue().number;
    std::optional<Order> order = orderOf(read, places);
    if (!order || (wanted[value] && *wanted[value] != *order))
      isFixed[value] = true;
    wanted[value] = order;
  }

  /// The order in which a read steps through its value; nullopt where an index is more than one
  /// parallel iterator.
  std::optional<Order> orderOf(const Expr &read, llvm::ArrayRef<int> places) const {
    llvm::ArrayRef<Extent> shape = program.shape(read.readValue());
    llvm::SmallVector<std::pair<int, unsigned>> dimensions;
    for (auto [dimension, index] : llvm::enumerate(read.readIndices())) {
      int iterator = index.asIterator();
      bool isSingle = shape[dimension].constant() == 1;
      if (!isSingle && (iterator < 0 || iterator >= static_cast<int>(places.size())))
        return std::nullopt;
      dimensions.push_back({isSingle ? -1 : places[iterator], dimension});
    }
    llvm::sort(dimensions);
    Order order;
    size_t singles = 0; // They lie anywhere.
    for (auto [place, dimension] : dimensions) {
      order.push_back(dimension);
      singles += place < 0;
    }
    if (llvm::is_sorted(llvm::drop_begin(order, singles)))
      order.clear();
    return order;
  }

  static void tell(const std::string &name, const Order &order, explain::Log &log) {
    std::string text;
    for (unsigned dimension : order)
      text += (text.empty() ? "" : ", ") + std::to_string(dimension);
    log.add({"formats",
             "value '" + name + "'",
             "dimensions stored in the order " + text,
             {"it is computed of constants alone, and read in this order"},
             {}});
  }

  const Program &program;
  std::vector<bool> constant; ///< By node.
  std::vector<Order> &orders;
  std::vector<bool> isFixed;                ///< By value, as what follows.
  std::vector<std::optional<Order>> wanted; ///< By those who read it so far; none: nobody.
};

} // namespace

void orderConstants(const Program &program, llvm::ArrayRef<OpenInputs> open,
                    std::vector<Order> &orders, explain::Log *log) {
  Orderer(program, open, orders).run(log);
}

} // namespace kintsugi::layout
