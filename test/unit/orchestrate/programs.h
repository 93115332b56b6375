//===- programs.h - Small programs that plans are made of -------------------===//
#ifndef KINTSUGI_TEST_UNIT_ORCHESTRATE_PROGRAMS_H
#define KINTSUGI_TEST_UNIT_ORCHESTRATE_PROGRAMS_H

#include "orchestrate/orchestrate.h"
#include "te/parser.h"

#include <gtest/gtest.h>

namespace kintsugi::orchestrate {

struct SmallProgram {
  const char *name;
  const char *text;
};

/// Each shows another thing to a planner: chains, diamonds, several outputs, constants that depend
/// on constants alone, loops.
inline constexpr SmallProgram smallPrograms[] = {
    {"matmul_bias_relu", R"(
input a[m:9, k:10] f32
input b[k:10, n:17] f32
const c[n:4] f32 = [1, -2, 3, 0.5]
d[n:17] f32 = c[n % 4] * 2
t[m:9, n:17] f32 = sum<f32>[k:10] a[m, k] * b[k, n]
u[m:9, n:17] f32 = t[m, n] + d[n]
y[m:9, n:17] f32 = max(u[m, n], 0)
output y
)"},
    {"softmax", R"(
input x[i:7, j:12] f32
m[i:7] f32 = max<f32>[j:12] x[i, j]
e[i:7, j:12] f32 = exp(x[i, j] - m[i])
s[i:7] f32 = sum<f32>[j:12] e[i, j]
y[i:7, j:12] f32 = e[i, j] / s[i]
output y
)"},
    {"diamond", R"(
input x[i:40, j:30] f32
r[i:40, j:30] f32 = max(x[i, j], 0)
a[i:40] f32 = sum<f32>[j:30] r[i, j]
b[j:30] f32 = max<f32>[i:40] r[i, j]
y[i:40, j:30] f32 = r[i, j] + a[i] * b[j]
z[i:40] f32 = -a[i]
output y
output z
output r as "also r"
)"},
    {"equal_layers", R"(
input x[i:16] f32
input v[i:16, j:16] f32
input w[i:16, j:16] f32
a[i:16] f32 = sum<f32>[j:16] v[i, j] * x[j]
b[i:16] f32 = tanh(a[i])
c[i:16] f32 = sum<f32>[j:16] w[i, j] * b[j]
d[i:16] f32 = tanh(c[i])
output d
)"},
    {"loop", R"(
input x[t:5, i:6] f32
input first[i:6] f32
twice[i:6] f32 = first[i] * 2
(last[6] f32, other[6] f32, all[5, 6] f32) = scan[5] carry(twice, first) capture(x) {
  input step[] i64
  input h[6] f32
  input g[6] f32
  input x[5, 6] f32
  fed[i:6] f32 = x[step[], i] + h[i]
  next[i:6] f32 = tanh(fed[i]) - g[i]
  output next
  output h as kept
  output next as stacked
}
y[i:6] f32 = last[i] + other[i] + all[2, i]
output y
output all
)"},
    {"branches", R"(
input x[i:5, j:6] f32
row[i:5] f32 = sum<f32>[k:6] x[i, k]
small[] bool = row[0] < row[1]
(went[] bool, a[1, 5, 6] f32) = scan[1] while true carry(small) capture(x, row) {
  input step[] i64
  input goes[] bool
  input x[5, 6] f32
  input row[5] f32
  done[] bool = false
  even[i:5, j:6] f32 = x[i, j] - row[i]
  root[i:5, j:6] f32 = exp(even[i, j])
  output done
  output root
}
(stayed[] bool, b[1, 5, 6] f32) = scan[1] while false carry(small) capture(x) {
  input step[] i64
  input goes[] bool
  input x[5, 6] f32
  done[] bool = true
  near[i:5, j:6] f32 = tanh(x[i, j])
  twice[i:5, j:6] f32 = near[i, j] * 2 + f32(step[])
  output done
  output twice
}
y[i:5, j:6] f32 = cases { small[]: a[0, i, j]; else: b[0, i, j] }
output y
)"},
    {"while", R"(
input x[i:6] f32
start[] bool = x[0] < 4
(went[] bool, last[6] f32) = scan[9] while true carry(start, x) capture(x) {
  input step[] i64
  input goes[] bool
  input h[6] f32
  input x[6] f32
  half[i:6] f32 = h[i] * 0.5
  next[i:6] f32 = half[i] + x[i] + 0.25
  most[] f32 = max<f32>[k:6] next[k]
  on[] bool = most[] < 1.25
  output on
  output next
}
y[i:6] f32 = last[i] + x[i]
output y
)"},
    {"chain_of_many_sizes", R"(
input x[i:64] f32
a[i:64, j:8] f32 = x[i] * 2
b[i:64] f32 = sum<f32>[j:8] a[i, j]
c[i:32] f32 = b[2 * i] + b[2 * i + 1]
d[i:32, j:32] f32 = c[i] * c[j]
e[i:32] f32 = max<f32>[j:32] d[i, j]
f[] f32 = sum<f32>[i:32] e[i]
y[i:64] f32 = x[i] / f[]
output y
output c
)"},
};

inline OrchestrateOptions smallOptions(PlanMode mode = PlanMode::Search) {
  OrchestrateOptions options;
  options.mode = mode;
  machine::Machine &machine = options.space.schedule.machine;
  machine.cores = 2;
  machine.vectorBits = 256;
  machine.vectorRegisters = 16;
  machine.flopsPerSecond = 1e11;
  machine.levels = {{"memory", int64_t(1) << 34, 2, 1e10, 2e10}, {"L2", 1 << 20, 1, 5e10, 1e11}};
  return options;
}

inline te::Program programOf(const char *text) {
  Expected<te::Program> program = te::parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return program.ok() ? std::move(*program) : te::Program();
}

inline Plan planned(const te::Program &program, PlanMode mode = PlanMode::Search) {
  Expected<Plan> plan = orchestrate(program, smallOptions(mode));
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.ok() ? std::move(*plan) : Plan();
}

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_TEST_UNIT_ORCHESTRATE_PROGRAMS_H
