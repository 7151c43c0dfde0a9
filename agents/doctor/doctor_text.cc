#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "agents/doctor/doctor.h"
#include "base/text.h"

namespace fabric::doctor {
namespace {

std::string_view Name(State state) {
  switch (state) {
    case State::kWorks: return "works";
    case State::kMissing: return "missing";
    case State::kNotNeeded: return "not needed";
    case State::kFails: return "fails";
  }
  return "fails";
}

std::size_t WidthOf(const std::vector<Feature>& features, std::string_view Feature::*member) {
  std::size_t width = 0;
  for (const Feature& feature : features) width = std::max(width, (feature.*member).size());
  return width;
}

}  // namespace

std::string Text(const std::vector<Feature>& features, const host::Privileges& privileges) {
  const std::size_t name_width = WidthOf(features, &Feature::name);
  const std::size_t use_width = WidthOf(features, &Feature::use);
  std::string text = Format("Permissions of this process: user {}, capabilities {:#x}.\n\n",
                            privileges.user, privileges.capabilities);
  text += Format("{:<{}}  {:<{}}  STATE\n", "FEATURE", name_width, "USED FOR", use_width);
  for (const Feature& feature : features) {
    text += Format("{:<{}}  {:<{}}  {}", feature.name, name_width, feature.use, use_width,
                   Name(feature.state));
    if (feature.grant != nullptr) text += Format(": {}", feature.grant->permission);
    if (!feature.reason.empty()) text += Format(" ({})", feature.reason);
    text += '\n';
  }
  for (const Feature& feature : features)
    if (feature.grant != nullptr)
      text += Format("\n{}: to give {}:\n  systemd:     {}\n  Kubernetes:  {}\n", feature.name,
                     feature.grant->permission, feature.grant->systemd, feature.grant->kubernetes);
  return text;
}

std::string Json(const std::vector<Feature>& features) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Feature& feature : features) {
    nlohmann::ordered_json entry = {
        {"feature", feature.name}, {"use", feature.use}, {"state", Name(feature.state)}};
    if (!feature.reason.empty()) entry["reason"] = feature.reason;
    if (feature.grant != nullptr)
      entry.update({{"permission", feature.grant->permission},
                    {"systemd", feature.grant->systemd},
                    {"kubernetes", feature.grant->kubernetes}});
    list.push_back(std::move(entry));
  }
  // Reasons can quote names of devices that are not UTF-8.
  return nlohmann::ordered_json{{"features", std::move(list)}}.dump(
             2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::vector<std::string> LogLines(const std::vector<Feature>& features) {
  std::vector<std::string> lines;
  for (const Feature& feature : features)
    if (feature.grant != nullptr)
      lines.push_back(Format("{} ({}) needs {}: {}; systemd: {}", feature.name, feature.use,
                             feature.grant->permission, feature.reason, feature.grant->systemd));
    else if (feature.state == State::kFails)
      lines.push_back(Format("{} ({}) fails: {}", feature.name, feature.use, feature.reason));
  return lines;
}

}  // namespace fabric::doctor
