//===- sorting.cpp - What orders elements ------------------------------------===//
//
// Order has no tensor expression: these become calls (calls/list.h).
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

/// How many elements are wanted: an input since operator set 10.
Expected<int64_t> wantedOf(OpContext &c) {
  if (c.opset() < 10) {
    if (!c.hasAttribute("k"))
      return c.error("attribute 'k' is missing");
    return c.integer("k", -1);
  }
  if (!c.hasInput(1))
    return c.error("input 2 must be given");
  KINTSUGI_ASSIGN(std::vector<int64_t> given, c.constantIntegers(1, "k"));
  if (given.size() != 1)
    return c.error("its k must be one number");
  return given[0];
}

Status topK(OpContext &c) {
  ValueId x = c.input(0);
  if (!computes(c.type(x)) || c.type(x) == ElementType::Bool)
    return c.error("elements of type " + llvm::Twine(nameOf(c.type(x))) + " have no order");
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", -1), c.rank(x)));
  KINTSUGI_ASSIGN(int64_t wanted, wantedOf(c));
  if (wanted < 0 || wanted > c.extent(x, axis))
    return c.error("its k is " + llvm::Twine(wanted) + ", but there are " +
                   llvm::Twine(c.extent(x, axis)) + " elements along its axis");
  Shape shape(c.shape(x));
  shape[axis] = wanted;
  te::Call call;
  call.callee = "TopK";
  call.attributes = {{"axis", axis}, {"k", wanted}, {"largest", c.integer("largest", 1) != 0}};
  call.operands = {x};
  auto results = c.program.addCall({c.name(0), c.name(1)}, {c.type(x), ElementType::I64},
                                   {shape, shape}, std::move(call));
  for (unsigned k = 0; k < results.size(); ++k)
    if (c.hasOutput(k))
      c.output(k, results[k]);
  return Status::success();
}

} // namespace

OperatorTable sortingOperators() {
  static const Operator table[] = {
      {"TopK", 1, 1, topK},
  };
  return table;
}

} // namespace kintsugi::import
