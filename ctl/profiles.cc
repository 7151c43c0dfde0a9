#include "ctl/profiles.h"

#include <algorithm>

#include "base/text.h"
#include "ctl/arguments.h"
#include "ctl/files.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kBytesMax = std::size_t{4} << 20;

const v1::Profile* Shipped(const std::string& name) {
  const auto& shipped = profile::ShippedProfiles();
  const auto found = std::find_if(shipped.begin(), shipped.end(),
                                  [&](const auto& each) { return each.name() == name; });
  return found == shipped.end() ? nullptr : &*found;
}

bool LooksLikeFile(const std::string& name) {
  return name == "-" || name.find('/') != std::string::npos || name.find('.') != std::string::npos;
}

Status NoSuchProfile(const std::string& name) {
  std::vector<std::string_view> known;
  std::vector<std::string> names;
  for (const v1::Profile& each : profile::ShippedProfiles()) known.push_back(each.name());
  names.assign(known.begin(), known.end());
  return {Code::kInvalidArgument,
          Format("there is no profile {}{}: expected {}, or a file (./NAME.yaml)", Quoted(name),
                 DidYouMean(name, known), Join(names, ", "))};
}

}  // namespace

Result<std::vector<v1::Profile>> ReadProfiles(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kBytesMax));
  return profile::ParseProfiles(text, file == "-" ? "standard input" : file);
}

Result<profile::Profile> FindProfile(const std::string& name) {
  if (name.empty()) return profile::Profile();
  if (const v1::Profile* shipped = Shipped(name))
    return profile::Profile::Make(*shipped, profile::ShippedProfiles());
  if (!LooksLikeFile(name)) return NoSuchProfile(name);
  ASSIGN_OR_RETURN(std::vector<v1::Profile> known, ReadProfiles(name));
  const v1::Profile last = known.back();
  const auto& shipped = profile::ShippedProfiles();
  known.insert(known.end(), shipped.begin(), shipped.end());
  const auto made = profile::Profile::Make(last, known);
  if (!made.ok()) return made.status().In(name);
  return made;
}

Result<v1::Profile> FindProfileText(const std::string& name) {
  if (const v1::Profile* shipped = Shipped(name)) return *shipped;
  if (!LooksLikeFile(name)) return NoSuchProfile(name);
  ASSIGN_OR_RETURN(const std::vector<v1::Profile> own, ReadProfiles(name));
  return own.back();
}

}  // namespace fabric::ctl
