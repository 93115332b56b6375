//===- interrupt.h - Stopping at once, with nothing half-written ------------===//
//
// Ctrl-C and its like end the process without waiting for the work under way; what it was writing
// is taken away first.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_INTERRUPT_H
#define KINTSUGI_TOOLS_KINTSUGI_INTERRUPT_H

namespace kintsugi::tool {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT remove temporary files and then do what they do
/// anyway.
void stopCleanlyOnSignals();

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_INTERRUPT_H
