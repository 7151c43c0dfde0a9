#include "agents/inspect/attributes.h"

#include <algorithm>

#include "agents/inspect/parse/parse.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

std::vector<std::string> KeepPlain(std::vector<std::string> names, const std::string& path,
                                   const Gaps& gaps) {
  std::erase_if(names, [&](const std::string& name) {
    if (IsPlainName(name)) return false;
    gaps.Add(path, Status(Code::kInvalidArgument, "expected a plain name, saw " + Quoted(name)));
    return true;
  });
  return names;
}

// The last component that is a PCI function: sub-functions and auxiliary devices sit below one.
std::optional<std::string> PciFunctionOf(std::string_view path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (const auto address = ParsePciAddress(*part); address.ok()) return ToString(*address);
  return std::nullopt;
}

// The text of a link that a copy has turned into a file.
std::optional<std::string> TextLink(const Dir& dir, const std::string& name) {
  if (!dir.captured()) return std::nullopt;
  const Result<std::string> text = dir.Text(name);
  const bool link = text.ok() && text->find('/') != std::string::npos &&
                    text->find_first_of(" \n") == std::string::npos;
  return link ? std::optional(*text) : std::nullopt;
}

// A failure if the text means a missing value.
Status Placeholder(const std::string& name, std::string_view text) {
  if (text.empty()) return {Code::kUnimplemented, "the file is empty"};
  if (text == "N/A" || text.starts_with("N/A ("))
    return {Code::kUnimplemented, "the file contains " + Quoted(text)};
  if (text == std::string_view(name).substr(name.find_last_of('/') + 1))
    return {Code::kDataLoss, "the file contains its own name instead of a value"};
  return {};
}

struct Found {
  std::string function;
  std::string below;  // "mlx5_core.sf.4", where it is a device of another bus on the function
};

// Below which PCI function a captured tree has "infiniband/mlx5_0" or "net/eth0" when the links
// that would say so were lost.
std::optional<Found> SearchFunction(const Host& host, const std::string& class_path) {
  constexpr const char* kFunctions = "sys/bus/pci/devices";
  const Result<Dir> functions = host.root.Sub(kFunctions);
  const auto names =
      functions.ok() ? functions->Names() : Result<std::vector<std::string>>(functions.status());
  if (!names.ok()) return std::nullopt;
  constexpr std::string_view kClass = "sys/class/";
  const std::string entry = class_path.substr(kClass.size());
  for (const std::string& name : *names)
    if (ParsePciAddress(name).ok() && functions->Has(name + "/" + entry)) return Found{name, ""};
  for (const std::string& name : *names) {
    const Result<Dir> function = functions->Sub(name);
    const auto below =
        function.ok() ? function->Names() : Result<std::vector<std::string>>(function.status());
    if (!below.ok() || !ParsePciAddress(name).ok()) continue;
    for (const std::string& device : *below)
      if (device.find(".sf.") != std::string::npos || device.starts_with("virtio"))
        if (function->Has(device + "/" + entry)) return Found{name, device};
  }
  return std::nullopt;
}

// Sub-functions are devices of the auxiliary bus: "mlx5_core.sf.4" below the PCI function.
std::optional<std::string> SubfunctionOf(std::string_view path) {
  for (const std::string_view part : Split(path, '/'))
    if (part.find(".sf.") != std::string_view::npos && IsPlainName(part)) return std::string(part);
  return std::nullopt;
}

void ReadUevent(const Dir& function, Parent& parent) {
  const Result<std::string> uevent = function.Text("uevent");
  if (!uevent.ok()) return;
  const std::string_view driver = UeventValue(*uevent, "DRIVER");
  if (!parent.driver && IsPlainName(driver)) parent.driver = std::string(driver);
  const auto address = ParsePciAddress(UeventValue(*uevent, "PCI_SLOT_NAME"));
  if (!parent.pci_address && address.ok()) parent.pci_address = ToString(*address);
}

// What `where`, the place of a class entry or of its device, says; else a search.
void SetPlace(const Host& host, const std::string& class_path, const std::string& where,
              Parent& parent) {
  if (where.find("/virtual/") != std::string::npos) return;
  parent.pci_address = PciFunctionOf(where);
  parent.subfunction = SubfunctionOf(where);
  if (!parent.pci_address) {
    const std::optional<Found> found = SearchFunction(host, class_path);
    if (!found) return;
    parent.pci_address = found->function;
    parent.subfunction = SubfunctionOf(found->below);
  }
  const std::string path = "sys/bus/pci/devices/" + *parent.pci_address;
  if (host.root.Has(path + "/vendor") || host.root.Has(path + "/uevent")) parent.path = path;
  parent.there = true;
}

void ReadFunction(const Dir& function, Parent& parent) {
  parent.driver = LinkTarget(function, "driver");
  // A captured tree may have lost its links; the uevent file holds the same facts.
  if (!parent.driver || !parent.pci_address) ReadUevent(function, parent);
  if (parent.driver && parent.driver->ends_with(".sf"))  // "mlx5_core.sf" of the auxiliary bus
    parent.driver->resize(parent.driver->size() - 3);
  if (parent.subfunction || !function.Has("physfn")) return;
  parent.virtual_function = true;
  parent.physical_function = PhysicalFunctionOf(function);
}

// Where the function is, by the class entry's own place, by the text of a link, or by a search.
void FindLostFunction(const Host& host, const std::string& class_path, const Dir& dir,
                      Parent& parent) {
  std::string where;
  if (const auto text = TextLink(dir, "device")) where = *text;
  if (where.empty())
    if (const auto path = dir.RealPath("."); path.ok()) where = *path;
  SetPlace(host, class_path, where, parent);
}

// Of a copy of the device's folder, which says nothing of where it was.
void SetAddress(const Host& host, const std::string& class_path, Parent& parent) {
  const std::optional<Found> found = SearchFunction(host, class_path);
  if (!found) return;
  parent.pci_address = found->function;
  parent.subfunction = SubfunctionOf(found->below);
  if (parent.subfunction) parent.path = "sys/bus/pci/devices/" + found->function;
}

}  // namespace

Result<Attributes> Attributes::Open(const Host& host, const std::string& path, Gaps gaps) {
  ASSIGN_OR_RETURN(Dir dir, host.root.Sub(path));
  return Attributes(std::move(dir), path, std::move(gaps));
}

std::optional<std::string> Attributes::Text(const std::string& name, Absence absence) const {
  Result<std::string> text = dir_.Text(name);
  if (!text.ok()) {
    if (absence == Absence::kIsGap || text.status().code() != Code::kNotFound)
      Gap(name, text.status());
    return std::nullopt;
  }
  if (text->empty() && absence == Absence::kMissingOrEmptyIsFine) return std::nullopt;
  if (const Status status = Placeholder(name, *text); !status.ok()) {
    Gap(name, status);
    return std::nullopt;
  }
  return *std::move(text);
}

std::vector<std::string> Attributes::Names(const std::string& name, Absence absence) const {
  const Result<Dir> below = dir_.Sub(name);
  Result<std::vector<std::string>> names =
      below.ok() ? below->Names() : Result<std::vector<std::string>>(below.status());
  if (names.ok()) return KeepPlain(*std::move(names), path_ + "/" + name, gaps_);
  if (absence == Absence::kIsGap || names.status().code() != Code::kNotFound)
    Gap(name, names.status());
  return {};
}

std::vector<std::uint32_t> Attributes::Numbers(const std::string& name, std::uint32_t min,
                                               std::uint32_t max) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& entry : Names(name)) {
    const auto number = ParseNumber<std::uint32_t>(entry);
    if (number.ok() && *number >= min && *number <= max)
      numbers.push_back(*number);
    else
      Gap(name + "/" + entry,
          Status(Code::kInvalidArgument, Format("expected a number from {} to {}", min, max)));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void Attributes::Gap(const std::string& name, const Status& status) const {
  gaps_.Add(path_ + "/" + name, status);
}

Result<std::vector<std::string>> PlainNames(const Host& host, const std::string& path,
                                            const Gaps& gaps) {
  ASSIGN_OR_RETURN(const Dir dir, host.root.Sub(path));
  ASSIGN_OR_RETURN(std::vector<std::string> names, dir.Names());
  return KeepPlain(std::move(names), path, gaps);
}

std::optional<std::string> LinkTarget(const Dir& dir, const std::string& name) {
  Result<std::string> target = dir.LinkName(name);
  if (target.ok()) return IsPlainName(*target) ? std::optional(*std::move(target)) : std::nullopt;
  const auto text = TextLink(dir, name);
  if (!text) return std::nullopt;
  const std::string last = text->substr(text->find_last_of('/') + 1);
  return IsPlainName(last) ? std::optional(last) : std::nullopt;
}

Result<Dir> OpenFunction(const Host& host, const Dir& dir, const Parent& parent) {
  if (parent.path.empty()) return Status(Code::kNotFound, "the PCI function was not captured");
  return parent.path.starts_with("sys/") ? host.root.Sub(parent.path) : dir.Sub(parent.path);
}

std::optional<std::string> PhysicalFunctionOf(const Dir& function) {
  const auto link = LinkTarget(function, "physfn");
  if (link && ParsePciAddress(*link).ok()) return link;
  const Result<std::string> uevent = function.Text("physfn/uevent");  // Of a copy.
  if (!uevent.ok()) return std::nullopt;
  const auto address = ParsePciAddress(UeventValue(*uevent, "PCI_SLOT_NAME"));
  return address.ok() ? std::optional(ToString(*address)) : std::nullopt;
}

Parent ReadParentOfLostEntry(const Host& host, const std::string& class_path) {
  Parent parent;
  const Result<std::string> link = host.root.LinkTarget(class_path);
  if (!host.captured || !link.ok()) return parent;
  SetPlace(host, class_path, *link, parent);
  if (const auto function = OpenFunction(host, host.root, parent); function.ok())
    ReadFunction(*function, parent);
  return parent;
}

Status LostEntryStatus(const Host& host, const std::string& class_path, const Status& status) {
  if (status.code() != Code::kNotFound || !host.captured || !host.root.LinkTarget(class_path).ok())
    return status;
  return {Code::kNotFound, "a link into what was not captured"};
}

Parent ReadParent(const Host& host, const std::string& class_path, const Dir& dir) {
  Parent parent;
  Result<Dir> function = dir.Sub("device");
  if (function.ok()) {
    parent.there = true;
    parent.path = "device";
    if (const auto path = dir.RealPath("device"); path.ok()) {
      parent.pci_address = PciFunctionOf(*path);
      parent.subfunction = SubfunctionOf(*path);
    }
  } else if (dir.captured()) {
    FindLostFunction(host, class_path, dir, parent);
    function = OpenFunction(host, dir, parent);
  } else {
    parent.there = dir.Has("device");
  }
  if (!function.ok()) return parent;
  ReadFunction(*function, parent);
  if (dir.captured() && !parent.pci_address && parent.path == "device")
    SetAddress(host, class_path, parent);
  return parent;
}

}  // namespace fabric::inspect
