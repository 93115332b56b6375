#include "derive/scan_price.h"

#include "cost/cost.h"
#include "derive/scan_segment.h"
#include "space/growth.h"
#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Covers each of some definitions by exactly one candidate, at the least cost.
class Cover {
public:
  /// Sets of definitions are bits of a word; more of them would take too long besides.
  static constexpr size_t most = 24;

  Cover(const space::Space &space, llvm::ArrayRef<uint32_t> nodes, const machine::Machine &machine)
      : space(space) {
    std::map<uint32_t, unsigned> bits;
    for (auto [bit, node] : llvm::enumerate(nodes))
      bits[node] = bit;
    for (const space::Candidate &candidate : space.candidates) {
      uint32_t set = 0;
      for (uint32_t node : candidate.group.nodes)
        set |= 1u << bits.at(node);
      sets.push_back(set);
      seconds.push_back(cost::predictSeconds(*candidate.kernel, machine));
    }
    all = (1u << nodes.size()) - 1;
  }

  std::vector<std::shared_ptr<const loops::KernelShape>> run() {
    std::vector<std::shared_ptr<const loops::KernelShape>> kernels;
    for (uint32_t covered = 0; covered != all;) {
      unsigned candidate = from(covered).candidate;
      kernels.push_back(space.candidates[candidate].kernel);
      covered |= sets[candidate];
    }
    return kernels;
  }

private:
  struct Best {
    double seconds = impossible;
    unsigned candidate = 0;
  };

  Best from(uint32_t covered) {
    if (covered == all)
      return {0, 0};
    if (auto found = known.find(covered); found != known.end())
      return found->second;
    uint32_t next = ~covered & (covered + 1); // The first that is not covered.
    Best best;
    for (unsigned candidate = 0; candidate < sets.size(); ++candidate) {
      if (!(sets[candidate] & next) || (sets[candidate] & covered))
        continue;
      double total = seconds[candidate] + from(covered | sets[candidate]).seconds;
      if (total < best.seconds)
        best = {total, candidate};
    }
    return known[covered] = best;
  }

  const space::Space &space;
  std::vector<uint32_t> sets;
  std::vector<double> seconds;
  std::map<uint32_t, Best> known;
  uint32_t all;
};

} // namespace

ScanPricer::ScanPricer(const Program &program, const space::SpaceOptions &options)
    : program(program), options(options), constantNodes(te::constantNodes(program)) {
  this->options.log = nullptr;
  this->options.measured = nullptr;
}

std::optional<ScanPricer::Kernels> ScanPricer::cheapest(const Program &of,
                                                        const std::vector<bool> &constants) {
  std::vector<bool> known = te::constantNodes(of);
  llvm::SmallVector<uint32_t> nodes;
  for (uint32_t node = 0; node < of.nodes.size(); ++node)
    if (!known[node])
      nodes.push_back(node);
  if (nodes.size() > Cover::most)
    return std::nullopt;
  space::SpaceOptions spaceOptions = options;
  spaceOptions.memo = options.memo ? options.memo : &memo;
  spaceOptions.constants = constants;
  loops::Group all = space::Growth(of, nodes, spaceOptions).groupOf(nodes);
  auto [entry, isNew] = chosen.try_emplace(loops::keyOf(of, all).text);
  if (!isNew)
    return entry->second;
  Expected<space::Space> space = space::buildSpace(of, nodes, spaceOptions);
  if (space.ok())
    entry->second = Cover(*space, nodes, options.schedule.machine).run();
  return entry->second;
}

static std::vector<bool> ownConstants(const Program &body) {
  std::vector<bool> constants;
  for (const Value &value : body.values)
    constants.push_back(value.kind == ValueKind::Constant);
  return constants;
}

StepSeconds ScanPricer::step(const ChainedScan &link) {
  const auto &scan = std::get<Scan>(program.nodes[link.node]);
  const Program &body = *scan.body;
  std::vector<bool> constants = ownConstants(body);
  for (auto [number, id] : llvm::enumerate(scan.captured))
    constants[body.inputs[1 + scan.initial.size() + number].number] =
        te::isConstant(program, constantNodes, id);
  std::optional<Kernels> kernels = cheapest(body, constants);
  if (!kernels)
    return {impossible, impossible};
  StepSeconds result;
  for (const auto &kernel : *kernels) {
    result.together += cost::predictStepSeconds(*kernel, options.schedule.machine);
    result.alone += cost::predictAloneSeconds(*kernel, options.schedule.machine);
  }
  return result;
}

double ScanPricer::wave(const WaveScan &wave) {
  const Program &body = *wave.body;
  std::vector<bool> constants = ownConstants(body);
  for (auto [number, lanes] : llvm::enumerate(wave.captured))
    constants[body.inputs[1 + wave.initial.size() + number].number] =
        llvm::all_of(lanes, [&](ValueId id) { return te::isConstant(program, constantNodes, id); });
  std::optional<Kernels> kernels = cheapest(body, constants);
  if (!kernels)
    return impossible;
  double total = 0;
  for (const auto &kernel : *kernels)
    total += cost::predictStepSeconds(*kernel, options.schedule.machine);
  return total;
}

/// The products of a scan for so many steps as a program of their own.
Program ScanPricer::productsAlone(const ChainedScan &link, int64_t steps) const {
  Subprogram part(program, [&](ValueId id) { return te::isConstant(program, constantNodes, id); });
  Program &alone = part.program;
  auto operand = [&](ValueId id) { return part[id]; };
  Segment segment{0, steps, {}, {}, 0};
  for (ValueId source : link.sources) {
    const Value &value = program.value(source);
    Shape shape = value.shape;
    shape[0] = Extent(steps);
    segment.sources.push_back(alone.addInput(value.name, value.type, shape));
  }
  Products products = addProducts(program, link, segment, {alone, "", operand, {}, 0});
  for (ValueId id : std::get<Scan>(program.nodes[link.node]).captured)
    if (auto made = products.find(id); made != products.end())
      alone.addOutput("out" + std::to_string(alone.outputs.size()), made->second);
  return std::move(alone);
}

double ScanPricer::products(const ChainedScan &link, int64_t steps) {
  if (link.products.empty())
    return 0;
  Program alone = productsAlone(link, steps);
  std::optional<Kernels> kernels = cheapest(alone, ownConstants(alone));
  if (!kernels)
    return impossible;
  double total = 0;
  for (const auto &kernel : *kernels)
    total += cost::predictSeconds(*kernel, options.schedule.machine);
  return total;
}

} // namespace kintsugi::derive
