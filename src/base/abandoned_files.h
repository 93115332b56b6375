//===- abandoned_files.h - What writers that were killed left behind -----------===//
//
// A file that is being written has a temporary name, and its writer holds a lock on it that goes
// when the writer goes. So a temporary file without a lock is nobody's.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_ABANDONED_FILES_H
#define KINTSUGI_BASE_ABANDONED_FILES_H

#include <string>

namespace kintsugi {

/// Removes such files from a folder ("" for the one where one happens to be); none where the file
/// system has no locks.
void removeAbandonedFiles(const std::string &folder);

} // namespace kintsugi

#endif // KINTSUGI_BASE_ABANDONED_FILES_H
