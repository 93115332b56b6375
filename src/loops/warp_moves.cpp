#include "loops/warp_moves.h"

#include "loops/loop_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace kintsugi::loops {

static constexpr int64_t wordBytes = 4, banks = 32;

double bankTurns(llvm::ArrayRef<int64_t> offsets, int64_t bytes) {
  constexpr size_t most = 64; // Threads.
  assert(offsets.size() <= most && bytes < banks * wordBytes && "a thread has a bank once");
  int64_t inBank[banks][most]; ///< Different words,
  size_t counts[banks] = {};   ///< and how many.
  size_t turns = 1;
  for (int64_t offset : offsets)
    for (int64_t word = offset / wordBytes; word <= (offset + bytes - 1) / wordBytes; ++word) {
      size_t bank = uint64_t(word) % banks;
      if (llvm::is_contained(llvm::ArrayRef(inBank[bank], counts[bank]), word))
        continue;
      inBank[bank][counts[bank]++] = word;
      turns = std::max(turns, counts[bank]);
    }
  return double(turns);
}

int64_t alignedElements(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                        const te::Index &position, unsigned along, int64_t most) {
  int64_t divisor = std::gcd(most, position.constantTerm());
  auto take = [&](unsigned iterator, int64_t times) {
    int64_t stride = strideOf(position, iterator);
    divisor = stride == irregular ? 1 : std::gcd(divisor, stride * times);
  };
  for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
    if (k != along && nest.extentOf(k) > 1)
      take(k, 1);
  for (auto [d, dimension] : llvm::enumerate(space))
    take(nest.originIterator(d), dimension.startMultiple());
  return divisor & -divisor;
}

int64_t rowPitch(int64_t elements, int64_t bytes) {
  int64_t unit = std::max(bytes, wordBytes);
  int64_t units = int64_t(llvm::divideCeil(elements * bytes, unit)) | 1; // Odd: all banks in turn.
  return units * unit / bytes;
}

} // namespace kintsugi::loops
