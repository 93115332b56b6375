//===- child_process.h - Programs that work for this one --------------------===//
//
// Another program is run by its path with a list of arguments: no shell looks at them. It reads
// nothing, what it says is kept, it may take only so long, and it ends when this process does. What
// it starts in its turn is its own business.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_CHILD_PROCESS_H
#define KINTSUGI_BASE_CHILD_PROCESS_H

#include "base/status.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kintsugi {

/// The path of a program in the first of the folders, those of $PATH ahead of the others, that has
/// one of that name.
std::optional<std::string> findProgram(const std::string &name,
                                       const std::vector<std::string> &otherFolders = {});

/// Waits for a program, whose path is the first of `command`. A machine error of one line, with the
/// beginning of what it said, where it can't be run, takes longer than `limit`, or fails.
Status runProgram(const std::vector<std::string> &command, std::chrono::milliseconds limit);

} // namespace kintsugi

#endif // KINTSUGI_BASE_CHILD_PROCESS_H
