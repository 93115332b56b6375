#include "forked.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace kintsugi::conformance {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double stalledFactor = 6;

struct Child {
  size_t number;
  pid_t process;
  int answer; ///< The pipe's end that is read.
  int errors; ///< A file in memory that is the child's standard error.
  Clock::time_point start;
  std::string text;
  bool late = false;
};

std::string tooLong(double seconds) {
  std::ostringstream text;
  text << "took longer than " << seconds << " s";
  return text.str();
}

std::string lastSystemError(const char *what) {
  return std::string(what) + ": " + std::strerror(errno);
}

void limitSelf(const ChildLimits &limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto seconds = static_cast<rlim_t>(std::ceil(limits.seconds));
  rlimit processor{seconds, seconds + 1}; // First SIGXCPU, then SIGKILL.
  setrlimit(RLIMIT_CPU, &processor);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (limits.bytes) {
    rlimit memory{limits.bytes, limits.bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
}

[[noreturn]] void beChild(int answer, int errors, size_t number, const ChildLimits &limits,
                          const std::function<std::string(size_t)> &work) {
  limitSelf(limits);
  dup2(errors, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  std::string text = work(number);
  for (size_t written = 0; written < text.size();) {
    ssize_t step = write(answer, text.data() + written, text.size() - written);
    if (step <= 0)
      _exit(1);
    written += static_cast<size_t>(step);
  }
  _exit(0); // What the parent initialized is not this process's to tear down.
}

Expected<Child> start(size_t number, const ChildLimits &limits,
                      const std::function<std::string(size_t)> &work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return machineError(lastSystemError("can't make a pipe"));
  int errors = memfd_create("stderr", MFD_CLOEXEC);
  pid_t process = errors < 0 ? -1 : fork();
  if (process == 0)
    beChild(ends[1], errors, number, limits, work);
  Error failure = machineError(lastSystemError("can't start a child"));
  close(ends[1]);
  if (process > 0)
    return Child{number, process, ends[0], errors, Clock::now(), {}};
  close(ends[0]);
  if (errors >= 0)
    close(errors);
  return failure;
}

std::string firstLine(int file) {
  char buffer[400];
  ssize_t length = pread(file, buffer, sizeof(buffer), 0);
  std::string text(buffer, length > 0 ? static_cast<size_t>(length) : 0);
  return text.substr(0, text.find('\n'));
}

ChildResult finish(Child &child, const ChildLimits &limits) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  std::string line = firstLine(child.errors);
  close(child.answer);
  close(child.errors);
  ChildResult result;
  result.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
  std::string message;
  if (child.late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
    message = tooLong(limits.seconds);
  else if (WIFSIGNALED(status))
    message = "ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
              strsignal(WTERMSIG(status)) + ")";
  else if (WEXITSTATUS(status) != 0)
    message = "exited with " + std::to_string(WEXITSTATUS(status));
  else
    result.outcome = std::move(child.text);
  if (!message.empty())
    result.outcome = internalError(message + (line.empty() ? "" : ": " + line));
  return result;
}

/// Whether the child has ended: its end of the pipe is closed.
bool readSome(Child &child) {
  char buffer[4096];
  ssize_t length = read(child.answer, buffer, sizeof(buffer));
  if (length > 0)
    child.text.append(buffer, static_cast<size_t>(length));
  return length == 0 || (length < 0 && errno != EINTR);
}

/// Waits for something to read or for the next deadline, and kills who is late. Returns which
/// children can be read.
std::vector<size_t> awaitAny(std::vector<Child> &children, const ChildLimits &limits) {
  std::vector<pollfd> waits;
  auto limit = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(limits.seconds * stalledFactor));
  Clock::time_point deadline = Clock::time_point::max();
  for (Child &child : children) {
    waits.push_back({child.answer, POLLIN, 0});
    if (!child.late)
      deadline = std::min(deadline, child.start + limit);
  }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  bool timed = deadline != Clock::time_point::max();
  poll(waits.data(), waits.size(), timed ? static_cast<int>(std::max<int64_t>(left, 0)) : -1);
  std::vector<size_t> readable;
  for (size_t i = 0; i < children.size(); ++i) {
    if (waits[i].revents)
      readable.push_back(i);
    else if (!children[i].late && Clock::now() >= children[i].start + limit) {
      children[i].late = true;
      kill(children[i].process, SIGKILL);
    }
  }
  return readable;
}

} // namespace

Status runForked(size_t count, const ChildLimits &limits,
                 const std::function<std::string(size_t)> &work,
                 const std::function<void(size_t, const ChildResult &)> &done) {
  std::vector<Child> children;
  Status failure;
  for (size_t next = 0; next < count || !children.empty();) {
    while (failure.ok() && next < count && children.size() < std::max(1u, limits.jobs)) {
      auto child = start(next, limits, work);
      if (child.ok()) {
        children.push_back(std::move(*child));
        ++next;
      } else {
        failure = child.takeError();
      }
    }
    if (!failure.ok())
      next = count;
    std::vector<size_t> readable = awaitAny(children, limits);
    for (auto index = readable.rbegin(); index != readable.rend(); ++index) {
      Child &child = children[*index];
      if (!readSome(child))
        continue;
      done(child.number, finish(child, limits));
      children.erase(children.begin() + static_cast<ptrdiff_t>(*index));
    }
  }
  return failure;
}

} // namespace kintsugi::conformance
