#include <algorithm>
#include <string_view>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "daemon/profile/places.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::profile {

extern const std::vector<std::pair<std::string_view, std::string_view>> kShippedTexts;

namespace {

const v1::Profile* Shipped(const std::string& name) {
  const auto& shipped = ShippedProfiles();
  const auto found = std::find_if(shipped.begin(), shipped.end(),
                                  [&](const auto& each) { return each.name() == name; });
  return found == shipped.end() ? nullptr : &*found;
}

bool LooksLikeFile(const std::string& name) {
  return name == "-" || name.find_first_of("/.") != std::string::npos;
}

Status NoSuchProfile(const std::string& name) {
  std::vector<std::string_view> known;
  for (const v1::Profile& each : ShippedProfiles()) known.push_back(each.name());
  return {Code::kInvalidArgument, UnknownName("profile", name, known,
                                              Format("; expected {}, or a file (./NAME.yaml)",
                                                     Join({known.begin(), known.end()}, ", ")))};
}

Result<std::vector<v1::Profile>> ReadFile(const std::string& path, const ReadText& read) {
  ASSIGN_OR_RETURN(const std::string text, read(path));
  return ParseProfiles(text, path == "-" ? "standard input" : path);
}

// Makes the result from the profile and the profiles it can inherit from.
template <class Made>
Result<Made> Load(const std::string& name, const ReadText& read) {
  if (name.empty()) return Made();
  const auto& shipped = ShippedProfiles();
  if (const v1::Profile* found = Shipped(name)) return Made::Make(*found, shipped);
  if (!LooksLikeFile(name)) return NoSuchProfile(name);
  ASSIGN_OR_RETURN(std::vector<v1::Profile> known, ReadFile(name, read));
  const v1::Profile last = known.back();
  known.insert(known.end(), shipped.begin(), shipped.end());
  auto made = Made::Make(last, known);
  if (!made.ok()) return made.status().In(name);
  return made;
}

}  // namespace

const std::vector<v1::Profile>& ShippedProfiles() {
  static const std::vector<v1::Profile> kProfiles = [] {
    std::vector<v1::Profile> all;
    for (const auto& [file, text] : kShippedTexts) {
      auto profiles = ParseProfiles(text, file);
      if (!profiles.ok()) continue;  // A test parses all of them
      for (v1::Profile& profile : *profiles) all.push_back(std::move(profile));
    }
    return all;
  }();
  return kProfiles;
}

Result<v1::Profile> FindProfile(const std::string& name, const ReadText& read) {
  if (const v1::Profile* shipped = Shipped(name)) return *shipped;
  if (!LooksLikeFile(name)) return NoSuchProfile(name);
  ASSIGN_OR_RETURN(const std::vector<v1::Profile> own, ReadFile(name, read));
  return own.back();
}

Result<Profile> LoadProfile(const std::string& name, const ReadText& read) {
  return Load<Profile>(name, read);
}

Result<Places> LoadPlaces(const std::string& name, const ReadText& read) {
  return Load<Places>(name, read);
}

}  // namespace fabric::profile
