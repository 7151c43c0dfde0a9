// Readers for counters with one file each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/counters/readers.h"
#include "agents/host/sysfs.h"

namespace fabric::counters {

// Files of a group, relative to `of`: each in the first of `folders` that has it.
struct FilePlaces {
  std::string of;  // "sys/class/infiniband/mlx5_0/ports/1", of the root
  std::vector<std::string> folders;
  std::vector<std::string> names;
};

// Keeps the files open. A sysfs file belongs to one device: a new device of the same name has other
// files, which the next inspection finds. A file that is already gone stays missing.
std::unique_ptr<Reader> OpenSysfsFiles(const host::Dir& root, const FilePlaces& places);

// For captured trees, whose files may be edited: reopens a file that was replaced or has
// reappeared, by the second reading after that. Tolerates a file without a number for one reading,
// because a write may be in progress. Borrows the root.
std::unique_ptr<Reader> OpenCapturedFiles(const host::Dir& root, FilePlaces places);

}  // namespace fabric::counters
