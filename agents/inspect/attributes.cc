#include "agents/inspect/attributes.h"

#include <algorithm>

#include "agents/inspect/parse.h"
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

}  // namespace

Result<Attributes> Attributes::Open(const Host& host, const std::string& path, Gaps gaps) {
  ASSIGN_OR_RETURN(Dir dir, host.root.Sub(path));
  return Attributes(std::move(dir), path, std::move(gaps));
}

std::optional<std::string> Attributes::Text(const std::string& name, Absence absence) const {
  Result<std::string> text = dir_.Text(name);
  if (text.ok() && !text->empty()) return *std::move(text);
  if (text.ok())
    Gap(name, Status(Code::kUnimplemented, "the file is empty"));
  else if (absence == Absence::kIsGap || text.status().code() != Code::kNotFound)
    Gap(name, text.status());
  return std::nullopt;
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

Parent ReadParent(const Dir& dir) {
  Parent parent;
  parent.there = dir.Has("device");
  if (!parent.there) return parent;
  if (const auto driver = dir.LinkName("device/driver"); driver.ok() && IsPlainName(*driver))
    parent.driver = *driver;
  if (const auto path = dir.RealPath("device"); path.ok())
    parent.pci_address = PciFunctionOf(*path);
  // A captured tree may have lost its links; the uevent file holds the same facts.
  const Result<std::string> uevent = dir.Text("device/uevent");
  if (!uevent.ok()) return parent;
  const std::string_view driver = UeventValue(*uevent, "DRIVER");
  if (!parent.driver && IsPlainName(driver)) parent.driver = std::string(driver);
  const auto address = ParsePciAddress(UeventValue(*uevent, "PCI_SLOT_NAME"));
  if (!parent.pci_address && address.ok()) parent.pci_address = ToString(*address);
  return parent;
}

}  // namespace fabric::inspect
