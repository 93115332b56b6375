//===- registry.cpp - Which operators can be imported ------------------------===//

#include "import/registry.h"

#include "import/ops/families.h"

#include <map>

namespace kintsugi::import {
namespace {

constexpr OperatorTable (*families[])() = {
    activationOperators,
    constantOperators,
    controlFlowOperators,
    convolutionOperators,
    cumulativeOperators,
    einsumOperators,
    elementwiseOperators,
    gatherOperators,
    matmulOperators,
    normalizationOperators,
    poolingOperators,
    recurrentOperators,
    reduceOperators,
    resizeOperators,
    scatterOperators,
    shapeOperators,
    sliceOperators,
    softmaxOperators,
    sortingOperators,
    countedOperators,
    lossOperators,
    oneHotOperators,
    sequenceOperators,
    imageOperators,
    windowFunctionOperators,
    affineGridOperators,
    fourierOperators,
    gridSampleOperators,
    roiAlignOperators,
    rotaryOperators,
    unpoolingOperators,
    determinantOperators,
    attentionOperators,
    groupQueryAttentionOperators,
    multiHeadAttentionOperators,
    projectedAttentionOperators,
    skipNormalizationOperators,
    conversionOperators,
    quantizationOperators,
    scanOperators,
    linearAttentionOperators,
    causalConvolutionOperators,
    quantizedProductOperators,
    deformableConvolutionOperators,
    flexAttentionOperators,
    listOperators,
    optionalOperators,
};

using Key = std::pair<std::string, std::string>;

/// By domain and name, the entries by version.
const std::map<Key, std::map<int64_t, const Operator *>> &index() {
  static const auto *table = [] {
    auto *result = new std::map<Key, std::map<int64_t, const Operator *>>;
    for (const Operator *entry : allOperators()) {
      bool fresh = (*result)[{entry->domain, entry->name}].emplace(entry->since, entry).second;
      assert(fresh && "one entry for an operator and version");
      (void)fresh;
    }
    return result;
  }();
  return *table;
}

} // namespace

std::vector<const Operator *> allOperators() {
  std::vector<const Operator *> result;
  for (auto family : families)
    for (const Operator &entry : family())
      result.push_back(&entry);
  return result;
}

const Operator *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  auto found = index().find({domain.str(), name.str()});
  if (found == index().end())
    return nullptr;
  auto after = found->second.upper_bound(opset);
  return after == found->second.begin() ? nullptr : std::prev(after)->second;
}

} // namespace kintsugi::import
