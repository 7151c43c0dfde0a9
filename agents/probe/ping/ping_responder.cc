#include "agents/probe/ping/ping_responder.h"

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::size_t kWaitingMax = 1024;  // Further ones are dropped.

}  // namespace

Status PingResponder::Answer(const PingMessage& ping, std::uint64_t arrived, bool late,
                             std::uint32_t path) {
  Open open{.message = ping, .arrived = arrived, .path = path};
  open.message.kind = PingMessage::Kind::kAnswer;
  open.message.late = late;
  return Send(open);
}

Status PingResponder::OnSent(const host::Datagram& datagram, bool late) {
  const auto found = unsent_.find(datagram.id);
  if (found == unsent_.end()) return {};
  Open open = found->second;
  unsent_.erase(found);
  if (open.message.kind == PingMessage::Kind::kAnswer) --answers_unsent_;
  if (!datagram.ok)
    return {Code::kUnavailable,
            Format("answer to ping {}: {}", open.message.sequence, datagram.error)};
  RETURN_IF_ERROR(SendWaiting());
  if (open.message.kind == PingMessage::Kind::kReport) return {};
  open.message.kind = PingMessage::Kind::kReport;
  open.message.late |= late;
  open.message.delay = datagrams_.Elapsed(open.arrived, datagram.ticks);
  return Send(open);
}

Status PingResponder::Send(const Open& open) {
  Write(open.message, bytes_);
  // A report does not wake up the initiator: it is handled with the next event.
  const bool answer = open.message.kind == PingMessage::Kind::kAnswer;
  const Status sent = datagrams_.Send(open.path, bytes_, {.id = next_, .solicited = answer});
  if (sent.code() == Code::kResourceExhausted) {
    if (waiting_.size() < kWaitingMax) waiting_.push_back(open);
    return {};
  }
  RETURN_IF_ERROR(sent);
  unsent_[next_++] = open;
  if (answer) ++answers_unsent_;
  return {};
}

Status PingResponder::SendWaiting() {
  if (waiting_.empty()) return {};
  const Open open = waiting_.front();
  waiting_.pop_front();
  return Send(open);
}

}  // namespace fabric::probe
