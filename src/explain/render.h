//===- render.h - Decisions for people and for programs ---------------------===//
//
// Renderers over the same records, after DuckDB's explain, and the page that shows them beside the
// graph. Phases stand in the order of their first record, and records of a phase in the order in
// which they were added.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_EXPLAIN_RENDER_H
#define KINTSUGI_EXPLAIN_RENDER_H

#include "base/json.h"
#include "explain/log.h"
#include "explain/step.h"

#include <span>

namespace kintsugi::explain {

/// A heading for each phase and a few lines for each record.
std::string renderText(std::span<const Record> records);

/// [{"phase", "subject", "decision", "reasons": [..], "numbers": {name: {"value", "unit"}}}]. A
/// number that is not finite is null.
Json renderJson(std::span<const Record> records);

/// The fields by their names in snake case; seconds as milliseconds, "_ms".
Json renderJson(const Choice &choice);

/// {"derivations": [{"rules", "values", "steps": [{"rule", "equation", "values", "before",
/// "after"}]}], a chain each, and "refused": [a step with "reason"]}.
Json renderJson(std::span<const Step> steps);

/// One page that needs nothing beside it: no files, no network. `report`: what `kintsugi explain
/// --json` prints, of which the page has all but the records of single decisions that no rule made.
/// Its styles and scripts are the files of explain/page.
std::string renderHtml(const Json &report);

/// "12.5 us", "3.2 MiB", "7": a number as text and pages show it.
std::string show(const Number &number);

/// Positions of records, by phase, in the order that all renderers use.
std::vector<std::vector<size_t>> groupByPhase(std::span<const Record> records);

} // namespace kintsugi::explain

#endif // KINTSUGI_EXPLAIN_RENDER_H
