//===- lists.cpp - Sequences of tensors ---------------------------------------===//
//
// They exist at import only: which tensors are in one, and where, is known then.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/join.h"

namespace kintsugi::import {
namespace {

using Sequence = std::vector<ValueId>;

constexpr int64_t mostParts = 4096;

Expected<Sequence> sequenceInput(OpContext &c) {
  Binding input = c.binding(0);
  if (!input.sequence)
    return c.error("its first input is no sequence");
  return *input.sequence;
}

void outputSequence(OpContext &c, Sequence sequence) {
  c.outputBinding(0, {{}, std::make_shared<const Sequence>(std::move(sequence)), {}});
}

/// Input number `input` as one of the first `places` places, counted from behind the last of
/// `count` elements where it is negative; `otherwise` where it is left out.
Expected<int64_t> placeIn(OpContext &c, unsigned input, int64_t count, int64_t places,
                          int64_t otherwise) {
  std::vector<int64_t> given{otherwise};
  if (c.hasInput(input)) {
    KINTSUGI_ASSIGN(given, c.constantIntegers(input, "position"));
  }
  if (given.size() != 1)
    return c.error("its position must be one integer");
  int64_t asked = given[0];
  int64_t place = asked < 0 && asked >= -count ? asked + count : asked;
  if (place < 0 || place >= places)
    return c.error("position " + llvm::Twine(asked) + " is outside of its sequence of " +
                   llvm::Twine(count) + " tensors");
  return place;
}

Status sequenceEmpty(OpContext &c) {
  outputSequence(c, {});
  return Status::success();
}

Status sequenceConstruct(OpContext &c) {
  Sequence sequence;
  for (unsigned k = 0; k < c.numInputs(); ++k) {
    if (!c.hasInput(k))
      return c.error("input " + llvm::Twine(k + 1) + " is missing");
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(k)));
    sequence.push_back(c.input(k));
  }
  outputSequence(c, std::move(sequence));
  return Status::success();
}

Status sequenceInsert(OpContext &c) {
  KINTSUGI_ASSIGN(Sequence sequence, sequenceInput(c));
  if (!c.hasInput(1))
    return c.error("input 2 must be given, and be a tensor");
  if (!sequence.empty())
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(sequence[0], c.input(1)));
  int64_t count = sequence.size();
  KINTSUGI_ASSIGN(int64_t place, placeIn(c, 2, count, count + 1, count));
  sequence.insert(sequence.begin() + place, c.input(1));
  outputSequence(c, std::move(sequence));
  return Status::success();
}

Status sequenceErase(OpContext &c) {
  KINTSUGI_ASSIGN(Sequence sequence, sequenceInput(c));
  int64_t count = sequence.size();
  KINTSUGI_ASSIGN(int64_t place, placeIn(c, 1, count, count, count - 1));
  sequence.erase(sequence.begin() + place);
  outputSequence(c, std::move(sequence));
  return Status::success();
}

Status sequenceAt(OpContext &c) {
  KINTSUGI_ASSIGN(Sequence sequence, sequenceInput(c));
  int64_t count = sequence.size();
  if (!c.hasInput(1))
    return c.error("its position is missing");
  KINTSUGI_ASSIGN(int64_t place, placeIn(c, 1, count, count, 0));
  c.output(0, sequence[place]);
  return Status::success();
}

Status sequenceLength(OpContext &c) {
  KINTSUGI_ASSIGN(Sequence sequence, sequenceInput(c));
  int64_t count = sequence.size();
  KINTSUGI_ASSIGN(Tensor length, Tensor::from<int64_t>({}, std::span(&count, 1)));
  c.output(0, c.constant(c.name(), std::move(length)));
  return Status::success();
}

/// Along a dimension, or one of its own for each tensor.
Status concatFromSequence(OpContext &c) {
  KINTSUGI_ASSIGN(Sequence sequence, sequenceInput(c));
  if (sequence.empty())
    return c.error("its sequence is empty, so that the shape of what it joins is unknown");
  bool isNew = c.integer("new_axis", 0) != 0;
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(sequence[0]) + isNew));
  KINTSUGI_ASSIGN(ValueId all, isNew ? stacked(c, c.name(), sequence, axis)
                                     : joined(c, c.name(), sequence, axis));
  c.output(0, all);
  return Status::success();
}

/// The extents of the parts along the dimension of `extent`.
Expected<std::vector<int64_t>> partsOf(OpContext &c, int64_t extent) {
  std::vector<int64_t> given{1};
  if (c.hasInput(1)) {
    KINTSUGI_ASSIGN(given, c.constantIntegers(1, "split"));
  }
  bool areAlike = !c.hasInput(1) || c.rank(c.input(1)) == 0;
  if (areAlike && (given[0] < 1 || (extent - 1) / given[0] >= mostParts))
    return c.error("it can't split an extent of " + llvm::Twine(extent) + " in parts of " +
                   llvm::Twine(given[0]));
  if (areAlike) { // The last may be smaller.
    int64_t size = given[0];
    given.clear();
    for (int64_t done = 0; done < extent; done += size)
      given.push_back(std::min(size, extent - done));
  }
  int64_t left = extent;
  for (int64_t part : given) {
    if (part < 0 || part > left)
      return c.error("its parts " + shapeString(given) + " don't fit an extent of " +
                     llvm::Twine(extent));
    left -= part;
  }
  if (left != 0)
    return c.error("its parts " + shapeString(given) + " don't make up an extent of " +
                   llvm::Twine(extent));
  return given;
}

Status splitToSequence(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(x)));
  KINTSUGI_ASSIGN(std::vector<int64_t> parts, partsOf(c, c.extent(x, axis)));
  bool isDropped = !c.hasInput(1) && c.integer("keepdims", 1) == 0;
  Sequence sequence;
  int64_t offset = 0;
  for (int64_t part : parts) {
    Shape shape(c.shape(x));
    shape[axis] = part;
    if (isDropped)
      shape.erase(shape.begin() + axis);
    std::string name = c.name() + ".part" + std::to_string(sequence.size());
    sequence.push_back(c.view(std::move(name), x, shape, [&](Indices i) {
      llvm::SmallVector<Index> at(i.begin(), i.end());
      if (isDropped)
        at.insert(at.begin() + axis, Index(0));
      at[axis] = at[axis] + Index(offset);
      return at;
    }));
    offset += part;
  }
  outputSequence(c, std::move(sequence));
  return Status::success();
}

} // namespace

OperatorTable listOperators() {
  static const Operator table[] = {
      {"SequenceEmpty", 11, 0, sequenceEmpty, "", Elements::Any},
      {"SequenceConstruct", 11, 1, sequenceConstruct, "", Elements::Any},
      {"SequenceInsert", 11, 0, sequenceInsert, "", Elements::Any},
      {"SequenceErase", 11, 0, sequenceErase, "", Elements::Any},
      {"SequenceAt", 11, 0, sequenceAt, "", Elements::Any},
      {"SequenceLength", 11, 0, sequenceLength, "", Elements::Any},
      {"ConcatFromSequence", 11, 0, concatFromSequence, "", Elements::Any},
      {"SplitToSequence", 11, 1, splitToSequence, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
