//===- rule.h - What a derivation rule is -----------------------------------===//
//
// A rule says of some expressions that others are equal to them. It is an entry of one table
// (rules.inc): its name is the word of --disable, and docs/rules.md and the tests are made from
// what the entry says. Adding a rule takes a file that defines it, a line of rules.inc, and a case
// in test/rules.
//
// Rules are applied in the order of the table, where each says that it pays, by the price of
// kernels that share nothing, and once more whatever it costs. Then each is applied to the program,
// to what the order made of it and to what rules made of those, while fuel lasts. The solver
// chooses among the forms that a program has then, part by part (pipeline/forms).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_RULE_H
#define KINTSUGI_DERIVE_RULE_H

#include "cost/margins.h"
#include "derive/assumptions.h"
#include "derive/constant_facts.h"
#include "explain/log.h"
#include "space/space.h"

namespace kintsugi::derive {

/// How far results of a rule agree with what is written.
enum class Exactness : uint8_t {
  Bitwise,      ///< The same operations on the same numbers.
  Reassociates, ///< Equal in real numbers: sums are taken in another order, or factored.
};

/// "bitwise" or "reassociates".
const char *nameOf(Exactness exactness);

/// Rules of scans come first: they look at the products between scans as they are written. Formats
/// are chosen for what some rules make, and other rules look at values in their formats. Some
/// change so much that others would find nothing any more: what they make is a form by itself.
enum class RuleOrder : uint8_t { OfScans, BeforeFormats, AfterFormats, Alone };

/// What a rule is told.
struct RuleContext {
  space::SpaceOptions space;      ///< By which the kernels of either form are priced.
  cost::Margins margins;          ///< By how much a form has to be quicker.
  explain::Log *log = nullptr;    ///< Told of what was changed, and why; may be null.
  Assumptions *assumed = nullptr; ///< Told what facts don't prove; may be null.
  ConstantFacts *facts = nullptr; ///< Has what was found of constants; may be null.
  /// Whether values will be stored in 16 bits, which is decided of what rules make.
  bool willBeNarrow = false;
};

struct Rule {
  const char *name;     ///< The word of --disable, lower-case words with hyphens between.
  const char *equation; ///< What is equal, in a sentence or the text of expressions.
  const char *source;   ///< The work that it is from; empty where it is common knowledge.
  Exactness exactness;
  /// What is assumed to be finite where facts don't prove it, as the user is told; empty: nothing.
  const char *assumes;
  RuleOrder order;
  /// Whether it is worth looking for on such a machine; never what decides about legality.
  bool (*helps)(const machine::Machine &machine);
  /// An equal program: the same where there is nothing to change.
  Expected<te::Program> (*apply)(const te::Program &program, const RuleContext &context);
  /// The same, where what is replaced takes longer by its arithmetic alone than what comes in its
  /// place: no form needs to be without it. Null: it is never known.
  Expected<te::Program> (*applyDominant)(const te::Program &program,
                                         const RuleContext &context) = nullptr;
  /// It looks at sums of f32 values alone, so that it finds nothing once they are stored in 16
  /// bits.
  bool isOfReals = false;
  /// It leaves sums of one operator to another, and what lay between them is not computed any more:
  /// operators that are to be kept whole are not changed by it.
  bool movesAcrossOperators = false;
};

/// All, in the order in which they are applied.
llvm::ArrayRef<const Rule *> rules();

/// For Rule::helps: kernels are blocks of threads, or loops over vectors, or either.
bool runsBlocks(const machine::Machine &machine);
bool runsVectors(const machine::Machine &machine);
bool runsAnything(const machine::Machine &machine);

#define KINTSUGI_RULE(rule) extern const Rule rule;
#include "derive/rules.inc"
#undef KINTSUGI_RULE

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_RULE_H
