#include "ctl/pki_output.h"

#include <nlohmann/json.hpp>

#include "base/lists.h"
#include "base/text.h"
#include "base/tls/certificate.h"

namespace fabric::ctl {
namespace {

constexpr Duration kClockMargin = std::chrono::minutes(5);
constexpr std::size_t kNamesInRow = 4;

std::string StateOf(const PkiEntry& entry, WallTime now) {
  if (entry.revoked_at) return "revoked";
  return now > entry.validity.not_after ? "expired" : "valid";
}

std::vector<std::string> AlternativeNames(const PkiEntry& entry) {
  std::vector<std::string> names = entry.dns_names;
  names.insert(names.end(), entry.addresses.begin(), entry.addresses.end());
  return names;
}

nlohmann::ordered_json ToJsonObject(const Pki& pki, const PkiEntry& entry, WallTime now) {
  return {{"kind", entry.kind},           {"name", entry.name},
          {"uri", pki.UriOf(entry)},      {"names", AlternativeNames(entry)},
          {"serial", entry.serial},       {"not_after", tls::ToText(entry.validity.not_after)},
          {"state", StateOf(entry, now)}, {"folder", pki.FolderOf(entry)}};
}

// JSON is also YAML.
Output WriteJson(const Pki& pki, std::span<const PkiEntry> entries, WallTime now, Stream& stream) {
  nlohmann::ordered_json certificates = nlohmann::ordered_json::array();
  for (const PkiEntry& entry : entries) certificates.push_back(ToJsonObject(pki, entry, now));
  const nlohmann::ordered_json json = {{"domain", pki.domain()},
                                       {"ca_not_after", tls::ToText(pki.ca_not_after())},
                                       {"certificates", std::move(certificates)}};
  Output output;
  if (!stream.Write(json.dump(1) + "\n")) output.exit_status = kExitError;
  return output;
}

}  // namespace

tls::Validity ValidityFrom(WallTime now, Duration lifetime) {
  return {.not_before = now - kClockMargin, .not_after = now + lifetime};
}

Output PkiOutput(const Pki& pki, std::span<const PkiEntry> entries, const PkiRun& run) {
  const std::string format = run.arguments.Text("output");
  if (format == "json" || format == "yaml") return WriteJson(pki, entries, run.now, run.stream);
  Table table{.columns = {{.title = "KIND"},
                          {.title = "NAME"},
                          {.title = "STATE", .coloured = true},
                          {.title = "EXPIRES"},
                          {.title = "NAMES"},
                          {.title = "SERIAL", .wide_only = true}},
              .empty_note = "No certificates."};
  Output output;
  for (const PkiEntry& entry : entries) {
    const std::string names = ListSome(AlternativeNames(entry), kNamesInRow);
    table.rows.push_back({entry.kind, entry.name, StateOf(entry, run.now),
                          tls::ToText(entry.validity.not_after), names.empty() ? "-" : names,
                          entry.serial});
    output.names.push_back(pki.FolderOf(entry));
  }
  output.tables.push_back(std::move(table));
  return output;
}

Output IssuedOutput(const Pki& pki, const PkiEntry& entry, const PkiRun& run) {
  Output output = PkiOutput(pki, {&entry, 1}, run);
  if (!output.tables.empty())
    output.after = Format("{0}/cert.pem, {0}/key.pem, {0}/ca.pem\n", pki.FolderOf(entry));
  return output;
}

}  // namespace fabric::ctl
