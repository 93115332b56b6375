#include "import/ops/heads.h"

namespace kintsugi::import {

Expr Heads::read(const Builder &b, const Index &sample, const Index &head, const Index &token,
                 const Index &element) const {
  if (areSideBySide)
    return b.read(tensor, {sample, token, head * size + element});
  return b.read(tensor, {sample, head, token, element});
}

Heads Heads::apart(Builder &b, std::string name) const {
  if (!areSideBySide)
    return *this;
  Heads result = *this;
  result.areSideBySide = false;
  result.tensor = b.view(std::move(name), tensor, {batch, heads, tokens, size}, [&](Indices i) {
    return llvm::SmallVector<Index>{i[0], i[2], i[1] * size + i[3]};
  });
  return result;
}

ValueId Heads::sideBySide(Builder &b, std::string name, ValueId apart) {
  int64_t heads = b.extent(apart, 1), size = b.extent(apart, 3);
  Shape shape{b.extent(apart, 0), b.extent(apart, 2), heads * size};
  return b.view(std::move(name), apart, shape, [&](Indices i) {
    return llvm::SmallVector<Index>{i[0], i[2].floorDiv(size), i[1], i[2].mod(size)};
  });
}

Expected<int64_t> headSizeOf(OpContext &c, ValueId x, int64_t heads, llvm::StringRef attribute) {
  int64_t width = c.dims(x).back();
  if (heads <= 0)
    return c.error("its " + attribute + " must be given, since its input has 3 dimensions");
  if (width % heads != 0)
    return c.error("its rows of " + llvm::Twine(width) + " elements are not " + llvm::Twine(heads) +
                   " heads of one size");
  return width / heads;
}

Expected<Heads> headsSideBySide(OpContext &c, ValueId x, int64_t heads, llvm::StringRef attribute) {
  KINTSUGI_ASSIGN(int64_t size, headSizeOf(c, x, heads, attribute));
  return Heads{x, c.extent(x, 0), heads, c.extent(x, 1), size, /*areSideBySide=*/true};
}

} // namespace kintsugi::import
