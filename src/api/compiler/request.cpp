#include "api/compiler/request.h"

#include "pipeline/version.h"

namespace kintsugi::api {

Message messageOf(const Request &request, const Settings &settings) {
  // Paths are no UTF-8, so they are no JSON.
  return {{{"compiler", pipeline::compilerVersion()},
           {"task", static_cast<int>(request.task)},
           {"step", request.step},
           {"decisions", request.decisions},
           {"purpose", static_cast<int>(settings.purpose)}},
          {request.model, request.file, settings.given}};
}

Expected<Asked> askedBy(const Message &message) {
  KINTSUGI_ASSIGN(std::string compiler, jsonString(message.json, "compiler"));
  if (compiler != pipeline::compilerVersion() || message.texts.size() != 3)
    return internalError("the compiler's process is of version " + pipeline::compilerVersion() +
                         ", and who asks it of " + compiler);
  Asked asked;
  KINTSUGI_ASSIGN(uint64_t task, jsonUnsigned(message.json, "task"));
  KINTSUGI_ASSIGN(uint64_t purpose, jsonUnsigned(message.json, "purpose"));
  KINTSUGI_ASSIGN(asked.request.step, jsonString(message.json, "step"));
  KINTSUGI_ASSIGN(asked.request.decisions, jsonBool(message.json, "decisions"));
  if (task > static_cast<uint64_t>(Task::Survey) ||
      purpose > static_cast<uint64_t>(Purpose::RoundedReference))
    return internalError("the compiler's process does not know what is asked of it");
  asked.request.task = static_cast<Task>(task);
  asked.purpose = static_cast<Purpose>(purpose);
  asked.request.model = message.texts[0];
  asked.request.file = message.texts[1];
  asked.options = message.texts[2];
  return asked;
}

Message messageOf(const Expected<Answer> &answer) {
  if (answer.ok())
    return {{{"answer", answer->json}}, {answer->text}};
  const Error &error = answer.error();
  return {{{"error", static_cast<int>(error.kind)}}, {error.message}};
}

Expected<Answer> answerIn(Message message) {
  Error noAnswer = internalError("the compiler's process gave no answer that makes sense");
  if (message.texts.size() != 1)
    return noAnswer;
  if (auto kind = jsonUnsigned(message.json, "error"); kind.ok()) {
    bool isKind = *kind >= static_cast<uint64_t>(ErrorKind::Comparison) &&
                  *kind <= static_cast<uint64_t>(ErrorKind::Machine);
    return isKind ? Error{static_cast<ErrorKind>(*kind), std::move(message.texts[0])} : noAnswer;
  }
  auto json = jsonObject(message.json, "answer");
  if (!json.ok())
    return noAnswer;
  return Answer{**json, std::move(message.texts[0])};
}

} // namespace kintsugi::api
