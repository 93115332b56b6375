//===- sequences.cpp - Parts of sequences, whose lengths and places are data --===//

#include "import/ops/families.h"

#include "base/checked.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;

/// One integer for each sequence of the batch.
Status requireForEach(OpContext &c, ValueId numbers, int64_t batch, const char *role) {
  if (isInteger(c.type(numbers)) && c.dims(numbers) == std::vector{batch})
    return Status::success();
  return c.error(llvm::Twine("its ") + role + " are " + nameOf(c.type(numbers)) + " of shape " +
                 shapeString(c.dims(numbers)) + ", but must be integers, one for each of " +
                 llvm::Twine(batch) + " sequences");
}

/// Turns around the first elements along the axis of time, as many as each sequence has.
Status reverseSequence(OpContext &c) {
  ValueId x = c.input(0), lengths = c.input(1);
  if (c.rank(x) < 2)
    return c.error("its input has shape " + shapeString(c.dims(x)) +
                   ", but needs a dimension of sequences and one of time");
  int64_t batch = c.integer("batch_axis", 1), time = c.integer("time_axis", 0);
  if (batch < 0 || time < 0 || batch + time != 1)
    return c.error("its batch_axis is " + llvm::Twine(batch) + " and its time_axis " +
                   llvm::Twine(time) + "; one must be 0 and the other 1");
  KINTSUGI_RETURN_IF_ERROR(requireForEach(c, lengths, c.extent(x, batch), "lengths"));
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(lengths, 0, c.extent(x, time) + 1, "sequence length"));
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    constexpr ElementType wide = ElementType::I64;
    Expr length = Expr::cast(wide, c.read(lengths, {i[batch]}));
    Expr here = Expr::index(i[time], wide);
    Expr isTurned = Expr::binary(BinaryOp::Less, here, length);
    Expr opposite = length - Expr::index(i[time] + Index(1), wide);
    llvm::SmallVector<Index> source(i.begin(), i.end());
    source[time] = Index::data(Expr::select(isTurned, opposite, here));
    return c.read(x, source);
  }));
  return Status::success();
}

/// What TensorScatter writes: from which element on, in each sequence of the batch.
struct Writing {
  ValueId cache, update;
  unsigned axis;
  std::optional<ValueId> starts; ///< 0 where there are none.
  bool isCircular;
};

Expected<Writing> readWriting(OpContext &c) {
  Writing w{c.input(0), c.input(1), 0, {}, false};
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(w.cache, w.update));
  int64_t given = c.integer("axis", -2);
  KINTSUGI_ASSIGN(w.axis, c.axis(given, c.rank(w.cache)));
  if (w.axis == 0)
    return c.error("axis " + llvm::Twine(given) +
                   " is that of the batch, which it can't write along");
  std::vector<int64_t> most = c.dims(w.cache), written = c.dims(w.update);
  bool fits = written.size() == most.size();
  for (unsigned d = 0; fits && d < most.size(); ++d)
    fits = d == w.axis ? written[d] <= most[d] : written[d] == most[d];
  if (!fits)
    return c.error("its update of shape " + shapeString(written) +
                   " does not fit its cache of shape " + shapeString(most) + " along axis " +
                   llvm::Twine(w.axis));
  std::string mode = c.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return c.error("its mode '" + mode + "' is not known; it must be linear or circular");
  w.isCircular = mode == "circular";
  if (!c.hasInput(2))
    return w;
  w.starts = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(requireForEach(c, *w.starts, most[0], "write indices"));
  if (!w.isCircular) {
    int64_t places = most[w.axis] - written[w.axis] + 1;
    KINTSUGI_RETURN_IF_ERROR(c.requireWithin(*w.starts, 0, places, "write index"));
  }
  return w;
}

Status tensorScatter(OpContext &c) {
  KINTSUGI_ASSIGN(Writing w, readWriting(c));
  if (c.count(w.update) == 0) {
    c.output(0, w.cache);
    return Status::success();
  }
  int64_t extent = c.extent(w.cache, w.axis);
  c.output(0, c.define(c.name(), c.shape(w.cache), [&](Indices i) {
    llvm::SmallVector<Index> source(i.begin(), i.end());
    if (w.starts && w.isCircular) {
      // The start is brought into the cache before anything is subtracted: it may be any number.
      Expr start = Expr::cast(ElementType::I64, c.read(*w.starts, {i[0]}));
      Index inside =
          Index::data(Expr::binary(BinaryOp::Mod, start, Expr::literal(ElementType::I64, extent)));
      source[w.axis] = (i[w.axis] - inside).mod(extent);
    } else if (w.starts) {
      source[w.axis] = i[w.axis] - c.gather(*w.starts, {i[0]});
    }
    return c.readOr(w.update, source, c.read(w.cache, i));
  }));
  return Status::success();
}

} // namespace

OperatorTable sequenceOperators() {
  static const Operator table[] = {
      {"ReverseSequence", 10, 2, reverseSequence},
      {"TensorScatter", 24, 2, tensorScatter},
  };
  return table;
}

} // namespace kintsugi::import
