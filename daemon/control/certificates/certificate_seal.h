// Completion and signature of a certificate with a verdict. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/jws.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Sets state and times, and signs with the key, if there is one. Takes long with thousands of
// nodes.
void Seal(const std::optional<SigningKey>& key, Duration lifetime, Moment now,
          v1::GetCertificateResponse& response);

}  // namespace fabric::control
