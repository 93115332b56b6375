#include "derive/digit_map.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// (iterator // low) % size, of which a coordinate has `factor` times as much.
struct Digit {
  unsigned iterator;
  int64_t low, size;
  unsigned dimension;
  int64_t factor;
};

class DigitMap {
public:
  DigitMap(llvm::ArrayRef<Iterator> iterators, llvm::ArrayRef<Extent> shape)
      : iterators(iterators), shape(shape) {}

  /// Whether the indices move digits, none twice and none left out.
  bool read(llvm::ArrayRef<Index> indices) {
    for (auto [dimension, index] : llvm::enumerate(indices)) {
      if (index.constantTerm() != 0)
        return false;
      for (const Term &term : index.terms())
        if (!readTerm(term, dimension))
          return false;
    }
    for (unsigned k = 0; k < iterators.size(); ++k)
      if (!makeUp(k, &Digit::iterator, &Digit::low, iterators[k].extent.constant()))
        return false;
    for (unsigned d = 0; d < shape.size(); ++d)
      if (!makeUp(d, &Digit::dimension, &Digit::factor, shape[d].constant()))
        return false;
    return true;
  }

  llvm::SmallVector<Index> inverse() const {
    llvm::SmallVector<Index> result(iterators.size());
    for (const Digit &digit : digits) {
      Index coordinate = Index::iterator(digit.dimension).floorDiv(digit.factor);
      bool isFirst = digit.factor * digit.size == shape[digit.dimension].constant();
      result[digit.iterator] =
          result[digit.iterator] + (isFirst ? coordinate : coordinate.mod(digit.size)) * digit.low;
    }
    return result;
  }

private:
  bool readTerm(const Term &term, unsigned dimension) {
    const Atom *atom = &term.atom;
    int64_t divisor = 1, modulus = 0;
    if (atom->kind == AtomKind::Mod) {
      modulus = atom->divisor;
      if (atom->operand.terms().size() != 1 || atom->operand.constantTerm() != 0 ||
          atom->operand.terms()[0].factor != 1)
        return false;
      atom = &atom->operand.terms()[0].atom;
    }
    if (atom->kind == AtomKind::FloorDiv) {
      divisor = atom->divisor;
      if (atom->operand.asIterator() < 0)
        return false;
      atom = &atom->operand.terms()[0].atom;
    }
    if (atom->kind != AtomKind::Iterator || term.factor <= 0)
      return false;
    int64_t extent = iterators[atom->iterator].extent.constant();
    int64_t size = modulus ? modulus : extent / divisor;
    if (extent == 0 || extent % divisor != 0 || (extent / divisor) % size != 0)
      return false;
    digits.push_back({atom->iterator, divisor, size, dimension, term.factor});
    return true;
  }

  /// Whether the digits of one iterator or coordinate are one number of `extent` values.
  bool makeUp(unsigned number, unsigned Digit::*of, int64_t Digit::*place, int64_t extent) const {
    llvm::SmallVector<Digit> own;
    llvm::copy_if(digits, std::back_inserter(own),
                  [&](const Digit &digit) { return digit.*of == number; });
    llvm::sort(own, [&](const Digit &a, const Digit &b) { return a.*place < b.*place; });
    int64_t next = 1;
    for (const Digit &digit : own) {
      if (digit.*place != next)
        return false;
      next *= digit.size;
    }
    return next == extent;
  }

  llvm::ArrayRef<Iterator> iterators;
  llvm::ArrayRef<Extent> shape;
  llvm::SmallVector<Digit> digits;
};

} // namespace

std::optional<llvm::SmallVector<Index>> invertDigits(llvm::ArrayRef<Index> indices,
                                                     llvm::ArrayRef<Iterator> iterators,
                                                     llvm::ArrayRef<Extent> shape) {
  DigitMap map(iterators, shape);
  if (!map.read(indices))
    return std::nullopt;
  return map.inverse();
}

} // namespace kintsugi::derive
