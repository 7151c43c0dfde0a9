// The command line: from words to a command with checked values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ctl/command.h"

namespace fabric::ctl {

// Values by option name, "--node" or "NAME". They were checked against the option's kind when they
// were parsed, so that reading cannot fail; asking for an option that the command does not have is
// a programming error that reads as "not given".
class Arguments {
 public:
  bool Has(std::string_view name) const { return values_.contains(name); }
  bool Flag(std::string_view name) const { return Has(name); }
  std::string Text(std::string_view name) const;      // Empty when not given.
  std::uint32_t Number(std::string_view name) const;  // 0 when not given.
  std::uint64_t Sequence(std::string_view name) const;
  Duration Time(std::string_view name) const;
  std::vector<std::string> Words(std::string_view name) const;
  std::vector<std::uint32_t> Numbers(std::string_view name) const;

  std::vector<std::string> All(std::string_view name) const;  // Of a repeated operand

  void Set(std::string_view name, std::string_view value);
  void Append(std::string_view name, std::string_view value);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

struct Invocation {
  const Command* command = nullptr;  // Only with `help` may it be absent.
  std::string group;                 // Of help: "probe" in "fabricctl probe --help".
  bool help = false;
  Arguments arguments;
};

// Options that every command takes. Their fallbacks are not filled in: the environment comes
// between.
std::span<const Option> GlobalOptions();

// Options and operands may come in any order after the command; global options also before it.
// INVALID_ARGUMENT names the word, what was expected and, when one is close, what was meant.
Result<Invocation> ParseCommandLine(std::span<const std::string_view> words,
                                    std::span<const Command* const> commands);

// "10s", "500ms", "2m", "2h", "30d". INVALID_ARGUMENT otherwise.
Result<Duration> ParseDuration(std::string_view text);

// " (did you mean X?)" or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace fabric::ctl
