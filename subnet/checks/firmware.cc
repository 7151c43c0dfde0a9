// Check of the firmware of switches: those of one model and board have one version.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

struct Model {
  std::map<std::string, std::size_t> versions;  // Number of switches by version
  std::vector<std::uint32_t> switches;
};

// By device id and board.
using Models = std::map<std::pair<std::uint32_t, std::string>, Model>;

std::string Switches(std::size_t count) {
  return Format("{} {}", count, count == 1 ? "switch" : "switches");
}

v1::Remedy CompareVersions() {
  return Advice(
      "Compare the release notes of the versions, and update the switches of one model together. "
      "An update restarts the switch: all links to it go down.");
}

std::string ModelWords(const Models::key_type& model) {
  return model.second.empty() ? Format("device {}", model.first)
                              : Format("device {}, board {}", model.first, model.second);
}

void FailSwitch(const Subnet& subnet, std::uint32_t node, const std::string& usual,
                const std::string& basis, Verdicts& out) {
  const Node& made = subnet.node(node);
  out.Fail({.subject = SubjectOf(subnet, End{node, 0}),
            .key = "",
            .title = Format("{}: firmware {}, expected {} ({})", NodeWords(made), made.firmware,
                            usual, basis),
            .what = "firmware",
            .expected = usual,
            .seen = made.firmware,
            .basis = basis,
            .remedies = {CompareVersions()}});
}

// No version is the usual one.
void FailModel(const Subnet& subnet, const Models::key_type& key, const Model& model,
               Verdicts& out) {
  std::vector<std::string> versions;
  for (const auto& [version, count] : model.versions)
    versions.push_back(Format("{} ({})", version, Switches(count)));
  Failure failure{.subject = WholeSubnet(),
                  .key = ModelWords(key),
                  .title = Format("switches of {} have different firmware: {}", ModelWords(key),
                                  ListSome(versions, 4)),
                  .what = "firmware",
                  .expected = "one version",
                  .seen = ListSome(versions, 12),
                  .remedies = {CompareVersions()}};
  for (const std::uint32_t node : model.switches)
    failure.affected.push_back(SubjectOf(subnet, End{node, 0}));
  out.Fail(std::move(failure));
}

void JudgeModel(const Subnet& subnet, const Models::key_type& key, const Model& model,
                Verdicts& out) {
  if (model.versions.size() == 1) return out.Pass(model.switches.size());
  const auto usual = MajorityOf(model.versions, model.switches.size());
  if (usual == model.versions.end()) return FailModel(subnet, key, model, out);
  const std::string basis =
      Format("{} of {} switches of {}", usual->second, model.switches.size(), ModelWords(key));
  for (const std::uint32_t node : model.switches) {
    if (subnet.node(node).firmware == usual->first)
      out.Pass();
    else
      FailSwitch(subnet, node, usual->first, basis, out);
  }
}

void JudgeFirmware(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  Models models;
  std::size_t unread = 0;
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) {
    const Node& made = subnet.node(node);
    if (made.type != NodeType::kSwitch) continue;
    if (made.firmware.empty()) {
      ++unread;
      continue;
    }
    Model& model = models[{made.device_id, made.firmware_board}];
    ++model.versions[made.firmware];
    model.switches.push_back(node);
  }
  for (const auto& [key, model] : models) JudgeModel(subnet, key, model, out);
  if (unread == 0) return;
  const std::string switches = Switches(unread);
  out.Unknown(subnet.reading()
                  ? Format("firmware of {}: they do not answer the attribute GeneralInfo", switches)
                  : Format("firmware of {}: {}", switches, kNeedsReading));
}

}  // namespace

extern const Check subnet_firmware_equal = {
    .id = "subnet_firmware_equal",
    .title = "Switches of one model and board have one version of the firmware",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "Versions differ in known faults, and in how they route and correct errors. A switch "
        "that missed an update explains a fault that only its ports have.",
    .judge = JudgeFirmware};

}  // namespace fabric::subnet
