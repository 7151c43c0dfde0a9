#include "base/settings.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "base/input.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::string_view kConfig = "config";
constexpr std::size_t kFileBytesMax = 1 << 20;

struct EarlyEnd {
  std::string_view flag;
  Request request;
  std::string_view doc;
};
constexpr EarlyEnd kEarlyEnds[] = {
    {"help", Request::kHelp, "Print this and exit."},
    {"version", Request::kShowVersion, "Print the version and exit."},
    {"print-config", Request::kPrintConfig, "Print every setting with its origin and exit."},
};

Status Expected(std::string_view what, std::string_view saw) {
  return {Code::kInvalidArgument, Format("expected {}, saw {}", what, Quoted(saw))};
}

// Both bounds are given as text and parsed by the same parser as the value.
template <class T, class Parser>
Result<T> Bounded(const Setting& row, std::string_view text, Parser parse) {
  ASSIGN_OR_RETURN(const T value, parse(text));
  if (!row.min.empty() && value < *parse(row.min))
    return Expected(Format("at least {}", row.min), text);
  if (!row.max.empty() && value > *parse(row.max))
    return Expected(Format("at most {}", row.max), text);
  return value;
}

Result<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return Expected("true or false", text);
}

std::string TypeOf(const Setting& row) {
  return std::string(row.choices.empty() ? TypeName(row.type) : row.choices);
}

std::string DefaultOf(const Setting& row) {
  if (!row.fallback.empty()) return std::string(row.fallback);
  return row.type == SettingType::kBool ? "false" : "";
}

}  // namespace

Settings::Settings(std::span<const Setting> table) {
  for (const Setting& row : table) {
    Entry& entry = entries_.emplace_back();
    entry.row = &row;
    switch (row.type) {
      case SettingType::kText:
      case SettingType::kPath: entry.value = std::string(); break;
      case SettingType::kAddress: entry.value = HostPort(); break;
      case SettingType::kDuration: entry.value = fabric::Duration(0); break;
      case SettingType::kNumber: entry.value = std::int64_t{0}; break;
      case SettingType::kBool: entry.value = false; break;
    }
    if (row.fallback.empty()) continue;
    [[maybe_unused]] const Status status = Set(entry, row.fallback, Origin::kDefault);
    assert(status.ok());
  }
}

Result<Settings> Settings::Load(std::span<const Setting> table, std::span<const char* const> args) {
  Settings settings(table);
  RETURN_IF_ERROR(settings.ReadArguments(args));
  const bool ends_now =
      settings.request_ == Request::kHelp || settings.request_ == Request::kShowVersion;
  if (ends_now) return settings;
  const auto has_config = [](const Setting& row) { return row.name == kConfig; };
  if (std::any_of(table.begin(), table.end(), has_config)) {
    const std::string& path = settings.Text(kConfig);
    if (!path.empty()) {
      ASSIGN_OR_RETURN(const std::string yaml, ReadFile(path, kFileBytesMax));
      RETURN_IF_ERROR(settings.ReadYaml(yaml, path));
    }
  }
  if (settings.request_ == Request::kRun) RETURN_IF_ERROR(settings.CheckRequired());
  return settings;
}

Status Settings::ReadArguments(std::span<const char* const> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == "-h") {
      request_ = Request::kHelp;
      return {};
    }
    if (!arg.starts_with("--") || arg.size() == 2) return Expected("a flag --name", arg);
    const std::size_t equals = arg.find('=');
    const std::string_view name = arg.substr(2, equals == arg.npos ? arg.npos : equals - 2);
    const auto* const end =
        std::find_if(std::begin(kEarlyEnds), std::end(kEarlyEnds),
                     [&](const EarlyEnd& e) { return e.flag == name && equals == arg.npos; });
    if (end != std::end(kEarlyEnds)) {
      request_ = end->request;
      if (request_ != Request::kPrintConfig) return {};
      continue;
    }
    const auto found = Find(name);
    if (!found.ok()) return found.status().In(Format("--{}", name));
    Entry& entry = **found;
    if (entry.origin == Origin::kCommandLine)
      return {Code::kInvalidArgument, Format("--{} is given twice", name)};
    std::string_view value;
    if (equals != arg.npos) {
      value = arg.substr(equals + 1);
    } else if (entry.row->type == SettingType::kBool) {
      value = "true";
    } else if (++i < args.size()) {
      value = args[i];
    } else {
      return {Code::kInvalidArgument, Format("--{} needs a value: {}", name, TypeOf(*entry.row))};
    }
    RETURN_IF_ERROR(Set(entry, value, Origin::kCommandLine).In(Format("--{}", name)));
  }
  return {};
}

Result<Settings::Value> Settings::Parse(const Setting& row, std::string_view text) {
  const auto boxed = [](auto result) -> Result<Value> {
    if (!result.ok()) return result.status();
    return Value(*std::move(result));
  };
  switch (row.type) {
    case SettingType::kText: {
      const auto choices = Split(row.choices, '|');
      if (!row.choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
        return Expected(Format("one of {}", row.choices), text);
      return Value(std::string(text));
    }
    case SettingType::kPath:
      if (text.empty()) return Expected("a path", text);
      return Value(std::string(text));
    case SettingType::kAddress: return boxed(ParseHostPort(text));
    case SettingType::kDuration: return boxed(Bounded<fabric::Duration>(row, text, ParseDuration));
    case SettingType::kNumber:
      return boxed(Bounded<std::int64_t>(
          row, text, [](std::string_view t) { return ParseNumber<std::int64_t>(t); }));
    case SettingType::kBool: return boxed(ParseBool(text));
  }
  return Expected("a setting of a known type", text);
}

Status Settings::Set(Entry& entry, std::string_view text, Origin origin) {
  ASSIGN_OR_RETURN(Value value, Parse(*entry.row, text));
  entry.value = std::move(value);
  entry.text = text;
  entry.origin = origin;
  return {};
}

Result<Settings::Entry*> Settings::Find(std::string_view name) {
  std::vector<std::string_view> names;
  for (Entry& entry : entries_) {
    if (entry.row->name == name) return &entry;
    names.push_back(entry.row->name);
  }
  const std::string_view meant = Closest(name, names);
  return Status(Code::kInvalidArgument,
                meant.empty() ? std::string("no such setting")
                              : Format("no such setting; did you mean {}?", Quoted(meant)));
}

const Settings::Entry& Settings::At(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.row->name == name; });
  assert(at != entries_.end());
  return *at;
}

Status Settings::CheckRequired() const {
  for (const Entry& entry : entries_)
    if (entry.row->required && entry.text.empty())
      return {Code::kInvalidArgument, Format("--{} {} is required: {}", entry.row->name,
                                             TypeOf(*entry.row), entry.row->doc)};
  return {};
}

bool Settings::Has(std::string_view name) const {
  return !At(name).text.empty();
}
const std::string& Settings::Text(std::string_view name) const {
  return std::get<std::string>(At(name).value);
}
const HostPort& Settings::Address(std::string_view name) const {
  return std::get<HostPort>(At(name).value);
}
Duration Settings::Duration(std::string_view name) const {
  return std::get<fabric::Duration>(At(name).value);
}
std::int64_t Settings::Number(std::string_view name) const {
  return std::get<std::int64_t>(At(name).value);
}
bool Settings::Bool(std::string_view name) const {
  return std::get<bool>(At(name).value);
}

std::string SettingsHelp(std::span<const Setting> table) {
  std::string text = "Settings:\n";
  const auto line = [&](const std::string& flag, std::string_view doc, const std::string& note) {
    text += Format("  {:<34} {}{}\n", flag, doc, note);
  };
  for (const Setting& row : table) {
    const bool is_bool = row.type == SettingType::kBool;
    const std::string note = row.required           ? " Required."
                             : row.fallback.empty() ? ""
                                                    : Format(" Default: {}.", row.fallback);
    line(Format("--{}{}", row.name, is_bool ? "" : " " + TypeOf(row)), row.doc, note);
  }
  for (const EarlyEnd& end : kEarlyEnds) line(Format("--{}", end.flag), end.doc, "");
  return text;
}

std::string SettingsReference(std::string_view program, std::span<const Setting> table) {
  std::string text =
      Format("## {}\n\n| flag, key | value | default | bounds | meaning |\n|---|---|---|---|---|\n",
             program);
  for (const Setting& row : table) {
    std::string value = TypeOf(row);
    for (std::size_t at = 0; (at = value.find('|', at)) != value.npos; at += 2)
      value.insert(at, "\\");
    std::string bounds = std::string(row.min) + (row.min.empty() && row.max.empty() ? "" : " to ");
    bounds += row.max;
    text += Format("| `{}` | {} | {} | {} | {} |\n", row.name, value,
                   row.required ? "required" : DefaultOf(row), bounds, row.doc);
  }
  return text + "\n";
}

}  // namespace fabric
