#include "simplify/rebuild.h"

#include "te/rename.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {

using namespace te;

static constexpr ValueId absent{};

Rebuilder::Rebuilder(const Program &old) : old(old), table(old.numValues(), absent) {
  fresh.name = old.name;
  for (ValueId input : old.inputs) {
    const Value &value = old.value(input);
    bind(input, fresh.addInput(value.name, value.type, value.shape));
    fresh.value((*this)[input]).facts = value.facts;
  }
}

ValueId Rebuilder::operator[](ValueId id) {
  const Value &value = old.value(id);
  if (table[id.number] == absent) {
    assert(value.kind == ValueKind::Constant && "a value is used before it was rebuilt");
    bind(id, fresh.addConstant(value.name, value.type, value.shape, value.constant));
    fresh.value(table[id.number]).facts = value.facts;
  }
  return table[id.number];
}

Expr Rebuilder::rename(const Expr &expr) {
  return renameReads(expr, [&](ValueId id) { return (*this)[id]; });
}

void Rebuilder::copyNode(uint32_t node, std::shared_ptr<const Program> body) {
  Node copy = renamedNode(old.nodes[node], [&](ValueId id) { return (*this)[id]; });
  if (body)
    std::get<Scan>(copy).body = std::move(body);
  add(node, std::move(copy));
}

void Rebuilder::add(uint32_t node, Node copy) {
  fresh.currentOrigin = old.origins[node];
  for (auto [before, after] :
       llvm::zip(old.resultsOf(node), addInPlaceOf(old, node, std::move(copy), fresh)))
    bind(before, after);
}

void Rebuilder::define(uint32_t node, Definition definition) { add(node, std::move(definition)); }

ValueId Rebuilder::defineFrom(ValueId source, ElementType type, llvm::StringRef suffix,
                              llvm::function_ref<Expr(const Expr &)> body) {
  llvm::SmallVector<Interval> box;
  for (Extent extent : fresh.shape(source))
    box.push_back(Interval::of(extent));
  return defineFromBox(source, box, type, suffix, body);
}

ValueId Rebuilder::defineFromBox(ValueId source, llvm::ArrayRef<Interval> box, ElementType type,
                                 llvm::StringRef suffix,
                                 llvm::function_ref<Expr(const Expr &)> body) {
  Definition definition;
  llvm::SmallVector<Index> indices;
  for (auto [k, range] : llvm::enumerate(box)) {
    definition.parallel.push_back({"i" + std::to_string(k), Extent(range.size())});
    indices.push_back(Index::iterator(k) + Index(range.low));
  }
  definition.bodies.push_back(body(Expr::read(source, fresh.value(source).type, indices)));
  return fresh.define(fresh.value(source).name + suffix.str(), type, std::move(definition));
}

void Rebuilder::copy(uint32_t node) {
  if (const auto *definition = std::get_if<Definition>(&old.nodes[node]))
    return copyAs(node, *definition);
  copyNode(node);
  keepFacts(node);
}

void Rebuilder::copyAs(uint32_t node, Definition definition) {
  definition.results.clear();
  for (Expr &body : definition.bodies)
    body = rename(body);
  define(node, std::move(definition));
  keepFacts(node);
}

void Rebuilder::keepFacts(uint32_t node) {
  for (ValueId id : old.resultsOf(node))
    fresh.value((*this)[id]).facts = old.value(id).facts;
  keepOriginals(node);
}

void Rebuilder::keepOriginals(uint32_t node) {
  for (ValueId id : old.resultsOf(node)) {
    if (table[id.number] == absent)
      continue; // Nothing stands for what nothing reads.
    Value &equal = fresh.value((*this)[id]);
    if (equal.type == old.value(id).type && equal.shape == old.value(id).shape && !equal.original)
      equal.original = old.value(id).original;
  }
}

Program Rebuilder::finish() {
  for (const Program::Output &output : old.outputs)
    fresh.addOutput(output.name, (*this)[output.value]);
  return std::move(fresh);
}

Program withoutUnneeded(const Program &program) {
  Rebuilder out(program);
  std::vector<bool> needed = neededNodes(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (needed[node])
      out.copy(node);
  return out.finish();
}

} // namespace kintsugi::simplify
