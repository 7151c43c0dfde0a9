// Reading attributes for an inspector: what fails becomes a gap, and the value is absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Where an inspector's gaps about one subject go.
struct Gaps {
  v1::NodeSnapshot& snapshot;
  std::string_view inspector;
  std::string subject;  // "mlx5_0", "mlx5_0/1", "eth0", or empty for the node.

  void Add(std::string_view path, const Status& status) const {
    AddGap(snapshot, inspector, subject, path, status);
  }
};

enum class Absence { kIsGap, kIsFine };  // What it means that the file is not there.

// One directory of attributes.
class Attributes {
 public:
  // `path` is relative to the root, "sys/class/net/eth0". Failure is that of Dir::Sub. In a
  // captured tree a file that holds the text of a link stands for that link.
  static Result<Attributes> Open(const Host& host, const std::string& path, Gaps gaps);

  // An empty file is a gap too, and so absent; likewise "N/A", and a file that holds its own name,
  // as some captures have for what they could not copy.
  std::optional<std::string> Text(const std::string& name, Absence absence = Absence::kIsGap) const;

  // Text() as what `parse`, a Result<T>(std::string_view), makes of it.
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

  // The name of every entry of a directory below, without those whose names are not fit to be
  // shown: these are gaps.
  std::vector<std::string> Names(const std::string& name, Absence absence = Absence::kIsGap) const;

  // Names() as numbers from `min` to `max` in ascending order; other names are gaps.
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

// Names below the directory `path` of the root that are fit to be shown; the others are gaps.
Result<std::vector<std::string>> PlainNames(const Host& host, const std::string& path,
                                            const Gaps& gaps);

// The last component of what a link points at; in a captured tree also of a file that holds the
// text of the link. Absent when it is neither.
std::optional<std::string> LinkTarget(const Dir& dir, const std::string& name);

// What stands behind the "device" link of a class directory.
struct Parent {
  std::optional<std::string> driver;
  std::optional<std::string> pci_address;
  std::optional<std::string> subfunction;  // "mlx5_core.sf.4" of the auxiliary bus
  // Directory of the device for Dir::Sub, relative to the class directory; or, when it begins with
  // "sys/", of its PCI function and relative to the root. Empty when it was not captured.
  std::string path;
  bool there = false;             // False: a software device, or a tree that did not capture it.
  bool virtual_function = false;  // Of SR-IOV, with its physical function on this machine.
  std::optional<std::string> physical_function;  // Its PCI address, where the link tells.
};
// `class_path` is "sys/class/net/eth0", `dir` that directory.
Parent ReadParent(const Host& host, const std::string& class_path, const Dir& dir);

// The same of an entry of a captured class that is a link into what was not captured, by the text
// of the link.
Parent ReadParentOfLostEntry(const Host& host, const std::string& class_path);

// What there is to say of an entry that could not be opened: `status`, or that it is such a link.
Status LostEntryStatus(const Host& host, const std::string& class_path, const Status& status);

// PCI address of the physical function of a virtual one.
std::optional<std::string> PhysicalFunctionOf(const Dir& function);

// A directory below what ReadParent() found.
Result<Dir> OpenFunction(const Host& host, const Dir& dir, const Parent& parent);

}  // namespace fabric::inspect
