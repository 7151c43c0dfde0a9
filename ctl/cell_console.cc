#include "ctl/cell_console.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr std::string_view kName = "fabricctl: ";

// Without the name of the program, which a field of a document does not need.
std::string Bare(std::string_view lines) {
  std::string text;
  for (std::string_view line : Split(lines, '\n')) {
    if (line.starts_with(kName)) line.remove_prefix(kName.size());
    if (line.empty()) continue;
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

}  // namespace

bool CellConsole::Out(std::string_view text) {
  if (!keeps_) return console_.Out(text);
  out_ += text;
  return true;
}

void CellConsole::Err(std::string_view text) {
  if (keeps_) {
    err_ += text;
    return;
  }
  // Progress of a terminal replaces its line.
  if (text.find('\r') != text.npos || text.find('\x1b') != text.npos) return console_.Err(text);
  std::string named;
  for (std::string_view line : Split(text, '\n')) {
    if (line.empty()) continue;
    const bool of_program = line.starts_with(kName);
    if (of_program) line.remove_prefix(kName.size());
    named += Format("{}{}: {}\n", of_program ? kName : "", context_, line);
  }
  console_.Err(named);
}

std::string CellConsole::Json(int exit_status) const {
  nlohmann::ordered_json cell;
  cell["context"] = context_;
  cell["exit_status"] = exit_status;
  auto answer = nlohmann::ordered_json::parse(out_, nullptr, false);
  if (!answer.is_discarded()) cell["answer"] = std::move(answer);
  const bool good = exit_status == kExitOk || exit_status == kExitFindings;
  if (const std::string text = Bare(err_); !text.empty()) cell[good ? "notes" : "error"] = text;
  return cell.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace fabric::ctl
