//===- einsum.cpp - Sums of products by names of dimensions ------------------===//
//
// Operands are multiplied in order, two at a time. A dimension is summed as soon as neither the
// result nor a later operand has its name, so that three operands cost two products.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace kintsugi::import {
namespace {

using te::Combiner;

/// A name for each dimension: a letter, or its place from the end of the ellipsis, below 0.
using Labels = llvm::SmallVector<int>;

struct Term {
  ValueId tensor;
  Labels labels;
};

class Einsum {
public:
  explicit Einsum(OpContext &c) : c(c) {}

  Status run() {
    KINTSUGI_RETURN_IF_ERROR(parse());
    KINTSUGI_RETURN_IF_ERROR(measure());
    Term sofar = terms[0];
    for (size_t k = 1; k + 1 < terms.size(); ++k) {
      Labels kept = laterLabels(sofar, terms[k], k + 1);
      std::string name = c.name() + ".product" + std::to_string(k);
      sofar = {product(std::move(name), {sofar, terms[k]}, kept), kept};
    }
    llvm::SmallVector<Term> last{sofar};
    if (terms.size() > 1)
      last.push_back(terms.back());
    c.output(0, product(c.name(), last, result));
    return Status::success();
  }

private:
  /// Reads the equation: the operands' names, and the result's.
  Status parse() {
    if (!c.hasAttribute("equation"))
      return c.error("attribute 'equation' is missing");
    std::string equation = c.text("equation", "");
    llvm::erase_if(equation, [](char letter) { return letter == ' '; });
    auto [left, right] = llvm::StringRef(equation).split("->");
    bool isExplicit = llvm::StringRef(equation).contains("->");
    llvm::SmallVector<llvm::StringRef> texts;
    left.split(texts, ',');
    if (texts.size() != c.numInputs())
      return c.error("its equation '" + equation + "' has " + llvm::Twine(texts.size()) +
                     " operands for " + llvm::Twine(c.numInputs()) + " inputs");
    for (auto [k, text] : llvm::enumerate(texts)) {
      if (!c.hasInput(k))
        return c.error("input " + llvm::Twine(k + 1) + " is missing");
      ValueId tensor = c.input(k);
      KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), tensor));
      int64_t dots = int64_t(c.rank(tensor)) - llvm::count_if(text, llvm::isAlpha);
      KINTSUGI_ASSIGN(Labels labels, labelsOf(text, text.contains("...") ? dots : 0));
      if (labels.size() != c.rank(tensor))
        return c.error("'" + text + "' of its equation does not fit input " + llvm::Twine(k + 1) +
                       " of shape " + shapeString(c.dims(tensor)));
      ellipsis = std::max(ellipsis, text.contains("...") ? dots : 0);
      terms.push_back({tensor, std::move(labels)});
    }
    if (!isExplicit) {
      result = impliedResult();
      return Status::success();
    }
    KINTSUGI_ASSIGN(result, labelsOf(right, right.contains("...") ? ellipsis : 0));
    return Status::success();
  }

  /// The names in a part of the equation, whose ellipsis stands for so many dimensions.
  Expected<Labels> labelsOf(llvm::StringRef text, int64_t dots) const {
    Labels labels;
    for (bool sawDots = false; !text.empty();) {
      if (text.consume_front("...")) {
        if (sawDots || dots < 0)
          return c.error("the ellipsis of its equation does not fit");
        sawDots = true;
        for (int64_t place = -dots; place < 0; ++place)
          labels.push_back(place);
      } else if (llvm::isAlpha(text.front())) {
        labels.push_back(text.front());
        text = text.drop_front();
      } else {
        return c.error("its equation has '" + text.take_front() + "', which is not a letter");
      }
    }
    return labels;
  }

  /// Without an arrow: the ellipsis, then the letters that are there once, by the alphabet.
  Labels impliedResult() const {
    std::map<int, unsigned> uses;
    for (const Term &term : terms)
      for (int label : term.labels)
        ++uses[label];
    Labels labels;
    for (auto [label, count] : uses)
      if (label < 0 || count == 1)
        labels.push_back(label);
    return labels;
  }

  /// Finds what extent each name has; one of 1 gives way to others.
  Status measure() {
    for (const Term &term : terms)
      for (auto [d, label] : llvm::enumerate(term.labels)) {
        int64_t mine = c.extent(term.tensor, d);
        int64_t &common = extents.try_emplace(label, 1).first->second;
        if (common != 1 && mine != 1 && common != mine)
          return c.error("dimensions of one name in its equation have extents " +
                         llvm::Twine(common) + " and " + llvm::Twine(mine));
        common = common == 1 ? mine : common;
      }
    for (auto label = result.begin(); label != result.end(); ++label)
      if (!extents.contains(*label) || std::find(result.begin(), label, *label) != label)
        return c.error("its equation's result has a name that no operand has, or one twice");
    if (c.type(c.input(0)) == ElementType::Bool)
      return c.error("booleans have no arithmetic");
    return Status::success();
  }

  /// The names of two terms that the result or an operand from `next` on has.
  Labels laterLabels(const Term &a, const Term &b, size_t next) const {
    auto isLater = [&](int label) {
      return llvm::is_contained(result, label) ||
             llvm::any_of(llvm::ArrayRef(terms).drop_front(next),
                          [&](const Term &term) { return llvm::is_contained(term.labels, label); });
    };
    Labels kept;
    for (const Term *term : {&a, &b})
      for (int label : term->labels)
        if (isLater(label) && !llvm::is_contained(kept, label))
          kept.push_back(label);
    return kept;
  }

  /// The product of factors, with dimensions of these names; all others are summed.
  ValueId product(std::string name, llvm::ArrayRef<Term> factors, const Labels &kept) {
    Labels summed;
    for (const Term &factor : factors)
      for (int label : factor.labels)
        if (!llvm::is_contained(kept, label) && !llvm::is_contained(summed, label))
          summed.push_back(label);
    ElementType type = c.type(factors[0].tensor), wide = accumulatorFor(type);
    auto body = [&](Indices i, Indices r) {
      std::optional<Expr> value;
      for (const Term &factor : factors) {
        Expr element = Expr::cast(wide, c.read(factor.tensor, place(factor, kept, summed, i, r)));
        value = value ? *value * element : element;
      }
      return *value;
    };
    if (summed.empty())
      return c.define(std::move(name), shapeOf(kept),
                      [&](Indices i) { return Expr::cast(type, body(i, {})); });
    return c.reduce(std::move(name), type, shapeOf(kept), Combiner::Sum, shapeOf(summed), body);
  }

  /// Where a factor's element is, for coordinates of the kept and the summed names.
  llvm::SmallVector<Index> place(const Term &factor, const Labels &kept, const Labels &summed,
                                 Indices i, Indices r) const {
    llvm::SmallVector<Index> at;
    for (auto [d, label] : llvm::enumerate(factor.labels)) {
      auto found = llvm::find(kept, label);
      Index index = found != kept.end() ? i[found - kept.begin()]
                                        : r[llvm::find(summed, label) - summed.begin()];
      at.push_back(c.extent(factor.tensor, d) == 1 ? Index(0) : index);
    }
    return at;
  }

  Shape shapeOf(const Labels &labels) const {
    Shape shape;
    for (int label : labels)
      shape.push_back(extents.at(label));
    return shape;
  }

  OpContext &c;
  llvm::SmallVector<Term> terms;
  Labels result;
  int64_t ellipsis = 0; ///< How many dimensions it stands for, at most.
  std::map<int, int64_t> extents;
};

Status einsum(OpContext &c) { return Einsum(c).run(); }

} // namespace

OperatorTable einsumOperators() {
  static const Operator table[] = {
      {"Einsum", 12, 1, einsum},
  };
  return table;
}

} // namespace kintsugi::import
