// InfiniBand subnets: those of files, which are replaced while fabricd runs, and those that agents
// read.
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
#include "fabric/v1/profile.pb.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/checks/check.h"
#include "subnet/model.h"
#include "subnet/plan.h"
#include "subnet/wire/snapshot_outline.h"

namespace fabric {

// All subnets.
struct SubnetReading {
  fleet::InfinibandTopology topology;
  subnet::Evaluation checks;
  std::vector<std::string> problems;  // Of what was read now: "FILE:LINE: expected ..., saw ..."
  std::size_t problem_count = 0;
  // Subnets that cannot be read. Their last state stays in use.
  std::vector<Status> errors;
  std::vector<subnet::FileSubnet> files;
};

class SubnetFiles {
 public:
  static constexpr std::size_t kSubnetsMax = 64;
  static constexpr std::size_t kFilesMax = 256;  // Of one subnet

  // `plan`: cable plan of the subnets that agents read. Empty path: no file.
  explicit SubnetFiles(std::string path, const subnet::Expectations& expected = {},
                       std::string plan = {})
      : path_(std::move(path)), expected_(expected), plan_file_(std::move(plan)) {}

  const std::string& path() const { return path_; }
  bool HasFiles() const { return !path_.empty() || !plan_file_.path().empty(); }

  // Reads the files now. Call at start-up. NOT_FOUND, or RESOURCE_EXHAUSTED above the bounds; the
  // error names the path.
  Result<SubnetReading> Read();
  // Call regularly. Reads the subnets whose files have changed and are then unchanged between two
  // calls. Empty if there is nothing new. Errors are returned once.
  std::optional<Result<SubnetReading>> ReadWhenChanged();

  // A subnet that an agent read; replaces the one with this name.
  void PutLive(const std::string& name, subnet::Subnet subnet, WallTime read_at);
  void DropLive(const std::string& name);
  // The last state of a live subnet; nullptr: none.
  const subnet::Subnet* Live(const std::string& name) const;
  // Why live subnets are not read now, by name: their checks are incomplete. True if that changed.
  bool SetProblems(std::map<std::string, std::string> problems);
  bool IsNewProblem(const std::string& name, const std::string& problem) const {
    const auto at = problems_.find(name);
    return at == problems_.end() || at->second != problem;
  }
  // Limits of counters, from the profile. Live subnets are judged again if they changed, those of
  // files at the next ReadWhenChanged(). True if a live subnet was judged.
  bool SetLimits(const v1::Expectations& profile);
  // All subnets as they are.
  SubnetReading All() const { return Combined({}); }

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
    subnet::Frame outline = {};                         // Of a subnet that comes from files
    std::vector<subnet::Manager> managers_before = {};  // Of the reading before
    double managers_before_s = 0;                       // Time between both
  };
  using Subnets = std::map<std::string, Known>;
  using Evaluations = std::vector<std::pair<std::string, const subnet::Evaluation*>>;
  Result<Listing> List() const;
  static std::vector<Version> VersionsOf(const Paths& paths);
  Status ReadSubnet(const std::string& name, const Paths& paths, SubnetReading& reading);
  bool ReadChanged(SubnetReading& reading);  // False: no subnet has new files
  // An error leaves the previous plan in use.
  Status ReadPlanFile(SubnetReading& reading);
  SubnetReading Combined(SubnetReading reading) const;
  void Judge(const std::string& name);  // A live subnet
  v1::SubnetInfo InfoOf(const std::string& name, const Known& known) const;

  std::string path_;
  subnet::Expectations expected_;
  WatchedFile plan_file_;
  std::optional<subnet::Plan> plan_;                    // Of live_
  Subnets known_;                                       // By subdirectory
  Subnets live_;                                        // By name
  std::map<std::string, std::string> problems_;         // Of live_
  std::map<std::string, std::vector<Version>> read_;    // When they were read
  std::map<std::string, std::vector<Version>> looked_;  // At the last call
};

// Numbers of switches, adapters and cables, and the ports with the most errors.
v1::SubnetInfo Describe(const subnet::Subnet& subnet);

// Creation time of a file with the header "generated on" (local time), last written at
// `modified_at`: the earlier of both, because a copy is written later.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
