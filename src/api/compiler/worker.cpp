#include "api/compiler/worker.h"

#include "api/compiler/artifacts.h"
#include "api/compiler/compile_here.h"
#include "api/compiler/failing_size.h"
#include "api/compiler/kernel_report.h"
#include "api/compiler/reports.h"
#include "api/compiler/tuned_store.h"
#include "api/compiler/worker_faults.h"
#include "base/child_process.h"
#include "explain/render.h"
#include "explain/step.h"
#include "explain/summary.h"
#include "pipeline/inspect.h"
#include "pipeline/model_graph.h"
#include "pipeline/survey.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace kintsugi::api {

static Json describe(const explain::Log &log) {
  std::vector<explain::Record> records = log.records();
  Json choices = Json::array();
  for (const explain::Choice &choice : log.choices())
    choices.push_back(explain::renderJson(choice));
  std::vector<explain::Step> steps = log.steps();
  Json described = explain::renderJson(steps);
  described["summary"] = explain::renderJson(explain::summarize(records));
  described["records"] = explain::renderJson(records);
  described["choices"] = std::move(choices);
  return described;
}

static Expected<Answer> compile(const Request &request, const Settings &settings) {
  TunedRecords tuned = openTunedRecords(settings);
  KINTSUGI_ASSIGN(Json report, compileHere(tuned, request.file, request.model, settings));
  return Answer{{{"report", std::move(report)}, {"records", tuned.digest()}}, ""};
}

static Expected<Answer> emit(const Request &request, const Settings &settings) {
  auto box = pipeline::boxOf(request.step);
  if (!box)
    return internalError("there is no step '" + request.step + "'");
  Diagnostics diagnostics;
  TunedRecords tuned = openTunedRecords(settings);
  pipeline::CompileOptions options = settings.compile;
  tuned.lendTo(options);
  KINTSUGI_ASSIGN(std::string text,
                  pipeline::emit(request.model, options, *box, *hostDevice(), diagnostics));
  return Answer{Json::object(), std::move(text)};
}

static Expected<Answer> serveTask(const Request &request, const Settings &settings) {
  if (request.task == Task::Compile)
    return compile(request, settings);
  if (request.task == Task::Emit)
    return emit(request, settings);
  Diagnostics diagnostics;
  KINTSUGI_ASSIGN(Json report,
                  request.task == Task::Inspect
                      ? pipeline::inspect(request.model, settings.compile, diagnostics)
                  : request.task == Task::Graph
                      ? pipeline::describeGraph(request.model, settings.compile, diagnostics)
                  : request.task == Task::Survey
                      ? pipeline::survey(request.model, settings.compile)
                      : compareKernels(request.model, request.file, settings));
  return Answer{{{"report", std::move(report)}}, ""};
}

Expected<Answer> serve(const Request &request, const Settings &given) {
  explain::Log log;
  Settings settings = given;
  if (request.decisions)
    settings.compile.log = &log;
  Expected<Answer> answer = serveTask(request, settings);
  if (!answer.ok())
    return withSize(answer.takeError(), request.model, settings.compile);
  if (request.decisions)
    answer->json["decisions"] = describe(log);
  return answer;
}

namespace {

/// Tells the host of phases; whether the work is to go on.
struct Reporter {
  const FileDescriptor &channel;
  const Progress &observer;

  int tell(const char *phase, uint64_t step, uint64_t steps) const {
    char goOn = 0;
    if (!sendMessage(channel, {{{"phase", phase}, {"step", step}, {"steps", steps}}, {}}) ||
        ::recv(channel.get(), &goOn, 1, 0) != 1)
      ::_exit(outOfMemoryCode); // There is nobody to work for.
    if (observer && goOn)
      observer(phase, step, steps);
    return goOn;
  }
};

} // namespace

static Expected<Answer> serveMessage(const Message &message, const Reporter &reporter) {
  KINTSUGI_ASSIGN(Asked asked, askedBy(message));
  auto progress = [](void *user, const char *phase, uint64_t step, uint64_t steps) {
    return static_cast<const Reporter *>(user)->tell(phase, step, steps);
  };
  KinCompilerOptions options = {sizeof(options), asked.options.c_str(), progress,
                                const_cast<Reporter *>(&reporter)};
  KINTSUGI_ASSIGN(Settings settings, readSettings(&options));
  limitMemory(settings.maxMemory);
  return serve(asked.request, settings.as(asked.purpose));
}

int serveRequest(const Progress &observer) {
  endCleanlyOnFaults();
  FileDescriptor channel(ChildProcess::channelNumber);
  std::optional<Message> message = receiveMessage(channel);
  if (!message) {
    std::fputs("kintsugi: --worker is how the compiler starts a process of its own\n", stderr);
    return KIN_USAGE;
  }
  Reporter reporter{channel, observer};
  Expected<Answer> answer = serveMessage(*message, reporter);
  sendMessage(channel, messageOf(answer));
  std::fflush(stderr);
  ::_exit(0); // What is left goes with the process.
}

} // namespace kintsugi::api
