#include "te/count.h"

namespace kintsugi::te {

/// "count: dimension 1 of boxes".
static constexpr llvm::StringLiteral prefix = "count: dimension ", of = " of ";

void addCount(Program &program, const Count &count, ValueId extent) {
  assert(program.value(extent).type == ElementType::I64 && program.shape(extent).empty());
  program.addOutput(prefix.str() + std::to_string(count.dimension) + of.str() + count.output,
                    extent);
}

std::optional<Count> countOf(const Program::Output &output) {
  llvm::StringRef rest = output.name;
  Count count;
  if (!rest.consume_front(prefix) || rest.consumeInteger(10, count.dimension) ||
      !rest.consume_front(of))
    return std::nullopt;
  count.output = rest.str();
  return count;
}

} // namespace kintsugi::te
