//===- accesses.cpp - Loads and stores --------------------------------------===//

#include "block.h"
#include "launch.h"
#include "steps.h"

#include <cstring>

namespace kintsugi::emulator {
namespace {

enum class Space : uint8_t { Generic, Global, Shared, Local };
enum Flag : uint16_t { isSignedLoad = 1, isAtomic = 2 };

/// The address as a generic one.
uint64_t genericAddress(Warp &warp, const Instruction &of, unsigned lane) {
  uint64_t address = warp.addressOf(of, lane);
  switch (Space(of.way)) {
  case Space::Shared:
    return sharedWindow | (address & ~windowMask);
  case Space::Local:
    return localWindow | (address & ~windowMask);
  default:
    return address;
  }
}

/// What others write meanwhile comes whole.
uint64_t readElement(const std::byte *from, unsigned bytes, uint16_t flags) {
  if (flags & isAtomic && bytes == 4)
    return __atomic_load_n(reinterpret_cast<const uint32_t *>(from), __ATOMIC_ACQUIRE);
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  if (flags & isSignedLoad) {
    unsigned unused = 64 - 8 * bytes;
    value = uint64_t(int64_t(value << unused) >> unused);
  }
  return value;
}

/// `bytes` of each element in memory, `fromBytes` of its register.
void loadStep(Warp &warp, const Instruction &of) {
  const uint32_t *places = warp.program.lists.data() + of.list;
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t address = genericAddress(warp, of, lane);
    const std::byte *from = warp.block.load(warp, lane, address, of.bytes * of.count);
    for (unsigned k = 0; k < of.count; ++k)
      warp.write(places[k], of.fromBytes, lane,
                 readElement(from + k * of.bytes, of.bytes, of.flags));
  });
  if (of.flags & isAtomic)
    warp.yield();
}

void storeStep(Warp &warp, const Instruction &of) {
  const uint32_t *places = warp.program.lists.data() + of.list;
  if (!warp.products.isEmpty() && of.bytes == 4)
    for (unsigned k = 0; k < of.count; ++k)
      if (PendingProducts::isMark(*warp.lanes<uint32_t>(places[k])))
        warp.fail(Fault::Failed, 0, "stores sums of a wgmma that nobody has waited for");
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t address = genericAddress(warp, of, lane);
    std::byte data[warpLanes];
    for (unsigned k = 0; k < of.count; ++k) {
      uint64_t value = warp.read(places[k], of.fromBytes, lane);
      std::memcpy(data + k * of.bytes, &value, of.bytes);
    }
    warp.block.store(warp, lane, address, data, of.bytes * of.count);
  });
}

void loadParameterStep(Warp &warp, const Instruction &of) {
  const uint32_t *places = warp.program.lists.data() + of.list;
  const std::byte *from = warp.block.cluster.launch.parameters.data() + of.number;
  for (unsigned k = 0; k < of.count; ++k) {
    uint64_t value = readElement(from + k * of.bytes, of.bytes, of.flags);
    forLanes(warp.mask, [&](unsigned lane) { warp.write(places[k], of.fromBytes, lane, value); });
  }
}

Space spaceOf(const Suffixes &suffixes) {
  if (suffixes.has("global") || suffixes.has("const"))
    return Space::Global;
  if (suffixes.has("shared") || suffixes.has("shared::cta") || suffixes.has("shared::cluster"))
    return Space::Shared;
  return suffixes.has("local") ? Space::Local : Space::Generic;
}

std::vector<Operand> partsOf(const Operand &operand) {
  return operand.kind == Operand::Kind::Vector ? operand.parts : std::vector<Operand>{operand};
}

void decodeLoad(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  Type type = suffixes.type();
  to.bytes = uint8_t(bytesOf(type));
  to.way = uint8_t(spaceOf(suffixes));
  bool orders = suffixes.has("acquire") || suffixes.has("volatile") || suffixes.has("relaxed");
  to.flags = uint16_t((isSigned(type) ? isSignedLoad : 0) | (orders ? isAtomic : 0));
  std::vector<uint32_t> places;
  for (const Operand &part : partsOf(decoder.operand(0)))
    places.push_back(decoder.result(part, &to.fromBytes));
  decoder.list(places, to);
  uint32_t parameter = 0;
  if (suffixes.has("param") && decoder.isParameter(decoder.operand(1), parameter)) {
    to.number = parameter + uint64_t(decoder.operand(1).offset);
    if (to.number + size_t(to.bytes) * to.count > decoder.program.parameterBytes)
      decoder.fail("reads past the end of the parameters");
    to.step = &loadParameterStep;
    return;
  }
  decoder.address(decoder.operand(1), to);
  if (to.fromBytes >= to.bytes)
    to.step = &loadStep;
}

void decodeStore(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  to.bytes = uint8_t(bytesOf(suffixes.type()));
  to.way = uint8_t(spaceOf(suffixes));
  decoder.address(decoder.operand(0), to);
  std::vector<Operand> parts = partsOf(decoder.operand(1));
  for (const Operand &part : parts)
    to.fromBytes = std::max(to.fromBytes, decoder.widthOf(part));
  if (to.fromBytes == 0)
    to.fromBytes = std::max<uint8_t>(2, to.bytes);
  std::vector<uint32_t> places;
  for (const Operand &part : parts)
    places.push_back(decoder.value(part, to.fromBytes));
  decoder.list(places, to);
  to.step = &storeStep;
}

void nothingStep(Warp &, const Instruction &) {}

void decodePrefetch(Decoder &, Instruction &to) { to.step = &nothingStep; }

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

enum class Change : uint8_t { add, min, max, bitAnd, bitOr, bitXor, exchange, compare, inc, dec };

constexpr std::pair<std::string_view, Change> changes[] = {
    {"add", Change::add},       {"min", Change::min},     {"max", Change::max},
    {"and", Change::bitAnd},    {"or", Change::bitOr},    {"xor", Change::bitXor},
    {"exch", Change::exchange}, {"cas", Change::compare}, {"inc", Change::inc},
    {"dec", Change::dec}};

template <typename T> T changed(Change change, T old, T operand, T wanted) {
  switch (change) {
  case Change::add:
    return T(old + operand);
  case Change::min:
    return std::min(old, operand);
  case Change::max:
    return std::max(old, operand);
  case Change::exchange:
    return operand;
  case Change::compare:
    return old == operand ? wanted : old;
  case Change::inc:
    return old >= operand ? T(0) : T(old + 1);
  case Change::dec:
    return old == 0 || old > operand ? operand : T(old - 1);
  default:
    if constexpr (std::is_integral_v<T>)
      return change == Change::bitAnd  ? old & operand
             : change == Change::bitOr ? old | operand
                                       : old ^ operand;
    return old;
  }
}

template <typename T> using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> void changeStep(Warp &warp, const Instruction &of) {
  using Bits = BitsOf<T>;
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t address = genericAddress(warp, of, lane);
    auto *place = reinterpret_cast<Bits *>(warp.block.change(warp, lane, address, sizeof(T)));
    Bits old = __atomic_load_n(place, __ATOMIC_ACQUIRE), desired;
    do
      desired =
          std::bit_cast<Bits>(changed<T>(Change(of.fromBytes), std::bit_cast<T>(old),
                                         warp.lanes<T>(of.a)[lane], warp.lanes<T>(of.b)[lane]));
    while (!__atomic_compare_exchange_n(place, &old, desired, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    warp.write(of.to, sizeof(T), lane, old);
  });
}

void decodeChange(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  Type type = suffixes.type();
  unsigned bytes = bytesOf(type);
  bool gives = suffixes.head == "atom";
  to.way = uint8_t(spaceOf(suffixes));
  to.to = gives ? decoder.result(0) : noRegister;
  decoder.address(decoder.operand(gives), to);
  to.a = decoder.value(gives + 1u, bytes);
  auto change = std::find_if(std::begin(changes), std::end(changes),
                             [&](const auto &each) { return suffixes.has(each.first); });
  if (change == std::end(changes))
    return;
  to.fromBytes = uint8_t(change->second);
  if (change->second == Change::compare)
    to.b = decoder.value(gives + 2u, bytes);
  switch (type) {
  case Type::U32:
    to.step = &changeStep<uint32_t>;
    break;
  case Type::S32:
    to.step = &changeStep<int32_t>;
    break;
  case Type::U64:
    to.step = &changeStep<uint64_t>;
    break;
  case Type::S64:
    to.step = &changeStep<int64_t>;
    break;
  case Type::F32:
    to.step = &changeStep<float>;
    break;
  case Type::F64:
    to.step = &changeStep<double>;
    break;
  default:
    break;
  }
}

} // namespace

void addMemory(DecodeTable &table) {
  table["ld"] = table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
  table["prefetch"] = table["prefetchu"] = decodePrefetch;
}

void addAtomics(DecodeTable &table) { table["atom"] = table["red"] = decodeChange; }

} // namespace kintsugi::emulator
