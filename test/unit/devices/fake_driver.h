//===- fake_driver.h - Tests with a driver that isn't one -------------------===//
#ifndef KINTSUGI_TEST_DEVICES_FAKE_DRIVER_H
#define KINTSUGI_TEST_DEVICES_FAKE_DRIVER_H

#include "fake_cuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

/// Has the library loaded, in its first state.
class FakeDriverTest : public testing::Test {
protected:
  void SetUp() override {
    library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    fake = reinterpret_cast<FakeCuda *(*)()>(dlsym(library, "fakeCuda"))();
    *fake = FakeCuda();
  }
  void TearDown() override {
    if (library)
      dlclose(library);
  }

  void *library = nullptr;
  FakeCuda *fake = nullptr;
};

#endif // KINTSUGI_TEST_DEVICES_FAKE_DRIVER_H
