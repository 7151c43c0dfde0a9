// The headers that nearly every file that handles messages includes. Build time only: a file that
// needs one of them still includes it itself.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"
