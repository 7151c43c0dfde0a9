// What the sections of the report for people have in common: aligned columns, "-" for what is not
// known. Each area of more than a few lines has its section in its own report_<area>.cc.
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

// Columns as wide as their widest cell, two blanks apart; the last one is not filled up.
class Section {
 public:
  Section(std::string title, std::vector<std::string> header)
      : title_(std::move(title)), rows_{std::move(header)} {}

  // As many cells as the header has.
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // With a blank line behind it. `empty` is the line printed where there are no rows.
  std::string Text(std::string_view empty) const;
  std::string Aligned() const;  // The header is a row like the others.

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

// A section of names and values, without the rows whose value is "-"; `empty` is printed where that
// leaves none.
std::string KnownRows(std::string title, std::vector<std::vector<std::string>> rows,
                      std::string_view empty);

// What an empty section would have been filled from: an inspector, and where it looked; with an
// empty path, anywhere.
struct Source {
  std::string_view inspector;
  std::string_view path;
};

// What to print where there are no rows: `none`, or why it is not known. A section is never empty
// just because nothing could be read.
std::string NoneOrUnknown(const v1::NodeSnapshot& snapshot, std::initializer_list<Source> sources,
                          std::string_view none);

inline constexpr Source kRdmaClass{.inspector = "rdma_devices", .path = "sys/class/infiniband"};
inline constexpr Source kNetClass{.inspector = "net_interfaces", .path = "sys/class/net"};
inline constexpr Source kPciDevices{.inspector = "gpus", .path = "sys/bus/pci/devices"};

}  // namespace fabric::inspect
