// index.json of the small CA.
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/text.h"
#include "ctl/pki.h"

namespace fabric::ctl {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Throws if the member is missing or has another type.
WallTime TimeAt(const Json& entry, const char* key) {
  return WallTime(std::chrono::seconds(entry.at(key).get<std::int64_t>()));
}

PkiEntry EntryOf(const Json& json) {
  PkiEntry entry;
  entry.kind = json.at("kind").get<std::string>();
  entry.name = json.at("name").get<std::string>();
  entry.serial = json.at("serial").get<std::string>();
  entry.dns_names = json.at("dns_names").get<std::vector<std::string>>();
  entry.addresses = json.at("addresses").get<std::vector<std::string>>();
  entry.validity = {.not_before = TimeAt(json, "not_before"),
                    .not_after = TimeAt(json, "not_after")};
  if (json.contains("revoked_at")) entry.revoked_at = TimeAt(json, "revoked_at");
  return entry;
}

Json ToJsonObject(const PkiEntry& entry) {
  Json json = {{"kind", entry.kind},
               {"name", entry.name},
               {"serial", entry.serial},
               {"dns_names", entry.dns_names},
               {"addresses", entry.addresses},
               {"not_before", Seconds(entry.validity.not_before)},
               {"not_after", Seconds(entry.validity.not_after)}};
  if (entry.revoked_at) json["revoked_at"] = Seconds(*entry.revoked_at);
  return json;
}

}  // namespace

Status Pki::ReadIndex(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    domain_ = json.at("domain").get<std::string>();
    crl_number_ = json.at("crl_number").get<std::uint64_t>();
    for (const Json& entry : json.at("certificates")) entries_.push_back(EntryOf(entry));
  } catch (const nlohmann::json::exception& error) {
    return {Code::kInvalidArgument, Format("expected the index of a CA, saw {}", error.what())};
  }
  return {};
}

Status Pki::WriteIndex() const {
  Json certificates = Json::array();
  for (const PkiEntry& entry : entries_) certificates.push_back(ToJsonObject(entry));
  const Json json = {
      {"domain", domain_}, {"crl_number", crl_number_}, {"certificates", std::move(certificates)}};
  return WriteFileAtomically(PathOf("index.json"), json.dump(1) + "\n", 0600);
}

}  // namespace fabric::ctl
