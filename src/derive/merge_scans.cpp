#include "derive/merge_scans.h"

#include "derive/scan_segment.h"
#include "derive/wave_scans.h"
#include "simplify/rebuild.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

using Values = llvm::SmallVector<ValueId>;

/// The new nodes of one merged group.
class GroupMerger {
public:
  GroupMerger(simplify::Rebuilder &out, const MergedScans &merged)
      : out(out), old(out.old), merged(merged), lead(merged.count), rest(merged.count),
        loop(merged.count) {}

  void run() {
    for (unsigned number = 0; number < merged.count; ++number)
      addLead(number);
    addLoop();
    for (unsigned number = 0; number < merged.count; ++number)
      finish(number);
  }

private:
  const ChainedScan &link(unsigned number) const { return merged.scans()[number]; }
  const Scan &scan(unsigned number) const { return std::get<Scan>(old.nodes[link(number).node]); }
  size_t carried(unsigned number) const { return scan(number).initial.size(); }

  /// Of each stacked result that the next scan reads, its number among the scan's results.
  llvm::SmallVector<unsigned> sourcesOf(unsigned next) const {
    llvm::SmallVector<unsigned> numbers;
    if (next > 0 && next < merged.count)
      for (ValueId id : link(next).sources)
        numbers.push_back(old.value(id).result);
    return numbers;
  }

  Values addHere(unsigned number, Segment segment, const char *suffix) {
    auto other = [&](ValueId id) { return out[id]; };
    return addSegment(old, linkHere(number), segment, {out.fresh, suffix, other, {}, 0});
  }

  /// The first scan takes its products as they are: they are computed for all steps at once.
  ChainedScan linkHere(unsigned number) const {
    ChainedScan result = link(number);
    if (number == 0) {
      result.products.clear();
      result.sources.clear();
    }
    return result;
  }

  void addLead(unsigned number) {
    for (ValueId id : scan(number).initial)
      loop[number].initial.push_back(out[id]);
    if (merged.lead(number) == 0)
      return;
    Segment segment{0, merged.lead(number), loop[number].initial, {}, 0};
    for (unsigned source : sourcesOf(number))
      segment.sources.push_back(lead[number - 1][source]);
    lead[number] = addHere(number, segment, ".lead");
    loop[number].initial.assign(lead[number].begin(), lead[number].begin() + carried(number));
  }

  /// The loop over blocks. Its body carries the states of all scans, and of what one gave out the
  /// block that the next one takes.
  void addLoop() {
    auto body = std::make_shared<Program>();
    body->name = "blocks";
    ValueId block = body->addInput("block", ElementType::I64, {});
    Scan whole{Extent(merged.iterations()), body, {}, {}, {}};
    auto carry = [&](ValueId initial) {
      const Value &value = out.fresh.value(initial);
      whole.initial.push_back(initial);
      return body->addInput(value.name, value.type, value.shape);
    };
    std::vector<Segment> segments;
    for (unsigned number = 0; number < merged.count; ++number) {
      segments.push_back({merged.lead(number), merged.block, {}, {}, merged.lead(number)});
      for (ValueId initial : loop[number].initial)
        segments[number].initial.push_back(carry(initial));
    }
    for (unsigned number = 1; number < merged.count; ++number)
      for (unsigned source : sourcesOf(number))
        segments[number].sources.push_back(carry(lastBlock(lead[number - 1][source])));
    std::map<ValueId, ValueId> inputs;
    auto other = [&](ValueId id) {
      ValueId outside = out[id];
      auto [entry, isNew] = inputs.try_emplace(outside);
      const Value &value = out.fresh.value(outside);
      if (isNew) {
        whole.captured.push_back(outside);
        entry->second = body->addInput(value.name, value.type, value.shape);
      }
      return entry->second;
    };
    SegmentPlace place{*body, "", other, block, merged.block};
    std::vector<Values> results;
    for (unsigned number = 0; number < merged.count; ++number)
      results.push_back(addSegment(old, linkHere(number), segments[number], place));
    nameOutputs(*body, results);
    out.fresh.currentOrigin = merged.origins(old);
    takeResults(out.fresh.addScan(namesOfLoop(), std::move(whole)));
  }

  /// Of a lead's stacked result.
  ValueId lastBlock(ValueId stacked) {
    int64_t steps = out.fresh.shape(stacked)[0].constant();
    return stepsOf(out.fresh, out.fresh.value(stacked).name + ".last", stacked,
                   Index(steps - merged.block), merged.block);
  }

  /// Next states, next blocks for the scans after, then all that is stacked.
  void nameOutputs(Program &body, llvm::ArrayRef<Values> results) const {
    auto give = [&](ValueId value) {
      body.addOutput("out" + std::to_string(body.outputs.size()), value);
    };
    for (unsigned number = 0; number < merged.count; ++number)
      for (size_t k = 0; k < carried(number); ++k)
        give(results[number][k]);
    for (unsigned number = 1; number < merged.count; ++number)
      for (unsigned source : sourcesOf(number))
        give(results[number - 1][source]);
    for (unsigned number = 0; number < merged.count; ++number)
      for (ValueId stacked : llvm::drop_begin(results[number], carried(number)))
        give(stacked);
  }

  llvm::SmallVector<std::string> namesOfLoop() const {
    llvm::SmallVector<std::string> names;
    auto add = [&](ValueId id, const char *suffix) {
      names.push_back(old.value(id).name + suffix);
    };
    for (unsigned number = 0; number < merged.count; ++number)
      for (ValueId id : llvm::ArrayRef(scan(number).results).take_front(carried(number)))
        add(id, ".blocks");
    for (unsigned number = 1; number < merged.count; ++number)
      for (ValueId id : link(number).sources)
        add(id, ".block");
    for (unsigned number = 0; number < merged.count; ++number)
      for (ValueId id : llvm::drop_begin(scan(number).results, carried(number)))
        add(id, ".blocks");
    return names;
  }

  void takeResults(llvm::ArrayRef<ValueId> results) {
    for (unsigned number = 0; number < merged.count; ++number) {
      loop[number].finals.assign(results.begin(), results.begin() + carried(number));
      results = results.drop_front(carried(number));
    }
    for (unsigned number = 1; number < merged.count; ++number)
      results = results.drop_front(sourcesOf(number).size());
    for (unsigned number = 0; number < merged.count; ++number) {
      size_t stacked = scan(number).results.size() - carried(number);
      loop[number].stacked.assign(results.begin(), results.begin() + stacked);
      results = results.drop_front(stacked);
    }
  }

  /// The steps after the loop, and the scan's results put together.
  void finish(unsigned number) {
    Values finals = loop[number].finals;
    if (merged.rest(number) > 0) {
      int64_t begin = merged.chain->steps - merged.rest(number);
      Segment segment{begin, merged.rest(number), finals, {}, 0};
      if (number > 0)
        for (ValueId source : link(number).sources)
          segment.sources.push_back(out[source]);
      rest[number] = addHere(number, segment, ".rest");
      finals.assign(rest[number].begin(), rest[number].begin() + carried(number));
    }
    for (auto [before, after] : llvm::zip_first(finals, scan(number).results))
      out.bind(after, before);
    for (size_t k = carried(number); k < scan(number).results.size(); ++k)
      out.bind(scan(number).results[k], wholeOf(number, k));
  }

  /// A stacked result from its parts ahead of the loop, in it and after it.
  ValueId wholeOf(unsigned number, size_t result) {
    const Value &value = old.value(scan(number).results[result]);
    int64_t leading = merged.lead(number), block = merged.block,
            end = merged.chain->steps - merged.rest(number);
    Definition definition;
    llvm::SmallVector<Index> inside;
    for (auto [k, extent] : llvm::enumerate(value.shape)) {
      definition.parallel.push_back({"i" + std::to_string(k), extent});
      if (k > 0)
        inside.push_back(Index::iterator(k));
    }
    auto read = [&](ValueId from, llvm::SmallVector<Index> indices) {
      indices.append(inside);
      return Expr::read(from, value.type, indices);
    };
    Index t = Index::iterator(0), inLoop = t - Index(leading);
    auto before = [&](int64_t step) {
      return Expr::binary(BinaryOp::Less, Expr::index(t, ElementType::I64),
                          Expr::literal(ElementType::I64, step));
    };
    Expr body = read(loop[number].stacked[result - carried(number)],
                     {inLoop.floorDiv(block), inLoop.mod(block)});
    if (merged.rest(number) > 0)
      body = Expr::select(before(end), body, read(rest[number][result], {t - Index(end)}));
    if (leading > 0)
      body = Expr::select(before(leading), read(lead[number][result], {t}), body);
    definition.bodies = {body};
    out.fresh.currentOrigin = old.origins[link(number).node];
    return out.fresh.define(value.name, value.type, std::move(definition));
  }

  struct Loop {
    Values initial, finals, stacked;
  };

  simplify::Rebuilder &out;
  const Program &old;
  const MergedScans &merged;
  std::vector<Values> lead, rest; ///< Results of the segments outside of the loop.
  std::vector<Loop> loop;
};

class Merger {
public:
  Merger(const Program &program, llvm::ArrayRef<MergedScans> merged)
      : out(program), merged(merged), groupOf(program.nodes.size(), -1),
        available(program.numValues(), false) {
    for (auto [number, group] : llvm::enumerate(merged))
      for (const ChainedScan &scan : group.scans())
        groupOf[scan.node] = number;
    for (uint32_t number = 0; number < program.numValues(); ++number)
      available[number] = program.values[number].kind != ValueKind::Result;
  }

  /// The nodes in an order in which each has its operands, a group at the place of one of its
  /// scans; nothing where groups wait for each other.
  std::optional<std::vector<uint32_t>> order() {
    std::vector<uint32_t> ordered;
    std::vector<bool> done(out.old.nodes.size(), false);
    auto finish = [&](uint32_t node) {
      done[node] = true;
      for (ValueId id : out.old.resultsOf(node))
        available[id.number] = true;
    };
    for (bool progress = true; progress;) {
      progress = false;
      for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
        if (done[node] || !isReady(node))
          continue;
        progress = true;
        ordered.push_back(node);
        finish(node);
        if (groupOf[node] >= 0)
          for (const ChainedScan &scan : merged[groupOf[node]].scans())
            finish(scan.node);
      }
    }
    if (!llvm::all_of(done, [](bool is) { return is; }))
      return std::nullopt;
    return ordered;
  }

  Program run() {
    std::optional<std::vector<uint32_t>> ordered = order();
    assert(ordered && "groups that don't wait for each other");
    for (uint32_t node : *ordered)
      if (groupOf[node] >= 0)
        merge(merged[groupOf[node]]);
      else if (!isReplaced(node))
        out.copy(node);
    return simplify::withoutUnneeded(out.finish());
  }

private:
  void merge(const MergedScans &group) {
    if (group.wave)
      addWave(out, group, *group.wave);
    else
      GroupMerger(out, group).run();
    for (const ChainedScan &scan : group.scans())
      out.keepOriginals(scan.node);
  }

  bool isReplaced(uint32_t node) const {
    return llvm::any_of(merged, [&](const MergedScans &group) {
      return group.wave && group.wave->replaced.contains(node);
    });
  }

  bool isReady(uint32_t node) const {
    auto isThere = [&](ValueId id) { return available[id.number]; };
    if (groupOf[node] < 0)
      return llvm::all_of(out.old.operandsOf(node), isThere);
    const MergedScans &group = merged[groupOf[node]];
    for (auto [number, link] : llvm::enumerate(group.scans())) {
      auto comesFromGroup = [&, number = number, &link = link](ValueId id) {
        return number > 0 && (llvm::is_contained(link.sources, id) ||
                              llvm::is_contained(link.products, out.old.value(id).node));
      };
      auto hasAll = [&](uint32_t member) {
        return llvm::all_of(out.old.operandsOf(member),
                            [&](ValueId id) { return isThere(id) || comesFromGroup(id); });
      };
      if (!hasAll(link.node) || (number > 0 && !llvm::all_of(link.products, hasAll)))
        return false;
    }
    return true;
  }

  simplify::Rebuilder out;
  llvm::ArrayRef<MergedScans> merged;
  std::vector<int> groupOf; ///< By node.
  std::vector<bool> available;
};

} // namespace

std::vector<std::string> MergedScans::origins(const Program &program) const {
  std::vector<std::string> origins;
  for (const ChainedScan &scan : scans())
    for (const std::string &origin : program.origins[scan.node])
      if (!llvm::is_contained(origins, origin))
        origins.push_back(origin);
  return origins;
}

bool canMergeAll(const Program &program, llvm::ArrayRef<MergedScans> merged) {
  return Merger(program, merged).order().has_value();
}

Program mergeScans(const Program &program, llvm::ArrayRef<MergedScans> merged) {
  return Merger(program, merged).run();
}

} // namespace kintsugi::derive
