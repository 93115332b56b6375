#include "api/compiler/identity.h"

#include "api/compiler/worker_program.h"
#include "pipeline/model_identity.h"
#include "pipeline/version.h"

namespace kintsugi::api {

std::string compilerIdentity() {
  Expected<std::string> program = workerProgram();
  return pipeline::compilerVersion() + " " +
         pipeline::fileIdentity(program.ok() ? *program : std::string());
}

} // namespace kintsugi::api
