// Completion of command lines, for the shells: one function for all of them. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "ctl/command.h"

namespace fabric::ctl {

// Names that only the controller or the configuration file knows.
enum class LiveNames { kNone, kNodes, kPorts, kFindings, kRules, kCampaigns, kSilences, kContexts };
using NamesOf = std::function<std::vector<std::string>(LiveNames)>;

// What can take the place of the last word, sorted as the command table. Bash splits "--node=n1" at
// the equals sign; both forms are accepted, and the result replaces the part after the sign.
std::vector<std::string> Completions(std::span<const Command* const> commands,
                                     std::span<const std::string_view> words,
                                     const NamesOf& names_of);

// Values of options of every command in an unfinished command line. Wrong values are ignored.
Arguments SharedArguments(std::span<const Command* const> commands,
                          std::span<const std::string_view> words);

}  // namespace fabric::ctl
