#include "tune/device_measurer.h"

#include "devices/cpu/cpu_device.h"
#include "product.h"
#include "targets/cpu/cpu.h"
#include "tune/made_up.h"

namespace kintsugi::tune {
namespace {

TEST(DeviceMeasurer, TellsVectorsFromScalars) {
  Product product;
  std::vector<search::NestChoices> choices;
  loops::Point scalar = product.defaults().point;
  scalar.registers = {loops::RegisterTile()};
  auto quick = product.defaults();
  auto slow = search::scheduleAt(product.program, product.group, product.options, scalar);
  ASSERT_TRUE(quick.schedule && slow.schedule);
  std::unique_ptr<targets::Target> target = targets::createCpuTarget();
  targets::CompileOptions options;
  options.level = "x86-64-v3";
  devices::CpuDevice device;
  DeviceMeasurer measurer(*target, options, device, 1);
  for (cost::Effort effort : {cost::Effort::Compare, cost::Effort::Confirm}) {
    auto first = measurer.prepare(*slow.schedule), second = measurer.prepare(*quick.schedule);
    ASSERT_TRUE(first.ok() && second.ok());
    auto times = measurer.measure({first->get(), second->get()}, effort);
    ASSERT_TRUE(times.ok()) << times.error().message;
    ASSERT_EQ(times->size(), 2u);
    EXPECT_EQ((*times)[0].share, 1);
    EXPECT_LT((*times)[1].share, 0.5);
    EXPECT_LT((*times)[1].seconds, (*times)[0].seconds);
  }
}

/// Another schedule beside the default, timed as what is to win is timed.
cost::Timed timedBesideDefault(const Product &product, const loops::Schedule &other) {
  std::unique_ptr<targets::Target> target = targets::createCpuTarget();
  targets::CompileOptions options;
  options.level = "x86-64-v3";
  devices::CpuDevice device;
  DeviceMeasurer measurer(*target, options, device, 1);
  auto usual = product.defaults();
  auto first = measurer.prepare(*usual.schedule), second = measurer.prepare(other);
  EXPECT_TRUE(first.ok() && second.ok());
  auto times = measurer.measure({first->get(), second->get()}, cost::Effort::Confirm);
  EXPECT_TRUE(times.ok()) << times.error().message;
  return times.ok() ? (*times)[1] : cost::Timed();
}

TEST(DeviceMeasurer, TellsSchedulesThatComputeSomethingElse) {
  Product product, other(Product::Where::Processor, " * 1.001");
  loops::Point scalar = product.defaults().point;
  scalar.registers = {loops::RegisterTile()};
  auto slow = search::scheduleAt(product.program, product.group, product.options, scalar);
  ASSERT_TRUE(slow.schedule);
  EXPECT_TRUE(timedBesideDefault(product, *slow.schedule).agrees);
  EXPECT_FALSE(timedBesideDefault(product, *other.defaults().schedule).agrees);
}

TEST(DeviceMeasurer, IntegersThatAreReadAreNotMadeUp) {
  Product product;
  loops::Schedule schedule = *product.defaults().schedule;
  EXPECT_TRUE(canBeMeasured(schedule));
  schedule.buffers[0].type = ElementType::I64;
  EXPECT_FALSE(canBeMeasured(schedule));
}

} // namespace
} // namespace kintsugi::tune
