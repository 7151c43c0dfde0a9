#include "agents/probe/ping_answers.h"

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::size_t kWaitingMax = 1024;  // More are dropped: the partner sends too fast.
// An answer has been seen by then even in an emulated machine.
constexpr Duration kReportAfter = std::chrono::milliseconds(2);
constexpr std::size_t kReportsMax = 16;

}  // namespace

Status PingAnswers::Answer(const PingMessage& ping, std::uint64_t arrived, bool late,
                           std::uint32_t path) {
  Open open{.message = ping, .arrived = arrived, .path = path};
  open.message.kind = PingMessage::Kind::kAnswer;
  open.message.late = late;
  return Send(open);
}

Status PingAnswers::Left(const host::Datagram& datagram, bool late, SteadyTime now) {
  const auto found = leaving_.find(datagram.id);
  if (found == leaving_.end()) return {};
  Open open = found->second;
  leaving_.erase(found);
  if (open.timed()) --timing_;
  if (!datagram.ok)
    return {Code::kUnavailable,
            Format("answering ping {}: {}", open.message.sequence, datagram.error)};
  RETURN_IF_ERROR(SendWaiting());
  if (!open.timed()) return {};
  open.message.kind = PingMessage::Kind::kReport;
  open.message.late |= late;
  open.message.delay = datagrams_.Elapsed(open.arrived, datagram.ticks);
  if (datagrams_.hardware_clock()) return Send(open);
  reports_.push_back(open);
  reports_at_ = now + kReportAfter;
  return {};
}

Status PingAnswers::SendReports(SteadyTime now) {
  if (now < reports_at_ && reports_.size() < kReportsMax) return {};
  for (; !reports_.empty(); reports_.pop_front()) RETURN_IF_ERROR(Send(reports_.front()));
  return {};
}

std::optional<SteadyTime> PingAnswers::next_report() const {
  return reports_.empty() ? std::nullopt : std::optional(reports_at_);
}

Status PingAnswers::Send(const Open& open) {
  Write(open.message, bytes_);
  const Status sent = datagrams_.Send(open.path, bytes_, next_);
  if (sent.code() == Code::kResourceExhausted) {
    if (waiting_.size() < kWaitingMax) waiting_.push_back(open);
    return {};
  }
  RETURN_IF_ERROR(sent);
  leaving_[next_++] = open;
  if (open.timed()) ++timing_;
  return {};
}

Status PingAnswers::SendWaiting() {
  if (waiting_.empty()) return {};
  const Open open = waiting_.front();
  waiting_.pop_front();
  return Send(open);
}

}  // namespace fabric::probe
