// kept: metadata entry of WatchEvents over gRPC. If the request has it, the stream ends with OK
// after the newest event that the controller keeps. The initial metadata of the answer repeats the
// entry, also if the call fails. A controller that does not know the entry does not repeat it, and
// its stream does not end.
#pragma once

namespace fabric {

inline constexpr const char* kEventsKey = "fabric-events";
inline constexpr const char* kKeptEvents = "kept";

}  // namespace fabric
