//===- rotary.cpp - Rotary position embeddings, ONNX's and com.microsoft's ---===//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/heads.h"
#include "import/ops/rotation.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

Expected<Rotation> readRotation(OpContext &c, unsigned cosines) {
  Rotation r{c.input(0), c.input(cosines), c.input(cosines + 1)};
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(r.x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(r.x, r.cosines));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(r.x, r.sines));
  if (c.rank(r.x) != 3 && c.rank(r.x) != 4)
    return c.error("its input of shape " + shapeString(c.dims(r.x)) +
                   " must have 3 or 4 dimensions");
  if (c.shape(r.cosines) != c.shape(r.sines))
    return c.error("its tables of cosines and sines have different shapes, " +
                   shapeString(c.dims(r.cosines)) + " and " + shapeString(c.dims(r.sines)));
  r.isInterleaved = c.integer("interleaved", 0) != 0;
  return r;
}

/// `heads` is 0 where the node does not say how many there are.
Status setSizes(OpContext &c, Rotation &r, int64_t heads, int64_t rotated) {
  if (c.rank(r.x) == 4) {
    r.headSize = c.extent(r.x, 3);
  } else {
    KINTSUGI_ASSIGN(r.headSize, headSizeOf(c, r.x, heads, "num_heads"));
  }
  r.rotated = rotated == 0 ? r.headSize : rotated;
  if (r.rotated < 0 || r.rotated > r.headSize || r.rotated % 2 != 0)
    return c.error("it can't rotate " + llvm::Twine(r.rotated) + " of the " +
                   llvm::Twine(r.headSize) +
                   " elements of a head; rotary_embedding_dim must be "
                   "even, and no more than those");
  return Status::success();
}

Status requireTables(OpContext &c, const Rotation &r, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> given = c.dims(r.cosines);
  // Tables for more positions than are asked for may be of any height.
  bool fits = given.size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] < 0 || given[d] == shape[d];
  if (fits)
    return Status::success();
  return c.error("its tables of cosines and sines of shape " + shapeString(given) +
                 " don't fit its input of shape " + shapeString(c.dims(r.x)) + ", of which " +
                 llvm::Twine(r.rotated / 2) + " pairs of each head are rotated");
}

int64_t tokensOf(OpContext &c, ValueId x) { return c.extent(x, c.rank(x) == 4 ? 2 : 1); }

Status requireIds(OpContext &c, ValueId ids, ValueId x) {
  if (!isInteger(c.type(ids)))
    return c.error("its position_ids must be integers");
  if (c.rank(ids) == 2 && c.extent(ids, 0) == c.extent(x, 0) && c.extent(ids, 1) == tokensOf(c, x))
    return Status::success();
  return c.error("its position_ids of shape " + shapeString(c.dims(ids)) +
                 " don't fit its input of shape " + shapeString(c.dims(x)));
}

Status rotaryEmbedding(OpContext &c) {
  KINTSUGI_ASSIGN(Rotation r, readRotation(c, 1));
  KINTSUGI_RETURN_IF_ERROR(
      setSizes(c, r, c.integer("num_heads", 0), c.integer("rotary_embedding_dim", 0)));
  if (!c.hasInput(3)) {
    KINTSUGI_RETURN_IF_ERROR(
        requireTables(c, r, {c.extent(r.x, 0), tokensOf(c, r.x), r.rotated / 2}));
  } else {
    ValueId ids = c.input(3);
    KINTSUGI_RETURN_IF_ERROR(requireTables(c, r, {-1, r.rotated / 2}));
    KINTSUGI_RETURN_IF_ERROR(requireIds(c, ids, r.x));
    int64_t positions = c.extent(r.cosines, 0);
    KINTSUGI_RETURN_IF_ERROR(c.requirePositions(ids, positions));
    r.positionOf = [&c, ids, positions](const Index &batch, const Index &token) {
      return c.gatherWrapped(c.read(ids, {batch, token}), positions);
    };
  }
  c.output(0, import::rotated(c, c.name(), r));
  return Status::success();
}

/// com.microsoft's takes the positions before the tables, all of them from a first one if there is
/// one alone, and never counts them from the end.
Status microsoftRotaryEmbedding(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireOnly(
      {"interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"}));
  if (c.integer("is_packed_batching", 0) != 0 || c.real("scale", 1) != 1)
    return c.error("is_packed_batching and scale are not supported; leave them out");
  KINTSUGI_ASSIGN(Rotation r, readRotation(c, 2));
  ValueId ids = c.input(1);
  int64_t heads = c.integer("num_heads", 0), rotated = c.integer("rotary_embedding_dim", 0);
  if (c.rank(r.cosines) != 2)
    return c.error("its tables of cosines and sines of shape " + shapeString(c.dims(r.cosines)) +
                   " must have two dimensions");
  int64_t positions = c.extent(r.cosines, 0), pairs = c.extent(r.cosines, 1);
  if (heads == 0 && rotated == 0 && c.rank(r.x) == 3 && pairs > 0)
    heads = c.extent(r.x, 2) / (2 * pairs);
  KINTSUGI_RETURN_IF_ERROR(setSizes(c, r, heads, rotated));
  KINTSUGI_RETURN_IF_ERROR(requireTables(c, r, {-1, r.rotated / 2}));
  bool isFirst = c.rank(ids) == 1 && c.extent(ids, 0) == 1 && isInteger(c.type(ids));
  int64_t tokens = tokensOf(c, r.x), starts = isFirst ? positions - tokens + 1 : positions;
  if (!isFirst)
    KINTSUGI_RETURN_IF_ERROR(requireIds(c, ids, r.x));
  if (starts < 1)
    return c.error("its tables of cosines and sines have " + llvm::Twine(positions) +
                   " positions, too few for " + llvm::Twine(tokens) + " tokens");
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(ids, 0, starts, "position"));
  r.positionOf = [&c, ids, isFirst](const Index &batch, const Index &token) {
    return isFirst ? c.gather(ids, {Index(0)}) + token : c.gather(ids, {batch, token});
  };
  c.output(0, import::rotated(c, c.name(), r));
  return Status::success();
}

} // namespace

OperatorTable rotaryOperators() {
  static const Operator table[] = {
      {"RotaryEmbedding", 23, 3, rotaryEmbedding},
      {"RotaryEmbedding", 1, 4, microsoftRotaryEmbedding, "com.microsoft"},
  };
  return table;
}

} // namespace kintsugi::import
