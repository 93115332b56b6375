//===- definition_costs.h - What a definition takes in given formats --------===//
//
// Prices one definition alone by its schedule, each distinct one once. Fusion comes later, so what
// only renames or combines elements in the order in which they are stored counts as free: it will
// be computed where it is read.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_DEFINITION_COSTS_H
#define KINTSUGI_LAYOUT_DEFINITION_COSTS_H

#include "layout/reorder.h"
#include "search/price_list.h"

namespace kintsugi::layout {

class DefinitionCosts {
public:
  /// At most `fuel` definitions are priced. `memo`: read and added to; may be null.
  DefinitionCosts(const te::Program &program, const search::ScheduleOptions &schedule,
                  unsigned fuel, search::PriceMemo *memo);

  /// Seconds that a definition takes alone with its result and operands in the given orders;
  /// infinity where it has no schedule, or when the fuel is spent.
  double seconds(uint32_t node, OrderOf orderOf);

  bool outOfFuel() const { return prices.ranOut(); }
  unsigned scheduled() const { return prices.size(); }

private:
  bool followsOperands(const te::Definition &definition, OrderOf orderOf) const;

  const te::Program &program;
  double cores;
  search::PriceList prices;
  std::vector<bool> constant; ///< By node.
};

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_DEFINITION_COSTS_H
