// Persistent state: nodes and their changes, findings with history, silences, campaigns with
// results.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::store {

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

class Store {
 public:
  virtual ~Store() = default;

  // Writes. Each is atomic; UNAVAILABLE when the disk is full or the file locked, with the path.
  virtual Status PutNode(const v1::NodeSnapshot& snapshot) = 0;  // Replaces by node name
  virtual Status DeleteNode(const std::string& node) = 0;        // Keeps its history
  // Replaces by id; also appends the record, with the finding as it was then.
  virtual Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) = 0;
  virtual Status PutSilence(const v1::Silence& silence) = 0;     // By id
  virtual Status PutCampaign(const v1::Campaign& campaign) = 0;  // Without results; replaces by id
  virtual Status AddPairResults(std::span<const CampaignResult> results) = 0;  // All or none
  // Setting changes at `change.since()`. A change without differences starts the log of a new node.
  virtual Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) = 0;
  // Counter values at `mark.since()`. Keeps the newest ones.
  virtual Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) = 0;

  // Reads.
  virtual Result<std::vector<v1::NodeSnapshot>> Nodes() = 0;
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
  // Changes at or after `from`.
  virtual Result<ChangeLog> SettingChanges(const std::string& node,
                                           const google::protobuf::Timestamp& from) = 0;
  // The newest mark not after `at`, else the oldest one; without `since`: none.
  virtual Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                                   const google::protobuf::Timestamp& at) = 0;
};

// Opens or creates the file and migrates its tables. FAILED_PRECONDITION when it is not a state
// file of fabricd or was written by a newer version; the message names the path.
Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path);

}  // namespace fabric::store
