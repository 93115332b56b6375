#include "te/printer.h"

#include "te/constant.h"
#include "te/expr_printer.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::te {

llvm::SmallVector<std::string> printedIterators(const Definition &definition) {
  llvm::SmallVector<std::string> names;
  llvm::StringSet<> used;
  auto add = [&](const Iterator &iterator) {
    std::string name = iterator.name.empty() ? "i" : iterator.name;
    for (unsigned suffix = 1; !used.insert(name).second; ++suffix)
      name = (iterator.name.empty() ? "i" : iterator.name) + "_" + std::to_string(suffix);
    names.push_back(std::move(name));
  };
  llvm::for_each(definition.parallel, add);
  if (definition.reduction)
    llvm::for_each(definition.reduction->iterators, add);
  return names;
}

namespace {

class ProgramPrinter {
public:
  ProgramPrinter(const Program &program, unsigned depth)
      : program(program), indent(2 * depth, ' '), depth(depth) {}

  std::string print() const {
    std::string text;
    if (program.name != "model")
      text += indent + "program " + spellName(program.name) + "\n";
    for (ValueId input : program.inputs)
      text += indent + "input " + head(program.value(input)) + "\n";
    for (const Value &value : program.values)
      if (value.kind == ValueKind::Constant)
        text += indent + "const " + head(value) + " = " + contents(value) + "\n";
    for (uint32_t number = 0; number < program.nodes.size(); ++number)
      text += indent + node(number) + "\n";
    for (const Program::Output &output : program.outputs)
      text += indent + this->output(output) + "\n";
    return text;
  }

  std::string node(uint32_t number) const {
    std::string text =
        std::visit([&](const auto &n) { return statement(n); }, program.nodes[number]);
    if (program.origins[number].empty())
      return text;
    llvm::SmallVector<std::string> quoted;
    for (const std::string &origin : program.origins[number])
      quoted.push_back(quote(origin));
    return text + "  @" + llvm::join(quoted, ", ");
  }

private:
  /// name[dimensions] type facts; `iterators` name the dimensions where there are any.
  std::string head(const Value &value, llvm::ArrayRef<std::string> iterators = {}) const {
    return spellName(value.name) + dimensions(value.shape, iterators) + " " +
           std::string(nameOf(value.type)) + facts(value.facts);
  }

  static std::string dimensions(llvm::ArrayRef<Extent> extents,
                                llvm::ArrayRef<std::string> iterators) {
    std::string text = "[";
    for (auto [number, extent] : llvm::enumerate(extents)) {
      text += number ? ", " : "";
      if (number < iterators.size())
        text += spellName(iterators[number]) + ":";
      text += std::to_string(extent.constant());
    }
    return text + "]";
  }

  static std::string facts(const Facts &facts) {
    if (facts == Facts())
      return "";
    llvm::SmallVector<std::string> parts;
    auto bound = [&](const char *name, std::optional<double> value) {
      if (value)
        parts.push_back(name + spellLiteral(Expr::literal(ElementType::F64, *value)));
    };
    bound("low=", facts.low);
    bound("high=", facts.high);
    if (facts.neverNaN)
      parts.push_back("no_nan");
    if (facts.finite)
      parts.push_back("finite");
    return " facts(" + llvm::join(parts, ", ") + ")";
  }

  static std::string contents(const Value &value) {
    if (auto elements = inlined(value))
      return *elements;
    return "weights(" + quote(value.constant->identity()) + ")";
  }

  static std::optional<std::string> inlined(const Value &value) {
    auto count = elementCount(plainShape(value.shape));
    if (!hasLiterals(value.type) || !count || *count > maxInlineElements)
      return std::nullopt;
    Expected<Tensor> tensor = loadConstant(value);
    if (!tensor.ok())
      return std::nullopt;
    llvm::SmallVector<std::string> elements;
    for (int64_t i = 0; i < *count; ++i)
      elements.push_back(spellLiteral(
          isFloat(value.type) ? Expr::literal(value.type, loadDouble(tensor->view(), i))
                              : Expr::literal(value.type, loadInteger(tensor->view(), i))));
    return "[" + llvm::join(elements, ", ") + "]";
  }

  std::string statement(const Definition &definition) const {
    llvm::SmallVector<std::string> iterators = printedIterators(definition);
    std::string text = results(definition.results, iterators) + " = ";
    ExprPrinter body(program, iterators);
    if (!definition.reduction)
      return text + body.print(definition.bodies[0], program.value(definition.results[0]).type);
    const Reduction &reduction = *definition.reduction;
    Shape extents;
    for (const Iterator &iterator : reduction.iterators)
      extents.push_back(iterator.extent);
    text += std::string(nameOf(reduction.combiner)) + "<" +
            std::string(nameOf(reduction.accumulator)) + ">" +
            dimensions(extents, llvm::ArrayRef(iterators).drop_front(definition.parallel.size())) +
            " ";
    if (definition.bodies.size() == 1)
      return text + body.print(definition.bodies[0], reduction.accumulator);
    return text + "(" + body.print(definition.bodies[0], reduction.accumulator) + ", " +
           body.print(definition.bodies[1], program.value(definition.results[0]).type) + ")";
  }

  std::string statement(const Scan &scan) const {
    return results(scan.results, {}) + " = scan[" + std::to_string(scan.trip.constant()) + "]" +
           spellWhile(scan) + " carry(" + names(scan.initial) + ") capture(" +
           names(scan.captured) + ") {\n" + ProgramPrinter(*scan.body, depth + 1).print() + indent +
           "}";
  }

  std::string statement(const Call &call) const {
    std::string text = results(call.results, {}) + " = call " + spellName(call.callee) + "(" +
                       names(call.operands) + ")";
    bool none = call.attributes.is_null() || call.attributes == Json::object();
    return none ? text : text + " " + printJson(call.attributes);
  }

  std::string results(llvm::ArrayRef<ValueId> ids, llvm::ArrayRef<std::string> iterators) const {
    llvm::SmallVector<std::string> heads;
    for (ValueId id : ids)
      heads.push_back(head(program.value(id), iterators));
    std::string text = llvm::join(heads, ", ");
    return ids.size() == 1 ? text : "(" + text + ")";
  }

  std::string names(llvm::ArrayRef<ValueId> ids) const {
    llvm::SmallVector<std::string> list;
    for (ValueId id : ids)
      list.push_back(spellName(program.value(id).name));
    return llvm::join(list, ", ");
  }

  std::string output(const Program::Output &output) const {
    const std::string &value = program.value(output.value).name;
    std::string text = "output " + spellName(value);
    return output.name == value ? text : text + " as " + spellName(output.name);
  }

  const Program &program;
  std::string indent;
  unsigned depth;
};

} // namespace

std::string printProgram(const Program &program) { return ProgramPrinter(program, 0).print(); }

std::string printNode(const Program &program, uint32_t node) {
  return ProgramPrinter(program, 0).node(node);
}

} // namespace kintsugi::te
