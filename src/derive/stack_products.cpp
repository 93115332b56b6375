#include "derive/stack_products.h"

#include "cost/cost.h"
#include "cost/decisions.h"
#include "derive/alike.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// Chains that are alike along a dimension, each a product and what follows from it.
struct Stack {
  unsigned dimension = 0;
  std::vector<Chain> members;
  std::vector<std::map<uint32_t, ConstantPair>> constants; ///< By member, see Alike.
};

/// Finds sums, of which those of products with constants can be stacked, and what their kernels
/// would do besides.
class ChainFinder {
public:
  ChainFinder(const Program &program, const std::vector<bool> &constant)
      : program(program), constant(constant), readers(program.numValues()),
        isOutput(program.numValues(), false) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
    for (const Program::Output &output : program.outputs)
      isOutput[output.value.number] = true;
  }

  /// The chain of a product; none where some of it has to stay by itself.
  std::optional<Chain> chainOf(uint32_t node) const {
    const auto *product = std::get_if<Definition>(&program.nodes[node]);
    if (!product || constant[node] || !product->reduction || product->bodies.size() != 1 ||
        product->reduction->combiner != Combiner::Sum)
      return std::nullopt;
    Chain chain = {node};
    for (size_t k = 0; k < chain.size(); ++k) {
      ValueId value = program.resultsOf(chain[k])[0];
      if (isOutput[value.number])
        return std::nullopt;
      for (uint32_t reader : readers[value.number]) {
        if (llvm::is_contained(chain, reader) || !isPointByPoint(reader, value))
          continue;
        if (!readsNothingElse(reader, chain))
          return std::nullopt;
        chain.push_back(reader);
      }
    }
    llvm::sort(chain);
    return chain;
  }

  /// Values of a chain that others read.
  llvm::SmallVector<ValueId> outputsOf(const Chain &chain) const {
    llvm::SmallVector<ValueId> outputs;
    for (uint32_t node : chain) {
      ValueId value = program.resultsOf(node)[0];
      auto isOutside = [&](uint32_t reader) { return !llvm::is_contained(chain, reader); };
      if (llvm::any_of(readers[value.number], isOutside))
        outputs.push_back(value);
    }
    return outputs;
  }

private:
  /// Whether each point of a definition reads the same point of the value, and no other.
  bool isPointByPoint(uint32_t node, ValueId value) const {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    const Shape &shape = program.value(value).shape;
    if (!definition || definition->reduction || definition->results.size() != 1 ||
        definition->parallel.size() != shape.size())
      return false;
    for (auto [iterator, extent] : llvm::zip(definition->parallel, shape))
      if (iterator.extent != extent)
        return false;
    bool same = true;
    definition->bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && e.readValue() == value)
        for (auto [k, index] : llvm::enumerate(e.readIndices()))
          same &= index.asIterator() == int(k) || (shape[k] == Extent(1) && index == Index(0));
    });
    return same;
  }

  bool readsNothingElse(uint32_t node, const Chain &chain) const {
    return llvm::all_of(program.operandsOf(node), [&](ValueId operand) {
      return te::isConstant(program, constant, operand) ||
             (program.value(operand).kind == ValueKind::Result &&
              llvm::is_contained(chain, program.value(operand).node));
    });
  }

  const Program &program;
  const std::vector<bool> &constant;
  std::vector<llvm::SmallVector<uint32_t, 2>> readers; ///< By value.
  std::vector<bool> isOutput;                          ///< By value.
};

std::vector<Stack> findStacks(const Program &program, const std::vector<bool> &constant,
                              const ChainFinder &finder) {
  std::vector<Stack> stacks;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    std::optional<Chain> chain = finder.chainOf(node);
    if (!chain)
      continue;
    bool taken = llvm::any_of(stacks, [&](Stack &stack) {
      auto pairs = Alike(program, constant, stack.dimension).match(stack.members[0], *chain);
      if (!pairs)
        return false;
      stack.members.push_back(*chain);
      stack.constants.push_back(std::move(*pairs));
      return true;
    });
    unsigned rank = std::get<Definition>(program.nodes[node]).parallel.size();
    for (unsigned dimension = rank; !taken && dimension-- > 0;) {
      auto pairs = Alike(program, constant, dimension).match(*chain, *chain);
      if (!pairs)
        continue;
      stacks.push_back({dimension, {*chain}, {std::move(*pairs)}});
      taken = true;
    }
  }
  llvm::erase_if(stacks, [](const Stack &stack) { return stack.members.size() < 2; });
  return stacks;
}

/// Writes a program in which stacks are one chain each.
class Stacker {
public:
  Stacker(const Program &program, const std::vector<bool> &constant, const ChainFinder &finder,
          llvm::ArrayRef<const Stack *> stacks)
      : out(program), finder(finder) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (constant[node])
        out.copy(node);
    std::map<uint32_t, const Stack *> stackOf; // By node of its members.
    for (const Stack *stack : stacks)
      for (const Chain &member : stack->members)
        for (uint32_t node : member)
          stackOf[node] = stack;
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (constant[node])
        continue;
      auto found = stackOf.find(node);
      if (found == stackOf.end())
        out.copy(node);
      else if (node == found->second->members[0][0])
        write(*found->second);
    }
    fresh = out.finish();
  }

  Program fresh;
  /// The nodes of each stack, and which of their values others read.
  std::vector<loops::Group> groups;

private:
  void write(const Stack &stack) {
    loops::Group group;
    const Chain &leader = stack.members[0];
    llvm::SmallVector<ValueId> stacked;
    for (unsigned place = 0; place < leader.size(); ++place) {
      stacked.push_back(writeAt(stack, place));
      group.nodes.push_back(out.fresh.value(stacked.back()).node);
      out.bind(out.old.resultsOf(leader[place])[0], stacked.back()); // For the leader's next.
    }
    for (auto [place, value] : llvm::enumerate(stacked))
      if (writeSlices(stack, place, value))
        group.outputs.push_back(value);
    groups.push_back(std::move(group));
  }

  /// One definition of the chain, for all members. Their constants stand for the leader's
  /// meanwhile.
  ValueId writeAt(const Stack &stack, unsigned place) {
    uint32_t node = stack.members[0][place];
    llvm::SmallVector<std::pair<ValueId, ValueId>> constants, originals;
    for (ValueId operand : out.old.operandsOf(node)) {
      auto found = stack.constants[0].find(operand.number);
      if (found == stack.constants[0].end())
        continue;
      originals.push_back({operand, out[operand]});
      constants.push_back({operand, stackedConstant(stack, operand, found->second.dimension)});
    }
    for (auto [leaders, all] : constants)
      out.bind(leaders, all);
    Definition definition = std::get<Definition>(out.old.nodes[node]);
    definition.results.clear();
    definition.parallel[stack.dimension].extent = Extent(beginOf(stack, stack.members.size()));
    definition.bodies[0] = out.rename(definition.bodies[0]);
    for (auto [leaders, original] : originals)
      out.bind(leaders, original);
    setOrigins(stack, place);
    const Value &value = out.old.value(out.old.resultsOf(node)[0]);
    ValueId result = out.fresh.define(value.name + ".stacked", value.type, std::move(definition));
    if (llvm::all_of(stack.members, [&](const Chain &member) {
          return out.old.value(out.old.resultsOf(member[place])[0]).facts == value.facts;
        }))
      out.fresh.value(result).facts = value.facts;
    return result;
  }

  int64_t extentOf(const Stack &stack, size_t member) const {
    const auto &product = std::get<Definition>(out.old.nodes[stack.members[member][0]]);
    return product.parallel[stack.dimension].extent.constant();
  }

  int64_t beginOf(const Stack &stack, size_t member) const {
    int64_t begin = 0;
    for (size_t before = 0; before < member; ++before)
      begin += extentOf(stack, before);
    return begin;
  }

  /// The members' constants in place of the leader's, one behind the other.
  ValueId stackedConstant(const Stack &stack, ValueId leaders, unsigned dimension) {
    const Value &model = out.old.value(leaders);
    int64_t whole = beginOf(stack, stack.members.size());
    Definition all;
    llvm::SmallVector<Index> indices;
    for (auto [k, extent] : llvm::enumerate(model.shape)) {
      all.parallel.push_back({"i" + std::to_string(k), k == dimension ? Extent(whole) : extent});
      indices.push_back(Index::iterator(k));
    }
    Expr position = Expr::index(indices[dimension], ElementType::I64);
    std::optional<Expr> body;
    for (size_t member = stack.members.size(); member-- > 0;) {
      int64_t begin = beginOf(stack, member), end = begin + extentOf(stack, member);
      llvm::SmallVector<Index> own = indices;
      own[dimension] = own[dimension] - begin;
      ValueId source = stack.constants[member].at(leaders.number).other;
      Expr read = Expr::read(out[source], model.type, own);
      Expr isBefore = Expr::binary(BinaryOp::Less, position, Expr::literal(ElementType::I64, end));
      body = body ? Expr::select(isBefore, read, *body) : read;
    }
    all.bodies.push_back(*body);
    setOrigins(stack, 0);
    return out.fresh.define(model.name + ".stacked", model.type, std::move(all));
  }

  /// What others read of the members; whether they read any.
  bool writeSlices(const Stack &stack, unsigned place, ValueId stacked) {
    bool any = false;
    for (auto [number, member] : llvm::enumerate(stack.members)) {
      ValueId old = out.old.resultsOf(member[place])[0];
      if (!llvm::is_contained(finder.outputsOf(member), old))
        continue;
      any = true;
      Definition slice;
      slice.parallel = std::get<Definition>(out.old.nodes[member[place]]).parallel;
      llvm::SmallVector<Index> indices;
      for (unsigned k = 0; k < slice.parallel.size(); ++k)
        indices.push_back(Index::iterator(k));
      indices[stack.dimension] = indices[stack.dimension] + beginOf(stack, number);
      slice.bodies.push_back(Expr::read(stacked, out.old.value(old).type, indices));
      out.define(member[place], std::move(slice));
      out.keepFacts(member[place]);
    }
    return any;
  }

  void setOrigins(const Stack &stack, unsigned place) {
    std::vector<std::string> origins;
    for (const Chain &member : stack.members)
      for (const std::string &origin : out.old.origins[member[place]])
        if (!llvm::is_contained(origins, origin))
          origins.push_back(origin);
    out.fresh.currentOrigin = origins;
  }

  simplify::Rebuilder out;
  const ChainFinder &finder;
};

/// Which stacks are quicker than what they are made of.
class StackPricer {
public:
  StackPricer(const Program &program, const std::vector<bool> &constant, const ChainFinder &finder,
              const StackOptions &options)
      : program(program), constant(constant), finder(finder), options(options),
        prices(options.schedule), known(options.fuel) {}

  std::vector<const Stack *> choose(llvm::ArrayRef<const Stack *> stacks, const Stacker &stacked) {
    std::vector<const Stack *> chosen;
    for (auto [stack, group] : llvm::zip_equal(stacks, stacked.groups)) {
      std::string key = loops::keyOf(stacked.fresh, group).text;
      const std::optional<Priced> &priced = known.at(
          key, [&, stack = stack, &group = group] { return price(*stack, stacked.fresh, group); });
      if (!priced)
        continue;
      if (priced->pays)
        chosen.push_back(stack);
      explain(*stack, *priced);
    }
    known.tell(options.log, "derive", "products of one value with constants");
    return chosen;
  }

private:
  struct Priced {
    bool pays = false;
    double apart = 0, stacked = 0;
  };

  Priced price(const Stack &stack, const Program &fresh, const loops::Group &group) {
    search::PriceList::Kernel together = prices.kernelOf(
        fresh, search::kernelGroup(fresh, te::constantNodes(fresh), group.nodes, group.outputs));
    if (!together)
      return {};
    std::vector<search::PriceList::Kernel> kernels;
    for (const Chain &member : stack.members) {
      kernels.push_back(prices.kernelOf(
          program, search::kernelGroup(program, constant, member, finder.outputsOf(member))));
      if (!kernels.back())
        return {};
    }
    Priced priced;
    priced.apart = secondsApart(kernels);
    priced.stacked = cost::predictSeconds(*together, options.schedule.machine);
    priced.pays = priced.stacked <= priced.apart * (1 - options.margin);
    return priced;
  }

  /// Side by side in as few launches as may be.
  double secondsApart(llvm::ArrayRef<search::PriceList::Kernel> kernels) const {
    std::vector<llvm::SmallVector<const loops::KernelShape *>> launches;
    for (const search::PriceList::Kernel &kernel : kernels) {
      bool isShared = llvm::any_of(launches, [&](auto &launch) {
        launch.push_back(kernel.get());
        bool may = cost::mayShareLaunch(launch);
        if (!may)
          launch.pop_back();
        return may;
      });
      if (!isShared)
        launches.push_back({kernel.get()});
    }
    double seconds = 0;
    for (const auto &launch : launches)
      seconds += cost::predictTogetherSeconds(launch, options.schedule.machine);
    return seconds;
  }

  void explain(const Stack &stack, const Priced &priced) const {
    if (!options.log)
      return;
    std::string names;
    for (const Chain &member : stack.members)
      names +=
          (names.empty() ? "'" : ", '") + program.value(program.resultsOf(member[0])[0]).name + "'";
    options.log->add({"derive",
                      "values " + names,
                      priced.pays ? "stacked as one product" : "stay products of their own",
                      {"they are products of one value with constants"},
                      {{"apart", priced.apart, "s"}, {"stacked", priced.stacked, "s"}}});
  }

  const Program &program;
  const std::vector<bool> &constant;
  const ChainFinder &finder;
  const StackOptions &options;
  search::PriceList prices;
  cost::Decisions<std::optional<Priced>> known; ///< Nothing: no fuel was left for it.
};

} // namespace

Program stackProducts(const Program &program, const StackOptions &options) {
  std::vector<bool> constant = te::constantNodes(program);
  ChainFinder finder(program, constant);
  std::vector<Stack> stacks = findStacks(program, constant, finder);
  std::vector<const Stack *> all;
  for (const Stack &stack : stacks)
    all.push_back(&stack);
  if (all.empty())
    return program;
  // In the order in which they are written.
  llvm::sort(all,
             [](const Stack *a, const Stack *b) { return a->members[0][0] < b->members[0][0]; });
  Stacker everything(program, constant, finder, all);
  std::vector<const Stack *> chosen =
      StackPricer(program, constant, finder, options).choose(all, everything);
  if (chosen.empty())
    return program;
  if (chosen.size() < all.size())
    return simplify::simplify(Stacker(program, constant, finder, chosen).fresh);
  return simplify::simplify(everything.fresh);
}

const Rule mergeProductsRule = {
    .name = "merge-products",
    .equation = "p[i, j] = sum[k] x[i, k] * a[k, j], q[i, j] = sum[k] x[i, k] * b[k, j] "
                "with constants a and b => one product with [a, b].",
    .source = "TASO (Jia et al. 2019); Souffle (Xia et al. 2024), horizontal merging",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return stackProducts(program, {.schedule = context.space.schedule,
                                     .margin = context.margins.mergedProducts,
                                     .log = context.log});
    },
};

} // namespace kintsugi::derive
