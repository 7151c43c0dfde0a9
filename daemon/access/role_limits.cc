#include "daemon/access/role_limits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

struct Column {
  std::string_view name;
  std::uint64_t RoleLimit::*value;
};
constexpr std::array<Column, 3> kColumns = {{{"per-second", &RoleLimit::per_second},
                                             {"in-flight", &RoleLimit::in_flight},
                                             {"bytes-per-second", &RoleLimit::bytes_per_second}}};

// The highest role that has limits.
v1::Role HighestOf(const v1::Identity& identity) {
  v1::Role highest = v1::ROLE_UNSPECIFIED;
  for (const v1::Role role : RolesOf(identity))
    if (role >= v1::ROLE_VIEWER && role <= v1::ROLE_ADMIN) highest = std::max(highest, role);
  return highest;
}

Status Exceeded(const v1::Identity& identity, v1::Role role, const Column& column,
                std::uint64_t most, std::string_view what) {
  return {Code::kResourceExhausted,
          Format("{}: expected at most {} {} with the role {} (setting role-limits, {}.{})",
                 identity.name(), most, what, RoleName(role), RoleName(role), column.name)};
}

double Left(double used, std::uint64_t per_second, double seconds) {
  return std::max(0.0, used - static_cast<double>(per_second) * seconds);
}

Status Change(std::string_view change, RoleLimits::Table& table) {
  const auto wrong = [&] {
    return Status(Code::kInvalidArgument,
                  Format("expected ROLE.LIMIT=NUMBER with the role viewer, operator or admin and "
                         "the limit per-second, in-flight or bytes-per-second, saw {}",
                         Quoted(change)));
  };
  const std::size_t dot = change.find('.');
  const std::size_t equals = change.find('=');
  if (dot == change.npos || equals == change.npos || equals < dot) return wrong();
  const auto role = ParseRole(change.substr(0, dot));
  if (!role.ok() || !table.contains(*role)) return wrong();
  const std::string_view name = change.substr(dot + 1, equals - dot - 1);
  const auto* const column = std::ranges::find(kColumns, name, &Column::name);
  const auto value = ParseNumber<std::uint64_t>(change.substr(equals + 1));
  if (column == kColumns.end() || !value.ok()) return wrong();
  table[*role].*column->value = *value;
  return {};
}

}  // namespace

RunningCall::~RunningCall() {
  if (limits_ != nullptr) limits_->End(place_);
}

RunningCall::RunningCall(RunningCall&& other) noexcept
    : limits_(std::exchange(other.limits_, nullptr)),
      place_(std::move(other.place_)),
      counts_bytes_(other.counts_bytes_) {}

void RunningCall::Answered(std::uint64_t bytes) {
  if (limits_ != nullptr) limits_->Charge(place_, bytes);
}

RoleLimits::Table RoleLimits::Defaults() {
  return {{v1::ROLE_VIEWER, {.per_second = 200, .in_flight = 6, .bytes_per_second = 64 << 20}},
          {v1::ROLE_OPERATOR, {.per_second = 2'000}},
          {v1::ROLE_ADMIN, {}}};
}

Result<RoleLimits::Table> RoleLimits::Parse(const std::vector<std::string>& changes) {
  Table table = Defaults();
  for (const std::string& change : changes) RETURN_IF_ERROR(Change(change, table));
  return table;
}

// Forgets identities that have used nothing lately, when there are too many.
RoleLimits::Place& RoleLimits::PlaceOf(const std::string& identity, v1::Role role, SteadyTime now,
                                       std::string& name) {
  name = RoleName(role) + " " + identity;
  if (!places_.contains(name) && places_.size() >= kIdentitiesMax) {
    std::erase_if(places_, [&](const auto& entry) {
      return entry.second.in_flight == 0 &&
             now - entry.second.at > std::chrono::seconds(2 * static_cast<int>(kBurstSeconds));
    });
    if (places_.size() >= kIdentitiesMax) name = RoleName(role);
  }
  Place& place = places_[name];
  place.role = role;
  const RoleLimit& limit = table_.at(role);
  const double seconds = std::max(0.0, std::chrono::duration<double>(now - place.at).count());
  place.calls_used = Left(place.calls_used, limit.per_second, seconds);
  place.bytes_used = Left(place.bytes_used, limit.bytes_per_second, seconds);
  place.at = std::max(place.at, now);
  return place;
}

Result<RunningCall> RoleLimits::Begin(const v1::Identity& identity, SteadyTime now) {
  const v1::Role role = HighestOf(identity);
  const auto limit = table_.find(role);
  if (limit == table_.end()) return RunningCall(*this, "", false);
  const RoleLimit& most = limit->second;
  std::string name;
  const MutexLock lock(mutex_);
  Place& place = PlaceOf(identity.name(), role, now, name);
  Status status;
  if (most.per_second > 0 &&
      place.calls_used + 1 > kBurstSeconds * static_cast<double>(most.per_second))
    status = Exceeded(identity, role, kColumns[0], most.per_second, "calls per second");
  else if (most.in_flight > 0 && place.in_flight >= most.in_flight)
    status = Exceeded(identity, role, kColumns[1], most.in_flight, "calls at a time");
  else if (most.bytes_per_second > 0 &&
           place.bytes_used > kBurstSeconds * static_cast<double>(most.bytes_per_second))
    status =
        Exceeded(identity, role, kColumns[2], most.bytes_per_second, "bytes of answers per second");
  if (!status.ok()) {
    ++refused_;
    return status;
  }
  if (most.per_second > 0) place.calls_used += 1;
  ++place.in_flight;
  return RunningCall(*this, std::move(name), most.bytes_per_second > 0);
}

std::uint64_t RoleLimits::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

void RoleLimits::End(const std::string& place) {
  const MutexLock lock(mutex_);
  if (const auto at = places_.find(place); at != places_.end()) --at->second.in_flight;
}

void RoleLimits::Charge(const std::string& place, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto at = places_.find(place);
  if (at == places_.end() || table_.at(at->second.role).bytes_per_second == 0) return;
  at->second.bytes_used += static_cast<double>(bytes);
}

}  // namespace fabric::access
