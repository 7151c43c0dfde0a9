// Leadership: decides whether this controller leads, when several share a state in PostgreSQL. A
// thread takes the lease when it is free, and renews it (daemon/store/postgres/lease.h).
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/control/agent_sink.h"
#include "daemon/store/postgres/lease.h"
#include "daemon/store/postgres/url.h"

namespace fabric {

class Leadership {
 public:
  enum class Standing : std::uint8_t {
    kStandby,      // Another one leads, or the database does not answer.
    kLeading,      // The lease was confirmed less than its duration ago.
    kUnconfirmed,  // The database does not answer. Another one may lead.
    kLost,         // Another one took the lease. Final.
  };

  Leadership(store::PostgresUrl url, store::LeaseOptions options);
  ~Leadership();  // Releases the lease.

  Standing standing() const;
  // Waits until this controller leads, or for a moment. Absent: it does not lead yet.
  std::optional<store::Term> AwaitTerm(Duration patience) EXCLUDES(mutex_);

  // UNAVAILABLE, with the address of the leader as far as it is known, or why it is not.
  Status Refusal() const EXCLUDES(mutex_);
  // URL of the leader's REST listener; empty: unknown.
  std::string LeaderPage() const EXCLUDES(mutex_);
  // Of a leader whose lease is not confirmed: why its answers can be out of date. Else empty.
  std::string Doubt() const;

  const store::PostgresUrl& url() const { return url_; }

 private:
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  Duration Take() EXCLUDES(mutex_);
  Duration Renew(const store::Term& term) EXCLUDES(mutex_);
  void Lose() EXCLUDES(mutex_);
  Duration Validity() const;
  void Note(const Status& status) EXCLUDES(mutex_);

  const store::PostgresUrl url_;
  const store::LeaseOptions options_;
  store::Lease lease_;                        // Of the thread
  std::atomic<std::int64_t> valid_until_{0};  // In nanoseconds since boot; 0: never led
  std::atomic<bool> lost_{false};

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<store::Term> term_ GUARDED_BY(mutex_);
  store::LeaseRow leader_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);  // Of the last attempt
  std::jthread thread_;                // Last: uses all of the above
};

// Null if the setting `state` is a file. INVALID_ARGUMENT if other settings do not fit a state in
// PostgreSQL.
Result<std::unique_ptr<Leadership>> OpenLeadership(const Settings& settings);

// Agents as the leader sees them: each message has the epoch, and without a confirmed lease there
// are no new probes.
class LeaderAgents final : public control::AgentSink {
 public:
  // Both are borrowed. Without `leadership`, messages have no epoch.
  LeaderAgents(control::AgentSink& agents, const Leadership* leadership, std::uint64_t epoch)
      : agents_(agents), leadership_(leadership), epoch_(epoch) {}

  void Send(SessionId session, const v1::ControllerMessage& message) override;
  void Close(SessionId session, const Status& status) override { agents_.Close(session, status); }
  bool MayOrder() const override;

 private:
  control::AgentSink& agents_;
  const Leadership* const leadership_;
  const std::uint64_t epoch_;
};

}  // namespace fabric
