//===- families.h - The operator families' tables ----------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_FAMILIES_H
#define KINTSUGI_IMPORT_OPS_FAMILIES_H

#include "import/registry.h"

namespace kintsugi::import {

using OperatorTable = llvm::ArrayRef<Operator>;

OperatorTable elementwiseOperators();
OperatorTable activationOperators();
OperatorTable reduceOperators();
OperatorTable matmulOperators();
OperatorTable shapeOperators();
OperatorTable sliceOperators();
OperatorTable constantOperators();
OperatorTable normalizationOperators();
OperatorTable softmaxOperators();
OperatorTable controlFlowOperators();
OperatorTable convolutionOperators();
OperatorTable poolingOperators();
OperatorTable quantizationOperators();
OperatorTable gatherOperators();
OperatorTable scanOperators();
OperatorTable scatterOperators();
OperatorTable resizeOperators();
OperatorTable recurrentOperators();
OperatorTable einsumOperators();
OperatorTable conversionOperators();
OperatorTable cumulativeOperators();
OperatorTable sortingOperators();
OperatorTable countedOperators();
OperatorTable lossOperators();
OperatorTable oneHotOperators();
OperatorTable sequenceOperators();
OperatorTable imageOperators();
OperatorTable windowFunctionOperators();
OperatorTable affineGridOperators();
OperatorTable determinantOperators();
OperatorTable fourierOperators();
OperatorTable gridSampleOperators();
OperatorTable roiAlignOperators();
OperatorTable rotaryOperators();
OperatorTable unpoolingOperators();
OperatorTable attentionOperators();
OperatorTable groupQueryAttentionOperators();
OperatorTable multiHeadAttentionOperators();
OperatorTable projectedAttentionOperators();
OperatorTable skipNormalizationOperators();
OperatorTable linearAttentionOperators();
OperatorTable causalConvolutionOperators();
OperatorTable quantizedProductOperators();
OperatorTable deformableConvolutionOperators();
OperatorTable flexAttentionOperators();
OperatorTable listOperators();
OperatorTable optionalOperators();

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_FAMILIES_H
