// How close matrix products come to the machine's peak, and what compiling a kernel costs:
//   bench_kernels [M N K]
#include "kernel_runner.h"
#include "nests.h"
#include "targets/cpu/cpu.h"
#include "tile/build.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace kintsugi;
using namespace kintsugi::test;
using loops::RegisterTile;

namespace {

double now() {
  timespec time; // This thread's own, however busy the machine is.
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// B packed into panels of as many columns as the register tile has: B[panel][k][column].
ScheduleMaker packedProduct(int64_t m, int64_t n, int64_t k, RegisterTile tile) {
  ScheduleMaker maker;
  int64_t columns = tile.lanes * tile.vectors;
  unsigned a = maker.buffer(ElementType::F32, m * k), b = maker.buffer(ElementType::F32, k * n);
  unsigned c = maker.buffer(ElementType::F32, m * n, true);
  maker.tile(n, columns);
  // Iterators: i, j (in the panel), k, then the panel's first column.
  te::Index panel = it(3) * k;
  te::Expr body = maker.read(a, it(0) * k + it(2)) * maker.read(b, panel + it(2) * columns + it(1));
  maker.reduce({m, columns}, {k}, te::Combiner::Sum, c, it(0) * n + it(3) + it(1), body).registers =
      tile;
  return maker;
}

/// The same with `tileRows` rows a tile, which then stay near while the panels pass by.
ScheduleMaker rowTiledProduct(int64_t m, int64_t n, int64_t k, int64_t tileRows,
                              RegisterTile tile) {
  ScheduleMaker maker;
  int64_t columns = tile.lanes * tile.vectors;
  unsigned a = maker.buffer(ElementType::F32, m * k), b = maker.buffer(ElementType::F32, k * n);
  unsigned c = maker.buffer(ElementType::F32, m * n, true);
  maker.tile(m, tileRows);
  // Iterators: panel, i, j (in the panel), k, then the tile's first row.
  te::Index row = it(4) + it(1);
  te::Expr body = maker.read(a, row * k + it(3)) *
                  maker.read(b, it(0) * (k * columns) + it(3) * columns + it(2));
  tile.vectorIterator = 2;
  tile.rowIterator = 1;
  maker
      .reduce({n / columns, tileRows, columns}, {k}, te::Combiner::Sum, c,
              row * n + it(0) * columns + it(2), body)
      .registers = tile;
  return maker;
}

/// Multiply-adds on registers alone: what the core can do.
double peak(const std::string &level) {
  ScheduleMaker maker;
  unsigned lanes = level == "x86-64-v4" ? 16 : 8;
  unsigned a = maker.buffer(ElementType::F32, 64), b = maker.buffer(ElementType::F32, 64);
  unsigned c = maker.buffer(ElementType::F32, 12 * lanes, true);
  int64_t steps = 1 << 20;
  te::Expr body = maker.read(a, it(0)) * maker.read(b, it(1));
  auto &nest =
      maker.reduce({12, lanes}, {steps}, te::Combiner::Sum, c, it(0) * lanes + it(1), body);
  nest.registers = {1, lanes, 1, 0, 12, 0};
  std::string problem;
  LoadedKernel kernel(maker.schedule, level, problem);
  std::vector<float> data(4096, 0.5f);
  void *buffers[] = {data.data(), data.data(), data.data() + 1024};
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    double start = now();
    kernel.function(buffers, 0, 1, nullptr, &kinImports);
    best = std::min(best, now() - start);
  }
  return 2.0 * 12 * lanes * steps / best;
}

void measure(int64_t m, int64_t n, int64_t k, RegisterTile tile, const std::string &level,
             double peakRate, int64_t tileRows) {
  ScheduleMaker maker =
      tileRows ? rowTiledProduct(m, n, k, tileRows, tile) : packedProduct(m, n, k, tile);
  std::string problem;
  double start = now();
  LoadedKernel kernel(maker.schedule, level, problem);
  double compile = now() - start;
  if (!problem.empty()) {
    std::printf("%s\n", problem.c_str());
    return;
  }
  auto allocate = [](int64_t count) {
    auto *data = static_cast<float *>(std::aligned_alloc(64, (count * 4 + 4096) / 64 * 64));
    std::fill(data, data + count, 0.01f);
    return data;
  };
  float *a = allocate(m * k), *b = allocate(k * n), *c = allocate(m * n);
  void *buffers[] = {a, b, c};
  double best = 1e9;
  for (int repeat = 0; repeat < 15; ++repeat) {
    double begin = now();
    kernel.function(buffers, 0, maker.schedule.tiles(), nullptr, &kinImports);
    best = std::min(best, now() - begin);
  }
  double rate = 2.0 * m * n * k / best;
  std::printf("%s %5ld x %5ld x %5ld  tile of %3ld rows, registers %2u x %u x %2u: %6.1f GFLOP/s, "
              "%5.1f %% of peak, "
              "compiled in %.1f ms\n",
              level.c_str(), long(m), long(n), long(k), long(tileRows ? tileRows : m), tile.rows,
              tile.vectors, tile.lanes, rate * 1e-9, 100 * rate / peakRate, compile * 1e3);
  for (float *data : {a, b, c})
    std::free(data);
}

} // namespace

int main(int count, char **words) {
  if (count == 2) { // The code of one product.
    ScheduleMaker maker = packedProduct(768, 768, 768, {1, 16, 2, 0, 12, 0});
    auto program = tile::buildTileProgram(tile::NamedSchedule{"product", &maker.schedule});
    targets::CompileOptions options;
    options.level = "x86-64-v4";
    auto form =
        words[1] == std::string("llvm") ? targets::CodeForm::LLVM : targets::CodeForm::Assembly;
    std::printf("%s\n%s", program->print().c_str(),
                targets::createCpuTarget()->emit(*program, form, options)->c_str());
    return 0;
  }
  int64_t m = 768, n = 768, k = 768;
  if (count == 4)
    m = std::atol(words[1]), n = std::atol(words[2]), k = std::atol(words[3]);
  for (const std::string level : {"x86-64-v3", "x86-64-v4"}) {
    if (level == "x86-64-v4" && hostLevel() != level)
      continue;
    double peakRate = peak(level);
    std::printf("%s: peak of one core %.1f GFLOP/s\n", level.c_str(), peakRate * 1e-9);
    unsigned lanes = level == "x86-64-v4" ? 16 : 8;
    std::vector<std::pair<unsigned, unsigned>> shapes = {{6, 2}, {4, 3}};
    if (lanes == 16)
      shapes = {{12, 2}, {14, 2}, {8, 3}, {6, 4}};
    for (int64_t tileRows : {0, 48, 96, 192})
      for (auto [rows, vectors] : shapes)
        measure(m, n, k, {1, lanes, vectors, 0, rows, 0}, level, peakRate, tileRows);
  }
}
