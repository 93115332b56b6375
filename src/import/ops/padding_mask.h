//===- padding_mask.h - Masks of com.microsoft's attentions ------------------===//
//
// What the models hide adds mask_filter_value to scores, so that a query of which all keys are
// hidden sees them as if none were. Where lengths say what is hidden and the number is so far from
// all scores that nothing is left of it, keys behind the length are chosen by their places instead,
// which kernels can skip; a length of 0 hides nothing then. A length of more keys than there are is
// that of all, as in ONNX Runtime, so that no run has to be checked. What is ahead of a query it
// never sees.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_PADDING_MASK_H
#define KINTSUGI_IMPORT_OPS_PADDING_MASK_H

#include "import/ops/key_cache.h"

namespace kintsugi::import {

/// What scores [batch, head, query, key] are of.
struct ScoreSizes {
  int64_t batch = 0, heads = 0, queries = 0;
  int64_t fresh = 0; ///< Keys of the call.
  int64_t keys = 0;  ///< With those of the past, or what a cache has room for.
  PastLength past;
};

class PaddingMask {
public:
  /// `mask` and `bias` are inputs of the node. Attributes are mask_filter_value and unidirectional.
  static Expected<PaddingMask> read(OpContext &c, unsigned mask, unsigned bias, ValueId query,
                                    const ScoreSizes &sizes, bool showsScores);

  bool isNeeded() const;
  Expr applied(Indices i, Expr score) const;

private:
  enum class Kind : uint8_t { None, Lengths, Ranges, Elements };

  PaddingMask(OpContext &c, const ScoreSizes &sizes) : c(c), n(sizes) {}

  Status readMask(unsigned input);
  Status readList(ValueId given);
  Error unfit(ValueId given) const;
  Expr withPadding(Indices i, Expr score) const;
  Expr filtered(const Expr &isSeen, const Expr &score) const;
  Expr shownElement(Indices i) const;
  std::optional<Expr> byPosition(Indices i) const;

  OpContext &c;
  ScoreSizes n;
  Kind kind = Kind::None;
  ValueId mask; ///< [batch] of lengths, [2, batch] of ends and starts, or elements.
  std::optional<ValueId> bias;
  double filter = 0;
  bool isChosen = false; ///< By places, in the place of sums.
  bool isCausal = false, showsScores = false;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_PADDING_MASK_H
