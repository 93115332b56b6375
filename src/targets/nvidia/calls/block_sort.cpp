#include "targets/nvidia/calls/block_sort.h"

#include "llvm/Support/MathExtras.h"

namespace kintsugi::targets {

using llvm::Log2_32;
using llvm::Value;

Value *SharedItems::turned(Value *number) {
  constexpr unsigned bytesOfBanks = 128;
  unsigned lanes = bytesOfBanks / format.bytes();
  Value *line = b.ir.CreateLShr(number, Log2_32(lanes));
  return b.ir.CreateXor(number, b.ir.CreateAnd(line, b.number(line, lanes - 1)));
}

namespace {

class SortEmitter {
public:
  SortEmitter(BlockBuilder &b, const BlockSort &sort, ItemFormat format)
      : b(b), sort(sort), items(b, format), active(sort.items) {}

  void run() {
    b.wait();
    sortRuns();
    for (unsigned rest = sort.run; rest > sort.kept; rest /= 2)
      keepHalf();
  }

private:
  using Units = llvm::SmallVector<Value *, BlockSort::itemsOfThread>;
  static constexpr unsigned mostBits = 3; ///< Of item numbers, in which a thread's eight differ.

  unsigned keptBits() const { return Log2_32(sort.kept); }
  /// Runs of `kept` are in turn ascending and descending until one is left of each run.
  bool isLast() const { return active == sort.runs() * sort.kept; }

  /// Runs of `kept` items, from none.
  void sortRuns() {
    rounds(0, mostBits, [&](Units &unit, Value *base) {
      for (unsigned stage = 1; stage <= mostBits; ++stage)
        merge(unit, stage, stage == mostBits ? descends(base, stage) : nullptr);
    });
    for (unsigned stage = mostBits + 1; stage <= keptBits(); ++stage)
      mergeRuns(stage);
  }

  /// Each run of 2^stage items rises and falls (or falls and rises); then it is sorted.
  void mergeRuns(unsigned stage) {
    for (unsigned above = stage; above > 0;) {
      unsigned bits = (above - 1) % mostBits + 1;
      above -= bits;
      rounds(above, bits,
             [&](Units &unit, Value *base) { merge(unit, bits, descends(base, stage)); });
    }
  }

  /// Whether the run of 2^stage items that a number is in is sorted downwards; null: it never is.
  Value *descends(Value *base, unsigned stage) {
    if (stage == keptBits() && isLast())
      return nullptr;
    return b.ir.CreateTrunc(b.ir.CreateLShr(base, stage), b.ir.getInt1Ty());
  }

  /// The last `bits` steps of sorting runs of 2^bits of a thread's items, all in one direction; or,
  /// where a thread has several runs and says none, in turn up and down.
  void merge(Units &unit, unsigned bits, Value *descending) {
    bool inTurn = !descending && (1u << bits) < unit.size();
    for (unsigned bit = bits; bit-- > 0;)
      for (unsigned low = 0; low < unit.size(); ++low) {
        unsigned high = low | 1u << bit;
        if (high == low)
          continue;
        bool turned = inTurn && (low >> bits & 1);
        Value *isGreater = turned ? b.ir.CreateICmpULT(unit[low], unit[high])
                                  : b.ir.CreateICmpUGT(unit[low], unit[high]);
        if (descending)
          isGreater = b.ir.CreateXor(isGreater, descending);
        Value *first = b.ir.CreateSelect(isGreater, unit[high], unit[low]);
        unit[high] = b.ir.CreateSelect(isGreater, unit[low], unit[high]);
        unit[low] = first;
      }
  }

  /// Threads take all 2^bits items whose numbers differ from bit `low` on, work on them, and put
  /// them back.
  void rounds(unsigned low, unsigned bits, llvm::function_ref<void(Units &, Value *)> work) {
    unsigned units = active >> bits;
    forUnits(units, [&](Value *number) {
      Value *rest = b.ir.CreateShl(b.ir.CreateLShr(number, low), low + bits);
      Value *base = b.ir.CreateOr(rest, b.ir.CreateAnd(number, b.number(number, (1u << low) - 1)));
      Value *start = items.turned(base);
      Units unit;
      for (unsigned i = 0; i < 1u << bits; ++i)
        unit.push_back(items.loadFrom(start, i << low));
      work(unit, base);
      for (unsigned i = 0; i < 1u << bits; ++i)
        items.storeFrom(unit[i], start, i << low);
    });
    b.wait();
  }

  void forUnits(unsigned units, llvm::function_ref<void(Value *)> body) {
    if (units < b.threads)
      return b.ifThen(b.less(b.thread, units), [&] { body(b.thread); });
    for (unsigned first = 0; first < units; first += b.threads)
      body(b.add(b.thread, first));
  }

  /// Of each two runs of `kept`, the first ascending, the second descending, the least `kept`.
  void keepHalf() {
    unsigned half = active / 2;
    llvm::SmallVector<std::pair<Value *, Value *>> least; // Where each goes.
    auto take = [&](Value *number) {
      Value *offset = b.ir.CreateAnd(number, b.number(number, sort.kept - 1));
      Value *run = b.ir.CreateLShr(number, keptBits());
      Value *first = b.ir.CreateOr(b.ir.CreateShl(run, keptBits() + 1), offset);
      Value *second = b.ir.CreateOr(first, b.number(first, sort.kept));
      return b.least(items.load(first), items.load(second));
    };
    if (half < b.threads) { // All wait, so those without work do it for nothing.
      Value *number = b.ir.CreateAnd(b.thread, b.number(b.thread, half - 1));
      least.push_back({number, take(number)});
    } else {
      for (unsigned first = 0; first < half; first += b.threads) {
        Value *number = b.add(b.thread, first);
        least.push_back({number, take(number)});
      }
    }
    b.wait();
    for (auto [number, item] : least)
      items.store(item, number);
    b.wait();
    active = half;
    mergeRuns(keptBits());
  }

  BlockBuilder &b;
  BlockSort sort;
  SharedItems items;
  unsigned active; ///< Items that are still of interest; they come first.
};

} // namespace

void emitBlockSort(BlockBuilder &b, const BlockSort &sort, ItemFormat format) {
  SortEmitter(b, sort, format).run();
}

} // namespace kintsugi::targets
