#include "base/child_process.h"

#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace kintsugi;
using Clock = std::chrono::steady_clock;

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

namespace {

/// One that runs; ended and waited for at the latest when this goes.
class Child {
public:
  Child(pid_t process, FileDescriptor output) : process(process), output(std::move(output)) {}
  ~Child() {
    if (hasEnded)
      return;
    ::kill(process, SIGKILL);
    wait(0);
  }

  /// Its status as waitpid() gives it; nothing where it has not ended until then.
  std::optional<int> waitUntil(Clock::time_point end) {
    while (!wait(WNOHANG)) {
      if (Clock::now() >= end)
        return std::nullopt;
      listen(20);
    }
    constexpr int fullPipe = 16; // Who else has its other end may go on writing.
    for (int reads = 0; reads < fullPipe && listen(0);)
      ++reads;
    return status;
  }

  /// Whether nobody can say how it ended: somebody else has waited for it, or nobody may.
  bool isLost() const { return lost; }

  /// What it has said so far, in one line.
  std::string said() const {
    std::string line = text.substr(0, text.find_last_not_of(" \n") + 1);
    std::ranges::replace(line, '\n', ' ');
    return line;
  }

private:
  bool wait(int options) {
    pid_t ended;
    do
      ended = ::waitpid(process, &status, options);
    while (ended < 0 && errno == EINTR);
    lost = ended < 0;
    return hasEnded = ended != 0;
  }

  /// Whether something came within so many milliseconds. Also takes what is not kept, so that the
  /// other end never waits.
  bool listen(int milliseconds) {
    constexpr size_t kept = 2000;
    char buffer[4096];
    pollfd wanted = {output.get(), POLLIN, 0};
    if (isSilent)
      ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
    if (isSilent || ::poll(&wanted, 1, milliseconds) <= 0)
      return false;
    ssize_t count = ::read(output.get(), buffer, sizeof(buffer));
    isSilent = count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
    if (count > 0)
      text.append(buffer, std::min<size_t>(static_cast<size_t>(count), kept - text.size()));
    return count > 0;
  }

  pid_t process;
  FileDescriptor output;
  std::string text;
  int status = 0;
  bool hasEnded = false, isSilent = false, lost = false;
};

} // namespace

/// In the new process, where nothing may be called that takes a lock.
[[noreturn]] static void become(char *const *arguments, int output, pid_t parent) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int input = ::open("/dev/null", O_RDONLY);
  bool isReady = ::getppid() == parent && input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                 ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0;
  if (isReady)
    ::execv(arguments[0], arguments);
  const char *why = ::strerrordesc_np(errno);
  (void)!::write(output, why, std::strlen(why));
  ::_exit(127);
}

static Expected<std::pair<pid_t, FileDescriptor>> start(const std::vector<std::string> &command) {
  auto failed = [&] { return machineError(command[0] + ": " + std::strerror(errno)); };
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed();
  FileDescriptor read(ends[0]), write(ends[1]);
  if (write.get() <= STDERR_FILENO) { // Where the child has its own, dup2() would close it.
    write = FileDescriptor(::fcntl(write.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (write.get() < 0)
      return failed();
  }
  pid_t parent = ::getpid(), process = ::fork();
  if (process < 0)
    return failed();
  if (process == 0)
    become(arguments.data(), write.get(), parent);
  return std::pair(process, std::move(read));
}

Status kintsugi::runProgram(const std::vector<std::string> &command,
                            std::chrono::milliseconds limit) {
  auto end = Clock::now() + limit;
  KINTSUGI_ASSIGN(auto started, start(command));
  Child child(started.first, std::move(started.second));
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
