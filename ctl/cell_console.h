// What a command prints about one of several controllers (--context all): errors name the context,
// and with -o json everything is a part of one document.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ctl/app.h"

namespace fabric::ctl {

class CellConsole final : public Console {
 public:
  // `console` is borrowed. `keeps`: nothing is printed; see Json().
  CellConsole(Console& console, std::string context, bool keeps)
      : console_(console), context_(std::move(context)), keeps_(keeps) {}

  bool Out(std::string_view text) override;
  void Err(std::string_view text) override;
  void CatchInterrupts() override { console_.CatchInterrupts(); }
  bool Wait(Duration duration) override { return console_.Wait(duration); }
  WallTime Now() const override { return console_.Now(); }

  // {"context": "east", "exit_status": 0, "answer": {...}, "notes": "..."}, indented by two spaces.
  // A failure has "error" in place of "notes". A field without a value is absent.
  std::string Json(int exit_status) const;

 private:
  Console& console_;
  const std::string context_;
  const bool keeps_;
  std::string out_;
  std::string err_;
};

}  // namespace fabric::ctl
