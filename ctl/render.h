// What commands say, as text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ctl/command.h"

namespace fabric::ctl {

enum class OutputFormat { kTable, kWide, kJson, kYaml, kName };

struct RenderOptions {
  OutputFormat format = OutputFormat::kTable;
  bool colour = false;
  bool stream = false;  // Rows without titles, messages on one line.
};

struct Rendered {
  std::string out;    // For standard output, newline at the end unless empty.
  std::string notes;  // For standard error: what is said instead of an empty table.
};

// Every column of the table is as wide as its widest cell; two blanks stand between columns.
Rendered Render(const Output& output, const RenderOptions& options);

// "table", "wide", "json", "yaml", "name"; those are the only words it takes.
OutputFormat FormatNamed(std::string_view name);

// Columns of a terminal that the UTF-8 text takes. Bytes that are no UTF-8 count one each.
std::size_t DisplayWidth(std::string_view text);

// Without what could move the cursor or change colours: control characters become blanks, bytes
// that are no UTF-8 question marks. Names and reasons come from other machines.
std::string Printable(std::string_view text);

}  // namespace fabric::ctl
