//===- same_at_size.h - Whether a program at its greatest size is one at a smaller -===//
#ifndef KINTSUGI_TE_SAME_AT_SIZE_H
#define KINTSUGI_TE_SAME_AT_SIZE_H

#include "te/open_axis.h"
#include "te/sized_numbers.h"

namespace kintsugi::te {

/// The model's nodes that a node of a program stems from, or else what it computes, in quotes.
std::string quotedNode(const Program &program, uint32_t node);

/// Whether the program imported at the greatest size of an open dimension says of each element that
/// is valid at `size` what the one imported at `size` says. Where not: nodes of the model that say
/// something else, or the name of a value. nullopt: they are the same. `validity`: of the values
/// of `greatest`, whose `sums` end at the size; `numbers` is told of what differs in them alone, or
/// null where that counts too.
std::optional<std::string> differenceAtSize(const Program &greatest, const Program &smaller,
                                            llvm::ArrayRef<Validity> validity,
                                            llvm::ArrayRef<OpenSum> sums, const OpenDimension &open,
                                            int64_t size, SizedNumbers *numbers);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SAME_AT_SIZE_H
