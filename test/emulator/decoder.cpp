#include "decoder.h"

#include "shared_memory.h"

#include <cstring>

namespace kintsugi::emulator {

Type typeOf(std::string_view suffix) {
  static const std::unordered_map<std::string_view, Type> types = {
      {"pred", Type::Pred},     {"u8", Type::U8},   {"u16", Type::U16},     {"u32", Type::U32},
      {"u64", Type::U64},       {"b8", Type::U8},   {"b16", Type::U16},     {"b32", Type::U32},
      {"b64", Type::U64},       {"s8", Type::S8},   {"s16", Type::S16},     {"s32", Type::S32},
      {"s64", Type::S64},       {"f16", Type::F16}, {"f16x2", Type::F16x2}, {"bf16", Type::BF16},
      {"bf16x2", Type::BF16x2}, {"f32", Type::F32}, {"f64", Type::F64}};
  auto found = types.find(suffix);
  return found == types.end() ? Type::None : found->second;
}

unsigned bytesOf(Type type) {
  switch (type) {
  case Type::None:
  case Type::Pred:
    return 0;
  case Type::U8:
  case Type::S8:
    return 1;
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::U64:
  case Type::S64:
  case Type::F64:
    return 8;
  default:
    return 4;
  }
}

Suffixes::Suffixes(std::string_view name) {
  size_t dot = name.find('.');
  head = name.substr(0, dot);
  while (dot != name.npos) {
    size_t next = name.find('.', dot + 1);
    rest.push_back(name.substr(dot + 1, next == name.npos ? next : next - dot - 1));
    dot = next;
  }
}

bool Suffixes::has(std::string_view suffix) const {
  return std::find(rest.begin(), rest.end(), suffix) != rest.end();
}

Type Suffixes::type(size_t fromEnd) const {
  return fromEnd < rest.size() ? typeOf(rest[rest.size() - 1 - fromEnd]) : Type::None;
}

static const DecodeTable &decodeTable() {
  static const DecodeTable all = [] {
    DecodeTable table;
    for (auto add : {addIntegers, addFloats, addMoves, addComparisons, addConversions, addMemory,
                     addAtomics, addControl, addExchanges, addMatrices, addCopies})
      add(table);
    return table;
  }();
  return all;
}

Program decode(const EntryText &entry, const ModuleText &module, const Globals &globals) {
  return Decoder(entry, module, globals).decode();
}

Decoder::Decoder(const EntryText &entry, const ModuleText &module, const Globals &globals)
    : entry(entry), module(module), globals(globals) {
  program.name = entry.name;
  program.mostThreads = entry.mostThreads;
  program.clusterWidth = entry.clusterWidth;
  program.parameters = entry.parameters;
  newPlace(8); // What is not used reads as zero.
}

void Decoder::fail(const std::string &what) const {
  std::string where = statement ? "line " + std::to_string(statement->line) + " '" +
                                      std::string(statement->name) + "': "
                                : "";
  throw Fault{Fault::InvalidText, where + what};
}

uint32_t Decoder::newPlace(unsigned bytes) {
  uint32_t place = program.registerBytes;
  program.registerBytes += bytes == 0 ? 4 : (bytes * warpLanes + 63) / 64 * 64;
  return place;
}

Program Decoder::decode() {
  placeParameters();
  placeShared();
  placeLabels();
  openScopes = {0};
  scopes.emplace_back();
  size_t seen = 0;
  for (const Statement &each : entry.body) {
    statement = &each;
    switch (each.kind) {
    case Statement::Kind::Open:
      scopes.emplace_back();
      openScopes.push_back(++seen);
      break;
    case Statement::Kind::Close:
      scopes.pop_back();
      openScopes.pop_back();
      break;
    case Statement::Kind::Registers:
      declare(each);
      break;
    case Statement::Kind::Local:
      program.localBytes = uint32_t((program.localBytes + each.variable.alignment - 1) /
                                    each.variable.alignment * each.variable.alignment);
      variables[each.variable.name] = program.localBytes;
      program.localBytes += uint32_t(each.variable.bytes);
      break;
    case Statement::Kind::Instruction:
      decodeInstruction(each);
      break;
    case Statement::Kind::Label:
    case Statement::Kind::Shared:
      break;
    }
  }
  statement = nullptr;
  program.registerBytes = (program.registerBytes + 63) / 64 * 64;
  return std::move(program);
}

void Decoder::placeParameters() {
  for (const Parameter &each : program.parameters) {
    auto alignment = uint32_t(each.alignment);
    program.parameterBytes = (program.parameterBytes + alignment - 1) / alignment * alignment;
    program.parameterPlaces.push_back(program.parameterBytes);
    program.parameterBytes += uint32_t(each.bytes);
  }
}

/// What the entry names: first what is declared with its size, then what the launch gives.
void Decoder::placeShared() {
  std::vector<const Variable *> all;
  for (const Variable &each : module.shared)
    all.push_back(&each);
  for (const Statement &each : entry.body)
    if (each.kind == Statement::Kind::Shared)
      all.push_back(&each.variable);
  std::unordered_map<std::string_view, bool> named;
  for (const Statement &each : entry.body)
    for (const Operand &operand : each.operands)
      named[operand.name] = true;
  auto place = [&](bool isOpen) {
    for (const Variable *each : all) {
      if (each->isOpen != isOpen || !named.contains(each->name))
        continue;
      auto alignment = uint32_t(each->alignment);
      uint32_t begin = (program.declaredBytes + alignment - 1) / alignment * alignment;
      variables[each->name] = SharedMemory::firstAddress + begin;
      if (isOpen) {
        program.usesOpen = true;
        program.openAlignment = std::max(program.openAlignment, alignment);
      } else {
        program.declaredBytes = begin + uint32_t(each->bytes);
      }
    }
  };
  place(false);
  place(true);
}

void Decoder::placeLabels() {
  labelsOfScopes.emplace_back();
  std::vector<size_t> open = {0};
  uint32_t place = 0;
  for (const Statement &each : entry.body) {
    if (each.kind == Statement::Kind::Open) {
      open.push_back(labelsOfScopes.size());
      labelsOfScopes.emplace_back();
    } else if (each.kind == Statement::Kind::Close) {
      open.pop_back();
    } else if (each.kind == Statement::Kind::Label) {
      labelsOfScopes[open.back()][each.name] = place;
    } else if (each.kind == Statement::Kind::Instruction) {
      ++place;
    }
  }
}

void Decoder::declare(const Statement &registers) {
  auto bytes = uint8_t(registers.bits == 1 ? 0 : std::max(2u, registers.bits / 8));
  for (auto [name, count] : registers.registers) {
    Register first{newPlace(bytes), bytes};
    for (unsigned k = 1; k < count; ++k)
      newPlace(bytes);
    if (count == 0)
      scopes.back().names[name] = first;
    else
      scopes.back().ranges[name] = {first, count};
  }
}

const Decoder::Register *Decoder::find(std::string_view name) const {
  thread_local Register found;
  size_t digits = name.find_last_not_of("0123456789") + 1;
  std::string_view prefix = name.substr(0, digits);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto exact = scope->names.find(name); exact != scope->names.end())
      return &exact->second;
    auto range = scope->ranges.find(prefix);
    if (range == scope->ranges.end() || digits == name.size())
      continue;
    auto number = uint32_t(std::strtoul(std::string(name.substr(digits)).c_str(), nullptr, 10));
    auto [first, count] = range->second;
    if (number >= count)
      continue;
    uint32_t pitch = first.bytes == 0 ? 4 : (first.bytes * warpLanes + 63) / 64 * 64;
    found = {first.place + number * pitch, first.bytes};
    return &found;
  }
  return nullptr;
}

bool Decoder::findVariable(std::string_view name, uint64_t &place) const {
  if (auto own = variables.find(name); own != variables.end()) {
    place = own->second;
    return true;
  }
  auto found = globals.find(name);
  if (found == globals.end())
    return false;
  place = found->second;
  return true;
}

bool Decoder::isParameter(const Operand &operand, uint32_t &place) const {
  for (size_t k = 0; k < program.parameters.size(); ++k)
    if (program.parameters[k].name == operand.name) {
      place = program.parameterPlaces[k];
      return true;
    }
  return false;
}

uint32_t Decoder::constant(uint64_t bits, unsigned bytes) {
  if (bytes < 8)
    bits &= (uint64_t(1) << (8 * bytes)) - 1;
  auto [entry, isNew] = constants[bytes].try_emplace(bits, 0);
  if (isNew) {
    entry->second = newPlace(bytes);
    std::vector<std::byte> all(size_t(bytes) * warpLanes);
    for (unsigned lane = 0; lane < warpLanes; ++lane)
      std::memcpy(all.data() + size_t(lane) * bytes, &bits, bytes);
    program.constants.push_back({entry->second, std::move(all)});
  }
  return entry->second;
}

const Operand &Decoder::operand(size_t number) const {
  if (!has(number))
    fail("has " + std::to_string(statement->operands.size()) + " operands");
  return statement->operands[number];
}

static uint64_t bitsOf(const Operand &number, unsigned bytes) {
  if (number.form == Operand::NumberForm::Integer)
    return number.bits;
  bool isDouble = number.form == Operand::NumberForm::Double;
  if (isDouble == (bytes == 8))
    return number.bits;
  double wide = isDouble ? std::bit_cast<double>(number.bits)
                         : double(std::bit_cast<float>(uint32_t(number.bits)));
  return bytes == 8 ? std::bit_cast<uint64_t>(wide) : std::bit_cast<uint32_t>(float(wide));
}

uint32_t Decoder::value(const Operand &from, unsigned bytes) {
  if (from.kind == Operand::Kind::Number)
    return constant(bitsOf(from, bytes), bytes);
  if (from.kind != Operand::Kind::Name)
    fail("wants a register or a number");
  if (const Register *found = find(from.name)) {
    if (found->bytes != bytes)
      fail("has a register of " + std::to_string(found->bytes) +
           " bytes: " + std::string(from.name));
    return found->place;
  }
  if (from.name == "WARP_SZ")
    return constant(warpLanes, bytes);
  uint64_t place = 0;
  if (findVariable(from.name, place))
    return constant(place, bytes);
  fail("knows no '" + std::string(from.name) + "'");
}

uint32_t Decoder::result(const Operand &to, uint8_t *bytes) {
  if (to.kind == Operand::Kind::Sink)
    return noRegister;
  const Register *found = to.kind == Operand::Kind::Name ? find(to.name) : nullptr;
  if (!found)
    fail("knows no register '" + std::string(to.name) + "'");
  if (bytes)
    *bytes = found->bytes;
  return found->place;
}

uint32_t Decoder::predicate(const Operand &from) {
  const Register *found = from.kind == Operand::Kind::Name ? find(from.name) : nullptr;
  if (!found || found->bytes != 0)
    fail("wants a predicate");
  return found->place;
}

uint8_t Decoder::widthOf(const Operand &from) {
  const Register *found = from.kind == Operand::Kind::Name ? find(from.name) : nullptr;
  return found ? found->bytes : 0;
}

void Decoder::address(const Operand &from, Instruction &instruction) {
  if (from.kind != Operand::Kind::Address)
    fail("wants an address");
  instruction.offset = from.offset;
  if (from.name.empty())
    return;
  if (const Register *found = find(from.name)) {
    instruction.base = found->place;
    instruction.baseBytes = found->bytes;
    return;
  }
  uint64_t place = 0;
  if (!findVariable(from.name, place))
    fail("knows no '" + std::string(from.name) + "'");
  instruction.offset += int64_t(place);
}

uint64_t Decoder::integer(const Operand &from) {
  if (from.kind != Operand::Kind::Number || from.form != Operand::NumberForm::Integer)
    fail("wants a number");
  return from.bits;
}

uint32_t Decoder::label(const Operand &to) const {
  for (auto scope = openScopes.rbegin(); scope != openScopes.rend(); ++scope) {
    auto found = labelsOfScopes[*scope].find(to.name);
    if (found != labelsOfScopes[*scope].end())
      return found->second;
  }
  fail("knows no label '" + std::string(to.name) + "'");
}

void Decoder::list(const std::vector<uint32_t> &places, Instruction &instruction) {
  instruction.list = uint32_t(program.lists.size());
  instruction.count = uint32_t(places.size());
  program.lists.insert(program.lists.end(), places.begin(), places.end());
}

uint16_t Decoder::nameNumber(std::string_view name) {
  auto [entry, isNew] = nameNumbers.try_emplace(name, uint16_t(program.names.size()));
  if (isNew)
    program.names.emplace_back(name);
  return entry->second;
}

void Decoder::decodeInstruction(const Statement &from) {
  Suffixes parts(from.name);
  suffixes = &parts;
  auto found = decodeTable().find(parts.head);
  if (found == decodeTable().end())
    fail("the emulator doesn't know this instruction");
  Instruction instruction;
  instruction.line = from.line;
  instruction.name = nameNumber(from.name);
  if (!from.guard.empty()) {
    Operand guard;
    guard.kind = Operand::Kind::Name;
    guard.name = from.guard;
    instruction.guard = predicate(guard);
    instruction.isGuardNegated = from.isGuardNegated;
  }
  found->second(*this, instruction);
  if (!instruction.step)
    fail("the emulator doesn't know this form of the instruction");
  program.code.push_back(instruction);
}

} // namespace kintsugi::emulator
