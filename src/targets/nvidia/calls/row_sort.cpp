#include "targets/nvidia/calls/row_sort.h"

#include "abi/launch.h"
#include "targets/nvidia/calls/block_merge.h"
#include "targets/nvidia/calls/block_sort.h"

#include "llvm/Support/MathExtras.h"

namespace kintsugi::targets {

using llvm::ArrayRef;
using llvm::divideCeil;
using llvm::PowerOf2Ceil;
using llvm::Value;

ItemSink itemsIn(unsigned place, uint64_t itemsOfRow) {
  auto store = [=](BlockBuilder &b, ArrayRef<Value *>, ArrayRef<Value *> writes, Value *row,
                   Value *rank, Value *item) {
    b.store(item, writes[0], b.ir.CreateAdd(b.mul(row, itemsOfRow), rank));
  };
  return {{}, {place}, store};
}

ItemSource itemsFrom(unsigned place, uint64_t itemsOfRow, ItemFormat format) {
  auto item = [=](BlockBuilder &b, ArrayRef<Value *> operands, Value *row, Value *number) {
    return b.load(format.type(b), operands[0], b.ir.CreateAdd(b.mul(row, itemsOfRow), number));
  };
  return {{place}, item};
}

namespace {

/// What a block sorts at most.
unsigned mostItems(ItemFormat format) {
  constexpr unsigned bytes = 32 << 10, most = 4096;
  return std::min(most, bytes / format.bytes());
}

/// One kernel: blocks sort parts of rows that have room in them, or several short rows.
struct PartSort {
  RowSort sort;
  BlockSort block;
  uint64_t parts; ///< Of each row.
  uint64_t kept;  ///< Of each part.
  ItemSource source;
  ItemSink sink;

  static BlockSort blockOf(const RowSort &sort, uint64_t kept) {
    BlockSort block;
    block.run = unsigned(PowerOf2Ceil(std::min<uint64_t>(sort.length, mostItems(sort.format))));
    block.run = std::max(block.run, BlockSort::leastRun);
    constexpr unsigned itemsOfShortRows = 1024; // Blocks stay many.
    uint64_t wanted = block.run * PowerOf2Ceil(std::max<uint64_t>(sort.rows, 1));
    block.items = unsigned(std::min<uint64_t>(wanted, itemsOfShortRows));
    block.items = std::max({block.items, block.run, BlockSort::leastItems});
    block.kept = std::max(unsigned(PowerOf2Ceil(kept)), BlockSort::leastRun);
    return block;
  }

  uint64_t blocks() const {
    return parts > 1 ? sort.rows * parts : divideCeil(sort.rows, block.runs());
  }

  calls::Launch launch() const {
    calls::Launch launch;
    launch.blocks = blocks();
    launch.threads = block.threads();
    launch.sharedBytes = uint64_t(block.items) * sort.format.bytes();
    launch.reads = source.reads;
    launch.reads.insert(launch.reads.end(), sink.reads.begin(), sink.reads.end());
    launch.writes = sink.writes;
    return launch;
  }

  /// The row and the part of it that a run of the block is.
  std::pair<Value *, Value *> placeOf(BlockBuilder &b, Value *run) const {
    Value *number = b.wide(b.block);
    if (parts > 1)
      return {b.div(number, parts), b.rem(number, parts)};
    return {b.ir.CreateAdd(b.mul(number, block.runs()), b.wide(run)), b.ir.getInt64(0)};
  }

  void emit(BlockBuilder &b) const {
    SharedItems items(b, sort.format);
    for (unsigned first = 0; first < block.items; first += b.threads) {
      Value *number = b.add(b.thread, first), *run, *offset;
      if (sort.isAcross) {
        run = b.rem(number, block.runs());
        offset = b.div(number, block.runs());
      } else {
        run = b.div(number, block.run);
        offset = b.rem(number, block.run);
      }
      items.store(take(b, run, offset), b.ir.CreateAdd(b.mul(run, block.run), offset));
    }
    emitBlockSort(b, block, sort.format);
    b.loop(b.thread, b.ir.getInt32(unsigned(block.runs() * kept)), b.threads,
           [&](Value *number) { give(b, items, number); });
  }

  /// The item of a run, or none behind the row's end. What is loaded is there in any case.
  Value *take(BlockBuilder &b, Value *run, Value *offset) const {
    auto [row, part] = placeOf(b, run);
    Value *number = b.ir.CreateAdd(b.mul(part, block.run), b.wide(offset));
    Value *isThere = b.ir.CreateAnd(b.less(row, sort.rows), b.less(number, sort.length));
    Value *zero = b.ir.getInt64(0);
    Value *item = source.item(b, ArrayRef(b.operands).take_front(source.reads.size()),
                              b.ir.CreateSelect(isThere, row, zero),
                              b.ir.CreateSelect(isThere, number, zero));
    return b.ir.CreateSelect(isThere, item, sort.format.none(b));
  }

  void give(BlockBuilder &b, SharedItems &items, Value *number) const {
    Value *run, *rank;
    if (sort.isAcross) {
      run = b.rem(number, block.runs());
      rank = b.div(number, block.runs());
    } else {
      run = b.div(number, kept);
      rank = b.rem(number, kept);
    }
    auto [row, part] = placeOf(b, run);
    b.ifThen(b.less(row, sort.rows), [&, row = row, part = part] {
      Value *item = items.load(b.ir.CreateAdd(b.mul(run, block.kept), rank));
      ArrayRef<Value *> operands = ArrayRef(b.operands).drop_front(source.reads.size());
      sink.store(b, operands.take_front(sink.reads.size()), operands.drop_front(sink.reads.size()),
                 row, b.ir.CreateAdd(b.mul(part, kept), b.wide(rank)), item);
    });
  }
};

class RowSorting {
public:
  RowSorting(CallCode &code, const RowSort &sort, ItemSource source, ItemSink sink)
      : code(code), sort(sort), source(std::move(source)), sink(std::move(sink)) {}

  void run() {
    uint64_t most = mostItems(sort.format);
    while (sort.length > most && sortsAgain(most))
      addParts(sort.kept);
    if (sort.length <= most)
      return addLast();
    addParts(std::min(sort.kept, most));
    mergeParts(std::min(sort.kept, most));
  }

private:
  /// Whether what is left of all parts is sorted again, not merged: where it then has room in a
  /// block, or is little of each.
  bool sortsAgain(uint64_t most) const {
    constexpr uint64_t little = 16;
    return divideCeil(sort.length, most) * sort.kept <= most || little * sort.kept <= most;
  }

  void addLast() {
    PartSort last{sort, PartSort::blockOf(sort, sort.kept), 1, sort.kept, source, sink};
    add(last.launch(), [last](BlockBuilder &b) { last.emit(b); });
  }

  /// Each part of a row that has room in a block becomes a sorted list of the first `kept`.
  void addParts(uint64_t kept) {
    BlockSort block = PartSort::blockOf(sort, kept);
    uint64_t parts = divideCeil(sort.length, block.run), length = parts * kept;
    unsigned place = memoryFor(length);
    PartSort each{sort, block, parts, kept, source, itemsIn(place, length)};
    add(each.launch(), [each](BlockBuilder &b) { each.emit(b); });
    source = itemsFrom(place, length, sort.format);
    sort.length = length;
    sort.isAcross = false;
  }

  void mergeParts(uint64_t kept) {
    while (sort.length > kept) {
      ListMerge merge;
      merge.rows = sort.rows;
      merge.lists = sort.length / kept;
      merge.length = kept;
      merge.kept = std::min(2 * kept, sort.kept);
      merge.format = sort.format;
      bool isLast = merge.lists <= 2;
      uint64_t length = merge.pairs() * merge.kept;
      unsigned from = source.reads.front(), to = 0;
      ItemSink goal = sink;
      if (!isLast) {
        to = memoryFor(length);
        goal = itemsIn(to, length);
      }
      calls::Launch launch = merge.launch();
      launch.reads = {from};
      launch.reads.insert(launch.reads.end(), goal.reads.begin(), goal.reads.end());
      launch.writes = goal.writes;
      add(launch, [merge, goal](BlockBuilder &b) {
        ArrayRef<Value *> operands = ArrayRef(b.operands).drop_front();
        emitListMerge(b, merge, b.operands[0], [&](Value *row, Value *rank, Value *item) {
          goal.store(b, operands.take_front(goal.reads.size()),
                     operands.drop_front(goal.reads.size()), row, rank, item);
        });
      });
      if (isLast)
        return;
      source = itemsFrom(to, length, sort.format);
      sort.length = length;
      kept = merge.kept;
    }
  }

  void add(calls::Launch launch, std::function<void(BlockBuilder &)> emit) {
    if (launch.blocks > KIN_LAUNCH_MAX_BLOCKS)
      code.reason = "its tensors are too large for one launch";
    code.kernels.push_back({std::move(launch), std::move(emit)});
  }

  /// Two places that are used in turn.
  unsigned memoryFor(uint64_t itemsOfRow) {
    uint64_t bytes = sort.rows * itemsOfRow * sort.format.bytes();
    unsigned &place = places[turn];
    turn = 1 - turn;
    if (place == 0)
      return place = code.addMemory(bytes);
    uint64_t &has = code.memory[place - code.firstMemory];
    has = std::max(has, bytes);
    return place;
  }

  CallCode &code;
  RowSort sort;
  ItemSource source;
  ItemSink sink;
  unsigned places[2] = {}; ///< 0: none yet, which is the call's first operand.
  unsigned turn = 0;
};

} // namespace

void addRowSort(CallCode &code, const RowSort &sort, ItemSource source, ItemSink sink) {
  RowSorting(code, sort, std::move(source), std::move(sink)).run();
}

} // namespace kintsugi::targets
