#include "agents/inspect/pci_cards.h"

#include <string>
#include <vector>

#include "agents/inspect/parse/parse.h"
#include "agents/inspect/pci_models.h"
#include "agents/inspect/pci_place.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

struct PciIds {
  std::string vendor, device, class_code;  // Empty: unknown
};

PciIds IdsOf(const Dir& functions, const std::string& name) {
  const auto file = [&](const char* file_name) {
    const Result<std::string> text = functions.Text(name + "/" + file_name);
    return text.ok() ? *text : std::string();
  };
  const std::string uevent = file("uevent");
  const auto id = [&](std::size_t half, const char* file_name) {
    const auto value = PciIdOf(UeventValue(uevent, "PCI_ID"), half);
    if (value) return Format("{:04x}", *value);
    return ParsePciId(file(file_name)).value_or("");
  };
  PciIds ids{.vendor = id(0, "vendor"), .device = id(1, "device"), .class_code = {}};
  const std::string_view known = UeventValue(uevent, "PCI_CLASS");
  const auto code = ParseHex(known.empty() ? file("class") : std::string(known));
  if (code.ok()) ids.class_code = Format("{:06x}", *code);
  return ids;
}

// Vendors all of whose network adapters have RDMA, and the known adapters of the others.
bool IsRdmaCard(const PciIds& ids) {
  const bool network = ids.class_code.starts_with("0200") || ids.class_code.starts_with("0207");
  return ids.class_code.starts_with("0207") ||
         (network && (ids.vendor == "15b3" || ids.vendor == "1dd8")) ||
         FindPciModel(ids.vendor, ids.device) != nullptr;
}

}  // namespace

std::optional<std::uint32_t> PciIdOf(std::string_view ids, std::size_t half) {
  const std::vector<std::string_view> halves = Split(ids, ':');
  if (halves.size() != 2) return std::nullopt;
  const auto value = ParseHex(halves[half]);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::set<PciAddress> FindRdmaCards(const Host& host) {
  std::set<PciAddress> cards;
  const Result<Dir> functions = host.root.Sub(kPciDevices);
  const auto names =
      functions.ok() ? functions->Names() : Result<std::vector<std::string>>(functions.status());
  if (!names.ok()) return cards;
  for (const std::string& name : *names) {
    const auto address = ParsePciAddress(name);
    if (address.ok() && IsRdmaCard(IdsOf(*functions, name)) && !functions->Has(name + "/physfn"))
      cards.insert(*address);
  }
  return cards;
}

}  // namespace fabric::inspect
