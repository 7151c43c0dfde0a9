#include "base/options.h"

#include <algorithm>
#include <cassert>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

Status Expected(std::string_view what, std::string_view saw) {
  return {Code::kInvalidArgument, Format("expected {}, saw {}", what, Quoted(saw))};
}

Result<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return Expected("true or false", text);
}

// Bounds are texts that the parser of the value reads, too.
template <class T, class Parser>
Status Bounded(const Option& option, std::string_view text, Parser parse) {
  ASSIGN_OR_RETURN(const T value, parse(text));
  if (!option.min.empty() && value < *parse(option.min))
    return Expected(Format("at least {}", option.min), text);
  if (!option.max.empty() && value > *parse(option.max))
    return Expected(Format("at most {}", option.max), text);
  return {};
}

Status CheckChoice(const Option& option, std::string_view text) {
  if (option.choices.empty()) return {};
  const Candidates choices = Split(option.choices, '|');
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return {Code::kInvalidArgument,
          Format("expected one of {}, saw {}{}", Join({choices.begin(), choices.end()}, ", "),
                 Quoted(text), Suggest(text, choices))};
}

}  // namespace

bool IsOperand(const Option& option) {
  return option.name.front() >= 'A' && option.name.front() <= 'Z';
}

bool IsList(const Option& option) {
  return option.type == OptionType::kWords || option.type == OptionType::kNumbers;
}

std::string DisplayName(const Option& option) {
  return IsOperand(option) ? std::string(option.name) : Format("--{}", option.name);
}

std::string ValueName(const Option& option) {
  if (!option.choices.empty()) return std::string(option.choices);
  if (!option.value.empty()) return std::string(option.value);
  switch (option.type) {
    case OptionType::kText: return "TEXT";
    case OptionType::kPath: return "FILE";
    case OptionType::kAddress: return "HOST:PORT";
    case OptionType::kDuration: return "DURATION";
    case OptionType::kSize: return "SIZE";
    case OptionType::kNumber:
    case OptionType::kNumber64: return "NUMBER";
    case OptionType::kBool: return "true|false";
    case OptionType::kNumbers: return "NUMBERS";
    case OptionType::kWords: return "NAMES";
  }
  return "VALUE";
}

std::string DefaultOf(const Option& option) {
  if (!option.fallback.empty()) return std::string(option.fallback);
  return option.type == OptionType::kBool ? "false" : "";
}

Status CheckValue(const Option& option, std::string_view text) {
  if (text.empty()) return Expected(ValueName(option), text);
  switch (option.type) {
    case OptionType::kText: return CheckChoice(option, text);
    case OptionType::kPath: return {};
    case OptionType::kAddress: return ParseHostPort(text).status();
    case OptionType::kDuration: return Bounded<Duration>(option, text, ParseDuration);
    case OptionType::kSize: return Bounded<std::uint64_t>(option, text, ParseSize);
    case OptionType::kNumber:
      return Bounded<std::uint32_t>(
          option, text, [](std::string_view t) { return ParseNumber<std::uint32_t>(t); });
    case OptionType::kNumber64:
      return Bounded<std::uint64_t>(
          option, text, [](std::string_view t) { return ParseNumber<std::uint64_t>(t); });
    case OptionType::kBool: return ParseBool(text).status();
    case OptionType::kNumbers:
      for (const std::string_view part : Split(text, ','))
        RETURN_IF_ERROR(ParseNumber<std::uint32_t>(part).status());
      return {};
    case OptionType::kWords:
      for (const std::string_view part : Split(text, ','))
        if (part.empty()) return Expected("names between commas", text);
      return {};
  }
  return {};
}

void Values::Add(std::span<const Option> table) {
  for (const Option& option : table) {
    assert(option.fallback.empty() || CheckValue(option, option.fallback).ok());
    Entry& entry = entries_.emplace_back();
    entry.option = &option;
    if (!option.fallback.empty()) entry.texts.emplace_back(option.fallback);
  }
}

void Values::Add(const Values& other) {
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
}

const Values::Entry* Values::Find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.option->name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

Status Values::Set(std::string_view name, std::string_view text, Origin origin) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.option->name == name; });
  assert(at != entries_.end());
  RETURN_IF_ERROR(CheckValue(*at->option, text).In(DisplayName(*at->option)));
  if (!at->option->repeated || at->origin == Origin::kDefault) at->texts.clear();
  at->texts.emplace_back(text);
  at->origin = origin;
  return {};
}

bool Values::Has(std::string_view name) const {
  const Entry* const entry = Find(name);
  if (entry == nullptr || entry->texts.empty()) return false;
  return entry->option->type != OptionType::kBool || *ParseBool(entry->texts.back());
}

bool Values::Given(std::string_view name) const {
  const Entry* const entry = Find(name);
  return entry != nullptr && entry->origin != Origin::kDefault;
}

std::string Values::Text(std::string_view name) const {
  const Entry* const entry = Find(name);
  return entry == nullptr || entry->texts.empty() ? std::string() : entry->texts.back();
}

HostPort Values::Address(std::string_view name) const {
  auto address = ParseHostPort(Text(name));
  return address.ok() ? *std::move(address) : HostPort();
}

Duration Values::Duration(std::string_view name) const {
  const auto duration = ParseDuration(Text(name));
  return duration.ok() ? *duration : fabric::Duration(0);
}

std::uint64_t Values::Size(std::string_view name) const {
  const auto size = ParseSize(Text(name));
  return size.ok() ? *size : 0;
}

std::uint32_t Values::Number(std::string_view name) const {
  const auto number = ParseNumber<std::uint32_t>(Text(name));
  return number.ok() ? *number : 0;
}

std::uint64_t Values::Number64(std::string_view name) const {
  const auto number = ParseNumber<std::uint64_t>(Text(name));
  return number.ok() ? *number : 0;
}

bool Values::Bool(std::string_view name) const {
  return Has(name);
}

std::vector<std::string> Values::All(std::string_view name) const {
  const Entry* const entry = Find(name);
  return entry == nullptr ? std::vector<std::string>() : entry->texts;
}

std::vector<std::string> Values::Words(std::string_view name) const {
  const std::string text = Text(name);  // Split() only points into it.
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (const std::string_view word : Split(text, ',')) words.emplace_back(word);
  return words;
}

std::vector<std::uint32_t> Values::Numbers(std::string_view name) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& word : Words(name)) {
    const auto number = ParseNumber<std::uint32_t>(word);
    if (number.ok()) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace fabric
