// Cell console: output of a command for one of several controllers (--context all). Errors name the
// context; with -o json, everything is a part of one document. Prints nothing before Print().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/app.h"

namespace fabric::ctl {

class CellConsole final : public Console {
 public:
  // `console` is borrowed.
  CellConsole(Console& console, std::string context)
      : console_(console), context_(std::move(context)) {}

  bool Out(std::string_view text) override;
  void Err(std::string_view text) override;
  void CatchInterrupts() override { console_.CatchInterrupts(); }
  bool Wait(Duration duration) override { return console_.Wait(duration); }
  WallTime Now() const override { return console_.Now(); }

  // Passes everything on to the console. False if writing to standard output failed.
  bool Print() const;
  // {"context": "east", "exit_status": 0, "answer": {...}, "notes": "..."}, indented by two spaces.
  // A failure has "error" in place of "notes". A field without a value is absent.
  std::string Json(int exit_status) const;

 private:
  struct Piece {
    bool error = false;
    std::string text;
  };
  std::string All(bool errors) const;

  Console& console_;
  const std::string context_;
  std::vector<Piece> pieces_;  // In the order of the calls
};

}  // namespace fabric::ctl
