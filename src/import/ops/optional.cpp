//===- optional.cpp - Values that may be left out ----------------------------===//
//
// Whether one is there is known when the model is imported.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

bool isThere(const Binding &binding) {
  return binding.tensor || binding.sequence || binding.strings;
}

Status optionalHasElement(OpContext &c) {
  bool has = isThere(c.binding(0));
  c.output(0, c.define(c.name(), {}, [&](Indices) { return Expr::boolean(has); }));
  return Status::success();
}

Status optionalGetElement(OpContext &c) {
  if (!isThere(c.binding(0)))
    return c.error("its input is left out, so that there is no element");
  c.outputBinding(0, c.binding(0));
  return Status::success();
}

} // namespace

OperatorTable optionalOperators() {
  static const Operator table[] = {
      {"OptionalHasElement", 15, 0, optionalHasElement, "", Elements::Any},
      {"OptionalGetElement", 15, 0, optionalGetElement, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
