//===- stage_operands.h - What a tile copies on the way ---------------------===//
//
// A sum reads its operands many times. Where they lie badly for that, a copy in scratch pays: with
// the border of a convolution filled in once, so that the innermost loop has no bounds to test; or
// in the order in which vectors read it. Results may go through a copy likewise. The copy is a
// member of its own, so bounds inference restricts it to what a tile needs (IntelliGen's data
// movement, as expressions).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_STAGE_OPERANDS_H
#define KINTSUGI_LOOPS_STAGE_OPERANDS_H

#include "loops/fuse.h"
#include "loops/group_values.h"

namespace kintsugi::loops {

/// The members with every read that names a fill, inside of a sum, replaced by a read of a copy
/// that has the fill in it. nullopt if there is no such read.
std::optional<std::vector<Member>> stagePadding(GroupValues &values,
                                                llvm::ArrayRef<Member> members);

/// A read of memory inside of a sum whose elements vectors could want in another order.
struct StagingChoice {
  unsigned member;
  te::Expr read;
  unsigned vectorIterator; ///< Of the member.
};
llvm::SmallVector<StagingChoice> stagingChoices(llvm::ArrayRef<Member> members,
                                                llvm::ArrayRef<te::ValueId> constants);

/// The members with a copy of what `choice` names, whose elements along the vector iterator are
/// adjacent and which may be packed into panels.
std::vector<Member> stageOperand(GroupValues &values, llvm::ArrayRef<Member> members,
                                 const StagingChoice &choice);

/// The members with a copy of each operand that the last one, which is no sum, reads along another
/// iterator than the one along which it stores: elements come in the order in which they lie, and
/// are turned on the way from scratch. `copies` are told of these. nullopt if there is none.
std::optional<std::vector<Member>> stageTurned(GroupValues &values, llvm::ArrayRef<Member> members,
                                               llvm::SmallVectorImpl<te::ValueId> &copies);

/// The members with the last one, which is no sum, computed in scratch first where it reads along
/// another iterator than the one along which it stores, and its result copied from there. Tiles of
/// the copy follow what is read. nullopt if there is no such read.
std::optional<std::vector<Member>> stageTurnedResult(GroupValues &values,
                                                     llvm::ArrayRef<Member> members);

/// The members with the last one's sums stored to a copy first, in which its parallel iterator
/// `innermost` moves fastest: so that vectors can run along it, and the result still lies as the
/// program wants it. nullopt if the last member is no sum.
std::optional<std::vector<Member>> stageResult(GroupValues &values, llvm::ArrayRef<Member> members,
                                               unsigned innermost);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_STAGE_OPERANDS_H
