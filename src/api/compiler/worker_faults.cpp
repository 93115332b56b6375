#include "api/compiler/worker_faults.h"

#include "api/compiler/worker.h"
#include "base/temporary_path.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace kintsugi::api {

/// Takes no lock and no memory.
[[noreturn]] static void endForWantOfMemory() {
  removeTemporaries();
  ::_exit(outOfMemoryCode);
}

/// Whether a thread's stack and a little more could not be had now. What fails at such a moment
/// fails for want of memory, also where nobody looked at what an allocation gave.
static bool isMemoryUsedUp() {
  constexpr size_t enough = size_t(64) << 20;
  void *memory = ::mmap(nullptr, enough, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return true;
  ::munmap(memory, enough);
  return false;
}

static void write(const char *text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

/// Of signals that mean a fault.
static void endByFault(int signal) {
  ::signal(signal, SIG_DFL);
  ::alarm(10); // A trace of what is broken may take for ever.
  if (isMemoryUsedUp())
    endForWantOfMemory();
  removeTemporaries();
  std::array<void *, 64> frames;
  int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  write("calls, the last one first:\n");
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  ::raise(signal);
}

/// Of signals that ask the process to end.
static void endAsAsked(int signal) {
  removeTemporaries();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Of an exception that nobody handles.
[[noreturn]] static void endByException() {
  try {
    if (std::exception_ptr current = std::current_exception())
      std::rethrow_exception(current);
  } catch (const std::bad_alloc &) {
    endForWantOfMemory();
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again) // A thread, mostly.
      endForWantOfMemory();
    write(error.what());
  } catch (const std::exception &error) {
    write(error.what());
  } catch (...) {
  }
  write("\n");
  std::abort();
}

static void endByLlvm(void *, const char *reason, bool) {
  write(reason);
  write("\n");
  std::abort();
}

void endCleanlyOnFaults() {
  void *first;
  ::backtrace(&first, 1);                      // The first call loads a library.
  static std::array<std::byte, 1 << 16> stack; // That of the fault may be used up.
  stack_t other = {};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  ::sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = endByFault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::sigaction(signal, &action, nullptr);
  action.sa_handler = endAsAsked;
  ::sigaction(SIGTERM, &action, nullptr);
  for (int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    struct sigaction old = {};
    // What the host ignores (nohup) is ignored here, too.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ,
           SIG_IGN); // A limit on the size of files is an error of the write that meets it.
  ::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(endForWantOfMemory);
  std::set_terminate(endByException);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endForWantOfMemory(); });
  llvm::install_fatal_error_handler(endByLlvm);
}

/// What counts against the limit already; 0 where that is not known.
static uint64_t bytesTaken() {
  uint64_t pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long data = 0; // The sixth number: private memory that may be written.
    if (std::fscanf(file, "%*s %*s %*s %*s %*s %llu", &data) == 1)
      pages = data;
    std::fclose(file);
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limitMemory(uint64_t bytes) {
  rlimit limit;
  uint64_t most = 0;
  if (__builtin_add_overflow(bytes, bytesTaken(), &most) || ::getrlimit(RLIMIT_DATA, &limit) != 0)
    return;
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, most});
  ::setrlimit(RLIMIT_DATA, &limit);
}

} // namespace kintsugi::api
