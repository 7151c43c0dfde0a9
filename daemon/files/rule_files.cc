#include "daemon/files/rule_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/input.h"
#include "daemon/custom/node_rules.h"

namespace fabric {
namespace {

Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator entries(path, error);
  for (const auto end = std::filesystem::directory_iterator(); !error && entries != end;
       entries.increment(error)) {
    const std::string extension = entries->path().extension();
    const bool hidden = entries->path().filename().string().starts_with(".");
    if (!hidden && (extension == ".yaml" || extension == ".yml")) files.push_back(entries->path());
  }
  if (error) return FromErrno(error.value(), path);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::vector<custom::RuleFile>> ReadRuleFiles(const std::string& path) {
  if (path.empty()) return std::vector<custom::RuleFile>();
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(path));
  std::vector<custom::RuleText> texts;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(file, custom::kFileBytesMax));
    texts.push_back({.name = file, .text = std::move(text)});
  }
  return custom::LoadAll(texts);
}

}  // namespace fabric
