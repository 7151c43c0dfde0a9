// Help texts and the reference page, made from the tables of commands and options. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ctl/command.h"

namespace fabric::ctl {

// Of the whole program, or of the commands that begin with `group` ("probe").
std::string ProgramHelp(std::span<const Command* const> commands, std::string_view group);

std::string CommandHelp(const Command& command);

// docs/reference/CLI.md
std::string ReferencePage(std::span<const Command* const> commands);

}  // namespace fabric::ctl
