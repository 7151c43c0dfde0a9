// Metadata entry of WatchEvents over gRPC. With it in the request, the stream ends with OK after
// the newest event that the controller keeps. The initial metadata of the answer repeats the entry,
// also if the call fails; a controller that does not know it sends none, and its stream does not
// end.
#pragma once

namespace fabric {

inline constexpr const char* kEventsKey = "fabric-events";
inline constexpr const char* kKeptEvents = "kept";

}  // namespace fabric
