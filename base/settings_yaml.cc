// YAML input and output of settings.
#include <algorithm>
#include <set>

#include "base/settings.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/yaml.h"

namespace fabric {
namespace {

// What a file must not say: where the file is, and what to do once.
bool IsCommandLineOnly(std::string_view name) {
  return name == "config" || name == "restore";
}

}  // namespace

Status Settings::ReadYaml(std::string_view yaml, std::string_view file) {
  const auto parsed = yaml::Parse(yaml);
  const auto bad = [&](const yaml::Position& position, std::string message) {
    return Status(Code::kInvalidArgument,
                  yaml::ToString({std::string(file), position, std::move(message)}));
  };
  if (const auto* problem = std::get_if<yaml::Problem>(&parsed))
    return bad(problem->position, problem->message);
  const yaml::Node& root = std::get<yaml::Node>(parsed);
  if (root.kind == yaml::Node::Kind::kNothing) return {};
  if (root.kind != yaml::Node::Kind::kMap)
    return bad(root.position, "expected lines 'name: value', saw " + yaml::Seen(root));
  std::set<std::string> seen;
  for (const auto& [key, value] : root.entries) {
    if (key.kind != yaml::Node::Kind::kText)
      return bad(key.position, Format("expected the name of a setting, saw {}", KindName(key)));
    const std::string& name = key.text;
    const auto entry = std::find_if(entries().begin(), entries().end(),
                                    [&](const Entry& known) { return known.option->name == name; });
    if (entry == entries().end()) {
      Candidates names;
      for (const Entry& known : entries()) names.push_back(known.option->name);
      return bad(key.position, UnknownName("setting", name, names));
    }
    if (IsCommandLineOnly(name))
      return bad(key.position, Format("{} can be given on the command line only", Quoted(name)));
    if (!seen.insert(name).second)
      return bad(key.position, Format("{} is given twice", Quoted(name)));
    if (value.kind != yaml::Node::Kind::kText)
      return bad(value.position, Format("{}: expected {}, saw {}", name, ValueName(*entry->option),
                                        KindName(value)));
    if (value.text.empty() && entry->option->type == OptionType::kText) continue;  // Not set
    if (const Status status = CheckValue(*entry->option, value.text); !status.ok())
      return bad(value.position, Format("{}: {}", name, status.message()));
    if (entry->origin != Origin::kCommandLine)
      RETURN_IF_ERROR(Set(name, value.text, Origin::kFile));
  }
  return {};
}

std::string Settings::Print() const {
  constexpr std::string_view kOrigins[] = {"default", "file", "command line"};
  std::string text;
  for (const Entry& entry : entries()) {
    const Option& row = *entry.option;
    if (IsCommandLineOnly(row.name)) continue;
    text += Format("# {}\n", row.doc);
    const std::string value = entry.texts.empty() ? DefaultOf(row) : entry.texts.back();
    if (value.empty()) {
      text += Format("# {}:  # {}, not set\n", row.name, ValueName(row));
      continue;
    }
    text += Format("{}: {}  # {}\n", row.name, yaml::Scalar(value),
                   kOrigins[static_cast<std::size_t>(entry.origin)]);
  }
  return text;
}

}  // namespace fabric
