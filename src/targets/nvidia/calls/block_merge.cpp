#include "targets/nvidia/calls/block_merge.h"

#include "targets/nvidia/calls/block_sort.h"

namespace kintsugi::targets {

using llvm::Value;

calls::Launch ListMerge::launch() const {
  calls::Launch launch;
  launch.blocks = rows * pairs() * tiles();
  launch.threads = tile() / itemsOfThread;
  launch.sharedBytes = uint64_t(tile()) * format.bytes() + 4 * sizeof(uint64_t);
  return launch;
}

namespace {

/// Where two sorted lists of so many items are.
struct Pair {
  Value *first, *second; ///< Their places in memory.
  Value *firstLength, *secondLength;
};

class MergeEmitter {
public:
  MergeEmitter(BlockBuilder &b, const ListMerge &merge, Value *from)
      : b(b), merge(merge), items(b, merge.format), from(from) {}

  void run(llvm::function_ref<void(Value *, Value *, Value *)> give) {
    findTile();
    findEnds();
    fetch();
    b.wait();
    Items mine = mergeMine();
    b.wait();
    for (unsigned i = 0; i < mine.size(); ++i)
      items.store(mine[i], b.add(b.mul(b.thread, merge.itemsOfThread), i));
    b.wait();
    b.loop(b.thread, b.ir.getInt32(merge.tile()), b.threads, [&](Value *number) {
      Value *rank = b.ir.CreateAdd(tileBegin, b.wide(number));
      b.ifThen(b.less(rank, merge.kept), [&] {
        Value *behind = b.ir.CreateAdd(b.mul(pair, merge.kept), rank);
        give(row, behind, items.load(number));
      });
    });
  }

private:
  using Items = llvm::SmallVector<Value *, ListMerge::itemsOfThread>;

  /// Which part of which pair the block is for.
  void findTile() {
    Value *number = b.wide(b.block);
    tileBegin = b.mul(b.rem(number, merge.tiles()), merge.tile());
    number = b.div(number, merge.tiles());
    pair = b.rem(number, merge.pairs());
    row = b.div(number, merge.pairs());
    Value *list = b.mul(pair, 2);
    Value *begin = b.mul(b.ir.CreateAdd(b.mul(row, merge.lists), list), merge.length);
    lists.first = begin;
    lists.second = b.add(begin, merge.length);
    lists.firstLength = b.ir.getInt64(merge.length);
    Value *hasSecond = b.less(b.add(list, 1), merge.lists);
    lists.secondLength =
        b.ir.CreateSelect(hasSecond, b.ir.getInt64(merge.length), b.ir.getInt64(0));
  }

  Value *load(Value *place) { return b.load(merge.format.type(b), from, place); }

  /// Whether of the first `count` of both lists together more than `number` are of the first one.
  Value *areMoreOfFirst(Value *count, Value *number) {
    Value *other = b.ir.CreateSub(b.ir.CreateSub(count, number), b.ir.getInt64(1));
    return b.ir.CreateICmpULE(load(b.ir.CreateAdd(lists.first, number)),
                              load(b.ir.CreateAdd(lists.second, other)));
  }

  /// Half of the threads search for the place in the first list where the tile begins, half for
  /// where it ends: each looks at the ends of its own part of what is left, and the one whose part
  /// has the place leaves that for the next step. What is left lies behind the items.
  void findEnds() {
    Value *all = b.ir.CreateAdd(lists.firstLength, lists.secondLength);
    Value *begin = b.least(tileBegin, all);
    Value *end = b.least(b.add(tileBegin, merge.tile()), all);
    Value *memory = b.place(b.shared, merge.format.type(b), b.ir.getInt32(merge.tile()));
    unsigned searchers = b.threads / 2;
    Value *which = b.div(b.thread, searchers), *mine = b.wide(b.rem(b.thread, searchers));
    Value *count = b.ir.CreateSelect(b.less(b.thread, searchers), begin, end);
    Value *low = b.mul(which, 2), *high = b.add(low, 1);
    b.ifThen(b.ir.CreateICmpEQ(mine, b.ir.getInt64(0)), [&] {
      Value *isMore = b.ir.CreateICmpUGT(count, lists.secondLength);
      Value *least = b.ir.CreateSub(count, lists.secondLength);
      b.store(b.ir.CreateSelect(isMore, least, b.ir.getInt64(0)), memory, low);
      b.store(b.least(count, lists.firstLength), memory, high);
    });
    b.wait();
    for (uint64_t left = merge.length; left > 0; left = (left - 1) / searchers)
      searchStep(memory, low, high, count, mine, searchers);
    Value *firstBegin = b.load(b.ir.getInt64Ty(), memory, b.ir.getInt32(0));
    Value *firstEnd = b.load(b.ir.getInt64Ty(), memory, b.ir.getInt32(2));
    auto narrow = [&](Value *number) { return b.ir.CreateTrunc(number, b.ir.getInt32Ty()); };
    ofFirstHere = narrow(b.ir.CreateSub(firstEnd, firstBegin));
    allHere = narrow(b.ir.CreateSub(end, begin));
    partOfFirst = b.ir.CreateAdd(lists.first, firstBegin);
    partOfSecond = b.ir.CreateAdd(lists.second, b.ir.CreateSub(begin, firstBegin));
  }

  /// One step: of n numbers that are left, no more than (n - 1) / searchers stay.
  void searchStep(Value *memory, Value *lowPlace, Value *highPlace, Value *count, Value *mine,
                  unsigned searchers) {
    Value *low = b.load(b.ir.getInt64Ty(), memory, lowPlace);
    Value *high = b.load(b.ir.getInt64Ty(), memory, highPlace);
    b.wait();
    Value *part = b.div(b.add(b.ir.CreateSub(high, low), searchers - 1), searchers);
    Value *begin = b.ir.CreateAdd(low, b.ir.CreateMul(mine, part));
    b.ifThen(b.ir.CreateICmpULT(begin, high), [&] {
      Value *end = b.least(b.ir.CreateAdd(begin, part), high);
      Value *isEnd = b.ir.CreateICmpEQ(end, high);
      Value *isBehind = areMoreOfFirst(count, begin);
      Value *isBehindEnd = areMoreOfFirst(count, b.ir.CreateSelect(isEnd, begin, end));
      Value *isHere = b.ir.CreateAnd(isBehind, b.ir.CreateOr(isEnd, b.ir.CreateNot(isBehindEnd)));
      b.ifThen(isHere, [&] {
        b.store(b.add(begin, 1), memory, lowPlace);
        b.store(end, memory, highPlace);
      });
      Value *isFirst =
          b.ir.CreateAnd(b.ir.CreateICmpEQ(mine, b.ir.getInt64(0)), b.ir.CreateNot(isBehind));
      b.ifThen(isFirst, [&] { b.store(low, memory, highPlace); });
    });
    b.wait();
  }

  /// The tile's part of the first list, of the second one behind it, and then none.
  void fetch() {
    for (unsigned first = 0; first < merge.tile(); first += b.threads) {
      Value *number = b.add(b.thread, first);
      Value *isFirst = b.ir.CreateICmpULT(number, ofFirstHere);
      Value *place = b.ir.CreateSelect(
          isFirst, b.ir.CreateAdd(partOfFirst, b.wide(number)),
          b.ir.CreateAdd(partOfSecond, b.wide(b.ir.CreateSub(number, ofFirstHere))));
      Value *isThere = b.ir.CreateICmpULT(number, allHere);
      Value *item = load(b.ir.CreateSelect(isThere, place, b.ir.getInt64(0)));
      items.store(b.ir.CreateSelect(isThere, item, merge.format.none(b)), number);
    }
  }

  /// Each thread finds its place in both parts by search, and goes on from there one by one.
  Items mergeMine() {
    Value *mine = b.mul(b.thread, merge.itemsOfThread);
    Value *ofSecondHere = b.ir.CreateSub(b.ir.getInt32(merge.tile()), ofFirstHere);
    Value *isMore = b.ir.CreateICmpUGT(mine, ofSecondHere);
    Value *low = b.ir.CreateSelect(isMore, b.ir.CreateSub(mine, ofSecondHere), b.ir.getInt32(0));
    Value *i = b.firstNot(low, b.least(mine, ofFirstHere), [&](Value *middle) {
      Value *other = b.ir.CreateSub(b.ir.CreateSub(mine, middle), b.ir.getInt32(1));
      return b.ir.CreateICmpULE(items.load(middle), items.load(b.ir.CreateAdd(ofFirstHere, other)));
    });
    Value *j = b.ir.CreateSub(mine, i);
    Items merged;
    for (unsigned step = 0; step < merge.itemsOfThread; ++step) {
      Value *second = b.ir.CreateAdd(ofFirstHere, j);
      Value *hasFirst = b.ir.CreateICmpULT(i, ofFirstHere);
      Value *hasSecond = b.less(second, merge.tile());
      Value *x = items.load(b.ir.CreateSelect(hasFirst, i, b.ir.getInt32(0)));
      Value *y = items.load(b.ir.CreateSelect(hasSecond, second, b.ir.getInt32(0)));
      Value *isLess = b.ir.CreateOr(b.ir.CreateICmpULE(x, y), b.ir.CreateNot(hasSecond));
      Value *takesFirst = b.ir.CreateAnd(hasFirst, isLess);
      merged.push_back(b.ir.CreateSelect(takesFirst, x, y));
      Value *one = b.ir.CreateZExt(takesFirst, b.ir.getInt32Ty());
      i = b.ir.CreateAdd(i, one);
      j = b.add(b.ir.CreateSub(j, one), 1);
    }
    return merged;
  }

  BlockBuilder &b;
  ListMerge merge;
  SharedItems items;
  Value *from;
  Value *tileBegin, *pair, *row;
  Pair lists;
  Value *partOfFirst, *partOfSecond; ///< Places in memory.
  Value *ofFirstHere, *allHere;      ///< How many items of the tile.
};

} // namespace

void emitListMerge(BlockBuilder &b, const ListMerge &merge, Value *from,
                   llvm::function_ref<void(Value *, Value *, Value *)> give) {
  MergeEmitter(b, merge, from).run(give);
}

} // namespace kintsugi::targets
