//===- trace_events.h - A profiled run for viewers of traces ----------------===//
//
// The Trace Event Format of Chromium, which Perfetto (ui.perfetto.dev) opens: a track for each lane
// with a slice for each launch of a stage, below it slices for the model's nodes, which share its
// time (verify/profile.h) in the order in which the stage names them. Parts of a launch whose times
// are known have slices on tracks of their own, with their nodes below them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_TRACE_EVENTS_H
#define KINTSUGI_VERIFY_TRACE_EVENTS_H

#include "base/json.h"
#include "runtime/device.h"
#include "runtime/manifest.h"

#include <span>

namespace kintsugi::verify {

Json traceEvents(const runtime::Manifest &manifest, std::span<const runtime::StageSpan> run);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_TRACE_EVENTS_H
