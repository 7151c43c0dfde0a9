// A node with one RoCE card, to be changed by a test and then inspected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/inspector.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

namespace fabric::inspect {

inline const std::string kCard = "sys/devices/pci0000:3a/0000:3b:00.0";
inline const std::string kPort = kCard + "/infiniband/mlx5_0/ports/1";
inline const std::string kNetdev = kCard + "/net/eth0";

// mlx5_0 with port 1 and eth0 on PCI function 0000:3b:00.0, read from files only until a fake is
// set up. Write or overwrite files before Inspected().
class SmallNode {
 public:
  SmallNode();

  // Writes or overwrites a file.
  SmallNode& File(const std::string& path, const std::string& content);
  SmallNode& Remove(const std::string& path);
  SmallNode& Driver(const std::string& driver);  // Of the PCI function

  // Makes the fake RDMA netlink answer with this device, index 7, its one link and no counters.
  void AnswerRdma();

  v1::NodeSnapshot Inspected();

  testing::TempTree tree;
  testing::FakeHost fake;
};

// Gaps of one inspector as "subject path: CODE reason".
std::vector<std::string> GapsOf(const v1::NodeSnapshot& snapshot, std::string_view inspector);

const v1::Counter* FindCounter(const v1::NodeSnapshot& snapshot, const std::string& name);

}  // namespace fabric::inspect
