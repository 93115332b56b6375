//===- ptx_test.cpp - The text of kernels for NVIDIA's devices ------------===//

#include "matrix_products.h"
#include "ptx.h"

namespace kintsugi::test {

using namespace te;
using loops::RegisterTile;

/// A product whose sums eight warps share, and what reads it back from scratch.
static ScheduleMaker twoNests() {
  ScheduleMaker maker;
  maker.schedule.threads = 256;
  unsigned a = maker.buffer(ElementType::F32, 64 * 128),
           b = maker.buffer(ElementType::F32, 128 * 48);
  unsigned y = maker.buffer(ElementType::F32, 64 * 48, true);
  unsigned t = maker.scratch(ElementType::F32, 16 * 48);
  maker.tile(64, 16);
  auto &product = maker.reduce({16, 48}, {128}, Combiner::Sum, t, it(0) * 48 + it(1),
                               maker.read(a, (it(0) + it(3)) * 128 + it(2)) *
                                   maker.read(b, it(2) * 48 + it(1)));
  product.registers = {2, 8, 1, 0, 2, 0};
  product.registers.apart = 32;
  maker.map({16, 48}, y, (it(0) + it(2)) * 48 + it(1), maker.read(t, it(0) * 48 + it(1)))
      .registers = {1, 1, 4, -1, 1, 0};
  return maker;
}

/// A product of one row with f16, whose sums all lanes of a warp share, eight terms at a time each.
static ScheduleMaker oneRow() {
  ScheduleMaker maker;
  maker.schedule.threads = 128;
  constexpr int64_t columns = 64, depth = 1000;
  unsigned a = maker.buffer(ElementType::F16, depth),
           b = maker.buffer(ElementType::F16, columns * depth);
  unsigned c = maker.buffer(ElementType::F32, columns, true);
  maker
      .reduce({columns}, {depth}, Combiner::Sum, c, it(0),
              Expr::cast(ElementType::F32, maker.read(a, it(1))) *
                  Expr::cast(ElementType::F32, maker.read(b, it(0) * depth + it(1))))
      .registers = {1, 32, 8, 0, 2, 0};
  return maker;
}

TEST(Ptx, IsOfItsArchitecture) {
  ScheduleMaker maker = twoNests();
  for (const char *level : {"sm_80", "sm_90a"}) {
    std::string text = textOf(maker.schedule, level);
    EXPECT_EQ(countOf(text, std::string(".target ") + level + "\n"), 1u);
    EXPECT_EQ(countOf(text, ".visible .entry kernel("), 1u);
    EXPECT_EQ(countOf(text, ".maxntid 256"), 1u);
    EXPECT_EQ(countOf(text, ".extern .func"), 0u); // Nothing from outside.
  }
}

TEST(Ptx, LeavesRoomForTheBlocksThatCoresHave) {
  constexpr int64_t cores = 132, block = 128;
  struct Case {
    int64_t each;
    const char *bound, *onOthers; ///< With some registers to spare where those are just enough.
  };
  for (auto [each, bound, onOthers] :
       {Case{1, "1", "1"}, {3, "3", "3"}, {40, "12", "9"}}) { // Of 40 registers each.
    ScheduleMaker maker;
    maker.schedule.threads = block;
    int64_t elements = cores * each * block;
    unsigned x = maker.buffer(ElementType::F32, elements);
    unsigned y = maker.buffer(ElementType::F32, elements, true);
    maker.tile(elements, block);
    auto &nest = maker.map({block}, y, it(0) + it(1), maker.read(x, it(0) + it(1)));
    nest.registers = {0, 1, 1, -1, 1, 0};
    for (auto [level, blocks] : {std::pair("sm_80", onOthers), {"sm_90a", bound}})
      EXPECT_EQ(
          countOf(textOf(maker.schedule, level), ".minnctapersm " + std::string(blocks) + "\n"),
          1u);
  }
  // What four warps of newer devices do takes single warps more registers than were counted.
  loops::MatrixTile tile = byFourWarps();
  ScheduleMaker maker = onMatrixUnits(ElementType::F16, false, ElementType::F16, tile);
  EXPECT_EQ(countOf(textOf(maker.schedule, "sm_80"), ".minnctapersm 1\n"), 1u);
}

TEST(Ptx, HasWaitsAndWideMoves) {
  std::string text = textOf(twoNests().schedule, "sm_80");
  EXPECT_EQ(countOf(text, "bar.sync"), 5u); // A wait for each half of eight lanes, ahead, between.
  EXPECT_GE(countOf(text, "st.global.v4.b32"), 1u);
  EXPECT_GE(countOf(text, "ld.shared.v4.b32"), 1u);
  EXPECT_GE(countOf(text, "ld.global.nc"), 1u);
  EXPECT_EQ(countOf(text, "ld.b32"), 0u); // Every move knows its memory.
}

TEST(Ptx, ReadsSharedSumsInRowsOfTerms) {
  // Three times 256 terms without a loop: a chunk of the vector and one of each of two rows.
  std::string text = textOf(oneRow().schedule, "sm_80");
  EXPECT_EQ(countOf(text, "ld.global.nc.v4.b32"), 9u);
  EXPECT_EQ(countOf(text, "shfl.sync.down"), 10u);
  EXPECT_EQ(countOf(text, "bar.sync"), 0u);
  ScheduleMaker wide = oneRow(); // Lanes of all four warps meet in memory once.
  wide.schedule.nests[0].registers.lanes = 128;
  wide.schedule.nests[0].registers.vectors = 4;
  text = textOf(wide.schedule, "sm_80");
  EXPECT_EQ(countOf(text, "bar.sync"), 2u);
  EXPECT_EQ(countOf(text, "shfl.sync.down"), 2u * (5 + 2));
}

/// y = exp(x) / sum, four columns by two rows of a thread.
static ScheduleMaker powersOverSums(ElementType type) {
  ScheduleMaker maker;
  maker.schedule.threads = 32;
  unsigned x = maker.buffer(ElementType::F32, 16 * 64), by = maker.buffer(ElementType::F32, 16),
           y = maker.buffer(type, 16 * 64, true);
  Expr power = Expr::unary(UnaryOp::Exp, maker.read(x, it(0) * 64 + it(1)));
  maker.map({16, 64}, y, it(0) * 64 + it(1), Expr::cast(type, power / maker.read(by, it(0))))
      .registers = {1, 1, 4, 0, 2, 0};
  return maker;
}

TEST(Ptx, TakesPowersFromUnitsAndDividesOnce) {
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    std::string text = textOf(powersOverSums(type).schedule, "sm_80");
    EXPECT_EQ(countOf(text, "ex2.approx.ftz.f32"), countOf(text, "fma.rn.sat.f32"));
    EXPECT_EQ(countOf(text, "ex2.approx.ftz.f32"), 4 * countOf(text, "rcp.approx.ftz.f32"));
    EXPECT_EQ(countOf(text, "div.rn.f32"), 0u);
    size_t first = text.find("st.global"), last = text.rfind("ld.global");
    EXPECT_LT(last, first); // What is read is under way together.
  }
}

/// A row of three parts of so many elements each.
static ScheduleMaker joinedRows(int64_t part) {
  ScheduleMaker maker;
  maker.schedule.threads = 32;
  unsigned parts[3], y;
  for (unsigned &buffer : parts)
    buffer = maker.buffer(ElementType::F16, 16 * part);
  y = maker.buffer(ElementType::F16, 16 * 3 * part, true);
  Expr joined = maker.read(parts[2], it(0) * part + it(1) - Index(2 * part));
  for (unsigned k : {1, 0}) {
    Expr isBelow = Expr::binary(BinaryOp::Less, Expr::index(it(1), ElementType::I64),
                                Expr::literal(ElementType::I64, int64_t(k + 1) * part));
    joined =
        Expr::select(isBelow, maker.read(parts[k], it(0) * part + it(1) - Index(k * part)), joined);
  }
  maker.map({16, 3 * part}, y, it(0) * 3 * part + it(1), joined).registers = {1, 1, 8, -1, 1, 0};
  return maker;
}

TEST(Ptx, ReadsOnceWhatAConcatenationWants) {
  std::string text = textOf(joinedRows(16).schedule, "sm_80");
  EXPECT_EQ(countOf(text, "ld.global"), 1u); // Eight in a row are of one part.
  EXPECT_EQ(countOf(text, "ld.global.nc.v4.b32"), 1u);
  EXPECT_EQ(countOf(textOf(joinedRows(12).schedule, "sm_80"), "ld.global"), 8u);
}

/// x sigmoid(x) of each element, or what is below it; y is of some type.
static ScheduleMaker gates(ElementType type, bool roundsDown) {
  ScheduleMaker maker;
  maker.schedule.threads = 32;
  unsigned x = maker.buffer(ElementType::F32, 256), y = maker.buffer(type, 256, true);
  Expr one = Expr::literal(ElementType::F32, 1.0), read = maker.read(x, it(0));
  Expr gate = one / (one + Expr::unary(UnaryOp::Exp, Expr::unary(UnaryOp::Neg, read)));
  if (roundsDown)
    gate = Expr::unary(UnaryOp::Floor, gate);
  maker.map({256}, y, it(0), Expr::cast(type, gate * read)).registers = {-1, 1, 1, 0, 4, 0};
  return maker;
}

TEST(Ptx, DividesWithoutABranchForWhatIsRoundedTo16Bits) {
  std::string narrow = textOf(gates(ElementType::F16, false).schedule, "sm_80");
  EXPECT_EQ(countOf(narrow, "div.full.f32"), countOf(narrow, "ex2.approx.ftz.f32"));
  EXPECT_EQ(countOf(narrow, "rcp.rn.f32"), 0u);
  std::string wide = textOf(gates(ElementType::F32, false).schedule, "sm_80");
  EXPECT_EQ(countOf(wide, "div.full.f32"), 0u);
  std::string brief = textOf(gates(ElementType::BF16, false).schedule, "sm_80");
  EXPECT_EQ(2 * countOf(brief, "cvt.rn.bf16x2.f32"), countOf(brief, "div.full.f32"));
  // A quotient next to a whole number has to be that number.
  std::string rounded = textOf(gates(ElementType::F16, true).schedule, "sm_80");
  EXPECT_EQ(countOf(rounded, "div.full.f32"), 0u);
}

/// Of the ring's bytes, from which on the stages start again.
TEST(Ptx, RingsAreShorterWhereDevicesHaveLessMemory) {
  loops::MatrixTile tile = byFourWarps();
  tile.stages = 8;
  ScheduleMaker maker = onMatrixUnits(ElementType::F16, true, ElementType::F16, tile);
  EXPECT_EQ(maker.schedule.scratchBytes, 8 * 24576);
  EXPECT_GE(countOf(textOf(maker.schedule, "sm_90a"), ", 196608;"), 1u);
  std::string text = textOf(maker.schedule, "sm_80");
  EXPECT_EQ(countOf(text, ", 196608;"), 0u);
  EXPECT_GE(countOf(text, ", 98304;"), 1u);

  // What threads exchange beside it leaves room for a stage less: 101376 bytes are all.
  unsigned y = maker.buffer(ElementType::F32, 8, true);
  auto &sum = maker.reduce({8}, {72}, Combiner::Sum, y, it(0),
                           Expr::cast(ElementType::F32, maker.read(0, it(0) * 72 + it(1))));
  sum.registers = {1, 4, 1, 0, 8, 0};
  sum.registers.apart = 32;
  text = textOf(maker.schedule, "sm_80");
  EXPECT_EQ(countOf(text, "kernel_exchange[4096]"), 1u);
  EXPECT_EQ(countOf(text, ", 98304;"), 0u);
  EXPECT_GE(countOf(text, ", 73728;"), 1u);
}

TEST(Ptx, ResultsOfSixteenBitsFillSectors) {
  for (const loops::MatrixTile &tile : {byWarps(), byFourWarps()}) {
    ScheduleMaker maker = onMatrixUnits(ElementType::F16, true, ElementType::F16, tile);
    maker.schedule.buffers[2].type = ElementType::F16;
    Expr &finish = maker.schedule.nests[0].epilogue[0];
    finish = Expr::cast(ElementType::F16, finish);
    // A thread's results, as pairs: one of two goes to the neighbour.
    size_t pairs = tile.rows * tile.columns / maker.schedule.threads / 2;
    std::string text = textOf(maker.schedule, "sm_90a");
    EXPECT_EQ(countOf(text, "shfl.sync.bfly"), pairs / 2);
    EXPECT_EQ(countOf(text, "st.global.v2.b32"), pairs / 2);
    EXPECT_EQ(countOf(text, "st.global"), pairs / 2);
  }
}

/// Two nests, a row of sums and two nests again on operands of their own; then `phases` times the
/// row on what is left of that.
static tile::TileProgram joinedProgram(unsigned phases) {
  static const ScheduleMaker nests = twoNests(), row = oneRow();
  auto program = tile::buildTileProgram({{"nests", &nests.schedule}, {"row", &row.schedule}});
  EXPECT_TRUE(program.ok()) << program.error().message;
  tile::Launch launch{"joined",
                      std::vector<bool>(8, false),
                      {{{"nests", {0, 1, 5}}, {"row", {2, 3, 6}}, {"nests", {0, 4, 7}}}}};
  while (launch.phases.size() < phases)
    launch.phases.push_back({{"row", {2, 3, 6}}});
  program->launches = {launch};
  return std::move(*program);
}

TEST(Ptx, JoinsKernelsInOneLaunch) {
  for (const char *level : {"sm_80", "sm_90a"}) {
    std::string text = textOf(joinedProgram(1), "joined", level);
    EXPECT_EQ(countOf(text, ".visible .entry joined("), 1u);
    EXPECT_EQ(countOf(text, ".entry"), 1u);
    EXPECT_EQ(countOf(text, ".param .u64 .ptr .align 16 joined_param_"), 8u);
    EXPECT_EQ(countOf(text, ".maxntid 256"), 1u);
    // What is alike is there once: as often as in launches of their own, and a wait before each is
    // said to have ended.
    EXPECT_EQ(countOf(text, "bar.sync"), 5u + 2);
    EXPECT_EQ(countOf(text, "shfl.sync.down"), 10u);
    EXPECT_GE(countOf(text, "ld.global.nc"), 10u);
    EXPECT_EQ(countOf(text, "ld.b32"), 0u);
    EXPECT_EQ(countOf(text, "atom"), 0u);
  }
}

/// How often the row's launch lets the next one start, which is one of these.
static size_t earlyStarts(const char *level, std::vector<std::optional<tile::Launch::Size>> next) {
  static const ScheduleMaker row = oneRow();
  auto program = tile::buildTileProgram({{"row", &row.schedule}});
  EXPECT_TRUE(program.ok()) << program.error().message;
  program->launches = {{"row", std::vector<bool>(3, false), {{{"row", {0, 1, 2}}}}, next}};
  std::string text = textOf(std::move(*program), "row", level);
  if (size_t place = text.find("griddepcontrol.launch_dependents"); place != std::string::npos)
    EXPECT_GT(place, text.find("griddepcontrol.wait")); // What came before is at its end then.
  return countOf(text, "griddepcontrol.launch_dependents");
}

TEST(Ptx, TheNextLaunchStartsWhereItsBlocksAreSpread) {
  using Size = tile::Launch::Size;
  const Size small{8, 0}, many{4096, 1024}, large{4096, 200 << 10};
  EXPECT_EQ(earlyStarts("sm_90a", {small}), 1u);
  EXPECT_EQ(earlyStarts("sm_90a", {large}), 1u);
  EXPECT_EQ(earlyStarts("sm_90a", {small, large}), 1u);
  EXPECT_EQ(earlyStarts("sm_80", {small}), 0u);
  EXPECT_EQ(earlyStarts("sm_90a", {}), 0u);
  EXPECT_EQ(earlyStarts("sm_90a", {many}), 0u);
  EXPECT_EQ(earlyStarts("sm_90a", {small, many}), 0u);
  EXPECT_EQ(earlyStarts("sm_90a", {small, std::nullopt}), 0u);
}

TEST(Ptx, PartsNoteWhenTheyAreUnderWay) {
  for (const char *level : {"sm_80", "sm_90a"})
    for (unsigned phases : {1, 3}) {
      std::string text = textOf(joinedProgram(phases), "joined", level);
      std::string number =
          std::to_string(phases > 1 ? 9 : 8); // Behind the counter, where blocks meet.
      EXPECT_EQ(countOf(text, ".param .u64 joined_param_" + number + "\n"), 1u);
      // By the first thread, two bodies in the first phase and one in each other.
      size_t bodies = phases + 1;
      EXPECT_EQ(countOf(text, "mov.u64 now, %globaltimer;"), 2 * bodies);
      EXPECT_EQ(countOf(text, "not.b64 now, now;"), bodies);
      EXPECT_EQ(countOf(text, "red.relaxed.gpu.global.max.u64"), 2 * bodies);
    }
  EXPECT_EQ(countOf(textOf(twoNests().schedule, "sm_90a"), "%globaltimer"), 0u);
}

TEST(Ptx, BlocksMeetBetweenPhases) {
  tile::TileProgram program = joinedProgram(3);
  program.launches[0].constants[3] = true;
  for (const char *level : {"sm_80", "sm_90a"}) {
    std::string text = textOf(program, "joined", level);
    EXPECT_EQ(countOf(text, ".param .u64 .ptr .align 16 joined_param_"), 8u);
    EXPECT_EQ(countOf(text, "joined_param_8"), 2u);
    EXPECT_EQ(countOf(text, "atom.add.release.gpu.global.u32"), 2u);
    EXPECT_EQ(countOf(text, "ld.acquire.gpu.global.u32"), 2u);
    // Two for each meeting, one after each tile, and in the nests those of their own threads.
    EXPECT_EQ(countOf(text, "barrier.sync.aligned"), 0u);
    EXPECT_EQ(countOf(text, "bar.sync \t0;") + countOf(text, "bar.sync 0;"), 4u + 3u);
    EXPECT_EQ(countOf(text, "cp.async.bulk.prefetch.L2.global"),
              level == std::string("sm_90a") ? 2u : 0u);
  }
}

TEST(Ptx, RefusesOtherLevelsAndUnknownFunctions) {
  ScheduleMaker maker = twoNests();
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
  targets::CompileOptions options;
  options.level = "sm_20";
  auto code = targets::createNvidiaTarget()->compile({&*program}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::Usage);

  ScheduleMaker sine;
  sine.schedule.threads = 32;
  unsigned x = sine.buffer(ElementType::F64, 32), y = sine.buffer(ElementType::F64, 32, true);
  sine.map({32}, y, it(0), Expr::unary(UnaryOp::Sinh, sine.read(x, it(0))));
  auto other = tile::buildTileProgram(tile::NamedSchedule{"kernel", &sine.schedule});
  options.level = "sm_80";
  code = targets::createNvidiaTarget()->compile({&*other}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.error().message.find("kernel 'kernel': it computes 'sinh'"), std::string::npos);
}

TEST(Ptx, Assembles) {
  if (!hasAssembler())
    GTEST_SKIP() << "there is no ptxas on this machine";
  for (const char *level : {"sm_80", "sm_90a"}) {
    expectAssembles(twoNests().schedule, level, "nests");
    expectAssembles(oneRow().schedule, level, "row");
    for (ElementType type : {ElementType::F16, ElementType::BF16})
      for (bool transposed : {false, true}) {
        std::string name = std::string(nameOf(type)) + (transposed ? "t" : "");
        expectAssembles(onMatrixUnits(type, transposed, type).schedule, level, "matrix_" + name);
        expectAssembles(onMatrixUnits(type, transposed, ElementType::F32).schedule, level,
                        "rounded_" + name);
        expectAssembles(onMatrixUnits(type, transposed, type, byFourWarps()).schedule, level,
                        "fours_" + name);
      }
    for (unsigned phases : {1, 3})
      expectTextAssembles(textOf(joinedProgram(phases), "joined", level), level,
                          "joined_" + std::to_string(phases));
  }
}

} // namespace kintsugi::test
