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
#include "llvm/ADT/DenseMap.h"

#include <unordered_map>

namespace kintsugi::loops {

struct GroupKey {
  std::string text;
  llvm::SmallVector<te::ValueId> values; ///< By number: everything read or defined.

  Hash128 hash() const { return Hasher("kernel").add(text).finish(); }
};

/// Makes the keys of many groups of one program. For one thread.
class GroupKeys {
public:
  explicit GroupKeys(const te::Program &program) : program(program) {}
  GroupKey of(const Group &group);

private:
  /// What a definition says, but for its values' numbers.
  struct Text {
    struct Piece {
      std::string before;
      te::ValueId value;
    };
    std::vector<Piece> pieces;
    std::string end; ///< Before its results.
  };
  class Writer;

  const Text &textOf(uint32_t node);
  void addValue(te::ValueId id, GroupKey &key);

  const te::Program &program;
  std::unordered_map<uint32_t, Text> texts;   ///< By node.
  llvm::DenseMap<uint32_t, uint32_t> numbers; ///< By value: in the key that is made.
};

GroupKey keyOf(const te::Program &program, const Group &group);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_GROUP_KEY_H
