#include "derive/mask_values.h"

#include "derive/constant_expr.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

/// What a row is that is hidden as a whole: with infinities it has no weights at all, with lowest
/// numbers equal ones.
void setCounts(Mask &mask, bool isLowFinite) {
  for (int64_t row = 0; row < mask.rows; ++row) {
    bool allHidden = true, anyFinite = isLowFinite;
    for (int64_t column = 0; column < mask.columns; ++column) {
      allHidden &= mask.hidden[mask.at(row, column)];
      anyFinite |= mask.isAdded && std::isfinite(mask.values[mask.at(row, column)]);
    }
    mask.counts.push_back(allHidden && anyFinite);
  }
}

} // namespace

std::optional<Mask> maskOf(const MaskedRegion &region, const Program &program) {
  const MaskedScore &masked = region.masked;
  const auto &definition = std::get<Definition>(program.nodes[region.maskNode]);
  llvm::SmallVector<Index> places(definition.parallel.size(), Index(0));
  places[masked.row] = Index::iterator(0);
  places[masked.column] = Index::iterator(1);
  Extent rows = definition.parallel[masked.row].extent;
  Extent columns = definition.parallel[masked.column].extent;
  std::optional<std::vector<double>> low,
      values = valuesOf(substitute(masked.mask, places), program, {rows, columns});
  if (masked.low)
    low = valuesOf(*masked.low, program, {});
  if (!values || llvm::any_of(*values, [](double value) { return std::isnan(value); }))
    return std::nullopt;
  Mask mask;
  mask.rows = rows.constant();
  mask.columns = columns.constant();
  mask.isAdded = masked.kind == MaskedScore::Kind::Added;
  mask.values = std::move(*values);
  for (double value : mask.values) {
    bool isChosen = (value != 0) != masked.hiddenWhereTrue;
    mask.hidden.push_back(mask.isAdded ? isLowNumber(value, masked.mask.type()) : !isChosen);
    mask.open.push_back(mask.isAdded ? value == 0 : isChosen);
  }
  setCounts(mask, !mask.isAdded && std::isfinite(masked.lowNumber));
  return mask;
}

} // namespace kintsugi::derive
