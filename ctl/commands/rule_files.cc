#include "ctl/commands/rule_files.h"

#include "base/input.h"
#include "daemon/custom/node_rules.h"

namespace fabric::ctl {
namespace {

custom::RuleFile LoadFile(const std::string& path, const std::vector<std::string_view>& taken) {
  const auto text = ReadFile(path, custom::kFileBytesMax);
  if (text.ok()) return custom::LoadRules(*text, path == "-" ? "stdin" : path, taken);
  custom::RuleFile file{.name = path};
  file.problems.push_back(
      {.file = path, .position = {0, 0}, .message = std::string(text.status().reason())});
  return file;
}

}  // namespace

RuleFiles LoadRuleFiles(const std::vector<std::string>& paths) {
  RuleFiles loaded;
  loaded.files.reserve(paths.size());  // `taken` points to ids in it.
  std::vector<std::string_view> taken = custom::ShippedRuleIds();
  for (const std::string& path : paths) {
    const custom::RuleFile& file = loaded.files.emplace_back(LoadFile(path, taken));
    for (const custom::Rule& rule : file.rules) taken.push_back(rule.id);
    for (const yaml::Problem& problem : file.problems) loaded.problems += ToString(problem) + "\n";
  }
  return loaded;
}

google::protobuf::Struct Described(const custom::RuleFile& file) {
  google::protobuf::Struct described;
  auto& fields = *described.mutable_fields();
  fields["file"].set_string_value(file.name);
  auto& rules = *fields["rules"].mutable_list_value();
  for (const custom::Rule& rule : file.rules) rules.add_values()->set_string_value(rule.id);
  auto& problems = *fields["problems"].mutable_list_value();
  for (const yaml::Problem& problem : file.problems) {
    auto& entry = *problems.add_values()->mutable_struct_value()->mutable_fields();
    entry["line"].set_number_value(static_cast<double>(problem.position.line));
    entry["column"].set_number_value(static_cast<double>(problem.position.column));
    entry["message"].set_string_value(problem.message);
  }
  return described;
}

}  // namespace fabric::ctl
