// Reader of the files of InfiniBand subnets, which are replaced while fabricd runs.
//
// The path is a file with the output of ibnetdiscover, or a directory with the files of one subnet
// (subnet/files/formats.h), or a directory with a subdirectory for each subnet. A file plan.* is a
// cable plan. Names that begin with "." or end in .new or .tmp are skipped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/files/watched_file.h"
#include "daemon/fleet/infiniband_topology.h"
#include "subnet/checks/check.h"
#include "subnet/model.h"

namespace fabric {

// All subnets.
struct SubnetReading {
  fleet::InfinibandTopology topology;
  subnet::Evaluation checks;
  std::vector<std::string> problems;  // Of what was read now: "FILE:LINE: expected ..., saw ..."
  std::size_t problem_count = 0;
  // Subnets that cannot be read. Their last state stays in use.
  std::vector<Status> errors;
};

class SubnetFiles {
 public:
  static constexpr std::size_t kSubnetsMax = 64;
  static constexpr std::size_t kFilesMax = 256;  // Of one subnet

  // Empty path: no file.
  explicit SubnetFiles(std::string path, const subnet::Expectations& expected = {})
      : path_(std::move(path)), expected_(expected) {}

  const std::string& path() const { return path_; }

  // Reads the files now. Call at start-up. NOT_FOUND, or RESOURCE_EXHAUSTED above the bounds; the
  // error names the path.
  Result<SubnetReading> Read();
  // Call regularly. Reads the subnets whose files have changed and are then unchanged between two
  // calls. Empty if there is nothing new. Errors are returned once.
  std::optional<Result<SubnetReading>> ReadWhenChanged();

 private:
  struct Paths {
    std::vector<std::string> files;
    std::string plan;  // Empty: none
  };
  using Listing = std::map<std::string, Paths>;  // By subdirectory
  using Version = std::pair<std::string, FileState>;
  struct Known {
    subnet::Subnet subnet;
    subnet::Evaluation checks;
    WallTime made_at{};
  };
  Result<Listing> List() const;
  static std::vector<Version> VersionsOf(const Paths& paths);
  Status ReadSubnet(const std::string& name, const Paths& paths, SubnetReading& reading);
  SubnetReading Combined(SubnetReading reading) const;

  std::string path_;
  subnet::Expectations expected_;
  std::map<std::string, Known> known_;                  // By subdirectory
  std::map<std::string, std::vector<Version>> read_;    // When they were read
  std::map<std::string, std::vector<Version>> looked_;  // At the last call
};

// Creation time of a file with the header "generated on" (local time), last written at
// `modified_at`: the earlier of both, because a copy is written later.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
