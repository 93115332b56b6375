//===- matrices.cpp - Fragments and products of a warp ----------------------===//

#include "block.h"
#include "steps.h"

#include <cstring>

namespace kintsugi::emulator {
namespace {

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Eight lines of 16 bytes, whose addresses eight lanes have.
using Tile = std::array<std::array<uint16_t, 8>, 8>;

Tile readTile(Warp &warp, const Instruction &of, unsigned number) {
  Tile tile;
  for (unsigned row = 0; row < 8; ++row) {
    unsigned lane = number * 8 + row;
    const std::byte *from =
        warp.block.loadShared(warp, lane, warp.addressOf(of, lane) & ~windowMask, 16);
    std::memcpy(tile[row].data(), from, 16);
  }
  return tile;
}

void loadMatrixStep(Warp &warp, const Instruction &of) {
  if (!warp.meets(allLanes))
    return;
  if (warp.mask != allLanes)
    warp.fail(Fault::Failed, 0, "not all lanes of the warp are here");
  const uint32_t *places = warp.program.lists.data() + of.list;
  for (unsigned number = 0; number < of.count; ++number) {
    Tile tile = readTile(warp, of, number);
    auto *to = warp.lanes<uint32_t>(places[number]);
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      unsigned row = lane / 4, column = lane % 4 * 2;
      uint16_t low = of.flags ? tile[column][row] : tile[row][column];
      uint16_t high = of.flags ? tile[column + 1][row] : tile[row][column + 1];
      to[lane] = uint32_t(high) << 16 | low;
    }
  }
}

void decodeLoadMatrix(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  const Operand &result = decoder.operand(0);
  std::vector<uint32_t> places;
  for (const Operand &part : result.parts)
    places.push_back(decoder.result(part));
  decoder.list(places, to);
  decoder.address(decoder.operand(1), to);
  to.flags = suffixes.has("trans");
  if (suffixes.has("m8n8") && suffixes.type() == Type::U16)
    to.step = &loadMatrixStep;
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

constexpr unsigned depth = 16;

float valueOf(uint16_t bits, bool isBrief) {
  return isBrief ? briefToFloat(bits) : halfToFloat(bits);
}

/// 16 rows by 16 terms, of four registers.
void readRows(Warp &warp, const uint32_t *places, bool isBrief, float (&rows)[16][depth]) {
  for (unsigned part = 0; part < 4; ++part)
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      uint32_t bits = warp.lanes<uint32_t>(places[part])[lane];
      unsigned row = lane / 4 + part % 2 * 8, term = lane % 4 * 2 + part / 2 * 8;
      rows[row][term] = valueOf(uint16_t(bits), isBrief);
      rows[row][term + 1] = valueOf(uint16_t(bits >> 16), isBrief);
    }
}

/// What the units add is exact but for one rounding.
void multiplyStep(Warp &warp, const Instruction &of) {
  if (!warp.meets(allLanes))
    return;
  if (warp.mask != allLanes)
    warp.fail(Fault::Failed, 0, "not all lanes of the warp are here");
  const uint32_t *places = warp.program.lists.data() + of.list;
  const uint32_t *results = places, *left = places + 4, *right = places + 8, *sums = places + 10;
  float rows[16][depth], columns[8][depth];
  readRows(warp, left, of.flags, rows);
  for (unsigned part = 0; part < 2; ++part)
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      uint32_t bits = warp.lanes<uint32_t>(right[part])[lane];
      unsigned column = lane / 4, term = lane % 4 * 2 + part * 8;
      columns[column][term] = valueOf(uint16_t(bits), of.flags);
      columns[column][term + 1] = valueOf(uint16_t(bits >> 16), of.flags);
    }
  float all[4][warpLanes];
  for (unsigned part = 0; part < 4; ++part)
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      unsigned row = lane / 4 + part / 2 * 8, column = lane % 4 * 2 + part % 2;
      double sum = warp.lanes<float>(sums[part])[lane];
      for (unsigned term = 0; term < depth; ++term)
        sum += double(rows[row][term]) * double(columns[column][term]);
      all[part][lane] = float(sum);
    }
  for (unsigned part = 0; part < 4; ++part)
    std::memcpy(warp.lanes<float>(results[part]), all[part], sizeof all[part]);
}

void decodeMultiply(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  std::vector<uint32_t> places;
  for (unsigned number = 0; number < 4; ++number)
    for (const Operand &part : decoder.operand(number).parts)
      places.push_back(number == 0 ? decoder.result(part) : decoder.value(part, 4));
  decoder.list(places, to);
  Type factors = suffixes.type(1);
  to.flags = factors == Type::BF16;
  if (suffixes.has("m16n8k16") && suffixes.has("row") && suffixes.has("col") &&
      (factors == Type::F16 || factors == Type::BF16) && suffixes.type() == Type::F32 &&
      places.size() == 14)
    to.step = &multiplyStep;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// A factor in shared memory, as a descriptor says.
class Described {
public:
  Described(Warp &warp, uint64_t bits, bool isTurned) : warp(warp), isTurned(isTurned) {
    start = uint32_t(bits & 0x3FFF) << 4;
    leading = uint32_t(bits >> 16 & 0x3FFF) << 4;
    stride = uint32_t(bits >> 32 & 0x3FFF) << 4;
    auto kind = unsigned(bits >> 62);
    mode = kind == 0 ? 0 : 4 - kind;
    pitch = 16u << mode;
    if (mode == 0 || (bits >> 49 & 7))
      warp.fail(Fault::Failed, 0, "the emulator doesn't know the layout of a descriptor");
  }

  /// Eight terms of a line, or eight lines of a term.
  void read(unsigned line, unsigned term, uint16_t *to) {
    uint32_t place = start;
    if (isTurned)
      place += line / (pitch / 2) * leading + line % (pitch / 2) * 2 + term / 8 * stride +
               term % 8 * pitch;
    else
      place += line / 8 * stride + line % 8 * pitch + term * 2;
    place = turned(place, mode);
    Block &block = warp.block;
    block.complain(warp, 0, block.shared.checkPlace(place, 16, 16));
    block.complain(warp, 0,
                   block.shared.readByUnits(place, 16, block.toucher(warp, 0), block.fences, 8));
    std::memcpy(to, block.shared.at(place), 16);
  }

  void readAll(unsigned lines, bool isBrief, bool negates, float *to) {
    uint16_t few[8];
    float sign = negates ? -1.0f : 1.0f;
    for (unsigned line = 0; line < lines; line += isTurned ? 8 : 1)
      for (unsigned term = 0; term < depth; term += isTurned ? 1 : 8) {
        read(line, term, few);
        for (unsigned k = 0; k < 8; ++k) {
          unsigned ofLine = isTurned ? line + k : line, ofTerm = isTurned ? term : term + k;
          to[ofTerm * lines + ofLine] = sign * valueOf(few[k], isBrief);
        }
      }
  }

  void move(unsigned lines) {
    if (isTurned) // Lines lie along memory: whole pieces of a line's pitch.
      start += lines / (pitch / 2) * leading + lines % (pitch / 2) * 2;
    else
      start += lines / 8 * stride;
  }

private:
  Warp &warp;
  bool isTurned;
  uint32_t start, leading, stride, pitch;
  unsigned mode;
};

void wideStep(Warp &warp, const Instruction &of) {
  if (!warp.meets(allLanes))
    return;
  if (warp.mask != allLanes)
    warp.fail(Fault::Failed, 0, "not all lanes of the warp are here");
  const uint32_t *places = warp.program.lists.data() + of.list;
  WideProduct product;
  product.columns = of.bytes * 8;
  product.isBrief = of.flags & 1;
  product.negatesRows = of.flags & 2;
  product.negatesColumns = of.flags & 4;
  product.rowsAreTurned = of.flags & 8;
  product.columnsAreTurned = of.flags & 16;
  product.rowsAreDescribed = of.flags & 32;
  uint32_t adds = warp.predicate(of.c);
  if (adds != 0 && adds != allLanes)
    warp.fail(Fault::Failed, 0, "only some lanes add");
  product.adds = adds;
  product.columnsAt = warp.lanes<uint64_t>(of.b)[0];
  if (product.rowsAreDescribed) {
    product.rows = warp.lanes<uint64_t>(of.a)[0];
  } else {
    for (unsigned k = of.count - 4; k < of.count; ++k) {
      const auto *from = warp.lanes<uint32_t>(places[k]);
      product.rowsOfLanes.insert(product.rowsOfLanes.end(), from, from + warpLanes);
    }
  }
  warp.products.add(warp, std::move(product), places);
}

void decodeWideMultiply(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  std::string_view shape = suffixes.rest[3];
  if (!shape.starts_with("m64n") || !shape.ends_with("k16") || suffixes.type(2) != Type::F32)
    return;
  to.bytes = uint8_t(std::strtoul(shape.data() + 4, nullptr, 10) / 8);
  std::vector<uint32_t> places;
  for (const Operand &part : decoder.operand(0).parts)
    places.push_back(decoder.result(part));
  if (places.size() != to.bytes * 4u)
    decoder.fail("has another count of results");
  bool isDescribed = decoder.operand(1).kind != Operand::Kind::Vector;
  if (isDescribed)
    to.a = decoder.value(1, 8);
  else
    for (const Operand &part : decoder.operand(1).parts)
      places.push_back(decoder.value(part, 4));
  decoder.list(places, to);
  to.b = decoder.value(2, 8);
  to.c = decoder.predicate(decoder.operand(3));
  auto number = [&](size_t at) { return int64_t(decoder.integer(decoder.operand(at))); };
  bool turnsRows = isDescribed && number(6), turnsColumns = number(isDescribed ? 7 : 6);
  to.flags = uint16_t((suffixes.type() == Type::BF16) | (number(4) < 0) << 1 |
                      (number(5) < 0) << 2 | turnsRows << 3 | turnsColumns << 4 | isDescribed << 5);
  to.step = &wideStep;
}

void wideFenceStep(Warp &warp, const Instruction &) { warp.products.fence(); }
void wideCommitStep(Warp &warp, const Instruction &) {
  if (warp.meets(allLanes))
    warp.products.commit();
}
void wideWaitStep(Warp &warp, const Instruction &of) {
  if (warp.meets(allLanes))
    warp.products.wait(warp, uint32_t(of.number));
}

void decodeWide(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (suffixes.has("mma_async")) {
    decodeWideMultiply(decoder, to);
  } else if (suffixes.has("fence")) {
    to.step = &wideFenceStep;
  } else if (suffixes.has("commit_group")) {
    to.step = &wideCommitStep;
  } else if (suffixes.has("wait_group")) {
    to.number = decoder.integer(decoder.operand(0));
    to.step = &wideWaitStep;
  }
}

} // namespace

void multiply(Warp &warp, const WideProduct &product, float *values) {
  unsigned columns = product.columns;
  float left[depth * 16];
  std::vector<float> right(size_t(depth) * columns);
  if (product.rowsAreDescribed) {
    Described rows(warp, product.rows, product.rowsAreTurned);
    rows.move(warp.number % 4 * 16);
    rows.readAll(16, product.isBrief, product.negatesRows, left);
  } else {
    for (unsigned part = 0; part < 4; ++part)
      for (unsigned lane = 0; lane < warpLanes; ++lane) {
        uint32_t bits = product.rowsOfLanes[part * warpLanes + lane];
        unsigned row = lane / 4 + part % 2 * 8, term = lane % 4 * 2 + part / 2 * 8;
        float sign = product.negatesRows ? -1.0f : 1.0f;
        left[term * 16 + row] = sign * valueOf(uint16_t(bits), product.isBrief);
        left[(term + 1) * 16 + row] = sign * valueOf(uint16_t(bits >> 16), product.isBrief);
      }
  }
  Described(warp, product.columnsAt, product.columnsAreTurned)
      .readAll(columns, product.isBrief, product.negatesColumns, right.data());
  std::vector<double> sums(columns);
  for (unsigned row = 0; row < 16; ++row) {
    auto valueAt = [&](unsigned column) -> float & {
      unsigned number = column / 8 * 4 + row / 8 * 2 + column % 2;
      return values[number * warpLanes + row % 8 * 4 + column % 8 / 2];
    };
    for (unsigned column = 0; column < columns; ++column)
      sums[column] = product.adds ? double(valueAt(column)) : 0.0;
    for (unsigned term = 0; term < depth; ++term) {
      double factor = left[term * 16 + row];
      const float *others = &right[size_t(term) * columns];
      for (unsigned column = 0; column < columns; ++column)
        sums[column] += factor * double(others[column]);
    }
    for (unsigned column = 0; column < columns; ++column)
      valueAt(column) = float(sums[column]);
  }
}

void addMatrices(DecodeTable &table) {
  table["ldmatrix"] = decodeLoadMatrix;
  table["mma"] = decodeMultiply;
  table["wgmma"] = decodeWide;
}

} // namespace kintsugi::emulator
