// Counters that are one file each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/counters/readers.h"
#include "agents/host/sysfs.h"

namespace fabric::counters {

// Where the files of a group are, relative to `of`: each in the first of `folders` that has it.
struct FilePlaces {
  std::string of;  // "sys/class/infiniband/mlx5_0/ports/1", of the root
  std::vector<std::string> folders;
  std::vector<std::string> names;
};

// Keeps the files open. Those of sysfs stay what they are: another device of the same name has
// other files, which the next inspection finds. One that is gone already is read and never there:
// what an inspection saw in it is not true any more.
std::unique_ptr<Reader> OpenSysfsFiles(const host::Dir& root, const FilePlaces& places);

// The same in a captured tree, where files may be changed by people and programs: one that was
// replaced by another of its name, or is gone and comes back, is opened anew by the reading after
// the next. A file that holds no number is given until the next reading: it may be about to be
// written. Borrows the root.
std::unique_ptr<Reader> OpenCapturedFiles(const host::Dir& root, FilePlaces places);

}  // namespace fabric::counters
