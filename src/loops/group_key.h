//===- group_key.h - When two groups are the same kernel --------------------===//
//
// Twelve equal layers are twelve groups and one kernel. The key is the group's text with values
// numbered in order of first occurrence and iterators by position, so equal keys mean equal
// schedules and equal code, and equal positions in `values` mean corresponding operands.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_GROUP_KEY_H
#define KINTSUGI_LOOPS_GROUP_KEY_H

#include "base/hash.h"
#include "loops/fuse.h"

namespace kintsugi::loops {

struct GroupKey {
  std::string text;
  llvm::SmallVector<te::ValueId> values; ///< By number: everything read or defined.

  Hash128 hash() const { return Hasher("kernel").add(text).finish(); }
};

GroupKey keyOf(const te::Program &program, const Group &group);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_GROUP_KEY_H
