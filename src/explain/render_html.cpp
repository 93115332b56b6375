#include "explain/render.h"

#include <map>

namespace kintsugi::explain {

namespace {

/// The files of explain/page as text, made by the build.
constexpr std::string_view frame =
#include "explain/page/page.html.inc"
    ;
constexpr std::string_view style =
#include "explain/page/page.css.inc"
    ;
constexpr std::string_view script =
#include "explain/page/page.js.inc"
    ;

/// Names come from models: whatever could open a tag or an entity is written as an entity.
std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return escaped;
}

/// JSON that ends no element of the page and opens no comment in it, whatever its strings hold.
std::string asContent(const Json &value) {
  std::string content;
  for (char c : printJson(value))
    if (c == '<' || c == '>' || c == '&')
      content += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    else
      content += c;
  return content;
}

/// The text with what stands for each {{name}} in it; what is put in is not looked at again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string> &parts) {
  std::string result;
  for (size_t start = 0;;) {
    size_t open = text.find("{{", start), close = text.find("}}", open);
    if (close == text.npos)
      return result.append(text.substr(start));
    result.append(text.substr(start, open - start));
    result.append(parts.at(text.substr(open + 2, close - open - 2)));
    start = close + 2;
  }
}

bool isShown(const Json &record) {
  return record.contains("rule") || record.value("phase", "") == "forms" ||
         record.value("subject", "").starts_with("program ");
}

/// What the page does not show is left out of it.
Json shownOf(const Json &report) {
  Json shown = report;
  auto decisions = shown.find("decisions");
  if (decisions == shown.end() || !decisions->is_object() || !decisions->contains("records"))
    return shown;
  Json records = Json::array();
  for (const Json &record : (*decisions)["records"])
    if (isShown(record))
      records.push_back(record);
  (*decisions)["records_left_out"] = (*decisions)["records"].size() - records.size();
  (*decisions)["records"] = std::move(records);
  return shown;
}

} // namespace

std::string renderHtml(const Json &report) {
  return filled(frame, {{"title", escape(report.value("model", "model"))},
                        {"style", std::string(style)},
                        {"script", std::string(script)},
                        {"report", asContent(shownOf(report))}});
}

} // namespace kintsugi::explain
