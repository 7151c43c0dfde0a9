// What the operator decides about certificates.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ed25519.h"

namespace fabric::control {

struct CertificateOptions {
  std::optional<SigningKey> key = {};            // Without it none is made.
  Duration lifetime = std::chrono::minutes(15);  // Facts get old.
  std::string issuer = "fabricd";
};

}  // namespace fabric::control
