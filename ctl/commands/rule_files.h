// Reader of files of custom rules, for `rules check`, `rules test` and `check`.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <string>
#include <vector>

#include "ctl/command.h"
#include "daemon/custom/rule_file.h"

namespace fabric::ctl {

struct RuleFiles {
  std::vector<custom::RuleFile> files;  // One for each path; a read error is a problem of the file
  std::string problems;                 // One line for each: "FILE:LINE:COLUMN: message"
};

// Rule IDs must differ from the built-in rules and from the previous files.
RuleFiles LoadRuleFiles(const std::vector<std::string>& paths);

// {"file": ..., "rules": [ids], "problems": [{"line", "column", "message"}]}
google::protobuf::Struct Described(const custom::RuleFile& file);

}  // namespace fabric::ctl
