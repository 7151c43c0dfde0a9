// Renderer of command output: table, wide, JSON, YAML and names. Pure.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "ctl/command.h"

namespace fabric::ctl {

enum class OutputFormat { kTable, kWide, kJson, kYaml, kName, kJsonl, kCsv };

struct RenderOptions {
  OutputFormat format = OutputFormat::kTable;
  bool colour = false;
  bool stream = false;      // Rows without titles, messages on one line.
  bool headers = true;      // The lines of column titles
  bool ascii = false;       // Replaces other characters in tables and lines.
  std::size_t columns = 0;  // Of the terminal; elastic columns are cut to fit. 0: no limit.
};

struct Rendered {
  std::string out;    // For standard output, newline at the end unless empty.
  std::string notes;  // For standard error: messages about empty tables.
};

// Each column is as wide as its widest cell; two blanks separate columns.
Rendered Render(const Output& output, const RenderOptions& options);

// The rows as {LIST: [{"node": "n1", ...}]}, for commands whose tables follow from no message.
// Names of members are the titles, as "pauses_in_s". Absent values are left out.
std::unique_ptr<google::protobuf::Message> RowsMessage(const Table& table, const std::string& list);

// Sorts the rows of each table that has this column: "findings", "-findings" descending. Numbers
// and rates compare by value; absent values are last. INVALID_ARGUMENT if no table has the column.
Status SortRows(std::string_view column, Output& output);

// Renders a document with one list, {"rounds":[item,...],"skipped":[...]}, item by item as JSON or
// YAML, so that the list need not fit into memory.
class ListRenderer {
 public:
  ListRenderer(OutputFormat format, std::string_view list) : format_(format), list_(list) {}

  std::string Begin() const;
  std::string Item(const nlohmann::ordered_json& object);
  std::string End(const nlohmann::ordered_json& more);  // Members that follow the list

 private:
  const OutputFormat format_;
  const std::string list_;
  bool first_ = true;
};

// "table", "wide", "json", "yaml", "name", "jsonl", "csv"; no other text is allowed.
OutputFormat FormatNamed(std::string_view name);

// Columns of a terminal that the UTF-8 text takes. Bytes that are not UTF-8 count as one column.
std::size_t DisplayWidth(std::string_view text);

// Replaces control characters by blanks and bytes that are not UTF-8 by question marks, because
// names and reasons come from other machines and must not control the terminal.
std::string Printable(std::string_view text);

}  // namespace fabric::ctl
