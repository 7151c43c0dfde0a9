#include "agents/host/lost_links.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "agents/host/resolve.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::string_view kClass = "sys/class";
constexpr std::string_view kClasses[] = {"infiniband", "infiniband_mad", "infiniband_verbs", "net"};
constexpr std::string_view kFunctions = "sys/bus/pci/devices";
constexpr std::string_view kTree = "sys/devices";
constexpr std::string_view kVirtual = "sys/devices/virtual";
constexpr int kDepthMax = 32;
constexpr std::size_t kFoldersMax = 1 << 14;  // Links of a copy may run in circles.

std::vector<std::string> List(int root, const std::string& path) {
  std::vector<std::string> names;
  int error = 0;
  Result<Fd> fd = OpenInRoot(root, path, O_RDONLY | O_DIRECTORY, path, error);
  if (!fd.ok()) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd->get()), ::closedir);
  if (listing == nullptr) return names;
  fd->Release();                                                // closedir() closes it.
  while (const dirent* const entry = ::readdir(listing.get()))  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

bool Leads(int root, const std::string& path) {
  int error = 0;
  return OpenInRoot(root, path, O_PATH, path, error).ok();
}

// Folders of functions below sys/devices, at any depth of bridges.
void Walk(int root, const std::string& path, int depth, std::vector<std::string>& folders) {
  if (depth > kDepthMax || folders.size() > kFoldersMax) return;
  for (const std::string& name : List(root, path)) {
    const bool function = ParsePciAddress(name).ok();
    // "pci0000:00", and of other domains below a function too.
    if (!function && !(name.starts_with("pci") && name.find(':') != std::string::npos)) continue;
    const std::string below = Format("{}/{}", path, name);
    if (function) folders.push_back(below);
    Walk(root, below, depth + 1, folders);
  }
}

std::vector<std::string> FunctionFolders(int root) {
  std::vector<std::string> folders;
  for (const std::string& name : List(root, std::string(kFunctions)))
    if (ParsePciAddress(name).ok()) folders.push_back(Format("{}/{}", kFunctions, name));
  if (folders.empty()) Walk(root, std::string(kTree), 0, folders);
  return folders;
}

// Devices of other buses on a function that have entries of their own in classes: sub-functions and
// those of virtual machines.
std::vector<std::string> FoldersBelow(int root, const std::string& function) {
  std::vector<std::string> folders;
  for (const std::string& name : List(root, function))
    if (name.find(".sf.") != std::string::npos || name.starts_with("virtio"))
      folders.push_back(Format("{}/{}", function, name));
  return folders;
}

// The first two parts of "C/NAME/rest".
struct Entry {
  std::string name;  // "C/NAME", or the address of a function
  std::string rest;  // "" or "/rest"
};

std::optional<Entry> EntryBelow(std::string_view path, std::string_view directory, int parts) {
  if (!path.starts_with(directory) || path.size() <= directory.size() + 1 ||
      path[directory.size()] != '/')
    return std::nullopt;
  path.remove_prefix(directory.size() + 1);
  std::size_t end = 0;
  for (int part = 0; part < parts; ++part) {
    if (end == path.size()) return std::nullopt;
    end = std::min(path.find('/', end + (part == 0 ? 0 : 1)), path.size());
  }
  const std::string name(path.substr(0, end));
  if (name.ends_with('/') || name.ends_with("/.") || name.find("..") != std::string::npos)
    return std::nullopt;
  return Entry{.name = name, .rest = std::string(path.substr(end))};
}

bool IsClass(std::string_view name) {
  return std::find(std::begin(kClasses), std::end(kClasses), name) != std::end(kClasses);
}

std::string FindFunction(int root, const std::string& address) {
  if (!ParsePciAddress(address).ok()) return {};
  std::vector<std::string> folders;
  Walk(root, std::string(kTree), 0, folders);
  for (const std::string& folder : folders)
    if (folder.ends_with("/" + address)) return folder;
  return {};
}

std::string FindInClass(int root, const std::string& entry) {
  const std::vector<std::string> functions = FunctionFolders(root);
  for (const std::string& function : functions)
    if (std::string path = Format("{}/{}", function, entry); Leads(root, path)) return path;
  if (std::string path = Format("{}/{}", kVirtual, entry); Leads(root, path)) return path;
  for (const std::string& function : functions)
    for (const std::string& folder : FoldersBelow(root, function))
      if (std::string path = Format("{}/{}", folder, entry); Leads(root, path)) return path;
  return {};
}

}  // namespace

bool MayHaveLostEntries(std::string_view directory) {
  return Format("{}/", kFunctions).starts_with(directory) ||
         std::any_of(std::begin(kClasses), std::end(kClasses), [&](std::string_view name) {
           return Format("{}/{}/", kClass, name).starts_with(directory);
         });
}

std::string FindLostEntry(int root, const std::string& directory, const std::string& name) {
  const std::string path = directory + name;
  const auto find = [&](std::string_view all, int parts, auto search) -> std::string {
    const std::optional<Entry> entry = EntryBelow(path, all, parts);
    if (!entry) return {};
    const std::string at = Format("{}/{}", all, entry->name);
    // What was opened as a directory leads somewhere.
    if (directory.starts_with(at + "/") || Leads(root, at)) return {};
    const std::string place = search(root, entry->name);
    return place.empty() ? place : place + entry->rest;
  };
  for (const std::string_view name_of_class : kClasses)
    if (path.starts_with(Format("{}/{}/", kClass, name_of_class)))
      return find(kClass, 2, FindInClass);
  return find(kFunctions, 1, FindFunction);
}

std::vector<std::string> LostEntries(int root, std::string_view directory) {
  std::set<std::string> names;
  while (directory.ends_with('/')) directory.remove_suffix(1);
  const auto add = [&](const std::string& folder) {
    for (std::string& name : List(root, folder)) names.insert(std::move(name));
  };
  if (directory == kFunctions) {
    if (Leads(root, std::string(kFunctions))) return {};
    for (const std::string& folder : FunctionFolders(root))
      names.insert(folder.substr(folder.find_last_of('/') + 1));
  } else if (const auto entry = EntryBelow(directory, kClass, 1);
             entry && entry->rest.empty() && IsClass(entry->name)) {
    add(Format("{}/{}", kVirtual, entry->name));
    for (const std::string& function : FunctionFolders(root)) {
      add(Format("{}/{}", function, entry->name));
      for (const std::string& folder : FoldersBelow(root, function))
        add(Format("{}/{}", folder, entry->name));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace fabric::host
