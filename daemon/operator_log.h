// Operator log: nodes, findings, campaigns, certificates, refused agents, audit entries and store
// failures as log lines. Thread-safe.
//
// Lines are queued and Flush() writes them, so that a slow log cannot block the controller. At most
// kLinesMax are written each time, so that a flapping fleet cannot flood the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/control/turns.h"
#include "fabric/v1/access.pb.h"
#include "fabric/v1/certificate.pb.h"

namespace fabric {

class OperatorLog final : public control::EventListener {
 public:
  static constexpr std::size_t kLinesMax = 50;
  static constexpr std::size_t kAuditLinesMax = 1'000;  // Besides the others

  using Write = std::function<void(log::Level, std::string_view line, const log::Fields&)>;
  explicit OperatorLog(Write write = &log::Write) : write_(std::move(write)) {}

  void OnEvent(const v1::Event& event) override;
  void OnCertificate(const v1::Certificate& certificate);
  void OnRefused(const Status& reason);
  void OnAudit(const v1::AuditEntry& entry);
  void OnLongTurn(const control::LongTurn& turn);

  // Writes the queued lines and the number of omitted ones; call it once a second. One line when
  // the store fails, and one when it works again.
  void Flush(const store::Condition& store);

 private:
  struct Line {
    log::Level level;
    std::string text;
    log::Fields fields = {};
  };
  void Add(Line line);

  const Write write_;
  Mutex mutex_;
  std::vector<Line> lines_ GUARDED_BY(mutex_);
  std::vector<Line> audit_lines_ GUARDED_BY(mutex_);
  std::uint64_t omitted_ GUARDED_BY(mutex_) = 0;
  bool store_fails_ GUARDED_BY(mutex_) = false;
  std::uint64_t dropped_logged_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric
