// What must survive a restart: nodes and what changed on them, findings with their history,
// silences, campaigns with their results.
#pragma once

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

// What changed on a node.
struct ChangeLog {
  google::protobuf::Timestamp since;          // What was before is not known; zero: nothing is
  std::vector<v1::DiffNodeResponse> changes;  // Oldest first; `since` is when
};

struct CampaignResult {
  std::string campaign;  // Its id
  v1::PairResult result;
};

class Store {
 public:
  virtual ~Store() = default;

  // Writes. Each is atomic; UNAVAILABLE when the disk is full or the file locked, with the path.
  virtual Status PutNode(const v1::NodeSnapshot& snapshot) = 0;  // Newest only, by node name
  // By id; each record is kept too, with the finding as it was then.
  virtual Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) = 0;
  virtual Status PutSilence(const v1::Silence& silence) = 0;     // By id
  virtual Status PutCampaign(const v1::Campaign& campaign) = 0;  // Without results; by id
  virtual Status AddPairResults(std::span<const CampaignResult> results) = 0;  // All or none
  // Settings that changed at `change.since()`; one without differences begins the node's log unless
  // it has begun.
  virtual Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) = 0;
  // What the node's counters were at `mark.since()`; the newest ones are kept.
  virtual Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) = 0;

  // Reads.
  virtual Result<std::vector<v1::NodeSnapshot>> Nodes() = 0;
  virtual Result<std::vector<v1::Finding>> OpenFindings() = 0;
  virtual Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) = 0;  // Newest first
  // Open or resolved, as they are now, whose ids begin with `prefix`; in the order of ids.
  virtual Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                        std::uint32_t max) = 0;
  // Oldest first.
  virtual Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) = 0;
  virtual Result<std::vector<v1::Silence>> Silences() = 0;  // Ended ones too, as far as kept
  virtual Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) = 0;  // Newest first, bare
  virtual Result<v1::Campaign> CampaignWithResults(const std::string& id) = 0;  // NOT_FOUND
  // Changes from `from` on.
  virtual Result<ChangeLog> SettingChanges(const std::string& node,
                                      const google::protobuf::Timestamp& from) = 0;
  // The newest that is not after `at`, else the oldest one; without `since`: there is none.
  virtual Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                                   const google::protobuf::Timestamp& at) = 0;
};

// Opens or creates the file and brings its tables up to date. FAILED_PRECONDITION when it is not
// one of ours or was written by a newer version; the message names the path.
Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path);

}  // namespace fabric::store
