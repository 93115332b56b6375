//===- worker_program.h - The program that compiles ---------------------------===//
//
// Compilations run in a process of the program `kintsugi`. The command line is that program; other
// hosts have it beside the library, or in ../bin from there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_WORKER_PROGRAM_H
#define KINTSUGI_API_COMPILER_WORKER_PROGRAM_H

#include "base/child_process.h"

#include <string>

namespace kintsugi::api {

/// The argument that makes a process of it serve one request.
constexpr const char *workerArgument = "--worker";

/// This program serves its own requests, by `serve`, whose result is the exit code. To be called
/// before there are any.
void useThisProgramAsWorker(int (*serve)());

/// The path; a machine error where there is none.
Expected<std::string> workerProgram();

/// A process that serves the request that comes through the channel. A program that is the worker
/// itself is copied while it has one thread only, which saves the time of its start.
Expected<ChildProcess> startWorker(const FileDescriptor &channel);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_WORKER_PROGRAM_H
