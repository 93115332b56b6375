//===- fault_report.h - What reproduces a fault of the compiler ------------------===//
#ifndef KINTSUGI_API_COMPILER_FAULT_REPORT_H
#define KINTSUGI_API_COMPILER_FAULT_REPORT_H

#include "api/compiler/request.h"

namespace kintsugi::api {

/// An internal error of one line that names a folder with the model, the options, the compiler's
/// version and what it said last. The folder is in $TMPDIR or /tmp, where the newest of a user's
/// are kept; the message says so where there can't be one.
Error describeFault(const std::string &what, const Request &request, const Settings &settings,
                    const std::string &lastWords);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_FAULT_REPORT_H
