//===- behind_size.h - What an expression is where the size of a run ends ------===//
//
// A sum over a dimension that is open needs no condition where what it sums is zero behind the
// size: attention's scores are minus infinity there, and so their exponentials are zero. This looks
// at one expression at the elements that an iterator has behind the size, given the values that
// are known to be some number there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_BEHIND_SIZE_H
#define KINTSUGI_TE_BEHIND_SIZE_H

#include "te/program.h"

#include <map>

namespace kintsugi::te {

/// What is known of an expression's value.
struct Behind {
  enum class Kind : uint8_t {
    Number,   ///< It is `number`.
    Proper,   ///< Some number that the model knows: it does not depend on the iterator.
    Anything, ///< Whatever lies behind the size.
  };
  Kind kind = Kind::Anything;
  double number = 0;

  bool is(double value) const { return kind == Kind::Number && number == value; }
};

/// A dimension of a value, whose elements behind the size are some number.
using KnownBehind = std::map<std::pair<ValueId, unsigned>, double>;

/// Of floats and booleans; integers are taken for anything. `iterator` is one of a definition's,
/// whose extent is a multiple of `high`. Where a number meets a proper one, that is taken to be
/// finite: if it is not, nor is what the model computes of the elements before the size.
Behind behindSize(const Expr &expr, const Program &program, const Definition &definition,
                  unsigned iterator, const KnownBehind &known, int64_t high);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_BEHIND_SIZE_H
