// RcQueuePair with libibverbs. Included by verbs*.cc alone.
#pragma once

#include <memory>

#include "agents/host/verbs.h"

namespace fabric::host {

Result<std::unique_ptr<RcQueuePair>> OpenVerbsQueuePair(const RcOptions& options);

}  // namespace fabric::host
