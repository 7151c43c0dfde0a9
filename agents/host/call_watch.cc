#include "agents/host/call_watch.h"

#include <algorithm>

namespace fabric::host {
namespace {

thread_local CallWatch* of_this_thread = nullptr;

bool Matches(std::string_view name, std::string_view avoided) {
  return avoided.ends_with('/') ? name.starts_with(avoided) : name == avoided;
}

// Up to and including the `count`th slash after `begin`; empty when there are fewer.
std::string_view UpToSlash(std::string_view name, std::size_t begin, int count) {
  std::size_t at = begin;
  for (int i = 0; i < count; ++i) {
    at = name.find('/', at);
    if (at == std::string_view::npos) return {};
    ++at;
  }
  return name.substr(0, at);
}

}  // namespace

CallWatch::Here::Here(CallWatch& watch) {
  of_this_thread = &watch;
}

CallWatch::Here::~Here() {
  of_this_thread = nullptr;
}

void CallWatch::Avoid(std::vector<std::string> names) {
  MutexLock lock(mutex_);
  avoided_ = std::move(names);
}

void CallWatch::AvoidAll() {
  MutexLock lock(mutex_);
  avoids_all_ = true;
}

CallWatch::Progress CallWatch::progress() {
  MutexLock lock(mutex_);
  return progress_;
}

Status CallWatch::Enter(std::string_view name) {
  MutexLock lock(mutex_);
  const auto matches = [&](const std::string& avoided) { return Matches(name, avoided); };
  if (avoids_all_ || std::any_of(avoided_.begin(), avoided_.end(), matches))
    return Status(Code::kDeadlineExceeded, "the driver does not answer").At(std::string(name));
  ++progress_.steps;
  progress_.call = name;
  return {};
}

void CallWatch::Leave() {
  MutexLock lock(mutex_);
  ++progress_.steps;
  progress_.call.clear();
}

CallWatch* WatchedCall::OfThisThread() {
  return of_this_thread;
}

std::string DeviceOfCall(std::string_view name) {
  if (!name.starts_with('/')) return std::string(UpToSlash(name, 0, 1));
  struct Place {
    std::string_view prefix;
    int names;  // Path components after it, up to the device
  };
  constexpr Place kPlaces[] = {{"/sys/class/", 2}, {"/sys/bus/", 3}};
  const std::string closed = std::string(name) + (name.ends_with('/') ? "" : "/");
  for (const Place& place : kPlaces) {
    const std::size_t at = closed.find(place.prefix);
    if (at == std::string::npos) continue;
    const auto device = UpToSlash(closed, at + place.prefix.size(), place.names);
    if (!device.empty()) return std::string(device);
  }
  return std::string(name.substr(0, name.find_last_of('/') + 1));
}

}  // namespace fabric::host
