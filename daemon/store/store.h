// Persistent state: nodes and their changes, findings with history, silences, campaigns with
// results, certificates, schedules, actions on nodes and their labels, changes of InfiniBand
// subnets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/memory.pb.h"
#include "fabric/v1/node_action.pb.h"
#include "fabric/v1/probe.pb.h"
#include "fabric/v1/schedule.pb.h"

namespace fabric::store {

struct StoredNode {
  v1::NodeSnapshot snapshot;
  v1::NodeMemory memory;
};

// Setting changes of a node.
struct ChangeLog {
  google::protobuf::Timestamp since;          // Start of the log; zero: no log
  std::vector<v1::DiffNodeResponse> changes;  // Oldest first; `since` is when
};

struct CampaignResult {
  std::string campaign;  // Its id
  v1::PairResult result;
};

// A result of a campaign and its position among all results.
struct ResultRow {
  std::int64_t sequence = 0;
  v1::PairResult result;
};

// What could not be read, since the file was opened.
struct Damage {
  std::string file;             // The damaged file was moved here. Empty: it was not damaged.
  std::uint64_t recovered = 0;  // Rows copied from `file`
  std::uint64_t rows = 0;       // Skipped because they cannot be decoded
};

// A backup in steps. Destroying it before the last step removes the file.
class BackupSteps {
 public:
  virtual ~BackupSteps() = default;
  // Copies some more. True: the copy is complete and on the disk. After a failure it has ended.
  virtual Result<bool> Step() = 0;
  // Writes what has been copied to the disk, so that the last step is short. May be called while
  // another thread uses the store.
  virtual void Flush() {}
};

class Store {
 public:
  virtual ~Store() = default;

  // Writes. Each is atomic; UNAVAILABLE when the disk is full or the file locked, with the path.
  // A power failure can lose the last ones, unless they are part of Durably().
  // Replaces by node name.
  virtual Status PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) = 0;
  // With its labels, changes and counters
  virtual Status DeleteNode(const std::string& node) = 0;
  // Replaces by id; also appends the record, with the finding as it was then.
  virtual Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) = 0;
  virtual Status PutSilence(const v1::Silence& silence) = 0;     // By id
  virtual Status PutCampaign(const v1::Campaign& campaign) = 0;  // Without results; replaces by id
  virtual Status PutCertificate(const v1::GetCertificateResponse& certificate) = 0;  // By id
  virtual Status PutSchedule(const v1::ScheduleRecord& schedule) = 0;                // By id
  virtual Status DeleteSchedule(const std::string& id) = 0;
  virtual Status PutNodeAction(const v1::NodeAction& action) = 0;  // By id
  virtual Status DeleteNodeAction(const std::string& id) = 0;
  // All labels of a node, as the request that sets them. Replaces by name of the node.
  virtual Status PutNodeLabels(const v1::SetNodeLabelsRequest& labels) = 0;
  virtual Status PutSubnetHistory(const v1::SubnetHistory& history) = 0;  // By subnet
  virtual Status DeleteSubnetHistory(const std::string& subnet) = 0;
  virtual Status AddPairResults(std::span<const CampaignResult> results) = 0;  // All or none
  // Setting changes at `change.since()`. A change without differences starts the log of a new node.
  virtual Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) = 0;
  // Counter values at `mark.since()`. Keeps the newest ones.
  virtual Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) = 0;
  // Runs `writes`, which writes to this store, as one transaction. After a failure none of them is
  // in the file.
  virtual Status Together(const std::function<Status()>& writes) = 0;
  // The same. After success they, and all earlier writes, survive a power failure.
  virtual Status Durably(const std::function<Status()>& writes) = 0;

  // Removes a bounded number of rows that are too old or too many, and returns free space to the
  // file system. `ran`: time since the last call; ages count the time that the controller runs, so
  // that a wrong clock removes nothing. True: there is more to do. Writes to the disk in any case.
  virtual Result<bool> Maintain(Duration ran, WallTime now) = 0;
  // Writes a consistent copy to a new file with mode 0600. ALREADY_EXISTS if there is a file.
  virtual Status Backup(const std::string& path) = 0;
  // The same in steps, between which the store can be used: the copy has the content of the store
  // at the last step. Must not outlive the store. By default, there is one step.
  virtual Result<std::unique_ptr<BackupSteps>> BeginBackup(const std::string& path);

  // Number of this opening of the file: larger than that of all earlier ones, also if the clock is
  // set back. For ids that must not repeat.
  virtual std::uint64_t epoch() const = 0;
  virtual const Damage& damage() const = 0;
  virtual std::uint64_t bytes() = 0;  // Size of the file, without its log
  virtual const std::string& path() const = 0;

  // Reads. Rows that cannot be decoded are skipped and counted in damage().
  virtual Result<std::vector<StoredNode>> Nodes() = 0;
  virtual Result<std::vector<std::string>> NodeNames();  // By default, reads the nodes
  virtual Result<std::vector<v1::Finding>> OpenFindings() = 0;
  virtual Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) = 0;  // Newest first
  // Open and resolved findings with this id prefix, sorted by id.
  virtual Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                        std::uint32_t max) = 0;
  // Oldest first.
  virtual Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) = 0;
  virtual Result<std::vector<v1::Silence>>
  Silences() = 0;  // Includes ended ones that are still kept
  virtual Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) = 0;  // Newest first, bare
  // Results of a campaign behind the position `after`, in the order in which they were added.
  virtual Result<std::vector<ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                                 std::uint32_t max) = 0;
  virtual Result<std::vector<v1::GetCertificateResponse>> Certificates(
      std::uint32_t max) = 0;                                              // Newest first
  virtual Result<std::vector<v1::ScheduleRecord>> Schedules() = 0;         // By id
  virtual Result<std::vector<v1::NodeAction>> NodeActions() = 0;           // By id
  virtual Result<std::vector<v1::SetNodeLabelsRequest>> NodeLabels() = 0;  // By node
  virtual Result<std::vector<v1::SubnetHistory>> SubnetHistories() = 0;
  // Changes at or after `from`.
  virtual Result<ChangeLog> SettingChanges(const std::string& node,
                                           const google::protobuf::Timestamp& from) = 0;
  // The newest mark not after `at`, else the oldest one; without `since`: none.
  virtual Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                                   const google::protobuf::Timestamp& at) = 0;
};

// Opens or creates the file, migrates its tables and checks it. A damaged file is moved aside, and
// a new one gets the rows that can be read: see Damage. FAILED_PRECONDITION when it is not a state
// file of fabricd or was written by a newer version; the message names the path.
Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path, WallTime now = {});

}  // namespace fabric::store
