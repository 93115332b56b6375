#include "space/space_text.h"

#include "te/parse_tokens.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace kintsugi::space {

using namespace te;

//===- Printing -------------------------------------------------------------===//

template <typename List, typename Spell> static std::string listed(const List &list, Spell spell) {
  std::string text;
  for (const auto &element : list)
    text += (text.empty() ? "" : ", ") + spell(element);
  return "[" + text + "]";
}

/// What its cost follows from.
static std::string costText(const KernelShape &kernel) {
  auto where = [](const char *word, double number) {
    return number > 0 ? word + spellReal(number) : std::string();
  };
  const loops::Schedule &schedule = kernel.schedule;
  return " reads " + spellReal(schedule.bytesRead) + where(" cold ", schedule.bytesCold) +
         " writes " + spellReal(schedule.bytesWritten) +
         where(" exchanges ", schedule.bytesExchanged) + " compute " +
         spellReal(kernel.computeSeconds);
}

static std::string measuredText(const KernelShape &kernel) {
  if (kernel.measuredSeconds > 0)
    return " measured " + spellReal(kernel.measuredSeconds);
  return kernel.bias == 1 ? "" : " biased " + spellReal(kernel.bias);
}

static std::string kernelText(const KernelShape &kernel) {
  const loops::Schedule &schedule = kernel.schedule;
  return "key " + quote(kernel.key.hash().str()) + " tiles " +
         listed(schedule.space,
                [](const loops::TileDimension &d) {
                  return std::to_string(d.size) + " of " + std::to_string(d.extent);
                }) +
         " scratch " + std::to_string(schedule.scratchBytes) + " operations " +
         spellReal(schedule.operations) + " vectorized " + spellReal(schedule.vectorShare) +
         costText(kernel) +
         (kernel.untuned ? " tuned " + spellReal(kernel.gain) + " of" + costText(*kernel.untuned)
                         : "") +
         measuredText(kernel) + "\n";
}

std::string Space::print() const {
  std::string text = "space scheduled " + std::to_string(scheduled) +
                     (outOfFuel ? " fuel spent\n" : " fuel left\n");
  std::map<const KernelShape *, size_t> numbers;
  for (const Candidate &candidate : candidates)
    if (auto [entry, fresh] = numbers.try_emplace(candidate.kernel.get(), numbers.size()); fresh)
      text += "kernel " + std::to_string(entry->second) + " " + kernelText(*candidate.kernel);
  auto name = [&](ValueId id) { return quote(program->value(id).name); };
  for (auto [number, candidate] : llvm::enumerate(candidates))
    text += "candidate " + std::to_string(number) + " kernel " +
            std::to_string(numbers[candidate.kernel.get()]) + " covers " +
            listed(candidate.group.nodes, [](uint32_t node) { return std::to_string(node); }) +
            " stores " + listed(candidate.group.outputs, name) + " operands " +
            listed(candidate.operands, name) + "\n";
  return text;
}

//===- Parsing --------------------------------------------------------------===//

namespace {

class SpaceParser {
public:
  SpaceParser(llvm::StringRef text, llvm::StringRef file, const Program &program)
      : lexer(text, file), program(program) {
    for (uint32_t number = 0; number < program.numValues(); ++number)
      values[program.values[number].name] = {number};
  }

  Expected<Space> parse() {
    space.program = &program;
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "space"));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "scheduled"));
    KINTSUGI_ASSIGN(space.scheduled, expectInteger(lexer, "a count of groups", 0, UINT32_MAX));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "fuel"));
    space.outOfFuel = acceptWord(lexer, "spent");
    if (!space.outOfFuel)
      KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "left"));
    while (acceptWord(lexer, "kernel"))
      KINTSUGI_RETURN_IF_ERROR(kernel());
    while (acceptWord(lexer, "candidate"))
      KINTSUGI_RETURN_IF_ERROR(candidate());
    if (lexer.peek().kind != TokenKind::End)
      return unexpected(lexer, lexer.peek(), "a candidate or the end of the space");
    return std::move(space);
  }

private:
  /// A kernel of the text, whose group is known once a candidate uses it.
  struct Kernel {
    Hash128 hash;
    std::shared_ptr<KernelShape> shape;
  };

  Status clause(llvm::StringRef word, double &number) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, word));
    KINTSUGI_ASSIGN(number, expectReal(lexer, "a number after '" + word.str() + "'"));
    return Status::success();
  }

  Status kernel() {
    KINTSUGI_RETURN_IF_ERROR(numbered("the number of the next kernel", kernels.size()));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "key"));
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(std::string key, expectQuoted(lexer, "the kernel's key in quotes"));
    std::optional<Hash128> hash = Hash128::parse(key);
    if (!hash)
      return lexer.errorAt(offset, "the key is not 32 hexadecimal digits");
    auto shape = std::make_shared<KernelShape>();
    loops::Schedule &schedule = shape->schedule;
    KINTSUGI_RETURN_IF_ERROR(tiles(schedule));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "scratch"));
    KINTSUGI_ASSIGN(schedule.scratchBytes, expectInteger(lexer, "bytes", 0, INT64_MAX));
    KINTSUGI_RETURN_IF_ERROR(clause("operations", schedule.operations));
    KINTSUGI_RETURN_IF_ERROR(clause("vectorized", schedule.vectorShare));
    KINTSUGI_RETURN_IF_ERROR(costs(*shape));
    if (acceptWord(lexer, "tuned"))
      KINTSUGI_RETURN_IF_ERROR(tuned(*shape));
    for (auto [word, number] :
         {std::pair("measured", &shape->measuredSeconds), std::pair("biased", &shape->bias)})
      if (acceptWord(lexer, word)) {
        KINTSUGI_ASSIGN(*number, expectReal(lexer, "a number after '" + std::string(word) + "'"));
      }
    kernels.push_back({*hash, std::move(shape)});
    return Status::success();
  }

  Status costs(KernelShape &shape) {
    auto where = [&](const char *word, double &number) -> Status {
      if (acceptWord(lexer, word)) {
        KINTSUGI_ASSIGN(number, expectReal(lexer, "a number after '" + std::string(word) + "'"));
      }
      return Status::success();
    };
    KINTSUGI_RETURN_IF_ERROR(clause("reads", shape.schedule.bytesRead));
    KINTSUGI_RETURN_IF_ERROR(where("cold", shape.schedule.bytesCold));
    KINTSUGI_RETURN_IF_ERROR(clause("writes", shape.schedule.bytesWritten));
    KINTSUGI_RETURN_IF_ERROR(where("exchanges", shape.schedule.bytesExchanged));
    return clause("compute", shape.computeSeconds);
  }

  Status tuned(KernelShape &shape) {
    KINTSUGI_ASSIGN(shape.gain, expectReal(lexer, "a number after 'tuned'"));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "of"));
    auto untuned = std::make_shared<KernelShape>();
    KINTSUGI_RETURN_IF_ERROR(costs(*untuned));
    shape.untuned = std::move(untuned);
    return Status::success();
  }

  Status tiles(loops::Schedule &schedule) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "tiles"));
    return expectList(lexer, [&]() -> Status {
      KINTSUGI_ASSIGN(int64_t size, expectInteger(lexer, "a tile's size", 1, maxIndexNumber));
      KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "of"));
      KINTSUGI_ASSIGN(int64_t extent, expectInteger(lexer, "an extent of at least the tile's size",
                                                    size, maxIndexNumber));
      schedule.space.push_back({extent, size});
      return Status::success();
    });
  }

  Status numbered(llvm::StringRef what, size_t next) {
    KINTSUGI_ASSIGN([[maybe_unused]] int64_t number, expectInteger(lexer, what, next, next));
    return Status::success();
  }

  Status candidate() {
    KINTSUGI_RETURN_IF_ERROR(numbered("the number of the next candidate", space.candidates.size()));
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "kernel"));
    size_t offset = lexer.peek().offset;
    if (kernels.empty())
      return lexer.errorAt(offset, "the space has no kernels");
    KINTSUGI_ASSIGN(int64_t number,
                    expectInteger(lexer, "a kernel's number", 0, kernels.size() - 1));
    Candidate candidate;
    KINTSUGI_RETURN_IF_ERROR(covers(candidate.group));
    KINTSUGI_RETURN_IF_ERROR(stores(candidate.group));
    GroupKey key = keyOf(program, candidate.group);
    if (key.hash() != kernels[number].hash)
      return lexer.errorAt(offset, "the kernel's key is not that of this candidate's group, \"" +
                                       key.hash().str() + "\"");
    KINTSUGI_RETURN_IF_ERROR(operands(candidate, key));
    candidate.kernel = kernels[number].shape;
    // The first candidate of a kernel is the one that it was scheduled for.
    if (kernels[number].shape->key.text.empty())
      kernels[number].shape->key = std::move(key);
    space.candidates.push_back(std::move(candidate));
    return Status::success();
  }

  Status covers(loops::Group &group) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "covers"));
    size_t offset = lexer.peek().offset;
    if (program.nodes.empty())
      return lexer.errorAt(offset, "the program has no definitions");
    KINTSUGI_RETURN_IF_ERROR(expectList(lexer, [&]() -> Status {
      size_t place = lexer.peek().offset;
      KINTSUGI_ASSIGN(int64_t node,
                      expectInteger(lexer, "a definition's number", 0, program.nodes.size() - 1));
      if (!std::holds_alternative<Definition>(program.nodes[node]))
        return lexer.errorAt(place, "node " + std::to_string(node) + " is no definition");
      if (!group.nodes.empty() && group.nodes.back() >= node)
        return lexer.errorAt(place, "definitions stand in ascending order, each once");
      group.nodes.push_back(node);
      return Status::success();
    }));
    if (group.nodes.empty())
      return lexer.errorAt(offset, "a candidate covers at least one definition");
    return Status::success();
  }

  Expected<ValueId> valueNamed() {
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(std::string name, expectQuoted(lexer, "a value's name in quotes"));
    auto found = values.find(name);
    if (found == values.end())
      return lexer.errorAt(offset, "the program has no value '" + name + "'");
    return found->second;
  }

  Status stores(loops::Group &group) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "stores"));
    return expectList(lexer, [&]() -> Status {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(ValueId id, valueNamed());
      const Value &value = program.value(id);
      if (value.kind != ValueKind::Result || !llvm::is_contained(group.nodes, value.node))
        return lexer.errorAt(offset, "'" + value.name + "' is not what the candidate computes");
      if (llvm::is_contained(group.outputs, id))
        return lexer.errorAt(offset, "'" + value.name + "' is stored twice");
      group.outputs.push_back(id);
      return Status::success();
    });
  }

  Status operands(Candidate &candidate, const GroupKey &key) {
    KINTSUGI_RETURN_IF_ERROR(expectWord(lexer, "operands"));
    return expectList(lexer, [&]() -> Status {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(ValueId id, valueNamed());
      if (!llvm::is_contained(key.values, id))
        return lexer.errorAt(offset, "the candidate neither reads nor computes '" +
                                         program.value(id).name + "'");
      if (llvm::is_contained(candidate.operands, id))
        return lexer.errorAt(offset, "'" + program.value(id).name + "' is an operand twice");
      candidate.operands.push_back(id);
      return Status::success();
    });
  }

  Lexer lexer;
  const Program &program;
  llvm::StringMap<ValueId> values; ///< By name.
  std::vector<Kernel> kernels;
  Space space;
};

} // namespace

Expected<Space> parseSpace(llvm::StringRef text, llvm::StringRef file, const Program &program) {
  return SpaceParser(text, file, program).parse();
}

} // namespace kintsugi::space
