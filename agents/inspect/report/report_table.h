// Sections of the text report: aligned columns, "-" for absent values. Each area has its section in
// report_<area>.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/names.h"

namespace fabric::inspect {

inline constexpr std::string_view kAbsent = "-";

std::string OrAbsent(std::string_view text);
std::string RateIf(bool there, std::uint64_t bps);

template <class T>
std::string NumberIf(bool there, const T& value) {
  return there ? Format("{}", value) : std::string(kAbsent);
}

template <class Enum>
std::string NameIf(bool there, Enum value) {
  return std::string(there ? Name(value) : kAbsent);
}

// A table with aligned columns, two blanks apart.
class Section {
 public:
  Section(std::string title, std::vector<std::string> header)
      : title_(std::move(title)), rows_{std::move(header)} {}

  // Needs one cell per header.
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Adds a column at the right: the header, then one cell for each row.
  void Column(std::vector<std::string> cells);

  // Followed by a blank line. `empty` is printed without rows.
  std::string Text(std::string_view empty) const;
  std::string Aligned() const;  // Without title; the header is a row.

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

// A section of names and values, without the rows with value "-". `empty` is printed without rows.
std::string KnownRows(std::string title, std::vector<std::vector<std::string>> rows,
                      std::string_view empty);

// Source of a section: an inspector and its path; an empty path: all.
struct Source {
  std::string_view inspector;
  std::string_view path;
};

// Text for a section without rows: `none`, or the reason why the data is unknown.
std::string NoneOrUnknown(const v1::NodeSnapshot& snapshot, std::initializer_list<Source> sources,
                          std::string_view none);

inline constexpr Source kRdmaClass{.inspector = "rdma_devices", .path = "sys/class/infiniband"};
inline constexpr Source kNetClass{.inspector = "net_interfaces", .path = "sys/class/net"};
inline constexpr Source kPciSource{.inspector = "gpus", .path = "sys/bus/pci/devices"};

// Sections, in the order of the report.
std::string FunctionsText(const v1::NodeSnapshot& snapshot);
std::string StacksText(const v1::NodeSnapshot& snapshot);  // Bonds and VLANs; may be empty
std::string LosslessText(const v1::NodeSnapshot& snapshot);
std::string PciText(const v1::NodeSnapshot& snapshot);  // GPUs, PCI Express, GPUDirect RDMA
std::string LldpText(const v1::NodeSnapshot& snapshot);
std::string HostText(const v1::NodeSnapshot& snapshot);  // Host, modules, sysctls
std::string KernelLogText(const v1::NodeSnapshot& snapshot);
std::string JobText(const v1::NodeSnapshot& snapshot);  // Empty without a job
// Processes that use RDMA, and pods. Empty without both
std::string ProcessesText(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
