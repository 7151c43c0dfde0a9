// Precompiled header of the targets that use messages. For build time only: each file still
// includes the headers that it needs.
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
