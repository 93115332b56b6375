#include "simplify/store_narrow.h"

#include "simplify/read_boxes.h"
#include "simplify/rebuild.h"
#include "simplify/storage.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::simplify {

using namespace te;

namespace {

class Storing {
public:
  Storing(const Program &program, ElementType narrow, llvm::ArrayRef<Magnitude> inputs,
          const Tried &tried, bool isScanBody, explain::Log *log)
      : out(program), narrow(narrow), choice(program, narrow, inputs, tried, isScanBody),
        boxes(program), copies(program.numValues()), readAsF32(program.numValues()), log(log) {}

  Program run() {
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      if (const auto *definition = std::get_if<Definition>(&out.old.nodes[node]))
        store(node, *definition);
      else if (const auto *scan = std::get_if<Scan>(&out.old.nodes[node]))
        storeScan(node, *scan);
      else
        out.copyNode(node);
    }
    tell();
    return out.finish();
  }

private:
  void store(uint32_t node, const Definition &old) {
    Definition definition = old;
    definition.results.clear();
    llvm::SmallVector<Expr, 2> factors = bareFactorsOf(old);
    if (const Expr *read = copiedReadOf(old); read && choice.of(old.results[0]).narrow)
      factors.push_back(*read);
    ValueId first = old.results[0];
    int exponent = choice.scales().ofSum(first);
    for (Expr &body : definition.bodies)
      body = widened(node, divided(node, body, exponent, factors), factors);
    out.fresh.currentOrigin = out.old.origins[node];
    llvm::SmallVector<std::string> names;
    llvm::SmallVector<ElementType> types;
    for (ValueId result : old.results) {
      names.push_back(out.old.value(result).name);
      types.push_back(choice.of(result).narrow ? narrow : out.old.value(result).type);
    }
    if (choice.scales().of(first) != exponent)
      return storeApart(first, std::move(definition), exponent);
    // A reduction is rounded to its result's type when it is complete.
    if (!definition.reduction && choice.of(old.results[0]).narrow)
      definition.bodies[0] = asNarrow(definition.bodies[0]);
    for (auto [before, after] :
         llvm::zip(old.results, out.fresh.defineMany(names, types, std::move(definition))))
      out.bind(before, after);
  }

  /// A sum that is divided by 2^exponent, and after it the result that is divided by another power.
  void storeApart(ValueId old, Definition sum, int exponent) {
    const Value &value = out.old.value(old);
    ElementType type = choice.of(old).narrow ? narrow : value.type;
    Definition result;
    result.parallel = sum.parallel;
    ValueId id = out.fresh.define(value.name + ".sum", value.type, std::move(sum));
    llvm::SmallVector<Index> indices;
    for (unsigned k = 0; k < result.parallel.size(); ++k)
      indices.push_back(Index::iterator(k));
    result.bodies.push_back(
        multiplied(Expr::read(id, value.type, indices), exponent - choice.scales().of(old), type));
    out.bind(old, out.fresh.define(value.name, type, std::move(result)));
  }

  /// An element times 2^exponent, stored as a type.
  static Expr multiplied(Expr element, int exponent, ElementType type) {
    ElementType own = element.type();
    if (exponent != 0)
      element = element * Expr::literal(own, std::ldexp(1.0, exponent));
    return type == own ? element : Expr::stored(type, element);
  }

  /// A body over what is stored in place of what it reads, to be stored divided by 2^exponent.
  Expr divided(uint32_t node, const Expr &body, int exponent, llvm::ArrayRef<Expr> factors) {
    auto exponentOf = [&](const Expr &read) {
      const Scales &scales = choice.scales();
      bool isCopy = readsCopy(node, read.readValue(), isAmong(factors, read));
      return isCopy ? scales.ofFactor(read.readValue()) : scales.of(read.readValue());
    };
    bool isPlain = exponent == 0;
    body.walk([&](const Expr &e) {
      isPlain &= e.kind() != ExprKind::Read || e.type() != ElementType::F32 || exponentOf(e) == 0;
    });
    return isPlain ? body : dividedBy(exponent, body, exponentOf);
  }

  /// A body that computes in f32 whatever is stored how.
  Expr widened(uint32_t node, const Expr &body, llvm::ArrayRef<Expr> factors) {
    return rewrite(body, [&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return e;
      ValueId source = sourceOf(node, e.readValue(), isAmong(factors, e));
      ElementType stored = out.fresh.value(source).type;
      llvm::SmallVector<Index> indices(e.readIndices());
      if (copies[e.readValue().number] == source)
        for (auto [index, range] : llvm::zip_equal(indices, boxes.of(e.readValue())))
          index = index - Index(range.low);
      std::optional<Expr> fill;
      if (const Expr *old = e.readFill())
        fill = stored == e.type() ? *old : *sameLiteral(*old, stored);
      return Expr::cast(e.type(), Expr::read(source, stored, indices, std::move(fill)));
    });
  }

  static bool isAmong(llvm::ArrayRef<Expr> factors, const Expr &read) {
    return llvm::any_of(factors,
                        [&](const Expr &factor) { return factor.readValue() == read.readValue(); });
  }

  bool readsCopy(uint32_t node, ValueId id, bool isFactor) {
    bool isConstant = out.old.value(id).kind == ValueKind::Constant;
    bool wouldRead =
        choice.of(id).copied && !choice.isConstantNode(node) && (isConstant || isFactor);
    readAsF32[id.number] = readAsF32[id.number] || (wouldRead && choice.isKept(node));
    return wouldRead && !choice.isKept(node);
  }

  /// What a node of the main program reads in place of an old value.
  ValueId sourceOf(uint32_t node, ValueId id, bool isFactor) {
    return readsCopy(node, id, isFactor) ? copyOf(node, id) : out[id];
  }

  ValueId copyOf(uint32_t node, ValueId id) {
    if (copies[id.number])
      return *copies[id.number];
    out.fresh.currentOrigin = out.old.origins[node];
    int exponent = choice.scales().of(id) - choice.scales().ofFactor(id);
    copies[id.number] =
        out.defineFromBox(out[id], boxes.of(id), narrow, "." + std::string(nameOf(narrow)),
                          [&](const Expr &read) { return multiplied(read, exponent, narrow); });
    return *copies[id.number];
  }

  /// What only moves elements that are narrow already moves them as they are.
  std::optional<Expr> moved(const Expr &expr) {
    if (expr.type() == narrow)
      return expr;
    if (expr.kind() == ExprKind::Cast && expr.operand(0).type() == narrow)
      return expr.operand(0);
    if (expr.kind() != ExprKind::Select)
      return sameLiteral(expr, narrow);
    std::optional<Expr> onTrue = moved(expr.operand(1)), onFalse = moved(expr.operand(2));
    if (!onTrue || !onFalse)
      return std::nullopt;
    return Expr::select(expr.operand(0), *onTrue, *onFalse);
  }

  Expr asNarrow(const Expr &body) {
    std::optional<Expr> same = moved(body);
    return same ? *same : Expr::stored(narrow, body);
  }

  /// What a scan carries keeps its type; its body reads what it captures as that is stored.
  void storeScan(uint32_t node, const Scan &scan) {
    if (choice.isKept(node))
      return out.copyNode(node);
    Program body = *scan.body;
    llvm::SmallVector<Magnitude> inputs(body.inputs.size());
    size_t first = 1 + scan.initial.size();
    llvm::SmallVector<std::pair<ValueId, ValueId>> originals;
    for (auto [k, id] : llvm::enumerate(scan.captured)) {
      inputs[first + k] = choice.magnitudeOf(id);
      // A body knows of no power.
      bool isDivided = choice.scales().ofFactor(id) != 0;
      ValueId source = isDivided || handsOn(scan, k) ? out[id] : sourceOf(node, id, true);
      body.value(body.inputs[first + k]).type = out.fresh.value(source).type;
      originals.push_back({id, out[id]});
      out.bind(id, source);
    }
    Program stored = Storing(body, narrow, inputs, {}, true, log).run();
    out.copyNode(node, std::make_shared<const Program>(std::move(stored)));
    for (auto [id, original] : originals)
      out.bind(id, original);
  }

  void tell() const {
    if (!log)
      return;
    for (uint32_t number = 0; number < out.old.numValues(); ++number) {
      const Value &value = out.old.values[number];
      const Storage &storage = choice.of({number});
      if (value.type != ElementType::F32)
        continue;
      std::string type(nameOf(narrow));
      std::string decision = storage.narrow   ? "stored as " + type
                             : copies[number] ? "read as " + type
                                              : "stays f32";
      std::vector<std::string> reasons;
      if (!storage.narrow && !copies[number])
        reasons.push_back(*storage.reason     ? storage.reason
                          : readAsF32[number] ? movesTooFar
                                              : "no product reads it");
      std::vector<explain::Number> numbers;
      const Scales &scales = choice.scales();
      if (int exponent = copies[number] ? scales.ofFactor({number}) : scales.of({number}))
        numbers.push_back({"divided by 2 to the power of", double(exponent), ""});
      log->add({"precision", "value '" + value.name + "'", decision, std::move(reasons),
                std::move(numbers)});
    }
  }

  Rebuilder out;
  ElementType narrow;
  StorageChoice choice;
  ReadBoxes boxes;                            ///< Copies have no more than is read.
  std::vector<std::optional<ValueId>> copies; ///< By old value.
  std::vector<bool> readAsF32;                ///< Where a copy would be read, by what is kept.
  explain::Log *log;
};

} // namespace

Program storeNarrow(const Program &program, ElementType narrow, const Tried &tried,
                    explain::Log *log) {
  llvm::SmallVector<Magnitude> inputs(program.inputs.size());
  return Storing(program, narrow, inputs, tried, false, log).run();
}

} // namespace kintsugi::simplify
