#include "ctl/tables/join_words.h"

#include "base/text.h"

namespace fabric::ctl {

std::string JoinStateName(v1::JoinRequestState state) {
  switch (state) {
    case v1::JOIN_REQUEST_STATE_PENDING: return "pending";
    case v1::JOIN_REQUEST_STATE_APPROVED: return "approved";
    case v1::JOIN_REQUEST_STATE_DENIED: return "denied";
    default: return "unknown";
  }
}

std::string UsesOf(const v1::JoinToken& token) {
  return Format("{} of {}", token.uses_size(), token.uses_max());
}

}  // namespace fabric::ctl
