//===- whole_operators.h - Operators whose borders kernels keep -------------===//
//
// Operators come apart into definitions, and kernels take a part of one together with a part of the
// next where that is quicker (Korch's fission). To see what that brings, a space may keep operators
// whole (SpaceOptions::keepsOperators): a kernel then has all definitions of an operator or none.
//
// Whose a definition is, its origins say. Where two operators computed the same, it is the first
// one's; what serves several (a product that rules made of theirs) makes one of them; a definition
// without origins is an operator of its own. Operators that wait for each other come apart.
//
// An operator is one kernel where there is one that takes not clearly longer (Caps::detour) than a
// kernel for each of its definitions. Otherwise it is several operators: from its last definition
// back, the longest runs of which that holds. So a plan always exists, and no form of an operator
// that is meant for several kernels is held against it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_WHOLE_OPERATORS_H
#define KINTSUGI_SPACE_WHOLE_OPERATORS_H

#include "space/growth.h"
#include "space/schedule_table.h"

namespace kintsugi::space {

/// The given definitions by operators, in program order of their last ones. Each can be a kernel,
/// and all can run one after the other, as kernels of their own or in convex groups.
std::vector<Nodes> wholeOperators(const te::Program &program, llvm::ArrayRef<uint32_t> nodes,
                                  const SpaceOptions &options, const Growth &growth,
                                  ScheduleTable &table);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_WHOLE_OPERATORS_H
