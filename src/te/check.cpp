#include "te/check.h"

#include "base/fill_numbers.h"
#include "te/count.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

/// "check: index in -3..3 of embed, value ids".
static constexpr llvm::StringLiteral prefix = "check: ", range = " in ", dots = "..", of = " of ",
                                     tensor = ", value ";

std::string Check::message() const {
  return "its " + what + " {} is outside of " + std::to_string(low) + " to " +
         std::to_string(high - 1);
}

Error Check::error(int64_t element) const {
  Error error = inputError(fillNumbers(message(), {&element, 1}));
  return node.empty() ? error : at("node '" + node + "'", std::move(error));
}

static bool isOfModel(const Program::Output &output) {
  return !checkOf(output) && !countOf(output);
}

bool isReservedName(llvm::StringRef name) { return !isOfModel({name.str(), {}}); }

std::optional<Check> checkOf(const Program::Output &output) {
  llvm::StringRef rest = output.name;
  if (!rest.consume_front(prefix))
    return std::nullopt;
  Check check;
  auto take = [&](llvm::StringRef end) {
    auto [taken, after] = rest.split(end);
    rest = after;
    return taken;
  };
  check.what = take(range);
  if (take(dots).getAsInteger(10, check.low) || take(of).getAsInteger(10, check.high))
    return std::nullopt;
  check.node = rest.substr(0, rest.rfind(tensor));
  return check;
}

void addCheck(Program &program, ValueId value, const Check &check) {
  assert(check.contains(0) && isInteger(program.value(value).type));
  bool isThere = llvm::any_of(program.outputs, [&](const Program::Output &output) {
    std::optional<Check> other = checkOf(output);
    return other && output.value == value && other->low == check.low && other->high == check.high;
  });
  if (isThere)
    return;
  // The value's name, and the range, make it the only one.
  program.addOutput(prefix.str() + check.what + range.str() + std::to_string(check.low) +
                        dots.str() + std::to_string(check.high) + of.str() + check.node +
                        tensor.str() + program.value(value).name,
                    value);
}

std::optional<int64_t> findOutside(const Check &check, int64_t count,
                                   llvm::function_ref<int64_t(int64_t)> element) {
  for (int64_t k = 0; k < count; ++k)
    if (int64_t value = element(k); !check.contains(value))
      return value;
  return std::nullopt;
}

std::vector<Program::Output> checkOutputs(const Program &program) {
  std::vector<Program::Output> outputs;
  llvm::copy_if(program.outputs, std::back_inserter(outputs),
                [](const Program::Output &output) { return checkOf(output).has_value(); });
  return outputs;
}

std::vector<Program::Output> modelOutputs(const Program &program) {
  std::vector<Program::Output> outputs;
  llvm::copy_if(program.outputs, std::back_inserter(outputs), isOfModel);
  return outputs;
}

} // namespace kintsugi::te
