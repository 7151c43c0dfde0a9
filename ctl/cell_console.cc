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

// Each line with the name of the context.
std::string Named(std::string_view lines, std::string_view context) {
  std::string named;
  for (std::string_view line : Split(lines, '\n')) {
    if (line.empty()) continue;
    const bool of_program = line.starts_with(kName);
    if (of_program) line.remove_prefix(kName.size());
    named += Format("{}{}: {}\n", of_program ? kName : "", context, line);
  }
  return named;
}

}  // namespace

bool CellConsole::Out(std::string_view text) {
  pieces_.push_back({.error = false, .text = std::string(text)});
  return true;
}

void CellConsole::Err(std::string_view text) {
  pieces_.push_back({.error = true, .text = std::string(text)});
}

bool CellConsole::Print() const {
  for (const Piece& piece : pieces_) {
    if (piece.error)
      console_.Err(Named(piece.text, context_));
    else if (!console_.Out(piece.text))
      return false;
  }
  return true;
}

std::string CellConsole::All(bool errors) const {
  std::string all;
  for (const Piece& piece : pieces_)
    if (piece.error == errors) all += piece.text;
  return all;
}

std::string CellConsole::Json(int exit_status) const {
  nlohmann::ordered_json cell;
  cell["context"] = context_;
  cell["exit_status"] = exit_status;
  auto answer = nlohmann::ordered_json::parse(All(false), nullptr, false);
  if (!answer.is_discarded()) cell["answer"] = std::move(answer);
  const bool good = exit_status == kExitOk || exit_status == kExitFindings;
  if (const std::string text = Bare(All(true)); !text.empty())
    cell[good ? "notes" : "error"] = text;
  return cell.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace fabric::ctl
