// The headers that nearly every file that handles messages includes. Build time only: a file that
// needs one of them still includes it itself.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"
