#include "base/child_process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace kintsugi;
using namespace std::chrono_literals;

std::optional<std::string> kintsugi::findProgram(const std::string &name,
                                                 const std::vector<std::string> &otherFolders) {
  const char *variable = std::getenv("PATH");
  std::string list = variable ? variable : "";
  std::vector<std::string> folders;
  for (size_t start = 0; start <= list.size();) {
    size_t end = std::min(list.find(':', start), list.size());
    folders.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  folders.insert(folders.end(), otherFolders.begin(), otherFolders.end());
  for (const std::string &folder : folders) {
    std::string path = folder + "/" + name;
    struct stat info;
    bool isAbsolute = folder.starts_with('/'); // What lies where one happens to be is not meant.
    if (isAbsolute && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// One that runs
//===----------------------------------------------------------------------===//

/// Those that run, as far as there is room; 0 for none.
static std::array<std::atomic<pid_t>, 64> running;
static_assert(std::atomic<pid_t>::is_always_lock_free);

static void replaceRunning(pid_t from, pid_t to) {
  for (std::atomic<pid_t> &place : running)
    if (pid_t expected = from; place.compare_exchange_strong(expected, to))
      return;
}

void kintsugi::endChildren() {
  constexpr timespec pause = {0, 5'000'000};
  for (std::atomic<pid_t> &place : running)
    if (place > 0)
      ::kill(place, SIGTERM);
  for (std::atomic<pid_t> &place : running) {
    pid_t process = place;
    for (int wait = 0; process > 0 && ::waitpid(process, nullptr, WNOHANG) == 0; ++wait) {
      ::nanosleep(&pause, nullptr);
      if (wait == 200)
        ::kill(process, SIGKILL);
    }
  }
}

ChildProcess::ChildProcess(pid_t process, FileDescriptor output)
    : process(process), output(std::move(output)) {
  replaceRunning(0, process);
}

ChildProcess::ChildProcess(ChildProcess &&other)
    : process(other.process), output(std::move(other.output)), head(std::move(other.head)),
      tail(std::move(other.tail)), status(other.status),
      hasEnded(std::exchange(other.hasEnded, true)), isSilent(other.isSilent), lost(other.lost) {}

ChildProcess::~ChildProcess() {
  if (hasEnded)
    return;
  ::kill(process, SIGKILL);
  wait(0);
}

void ChildProcess::signal(int number) {
  if (!hasEnded)
    ::kill(process, number);
}

bool ChildProcess::wait(int options) {
  pid_t ended;
  do
    ended = ::waitpid(process, &status, options);
  while (ended < 0 && errno == EINTR);
  lost = ended < 0;
  hasEnded = ended != 0;
  if (hasEnded)
    replaceRunning(process, 0);
  return hasEnded;
}

/// Takes a piece of what it says. Also what is not kept, so that the other end never waits.
bool ChildProcess::takeOutput() {
  constexpr size_t keptOfHead = 2000, keptOfTail = 32000;
  char buffer[4096];
  ssize_t count = ::read(output.get(), buffer, sizeof(buffer));
  isSilent = count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
  if (count <= 0)
    return false;
  size_t bytes = static_cast<size_t>(count);
  head.append(buffer, std::min(bytes, keptOfHead - head.size()));
  tail.append(buffer, bytes);
  if (tail.size() > 2 * keptOfTail)
    tail.erase(0, tail.size() - keptOfTail);
  return true;
}

/// Whether it said something meanwhile.
bool ChildProcess::listen(std::chrono::milliseconds pause) {
  pollfd wanted = {output.get(), POLLIN, 0};
  if (isSilent)
    ::usleep(static_cast<useconds_t>(pause.count()) * 1000);
  return !isSilent && ::poll(&wanted, 1, static_cast<int>(pause.count())) > 0 && takeOutput();
}

bool ChildProcess::waitFor(const FileDescriptor &file, Clock::time_point end) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    int pause = static_cast<int>(std::clamp(left, 0ms, std::chrono::milliseconds(60'000)).count());
    pollfd wanted[] = {{file.get(), POLLIN, 0}, {isSilent ? -1 : output.get(), POLLIN, 0}};
    int count = ::poll(wanted, 2, pause);
    if (count > 0 && wanted[0].revents != 0)
      return true;
    if (count > 0)
      takeOutput();
    else if (count == 0 && left <= 0ms)
      return false;
  }
}

std::optional<int> ChildProcess::waitUntil(Clock::time_point end) {
  for (auto pause = 1ms; !hasEnded && !wait(WNOHANG); pause = std::min(2 * pause, 20ms)) {
    if (Clock::now() >= end)
      return std::nullopt;
    listen(isSilent ? pause : 20ms);
  }
  constexpr int fullPipe = 16; // Who else has its other end may go on writing.
  for (int reads = 0; reads < fullPipe && listen(0ms);)
    ++reads;
  return status;
}

std::string ChildProcess::said() const {
  std::string line = head.substr(0, head.find_last_not_of(" \n") + 1);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

//===----------------------------------------------------------------------===//
// Its start
//===----------------------------------------------------------------------===//

/// What this process handles in its own way is handled by default in the new one; what it ignores
/// stays ignored, save for the signal that ends the new one with this one, and those that tell how
/// programs of its own ended.
static void resetSignals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    bool isOwn = number == SIGTERM || number == SIGCHLD;
    if (::sigaction(number, nullptr, &action) == 0 &&
        (isOwn || (action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL)))
      ::signal(number, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

namespace {

/// What the new process gets. It may share this one's memory until it runs a program: nothing may
/// be called there that takes a lock or memory.
struct Legacy {
  int output, channel;
  pid_t parent;

  /// Whether the streams and the channel are as they should be, and the parent is there.
  bool take() const {
    constexpr int first = ChildProcess::channelNumber;
    resetSignals();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    int input = ::open("/dev/null", O_RDONLY);
    bool isReady = ::getppid() == parent && input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                   ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0 &&
                   (channel < 0 || ::dup2(channel, first) >= 0);
    // Where the kernel does not know the call, what is not marked to be closed stays open.
    ::close_range(static_cast<unsigned>(channel < 0 ? first : first + 1), ~0U, 0);
    return isReady;
  }
};

/// The ends of the streams and the channel under numbers that none of them takes in the new
/// process.
struct Ends {
  FileDescriptor read, output, channel;

  static Expected<Ends> make(const FileDescriptor &channel) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0)
      return machineError(std::strerror(errno));
    FileDescriptor write(pipe[1]);
    Ends ends{FileDescriptor(pipe[0]), movedUp(write.get()), {}};
    if (channel.valid())
      ends.channel = movedUp(channel.get());
    if (!ends.output.valid() || (channel.valid() && !ends.channel.valid()))
      return machineError(std::strerror(errno));
    return ends;
  }

  static FileDescriptor movedUp(int file) {
    return FileDescriptor(::fcntl(file, F_DUPFD_CLOEXEC, ChildProcess::channelNumber + 1));
  }

  Legacy legacy() const { return {output.get(), channel.get(), ::getpid()}; }
};

} // namespace

[[noreturn]] static void become(char *const *arguments, const Legacy &legacy) {
  if (legacy.take())
    ::execv(arguments[0], arguments);
  const char *why = ::strerrordesc_np(errno);
  (void)!::write(STDERR_FILENO, why, std::strlen(why));
  ::_exit(127);
}

Expected<ChildProcess> ChildProcess::start(const std::vector<std::string> &command,
                                           const FileDescriptor &channel) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  auto ends = Ends::make(channel);
  if (!ends.ok())
    return at(command[0], ends.takeError());
  Legacy legacy = ends->legacy();
  // No handler of this process runs while the new one shares its memory. Large processes are not
  // copied for it, as fork() would.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = ::vfork();
  if (process == 0)
    become(arguments.data(), legacy);
  int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process < 0)
    return machineError(command[0] + ": " + std::strerror(code));
  return ChildProcess(process, std::move(ends->read));
}

/// No exception may end up with the copies of this one's callers.
static int result(const std::function<int()> &work) noexcept { return work(); }

Expected<ChildProcess> ChildProcess::fork(const std::function<int()> &work,
                                          const FileDescriptor &channel) {
  KINTSUGI_ASSIGN(Ends ends, Ends::make(channel));
  Legacy legacy = ends.legacy();
  pid_t process = ::fork();
  if (process == 0) {
    for (std::atomic<pid_t> &place : running)
      place = 0; // They are the other's.
    ::_exit(legacy.take() ? result(work) : 127);
  }
  if (process < 0)
    return machineError(std::string("can't start a process: ") + std::strerror(errno));
  return ChildProcess(process, std::move(ends.read));
}

Status kintsugi::runProgram(const std::vector<std::string> &command,
                            std::chrono::milliseconds limit) {
  auto end = ChildProcess::Clock::now() + limit;
  KINTSUGI_ASSIGN(ChildProcess child, ChildProcess::start(command));
  std::optional<int> status = child.waitUntil(end);
  if (!status)
    return machineError(command[0] + ": has not ended after " +
                        std::to_string(limit.count() / 1000) + " s");
  if (child.isLost())
    return machineError(command[0] + ": has ended, and nothing tells how, because this process "
                                     "ignores SIGCHLD or waits for all that it starts");
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
    return Status::success();
  std::string how = WIFSIGNALED(*status)
                        ? "was ended by signal " + std::to_string(WTERMSIG(*status))
                        : "failed with " + std::to_string(WEXITSTATUS(*status));
  return machineError(command[0] + ": " + how + (child.said().empty() ? "" : ": " + child.said()));
}
