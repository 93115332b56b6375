#include "loops/streamed_softmax.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::loops {

using namespace te;

bool mayStreamSoftmax(llvm::ArrayRef<Member> members) {
  return members.size() >= 4 && llvm::any_of(members, [](const Member &member) {
           return member.reduction && member.reduction->combiner == Combiner::SoftmaxStats;
         });
}

int64_t streamBytes(const MatrixTile &scores, const MatrixTile &weighted, int64_t terms,
                    int64_t listed, int subgroup) {
  constexpr int64_t word = 4;
  int64_t steps = llvm::divideCeil(terms, int64_t(scores.depth));
  int64_t stage =
      steps * scores.operandBytes(scores.columns) + weighted.operandBytes(weighted.columns);
  int64_t votes = int64_t(llvm::divideCeil(listed, int64_t(subgroup)));
  int64_t list = listed ? (listed + scores.stages + scores.across + votes) * word : 0;
  int64_t joined =
      int64_t(scores.across - 1) * scores.down * subgroup * 16 * (weighted.columns / 8 + 1);
  int64_t ring = steps * scores.operandBytes(scores.rows) + int64_t(scores.stages) * stage;
  return std::max(ring + list, joined);
}

} // namespace kintsugi::loops
