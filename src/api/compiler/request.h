//===- request.h - What a compilation is asked for, as plain values -----------===//
//
// Whatever looks at a model in earnest is a request, which a process of its own serves
// (worker_process.h, worker.h): whatever the model does to the compiler, the caller goes on.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_REQUEST_H
#define KINTSUGI_API_COMPILER_REQUEST_H

#include "api/compiler/channel.h"
#include "api/compiler/settings.h"

namespace kintsugi::api {

enum class Task : uint8_t {
  Compile,        ///< Into `file`.
  Emit,           ///< The text of the box `step`.
  Inspect,        ///< Looks at the model only.
  Graph,          ///< What the model's nodes read of each other.
  CompareKernels, ///< On the inputs in `file`, or made-up ones where it is empty.
  Survey,         ///< What each node of the model asks for, or why it is refused.
};

struct Request {
  Task task = Task::Compile;
  std::string model;
  std::string file = {};
  std::string step = {};
  bool decisions = false; ///< What the compiler decided is wanted too.
};

/// What came of it.
struct Answer {
  /// Of a compilation "report", and "records", the digest of the measured schedules as they are
  /// now ("" for none); of others "report" alone. With decisions "decisions".
  Json json = Json::object();
  std::string text; ///< Of Task::Emit.
};

Message messageOf(const Request &request, const Settings &settings);

/// A request and the options that came with it.
struct Asked {
  Request request;
  std::string options; ///< As readSettings() takes them.
  Purpose purpose = Purpose::ThisMachine;
};
/// An internal error for a message of another compiler.
Expected<Asked> askedBy(const Message &message);

Message messageOf(const Expected<Answer> &answer);

/// An internal error where it is none.
Expected<Answer> answerIn(Message message);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_REQUEST_H
