// Man pages of fabricctl: fabricctl(1), and one page for each command. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command_line.h"

namespace fabric::ctl {

struct ManPage {
  std::string name;  // "fabricctl-probe-run"
  std::string text;  // In the macros of man(7)
};

struct ManualInput {
  const ProgramSpec& program;
  std::string_view version;
  std::span<const std::pair<std::string, std::string>> exit_statuses;
  std::span<const std::pair<std::string, std::string>> variables;
  std::span<const std::string_view> examples;  // Of the program
};

// The page of the program is the first.
std::vector<ManPage> ManualPages(const ManualInput& input);

// The text for a line of a page: backslashes, hyphens and control characters at the beginning are
// escaped.
std::string ManText(std::string_view text);

}  // namespace fabric::ctl
