// YAML input and output of settings. The only file of base that calls yaml-cpp, which throws.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "base/settings.h"
#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

std::string Place(std::string_view file, const YAML::Mark& mark) {
  if (mark.is_null()) return std::string(file);
  return Format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::string_view KindName(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return "nothing";
}

Status Bad(std::string place, std::string message) {
  return {Code::kInvalidArgument, place + ": " + message};
}

// Quotes as yaml-cpp writes them do not read back for every text.
std::string InQuotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (byte < 0x20 || byte == 0x7f)
      quoted += Format("\\x{:02x}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

bool NeedsQuotes(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:-+";
  return text.empty() || text.find_first_not_of(kPlain) != text.npos || text.front() == '-' ||
         text.front() == ':' || text.back() == ':';
}

}  // namespace

Status Settings::ReadYaml(std::string_view yaml, std::string_view file) {
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsDefined() || root.IsNull()) return {};
    if (!root.IsMap())
      return Bad(Place(file, root.Mark()),
                 "expected lines 'name: value', saw " +
                     (root.IsScalar() ? Quoted(root.Scalar()) : std::string(KindName(root))));
    std::set<std::string> seen;
    for (const auto& item : root) {
      const std::string place = Place(file, item.first.Mark());
      if (!item.first.IsScalar())
        return Bad(place, Format("expected the name of a setting, saw {}", KindName(item.first)));
      const std::string& name = item.first.Scalar();
      const auto entry = std::find_if(entries().begin(), entries().end(), [&](const Entry& known) {
        return known.option->name == name;
      });
      if (entry == entries().end()) {
        Candidates names;
        for (const Entry& known : entries()) names.push_back(known.option->name);
        return Bad(place, UnknownName("setting", name, names));
      }
      if (name == "config") return Bad(place, "'config' can be given on the command line only");
      if (!seen.insert(name).second) return Bad(place, Format("{} is given twice", Quoted(name)));
      // yaml-cpp gives an absent value the place 1:1.
      const std::string value_place =
          item.second.IsNull() ? place : Place(file, item.second.Mark());
      if (!item.second.IsScalar())
        return Bad(value_place, Format("{}: expected {}, saw {}", name, ValueName(*entry->option),
                                       KindName(item.second)));
      const std::string& text = item.second.Scalar();
      if (text.empty() && entry->option->type == OptionType::kText) continue;  // Not set
      if (const Status status = CheckValue(*entry->option, text); !status.ok())
        return status.In(name).In(value_place);
      if (entry->origin != Origin::kCommandLine) RETURN_IF_ERROR(Set(name, text, Origin::kFile));
    }
    return {};
  } catch (const YAML::Exception& error) {
    std::string message = error.msg;  // May quote the file as it is.
    std::replace_if(
        message.begin(), message.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    return Bad(Place(file, error.mark), message);
  }
}

std::string Settings::Print() const {
  constexpr std::string_view kOrigins[] = {"default", "file", "command line"};
  std::string text;
  for (const Entry& entry : entries()) {
    const Option& row = *entry.option;
    if (row.name == "config") continue;
    text += Format("# {}\n", row.doc);
    const std::string value = entry.texts.empty() ? DefaultOf(row) : entry.texts.back();
    if (value.empty()) {
      text += Format("# {}:  # {}, not set\n", row.name, ValueName(row));
      continue;
    }
    text += Format("{}: {}  # {}\n", row.name, NeedsQuotes(value) ? InQuotes(value) : value,
                   kOrigins[static_cast<std::size_t>(entry.origin)]);
  }
  return text;
}

}  // namespace fabric
