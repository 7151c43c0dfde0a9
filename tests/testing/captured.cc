#include "tests/testing/captured.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "proto/json.h"
#include "tests/testing/paths.h"

namespace fabric::testing {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMachines[] = {
    "azure_guest",   "broken",     "e810_irdma", "efa",     "h100_infiniband",
    "ionic_pollara", "lag_vlan",   "mi300x",     "nothing", "roce_connectx6dx",
    "rxe_guest",     "thor2_bnxt", "vf_bond"};

}  // namespace

std::span<const char* const> CapturedMachines() {
  return kMachines;
}

v1::NodeSnapshot Captured(const std::string& machine) {
  Json json = Json::object();
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kSourceDir) /
                                                               "tests/golden/snapshot")) {
    const Json by_machine = Json::parse(std::ifstream(entry.path()));
    if (by_machine.contains(machine)) json[entry.path().stem().string()] = by_machine[machine];
  }
  v1::NodeSnapshot snapshot;
  EXPECT_EQ(FromJson(json.dump(), snapshot), Status()) << machine;
  return snapshot;
}

std::map<std::string, std::string> GoldensByField(
    const std::map<std::string, const google::protobuf::Message*>& snapshots) {
  std::map<std::string, Json> fields;
  for (const auto& [machine, snapshot] : snapshots) {
    const Json json = Json::parse(ToJson(*snapshot, false));
    for (const auto& [field, value] : json.items()) fields[field][machine] = value;
  }
  std::map<std::string, std::string> texts;
  for (const auto& [field, by_machine] : fields) texts[field] = by_machine.dump(1) + "\n";
  return texts;
}

}  // namespace fabric::testing
