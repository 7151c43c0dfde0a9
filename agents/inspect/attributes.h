// Attribute reader for inspectors: turns failures into gaps and absent values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Receiver of an inspector's gaps about one subject.
struct Gaps {
  v1::NodeSnapshot& snapshot;
  std::string_view inspector;
  std::string subject;  // "mlx5_0", "mlx5_0/1", "eth0", or empty for the node.

  void Add(std::string_view path, const Status& status) const {
    AddGap(snapshot, inspector, subject, path, status);
  }
};

enum class Absence {
  kIsGap,
  kIsFine,                // Missing files are expected.
  kMissingOrEmptyIsFine,  // Empty files too.
};

// One directory of attributes.
class Attributes {
 public:
  // `path` is relative to the root, "sys/class/net/eth0". Errors are those of Dir::Sub.
  static Result<Attributes> Open(const Host& host, const std::string& path, Gaps gaps);

  // Absent with a gap: an empty file, "N/A", and a file that contains its own name, which some
  // captures have for files that they could not copy.
  std::optional<std::string> Text(const std::string& name, Absence absence = Absence::kIsGap) const;

  // Text() converted by `parse`, a Result<T>(std::string_view).
  template <class Parse>
  auto Parsed(const std::string& name, Parse parse, Absence absence = Absence::kIsGap) const
      -> std::optional<std::decay_t<decltype(*parse(std::string_view()))>> {
    const std::optional<std::string> text = Text(name, absence);
    if (!text) return std::nullopt;
    auto value = parse(*text);
    if (value.ok()) return *std::move(value);
    Gap(name, value.status());
    return std::nullopt;
  }

  // Names of the entries of a directory below. Names that are not plain (IsPlainName) are gaps.
  std::vector<std::string> Names(const std::string& name, Absence absence = Absence::kIsGap) const;

  // Names() as numbers from `min` to `max`, ascending. Other names are gaps.
  std::vector<std::uint32_t> Numbers(const std::string& name, std::uint32_t min,
                                     std::uint32_t max) const;

  void Gap(const std::string& name, const Status& status) const;

  const Dir& dir() const { return dir_; }
  const std::string& path() const { return path_; }

 private:
  Attributes(Dir dir, std::string path, Gaps gaps)
      : dir_(std::move(dir)), path_(std::move(path)), gaps_(std::move(gaps)) {}

  Dir dir_;
  std::string path_;
  Gaps gaps_;
};

// Plain names in the directory `path`, relative to the root. Other names are gaps.
Result<std::vector<std::string>> PlainNames(const Host& host, const std::string& path,
                                            const Gaps& gaps);

// The last component of a link's target; in a captured tree also of a file that contains the text
// of a link. Otherwise absent.
std::optional<std::string> LinkTarget(const Dir& dir, const std::string& name);

// The device of a class directory: the target of its "device" link.
struct Parent {
  std::optional<std::string> driver;
  std::optional<std::string> pci_address;
  std::optional<std::string> subfunction;  // "mlx5_core.sf.4" of the auxiliary bus
  // Directory of the device for Dir::Sub, relative to the class directory; or, when it begins with
  // "sys/", of its PCI function and relative to the root. Empty when it was not captured.
  std::string path;
  bool there = false;             // False for a software device and one that was not captured
  bool virtual_function = false;  // SR-IOV, with the physical function on this machine
  std::optional<std::string> physical_function;  // PCI address, from the link
};
// `class_path` is "sys/class/net/eth0", `dir` that directory.
Parent ReadParent(const Host& host, const std::string& class_path, const Dir& dir);

// ReadParent() for a class entry of a captured tree that is a dangling link, by the text of the
// link.
Parent ReadParentOfLostEntry(const Host& host, const std::string& class_path);

// Why a class entry cannot be opened: `status`, or that it is a dangling link.
Status LostEntryStatus(const Host& host, const std::string& class_path, const Status& status);

// PCI address of the physical function of a virtual one.
std::optional<std::string> PhysicalFunctionOf(const Dir& function);

// Opens the directory that ReadParent() found.
Result<Dir> OpenFunction(const Host& host, const Dir& dir, const Parent& parent);

}  // namespace fabric::inspect
