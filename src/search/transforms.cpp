#include "search/transforms.h"

#include "cost/streams.h"
#include "loops/bounds.h"
#include "loops/keep.h"
#include "loops/running.h"
#include "loops/scratch.h"
#include "loops/stage_operands.h"
#include "search/streamed_softmax.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

using Members = std::optional<std::vector<Member>>;

/// Of a transform that offers at most one thing.
Offers once(Members (*offer)(const TransformSite &)) {
  return [offer, isDone = false](const TransformSite &site) mutable -> Members {
    if (isDone)
      return std::nullopt;
    isDone = true;
    return offer(site);
  };
}

/// Loops end at their extents, as spans that are known make them end earlier otherwise.
Offers fullLoops() {
  return once([](const TransformSite &site) -> Members { return site.unbounded; });
}

/// What lies in scratch for several readers is stored and read by all threads of a block, which
/// wait for each other in between. Where memory bounds a kernel, computing it anew for each
/// reader may take less.
Offers rematerialize() {
  return once([](const TransformSite &site) -> Members {
    constexpr double mostAgain = 32;
    if (!isBeyondCaches(site.resultBytes(), site.options.machine) || mayStreamSoftmax(site.members))
      return std::nullopt;
    std::vector<Member> fewer =
        fuse(site.program, site.group, {.fillsAreFree = true, .mostAgain = mostAgain});
    boundLoops(fewer);
    return fewer.size() < site.members.size() ? Members(std::move(fewer)) : std::nullopt;
  });
}

Offers transposeOperands() {
  return once([](const TransformSite &site) {
    return stageTurned(site.values, site.members, site.transposed);
  });
}

Offers keepReducedValues() {
  return [tried = llvm::SmallVector<ValueId>()](const TransformSite &site) mutable -> Members {
    constexpr unsigned most = 3;
    llvm::SmallVector<KeepChoice> choices = keepChoices(site.members);
    const auto *next = llvm::find_if(choices, [&](const KeepChoice &choice) {
      return !llvm::is_contained(tried, site.members[choice.producer].results[0]);
    });
    if (tried.size() == most || next == choices.end())
      return std::nullopt;
    tried.push_back(site.members[next->producer].results[0]);
    return keepReduced(site.values, site.members, *next);
  };
}

Offers walkRunningSums() {
  return [tried = llvm::SmallVector<ValueId>()](const TransformSite &site) mutable -> Members {
    constexpr unsigned most = 4;
    llvm::SmallVector<RunningChoice> choices = runningChoices(site.members);
    const auto *next = llvm::find_if(choices, [&](const RunningChoice &choice) {
      return !llvm::is_contained(tried, site.members[choice.member].results[0]);
    });
    if (tried.size() == most || next == choices.end())
      return std::nullopt;
    tried.push_back(site.members[next->member].results[0]);
    return walkOnce(site.values, site.members, *next);
  };
}

Offers padOperands() {
  return once([](const TransformSite &site) { return stagePadding(site.values, site.members); });
}

Offers stageOperands() {
  return [tried = llvm::SmallVector<Expr>()](const TransformSite &site) mutable -> Members {
    constexpr unsigned most = 3;
    llvm::SmallVector<StagingChoice> choices = stagingChoices(site.members, site.group.constants);
    const auto *next = llvm::find_if(choices, [&](const StagingChoice &choice) {
      return !llvm::is_contained(tried, choice.read);
    });
    if (tried.size() == most || next == choices.end())
      return std::nullopt;
    tried.push_back(next->read);
    std::vector<Member> staged = stageOperand(site.values, site.members, *next);
    site.packable.push_back(staged[next->member].results[0]);
    return staged;
  };
}

/// Whether a constant is read along an iterator of enough points for vectors.
bool packsAlong(const Member &member, unsigned iterator, const Group &group) {
  constexpr int64_t worthVectors = 8;
  bool packs = false;
  for (const Expr &body : member.bodies)
    body.walk([&](const Expr &e) {
      packs |=
          e.kind() == ExprKind::Read && llvm::is_contained(group.constants, e.readValue()) &&
          llvm::any_of(e.readIndices(), [&](const Index &index) { return index.uses(iterator); });
    });
  return packs && member.parallel[iterator].extent.constant() >= worthVectors;
}

/// Vectors may want to run along another iterator than the result's last one: one along which a
/// constant can be packed.
Offers stageSums() {
  return [next = 0u](const TransformSite &site) mutable -> Members {
    while (site.members.back().reduction && next + 1 < site.members.back().parallel.size())
      if (unsigned innermost = next++; packsAlong(site.members.back(), innermost, site.group))
        return stageResult(site.values, site.members, innermost);
    return std::nullopt;
  };
}

/// Blocks that are transposed store the part of a line here and that of another there; a copy
/// stores runs. Where caches hold the result, they join its lines.
Offers transposeResult() {
  return once([](const TransformSite &site) -> Members {
    constexpr int64_t line = 64, leastLane = 4;
    const Value &result = site.values.value(site.members.back().results[0]);
    int64_t each = bytesOfElement(result.type);
    int64_t vector = site.options.scalar ? 0 : site.options.machine.vectorBits / 8;
    bool isWholeLine = vector / std::max(each, leastLane) * each >= line;
    if (isWholeLine || !isBeyondCaches(site.resultBytes(), site.options.machine))
      return std::nullopt;
    return stageTurnedResult(site.values, site.members);
  });
}

bool always(const ScheduleOptions &) { return true; }
bool inBlocks(const ScheduleOptions &options) { return options.inBlocks(); }
bool inVectors(const ScheduleOptions &options) { return !options.inBlocks() && !options.scalar; }
bool withCopies(const ScheduleOptions &options) { return options.copies && !options.scalar; }

const Transform table[] = {
    {"full-loops", always, fullLoops},
    {"rematerialize", inBlocks, rematerialize},
    {"transpose-operands", inBlocks, transposeOperands},
    {"keep-reduced", inVectors, keepReducedValues},
    {"walk-sums", inVectors, walkRunningSums},
    {"pad", withCopies, padOperands},
    {"stage-operand", withCopies, stageOperands},
    {"stage-sums", withCopies, stageSums},
    {"transpose-result", withCopies, transposeResult, true},
};

} // namespace

double TransformSite::resultBytes() const {
  return double(bytesOfElement(values.value(members.back().results[0]).type)) *
         pointsOf(members.back().parallel);
}

llvm::ArrayRef<Transform> transforms() { return table; }

} // namespace kintsugi::search
