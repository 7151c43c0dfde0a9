#include "agents/probe/ping/ping_answers.h"

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::size_t kWaitingMax = 1024;  // More are dropped: the partner sends too fast.

}  // namespace

Status PingAnswers::Answer(const PingMessage& ping, std::uint64_t arrived, bool late,
                           std::uint32_t path) {
  Open open{.message = ping, .arrived = arrived, .path = path};
  open.message.kind = PingMessage::Kind::kAnswer;
  open.message.late = late;
  return Send(open);
}

Status PingAnswers::Left(const host::Datagram& datagram, bool late) {
  const auto found = leaving_.find(datagram.id);
  if (found == leaving_.end()) return {};
  Open open = found->second;
  leaving_.erase(found);
  if (open.message.kind == PingMessage::Kind::kAnswer) --answers_leaving_;
  if (!datagram.ok)
    return {Code::kUnavailable,
            Format("answering ping {}: {}", open.message.sequence, datagram.error)};
  RETURN_IF_ERROR(SendWaiting());
  if (open.message.kind == PingMessage::Kind::kReport) return {};
  open.message.kind = PingMessage::Kind::kReport;
  open.message.late |= late;
  open.message.delay = datagrams_.Elapsed(open.arrived, datagram.ticks);
  return Send(open);
}

Status PingAnswers::Send(const Open& open) {
  Write(open.message, bytes_);
  // The initiator need not wake up for a report: it is of use with the next thing that comes, too.
  const bool answer = open.message.kind == PingMessage::Kind::kAnswer;
  const Status sent = datagrams_.Send(open.path, bytes_, {.id = next_, .solicited = answer});
  if (sent.code() == Code::kResourceExhausted) {
    if (waiting_.size() < kWaitingMax) waiting_.push_back(open);
    return {};
  }
  RETURN_IF_ERROR(sent);
  leaving_[next_++] = open;
  if (answer) ++answers_leaving_;
  return {};
}

Status PingAnswers::SendWaiting() {
  if (waiting_.empty()) return {};
  const Open open = waiting_.front();
  waiting_.pop_front();
  return Send(open);
}

}  // namespace fabric::probe
