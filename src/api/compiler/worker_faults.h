//===- worker_faults.h - How a worker ends when something goes wrong ------------===//
#ifndef KINTSUGI_API_COMPILER_WORKER_FAULTS_H
#define KINTSUGI_API_COMPILER_WORKER_FAULTS_H

#include <cstdint>

namespace kintsugi::api {

/// For a process that does nothing but compile: faults leave no temporary files behind and say
/// where they happened, and memory or threads that can't be had end the process with
/// outOfMemoryCode, whoever asked for them.
void endCleanlyOnFaults();

/// So many bytes may be taken besides what the process has already.
void limitMemory(uint64_t bytes);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_WORKER_FAULTS_H
