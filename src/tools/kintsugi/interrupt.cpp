#include "tools/kintsugi/interrupt.h"

#include "base/child_process.h"
#include "base/temporary_path.h"

#include <csignal>

namespace kintsugi::tool {

/// Ends as the signal would have, so that shells see what happened.
static void stop(int signal) {
  endChildren(); // They remove what they were writing.
  removeTemporaries();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void stopCleanlyOnSignals() {
  // A limit on the size of files is an error of the write that meets it.
  ::signal(SIGXFSZ, SIG_IGN);
  // Where a parent ignores it, nobody learns how programs ended that work for this one.
  ::signal(SIGCHLD, SIG_DFL);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action = {}, old = {};
    action.sa_handler = stop;
    // A signal that the parent ignores (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
}

} // namespace kintsugi::tool
