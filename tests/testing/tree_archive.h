// A captured machine as one readable text file (tests/fixtures/*.tree), unpacked into a directory.
//
//   # a comment
//   In: sys/class/net/eth0         what follows is below this directory ("In: ." is the root)
//   mtu = 9000                     a file of one line, with a newline at its end
//   device -> ../../devices/x      a symbolic link
//   statistics /                   a directory with nothing in it
//   modules |                      a file of several lines: those that follow and begin with '|',
//   |nvidia_peermem 16384 0        without that bar
//   board_id !                     an empty file
//   config # de10302300            a file of these bytes, without a newline
//   config @ 4096 0:de10 34:60     a file of that many zero bytes, but for these from offset 0x0
//                                  and 0x34 on
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

// INVALID_ARGUMENT with the line for any other line, a path that leaves the directory
// or one that is already there.
Status UnpackTree(std::string_view archive, const std::string& directory);

// A fixture of tests/fixtures, unpacked: Fixture tree("h100_infiniband"). Throws when it is broken.
class Fixture {
 public:
  explicit Fixture(const std::string& name);
  std::string path() const { return tree_.path(); }

 private:
  TempTree tree_;
};

}  // namespace fabric::testing
