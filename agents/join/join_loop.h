// Waits until the node has a certificate, and renews it.
#pragma once

#include <functional>
#include <stop_token>

#include "agents/join/credential.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::agent {

// Joins, if the node has no certificate that is valid; tries again after failures, and logs each
// new reason. `pause` waits and returns false if the agent has to stop. False: stopped. Errors: the
// folder or its files cannot be used.
Result<bool> JoinFirst(Credential& credential, JoinCalls& calls, const Clock& clock,
                       const std::function<bool(Duration)>& pause);

// Renews the certificate after two thirds of its validity period until stopped. After a failure it
// tries again, and logs each new reason.
void RunRenewal(Credential& credential, JoinCalls& calls, const Clock& clock,
                const std::stop_token& stop);

}  // namespace fabric::agent
