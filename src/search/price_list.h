//===- price_list.h - What groups take as kernels of their own --------------===//
//
// Before kernels are chosen, forms of a program are compared by what their definitions take as
// kernels that share nothing with others. This schedules such groups, equal ones once, and prices
// what comes of it. Fuel bounds the work; what none was left for has no price, and a record tells
// so.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_PRICE_LIST_H
#define KINTSUGI_SEARCH_PRICE_LIST_H

#include "base/memo.h"
#include "cost/fuel.h"
#include "loops/kernel.h"
#include "search/choice_memo.h"
#include "search/scheduler.h"

#include <limits>
#include <map>

namespace kintsugi::search {

/// Definitions as a kernel that shares nothing with others, and is told which operands are
/// constants (`constant`: by node, see te/constant_nodes.h).
loops::Group kernelGroup(const te::Program &program, const std::vector<bool> &constant,
                         llvm::ArrayRef<uint32_t> nodes, llvm::ArrayRef<te::ValueId> outputs);

/// Null where the group can't be a kernel. By the texts of groups' keys; for whoever makes lists of
/// several programs under equal options.
using PriceMemo = Memo<std::shared_ptr<const loops::KernelShape>>;

class PriceList {
public:
  using Kernel = std::shared_ptr<const loops::KernelShape>;

  /// At most `fuel` distinct groups are priced. `memo`: read and added to; may be null.
  explicit PriceList(const ScheduleOptions &options,
                     unsigned fuel = std::numeric_limits<unsigned>::max(),
                     PriceMemo *memo = nullptr);

  /// Null where the group can't be a kernel, or no fuel was left to find out.
  Kernel kernelOf(const te::Program &program, const loops::Group &group);
  /// Predicted seconds; infinite where there is no kernel.
  double secondsOf(const te::Program &program, const loops::Group &group);
  /// Those of a definition alone.
  double secondsOf(const te::Program &program, const std::vector<bool> &constant, uint32_t node);

  const machine::Machine &machine() const { return options.machine; }
  /// Distinct groups that were priced, whether they can be kernels or not.
  size_t size() const { return kernels.size(); }
  bool ranOut() const { return fuel.ranOut(); }
  /// As Fuel::tell.
  void tell(explain::Log *log, const char *phase, const char *what) const {
    fuel.tell(log, phase, what);
  }

private:
  Kernel scheduled(const te::Program &program, const loops::Group &group,
                   const loops::GroupKey &key) const;

  ChoiceMemo choices; ///< Where the options bring none.
  ScheduleOptions options;
  cost::Fuel fuel;
  PriceMemo *memo;
  std::map<std::string, Kernel> kernels; ///< By the text of the group's key.
};

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_PRICE_LIST_H
