// Options, operands and settings of a program: one table row each. Parser, bounds, help,
// --print-config and the reference pages all follow from the row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/grammar.h"
#include "base/status.h"

namespace fabric {

enum class OptionType {
  kText,
  kPath,
  kAddress,   // HOST:PORT
  kDuration,  // "500ms", "10s", "1.5h"
  kSize,      // "4096", "64KiB", "8M"
  kNumber,    // 32 bits
  kNumber64,
  kBool,     // "--name" alone means true
  kNumbers,  // "0,1"
  kWords,    // "n1,n2"
};

struct Option {
  std::string_view name;  // "lost-after"; an operand is in upper case: "NODE"
  OptionType type = OptionType::kText;
  std::string_view value = {};     // Placeholder in help; empty: by type
  std::string_view fallback = {};  // Default, as a user writes it; empty: not set (kBool: false)
  std::string_view min = {};  // Of numbers, durations and sizes, as a user writes it; empty: none
  std::string_view max = {};
  std::string_view choices = {};  // Of kText: "debug|info"; empty: any
  std::string_view doc = {};      // Sentences
  char letter = '\0';             // The 'o' of -o
  bool required = false;
  // An operand that takes all further words, or an option that can be given several times. On
  // a command line, the values of a list (kWords, kNumbers) always add up.
  bool repeated = false;
  // Names that are known only at run time, for help: "latency, bandwidth"
  std::string (*names)() = nullptr;
};

bool IsOperand(const Option& option);
bool IsList(const Option& option);
std::string DisplayName(const Option& option);  // "--lost-after", "NODE"
std::string ValueName(const Option& option);    // "DURATION", "debug|info"
std::string DefaultOf(const Option& option);    // As a user writes it; empty: not set

// INVALID_ARGUMENT unless the option accepts the text: "expected at most 1h, saw '2h'".
Status CheckValue(const Option& option, std::string_view text);

// Values of options. They are checked when they are set, so that reading cannot fail. A name that
// is in no table reads as not set. Safe to read from any thread once set.
class Values {
 public:
  enum class Origin { kDefault, kFile, kCommandLine };
  struct Entry {
    const Option* option = nullptr;
    std::vector<std::string> texts;  // As written; several for a repeated option
    Origin origin = Origin::kDefault;
  };

  Values() = default;
  explicit Values(std::span<const Option> table) { Add(table); }
  void Add(std::span<const Option> table);  // Must outlive the object; sets the defaults.
  void Add(const Values& other);            // Includes the values

  bool Has(std::string_view name) const;    // Set, or has a default. kBool: true
  bool Given(std::string_view name) const;  // Set, not by default
  std::string Text(std::string_view name) const;
  HostPort Address(std::string_view name) const;
  fabric::Duration Duration(std::string_view name) const;
  std::uint64_t Size(std::string_view name) const;  // Bytes
  std::uint32_t Number(std::string_view name) const;
  std::uint64_t Number64(std::string_view name) const;
  bool Bool(std::string_view name) const;
  std::vector<std::string> Words(std::string_view name) const;
  std::vector<std::uint32_t> Numbers(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;  // Of a repeated option

  // INVALID_ARGUMENT as CheckValue, with the option's name in front.
  Status Set(std::string_view name, std::string_view text, Origin origin = Origin::kCommandLine);

  const std::vector<Entry>& entries() const { return entries_; }  // In the order of the tables

 private:
  const Entry* Find(std::string_view name) const;

  std::vector<Entry> entries_;
};

}  // namespace fabric
