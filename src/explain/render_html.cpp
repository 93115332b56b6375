#include "explain/render.h"

namespace kintsugi::explain {

namespace {

/// Names come from models: whatever could end the text or open a tag is written as an entity.
std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

std::string element(const char *tag, const std::string &content) {
  return std::string("<") + tag + ">" + content + "</" + tag + ">";
}

std::string row(const Record &record) {
  std::string reasons, numbers;
  for (const std::string &reason : record.reasons)
    reasons += element("li", escape(reason));
  for (const Number &number : record.numbers)
    numbers += element("li", escape(number.name + " " + show(number)));
  std::string cells = element("td", escape(record.subject)) +
                      element("td", escape(record.decision)) +
                      element("td", element("ul", reasons)) + element("td", element("ul", numbers));
  return element("tr", cells) + "\n";
}

constexpr const char *style = "body{font:14px sans-serif;margin:2em}"
                              "table{border-collapse:collapse;width:100%}"
                              "th,td{border-bottom:1px solid #ccc;padding:4px 8px;"
                              "text-align:left;vertical-align:top}"
                              "ul{margin:0;padding:0;list-style:none}";

} // namespace

std::string renderHtml(std::span<const Record> records, const std::string &title) {
  std::string page = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">" +
                     element("title", escape(title)) + element("style", style) + "</head><body>\n" +
                     element("h1", escape(title)) + "\n";
  for (const std::vector<size_t> &group : groupByPhase(records)) {
    page += element("h2", escape(records[group.front()].phase)) + "\n<table>\n" +
            "<tr><th>subject</th><th>decision</th><th>reasons</th><th>numbers</th></tr>\n";
    for (size_t i : group)
      page += row(records[i]);
    page += "</table>\n";
  }
  return page + "</body></html>\n";
}

} // namespace kintsugi::explain
