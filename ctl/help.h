// Command line, help texts and reference page of fabricctl, made from the tables of commands and
// options. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/status.h"
#include "ctl/command.h"

namespace fabric::ctl {

std::vector<CommandSpec> SpecsOf(std::span<const Command* const> commands);

// For ParseCommandLine. Borrows `commands`.
ProgramSpec Program(std::span<const CommandSpec> commands);

// The help that the command line asks for.
std::string Help(const ProgramSpec& program, const CommandLine& line);

// docs/reference/CLI.md
std::string ReferencePage(std::span<const Command* const> commands);

// Without a name: the names of all man pages, one on each line. Else the page; NOT_FOUND.
Result<std::string> ManualPage(std::span<const Command* const> commands, std::string_view name);

}  // namespace fabric::ctl
