//===- float_environment.h - How a thread rounds, during a run ---------------===//
//
// The bits of results must not depend on how the caller's thread rounds, flushes or traps, and its
// own flags must not change. The C library saves and sets all of the environment, x87's too, which
// takes a tenth of a small model's run; where that is as it usually is, one register is enough.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CPU_FLOAT_ENVIRONMENT_H
#define KINTSUGI_DEVICES_CPU_FLOAT_ENVIRONMENT_H

#include <cfenv>

namespace kintsugi::devices {

class FloatEnvironment {
public:
  /// The thread computes as threads do at first.
  void enter() {
#if defined(__x86_64__)
    hasUsualX87 = controlOfX87() == usualX87;
    if (hasUsualX87) {
      ofVectors = __builtin_ia32_stmxcsr();
      __builtin_ia32_ldmxcsr(usualVectors);
      return;
    }
#endif
    std::fegetenv(&ofCaller);
    std::fesetenv(FE_DFL_ENV);
  }

  /// As before.
  void leave() {
#if defined(__x86_64__)
    if (hasUsualX87)
      return __builtin_ia32_ldmxcsr(ofVectors);
#endif
    std::fesetenv(&ofCaller);
  }

private:
#if defined(__x86_64__)
  static constexpr unsigned short usualX87 = 0x037f; ///< To nearest, 64 bits, no traps.
  static constexpr unsigned usualVectors = 0x1f80;   ///< To nearest, nothing flushed, no traps.

  static unsigned short controlOfX87() {
    unsigned short word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
  }

  unsigned ofVectors = usualVectors;
  bool hasUsualX87 = false;
#endif
  std::fenv_t ofCaller;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_FLOAT_ENVIRONMENT_H
