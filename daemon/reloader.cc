#include "daemon/reloader.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/log.h"
#include "base/redaction.h"
#include "base/text.h"
#include "daemon/config.h"
#include "daemon/custom/node_rules.h"
#include "daemon/files/rule_files.h"
#include "daemon/profile/places.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric {
namespace {

constexpr mode_t kProfileMode = 0644;

Result<std::string> ReadText(const std::string& path) {
  return ReadFile(path, profile::kFileBytesMax);
}

// Logs the loaded rules. Returns the number of problems.
std::uint32_t LogRules(std::span<const custom::RuleFile> files) {
  std::uint32_t problems = 0;
  for (const custom::RuleFile& file : files) {
    log::Info("{}: {} rules", file.name, file.rules.size());
    for (const yaml::Problem& problem : file.problems)
      log::Error("rule skipped: {}", yaml::ToString(problem));
    problems += static_cast<std::uint32_t>(file.problems.size());
  }
  return problems;
}

bool IsApplied(std::string_view setting) {
  constexpr std::string_view kApplied[] = {"profile", "rules", "log-level", "webhooks", "syslog"};
  return std::ranges::find(kApplied, setting) != std::end(kApplied);
}

// Settings that differ and that Reload() does not apply.
std::vector<std::string> RestartNeeded(const Settings& before, const Settings& now) {
  std::vector<std::string> names;
  for (const Settings::Entry& entry : now.entries())
    if (before.All(entry.option->name) != entry.texts && !IsApplied(entry.option->name))
      names.emplace_back(entry.option->name);
  return names;
}

v1::SettingSource SourceOf(Settings::Origin origin) {
  switch (origin) {
    case Settings::Origin::kDefault: return v1::SETTING_SOURCE_DEFAULT;
    case Settings::Origin::kFile: return v1::SETTING_SOURCE_FILE;
    case Settings::Origin::kCommandLine: return v1::SETTING_SOURCE_COMMAND_LINE;
  }
  return v1::SETTING_SOURCE_UNSPECIFIED;
}

v1::EffectiveSetting Shown(const Settings::Entry& entry) {
  v1::EffectiveSetting setting;
  setting.set_name(std::string(entry.option->name));
  setting.set_source(SourceOf(entry.origin));
  for (const std::string& text : entry.texts) {
    const std::string shown = WithoutSecrets(text);
    setting.set_redacted(setting.redacted() || shown != text);
    setting.add_values(shown);
  }
  if (entry.texts.empty() && !DefaultOf(*entry.option).empty())
    setting.add_values(DefaultOf(*entry.option));
  return setting;
}

}  // namespace

Result<control::Policy> ReadPolicy(const Settings& settings) {
  auto profile = profile::LoadProfile(settings.Text("profile"), ReadText);
  if (!profile.ok()) return profile.status().In("profile");
  auto places = profile::LoadPlaces(settings.Text("profile"), ReadText);
  if (!places.ok()) return places.status().In("profile");
  const auto files = ReadRuleFiles(settings.Text("rules"));
  if (!files.ok()) return files.status().In("rules");
  if (!profile->name().empty()) log::Info("profile {}", profile->name());
  const std::uint32_t problems = LogRules(*files);
  return control::Policy{.profile = *std::move(profile),
                         .places = *std::move(places),
                         .custom_rules = {.rules = custom::NodeRules(*files),
                                          .infos = custom::Infos(*files),
                                          .problems = problems}};
}

Reloader::Reloader(std::vector<std::string> arguments, const Settings& settings,
                   ReceiversOf receivers_of, Use use)
    : arguments_(std::move(arguments)),
      started_(settings),
      receivers_of_(std::move(receivers_of)),
      use_(std::move(use)),
      loaded_(settings) {}

Result<Settings> Reloader::ReadSettings() const {
  std::vector<const char*> words;
  for (const std::string& word : arguments_) words.push_back(word.c_str());
  return Settings::Load(ControllerSettings(), words);
}

Result<v1::ReloadResponse> Reloader::Reload(Moment now) {
  const MutexLock lock(mutex_);
  return ReloadLocked(now);
}

Result<v1::ReloadResponse> Reloader::ReloadLocked(Moment now) {
  ASSIGN_OR_RETURN(const Settings settings, ReadSettings());
  ASSIGN_OR_RETURN(const log::Level level, log::ParseLevel(settings.Text("log-level")));
  const auto files = ReadRuleFiles(settings.Text("rules"));
  if (!files.ok()) return files.status().In("rules");
  for (const custom::RuleFile& file : *files)
    if (!file.problems.empty())
      return Status(Code::kInvalidArgument, yaml::ToString(file.problems.front())).In("rules");
  ASSIGN_OR_RETURN(control::Policy policy, ReadPolicy(settings));
  ASSIGN_OR_RETURN(std::vector<notify::Receiver> receivers, receivers_of_(settings));
  v1::ReloadResponse response;
  response.set_profile(policy.profile.name());
  response.set_rules(static_cast<std::uint32_t>(policy.custom_rules.infos.size()));
  response.set_log_level(settings.Text("log-level"));
  for (std::string& name : RestartNeeded(started_, settings))
    *response.add_restart_needed() = std::move(name);
  log::SetLevel(level);
  use_({.policy = std::move(policy), .receivers = std::move(receivers)}, now);
  loaded_ = settings;
  log::Info("reloaded: profile {}, {} custom rules, log level {}",
            response.profile().empty() ? "none" : response.profile(), response.rules(),
            response.log_level());
  for (const std::string& name : response.restart_needed())
    log::Warning("setting {} has a new value: restart fabricd to use it", name);
  return response;
}

Result<v1::ReloadResponse> Reloader::ApplyProfile(const v1::ApplyProfileRequest& request,
                                                  Moment now) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const Settings settings, ReadSettings());
  const std::string path = settings.Text("profile");
  const auto given = [&](const std::string&) { return Result<std::string>(request.yaml()); };
  if (request.yaml().size() > profile::kFileBytesMax)
    return Status(Code::kInvalidArgument, Format("yaml: expected at most {} bytes, saw {}",
                                                 profile::kFileBytesMax, request.yaml().size()));
  // The name of a shipped profile is not a path: a path has a slash.
  ASSIGN_OR_RETURN(const profile::Profile checked, profile::LoadProfile("./applied", given));
  if (path.find('/') == path.npos)
    return Status(Code::kFailedPrecondition,
                  Format("profile: expected the path of a file in the setting, saw {}; set "
                         "profile: /var/lib/fabricd/profile.yaml",
                         path.empty() ? "none" : path));
  if (request.dry_run()) {
    v1::ReloadResponse response;
    response.set_profile(checked.name());
    return response;
  }
  const Result<std::string> before = ReadText(path);
  RETURN_IF_ERROR(WriteFileAtomically(path, request.yaml(), kProfileMode).In("profile"));
  auto reloaded = ReloadLocked(now);
  // An error elsewhere, as in a file of rules: the previous profile stays.
  if (!reloaded.ok() && before.ok())
    RETURN_IF_ERROR(WriteFileAtomically(path, *before, kProfileMode).In("profile"));
  return reloaded;
}

v1::EffectiveSettings Reloader::InUse() {
  const MutexLock lock(mutex_);
  v1::EffectiveSettings in_use;
  // Both have one entry for each row of the same table.
  for (std::size_t i = 0; i < started_.entries().size(); ++i) {
    const Settings::Entry& start = started_.entries()[i];
    *in_use.add_settings() = Shown(IsApplied(start.option->name) ? loaded_.entries()[i] : start);
  }
  return in_use;
}

std::optional<Status> Reloader::Answer(const google::protobuf::Message& request,
                                       google::protobuf::Message& response, Moment now) {
  const auto fill = [&](auto answer) {
    if (!answer.ok()) return answer.status();
    if (response.GetDescriptor() != answer->GetDescriptor())
      return Status(Code::kInternal, "expected a response of type " +
                                         std::string(answer->GetDescriptor()->full_name()));
    static_cast<std::decay_t<decltype(*answer)>&>(response) = *std::move(answer);
    return Status();
  };
  const auto* const descriptor = request.GetDescriptor();
  if (descriptor == v1::GetSettingsRequest::descriptor())
    return fill(Result<v1::EffectiveSettings>(InUse()));
  if (descriptor == v1::ReloadRequest::descriptor()) return fill(Reload(now));
  if (descriptor != v1::ApplyProfileRequest::descriptor()) return std::nullopt;
  return fill(ApplyProfile(static_cast<const v1::ApplyProfileRequest&>(request), now));
}

}  // namespace fabric
