#include "daemon/leadership.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "daemon/http_fronts.h"
#include "proto/not_leading.h"

namespace fabric {
namespace {

constexpr Duration kTakeEvery = std::chrono::milliseconds(250);
constexpr Duration kRetryAfter = std::chrono::milliseconds(250);
constexpr Duration kPatience = std::chrono::seconds(1);  // Of one answer of the database

// Includes the time in which the machine was suspended.
std::int64_t SinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Of this process only.
std::string HolderName() {
  std::random_device random;
  return Format("{}-{}-{:08x}", MachineName(), getpid(), random());
}

// Where clients of this machine's controller connect.
std::string PublicAddress(HostPort address) {
  if (address.host == "0.0.0.0" || address.host == "::") address.host = MachineName();
  return ToString(address);
}

}  // namespace

Leadership::Leadership(store::PostgresUrl url, store::LeaseOptions options)
    : url_(std::move(url)),
      options_(std::move(options)),
      lease_(url_, options_, kPatience),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

Leadership::~Leadership() {
  thread_.request_stop();
  thread_.join();
  const MutexLock lock(mutex_);
  if (term_ && !lost_) (void)lease_.Release(*term_);
}

// The lease counts from before the call, so that it ends here before it ends in the database.
Duration Leadership::Validity() const {
  return options_.duration * 9 / 10;
}

Leadership::Standing Leadership::standing() const {
  if (lost_) return Standing::kLost;
  const std::int64_t until = valid_until_;
  if (until == 0) return Standing::kStandby;
  return SinceBoot() < until ? Standing::kLeading : Standing::kUnconfirmed;
}

std::optional<store::Term> Leadership::AwaitTerm(Duration patience) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, patience, [this]() REQUIRES(mutex_) { return term_.has_value(); });
  return term_;
}

Status Leadership::Refusal() const {
  const MutexLock lock(mutex_);
  if (!failure_.ok())
    return {Code::kUnavailable,
            Format("{}; the leader is unknown: {}", kNotLeading, failure_.message())};
  if (term_ && !lost_)
    return {Code::kUnavailable, Format("{} yet; it becomes the leader soon", kNotLeading)};
  if (leader_.address.empty())
    return {Code::kUnavailable, Format("{}: no controller leads yet", kNotLeading)};
  return {Code::kUnavailable, Format("{}: the leader is {}", kNotLeading, leader_.address)};
}

std::string Leadership::LeaderPage() const {
  const MutexLock lock(mutex_);
  return failure_.ok() && !(term_ && !lost_) ? leader_.page : std::string();
}

std::string Leadership::Doubt() const {
  if (standing() != Standing::kUnconfirmed) return "";
  const Duration age(SinceBoot() - valid_until_ + Validity().count());
  return Format(
      "the database has not confirmed for {} s that this controller leads; another one can "
      "lead, and this answer can be out of date",
      std::chrono::floor<std::chrono::seconds>(age).count());
}

void Leadership::Note(const Status& status) {
  const MutexLock lock(mutex_);
  if (status.ok() != failure_.ok()) {
    if (status.ok())
      log::Info("the lease in {} works again", url_.shown);
    else
      log::Error("the lease cannot be read or renewed: {}", status.message());
  }
  failure_ = status;
}

// Returns the time until the next call.
Duration Leadership::Take() {
  const std::int64_t began = SinceBoot();
  store::LeaseRow row;
  const auto taken = lease_.Take(row);
  Note(taken.status());
  if (!taken.ok()) return kRetryAfter;
  const MutexLock lock(mutex_);
  if (!*taken) {
    leader_ = row;
    return kTakeEvery;
  }
  valid_until_ = began + Validity().count();
  term_ = *taken;
  changed_.notify_all();
  log::Info("this controller leads: epoch {}", term_->epoch);
  return options_.duration / 6;
}

Duration Leadership::Renew(const store::Term& term) {
  const std::int64_t began = SinceBoot();
  const auto renewed = lease_.Renew(term);
  Note(renewed.status());
  if (!renewed.ok()) return kRetryAfter;
  if (*renewed)
    valid_until_ = began + Validity().count();
  else
    Lose();
  return options_.duration / 6;
}

void Leadership::Lose() {
  const auto row = lease_.Read();
  const MutexLock lock(mutex_);
  leader_ = row.ok() ? *row : store::LeaseRow();
  lost_ = true;
}

void Leadership::Run(const std::stop_token& stop) {
  while (!stop.stop_requested() && !lost_) {
    std::optional<store::Term> term;
    {
      const MutexLock lock(mutex_);
      term = term_;
    }
    const Duration pause = term ? Renew(*term) : Take();
    MutexLock lock(mutex_);
    changed_.wait_for(lock, stop, pause, [] { return false; });
  }
}

Result<std::unique_ptr<Leadership>> OpenLeadership(const Settings& settings) {
  if (!store::IsPostgresUrl(settings.Text("state"))) return std::unique_ptr<Leadership>();
  auto url = store::ParsePostgresUrl(settings.Text("state"));
  if (!url.ok()) return url.status().In("state");
  for (const char* const name : {"signing-key", "audit-log"})
    if (!settings.Has(name))
      return Status(Code::kInvalidArgument,
                    Format("{}: expected a file, because the state is in PostgreSQL", name));
  for (const char* const name : {"grpc", "rest"})
    if (settings.Address(name).port == 0)
      return Status(Code::kInvalidArgument,
                    Format("{}: expected a port, because the state is in PostgreSQL; saw 0", name));
  return std::make_unique<Leadership>(
      *std::move(url),
      store::LeaseOptions{.holder = HolderName(),
                          .address = PublicAddress(settings.Address("grpc")),
                          .duration = settings.Duration("lease"),
                          .page = Format("{}://{}", settings.Has("tls-cert") ? "https" : "http",
                                         PublicAddress(settings.Address("rest")))});
}

void LeaderAgents::Send(SessionId session, const v1::ControllerMessage& message) {
  if (leadership_ == nullptr) return agents_.Send(session, message);
  if (leadership_->standing() == Leadership::Standing::kLost) return;
  v1::ControllerMessage stamped = message;
  stamped.set_epoch(epoch_);
  agents_.Send(session, stamped);
}

bool LeaderAgents::MayOrder() const {
  return leadership_ == nullptr || leadership_->standing() == Leadership::Standing::kLeading;
}

}  // namespace fabric
