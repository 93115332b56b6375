#include "api/compiler/worker_process.h"

#include "api/compiler/fault_report.h"
#include "api/compiler/worker.h"
#include "api/compiler/worker_program.h"
#include "base/abandoned_files.h"
#include "base/child_process.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/socket.h>
#include <sys/wait.h>

namespace kintsugi::api {

using namespace std::chrono_literals;
using Clock = ChildProcess::Clock;

/// How long a caller who may ask to stop hears nothing at most.
static constexpr auto pauseOfTelling = 100ms;
/// How long a process that was told to stop may take for it.
static constexpr auto timeToStop = 500ms;

namespace {

class WorkerProcess {
public:
  WorkerProcess(const Request &request, const Settings &settings, ChildProcess child,
                FileDescriptor channel)
      : request(request), settings(settings), child(std::move(child)), channel(std::move(channel)) {
  }

  Expected<Answer> serve() {
    Clock::time_point end = Clock::time_point::max();
    if (settings.timeoutSeconds > 0)
      end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(settings.timeoutSeconds));
    sendMessage(channel, messageOf(request, settings)); // Whoever is gone has not answered.
    for (;;) {
      if (!child.waitFor(channel, std::min(end, nextTelling()))) {
        if (isStopping || !tell())
          return stopAsAsked();
        if (Clock::now() >= end)
          return stopLate();
        continue;
      }
      std::optional<Message> message = receiveMessage(channel);
      if (!message)
        return describeEnd();
      if (!message->json.contains("phase"))
        return take(answerIn(std::move(*message)));
      passOn(*message);
    }
  }

private:
  Clock::time_point nextTelling() const {
    if (isStopping)
      return Clock::now() + timeToStop;
    return settings.compile.progress ? Clock::now() + pauseOfTelling : Clock::time_point::max();
  }

  /// Tells the caller how far the work is; whether it is to go on.
  bool tell() const {
    const Progress &progress = settings.compile.progress;
    return !progress || progress(phase.empty() ? "start" : phase, step, steps);
  }

  /// The work that hears of it stops by itself, and says where.
  void passOn(const Message &message) {
    auto name = jsonString(message.json, "phase");
    auto at = jsonUnsigned(message.json, "step"), of = jsonUnsigned(message.json, "steps");
    if (name.ok())
      phase = std::move(*name);
    step = at.ok() ? *at : 0;
    steps = of.ok() ? *of : 0;
    isStopping = !tell() || isStopping;
    char goOn = !isStopping;
    ::send(channel.get(), &goOn, 1, MSG_NOSIGNAL);
  }

  Expected<Answer> stopAsAsked() {
    endSoon();
    return at(request.model, usageError("compiling it was stopped" + where()));
  }

  Expected<Answer> take(Expected<Answer> answer) {
    child.waitUntil(Clock::now() + 1s);
    if (!answer.ok() && answer.error().kind == ErrorKind::Internal)
      return withReport(answer.error().message);
    return answer;
  }

  /// It may still remove what it was writing.
  void endSoon() {
    child.signal(SIGTERM);
    child.waitUntil(Clock::now() + timeToStop);
    end();
  }

  Expected<Answer> stopLate() {
    endSoon();
    char limit[32];
    std::snprintf(limit, sizeof(limit), "%g", settings.timeoutSeconds);
    return failed("compiling it takes longer than the " + std::string(limit) + " s of --timeout" +
                  where() + "; allow more, or try --plan greedy");
  }

  /// Afterwards nothing is written, and what was is gone.
  void end() {
    child.signal(SIGKILL);
    child.waitUntil(Clock::time_point::max());
    if (request.task == Task::Compile)
      removeAbandonedFiles(std::filesystem::path(request.file).parent_path());
  }

  /// Why there is no answer.
  Expected<Answer> describeEnd() {
    std::optional<int> status = child.waitUntil(Clock::now() + 10s);
    end();
    if (!status || child.isLost())
      return failed("the compiler's process ended, and nothing tells how" + where());
    if (WIFSIGNALED(*status))
      return describeSignal(WTERMSIG(*status));
    if (WEXITSTATUS(*status) == outOfMemoryCode || isLoaderShortOfMemory(*status))
      return failed("compiling it takes more memory than there is" + where() + limits() +
                    "; allow more, or use fewer --threads");
    if (WEXITSTATUS(*status) == 127)
      return failed("the compiler's process can't be run: " + child.said());
    return withReport("the compiler's process ended in " + std::to_string(WEXITSTATUS(*status)) +
                      where());
  }

  Expected<Answer> describeSignal(int signal) {
    switch (signal) {
    case SIGKILL:
      return failed("the compiler's process was killed, as systems do that run out of memory" +
                    where() + limits() + "; close other programs, or use fewer --threads");
    case SIGXCPU:
      return failed("compiling it takes more processor time than this process may use" + where());
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
      return failed("the compiler's process was asked to stop by signal " + std::to_string(signal) +
                    where());
    default:
      return withReport("the compiler ended by signal " + std::to_string(signal) + " (" +
                        ::sigdescr_np(signal) + ")" + where());
    }
  }

  /// The dynamic loader gives up with 127 where it can't map a library.
  bool isLoaderShortOfMemory(int status) const {
    std::string said = child.said();
    return WEXITSTATUS(status) == 127 && (said.find("failed to map") != said.npos ||
                                          said.find("annot allocate memory") != said.npos ||
                                          said.find("annot create") != said.npos);
  }

  std::string where() const { return phase.empty() ? "" : " in phase '" + phase + "'"; }

  std::string limits() const {
    return " (--max-memory is " + std::to_string(settings.maxMemory >> 20) + "MiB)";
  }

  Error failed(const std::string &what) const { return at(request.model, machineError(what)); }

  /// A fault of ours, with what somebody needs who is to mend it.
  Error withReport(const std::string &what) const {
    return describeFault(what, request, settings, child.lastWords());
  }

  const Request &request;
  const Settings &settings;
  ChildProcess child;
  FileDescriptor channel;
  std::string phase; ///< The last one that it told of.
  uint64_t step = 0, steps = 0;
  bool isStopping = false; ///< The caller asked for it.
};

} // namespace

Expected<Answer> ask(const Request &request, const Settings &settings) {
  KINTSUGI_ASSIGN(auto ends, makeChannel());
  KINTSUGI_ASSIGN(ChildProcess child, startWorker(ends.second));
  ends.second.close(); // Its end tells this one when it is gone.
  WorkerProcess worker(request, settings, std::move(child), std::move(ends.first));
  return worker.serve();
}

} // namespace kintsugi::api
