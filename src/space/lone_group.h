//===- lone_group.h - A group as a program of its own -----------------------===//
//
// Groups of equal keys become programs that differ in names alone, so that what is made of one of
// them does not depend on where in which program it stands.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_LONE_GROUP_H
#define KINTSUGI_SPACE_LONE_GROUP_H

#include "space/space.h"

namespace kintsugi::space {

struct LoneGroup {
  te::Program program; ///< Its values are those of the key, in their order.
  loops::Group group;
  GroupKey key; ///< Its own: the same text.
};

LoneGroup loneGroupOf(const te::Program &program, const loops::Group &group, const GroupKey &key);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_LONE_GROUP_H
