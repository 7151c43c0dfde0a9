#include "daemon/oidc_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "tests/testing/oidc_issuer.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;

// Counts fetches and sets of keys, and waits for them.
class OidcKeysTest : public ::testing::Test {
 protected:
  OidcKeysOptions Options() {
    return {.issuer = "https://i",
            .url = "https://i/keys",
            .fetch = [this](const std::string&) { return Fetch(); },
            .every = 1h,
            .after_failure = 10ms,
            .pause = 5ms};
  }
  Result<https::Answer> Fetch() {
    const std::lock_guard lock(mutex_);
    ++fetches_;
    changed_.notify_all();
    if (!failure_.ok()) return failure_;
    return https::Answer{.status = 200, .body = keys_};
  }
  void OnKeys(const access::KeySet& keys) {
    const std::lock_guard lock(mutex_);
    sizes_.push_back(keys.size());
    changed_.notify_all();
  }
  template <class Condition>
  void Await(Condition condition) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, condition));
  }

  const testing::IssuerKey a_ = testing::IssuerKey::Ec();
  const testing::IssuerKey b_ = testing::IssuerKey::Ec();
  std::mutex mutex_;
  std::condition_variable changed_;
  int fetches_ = 0;
  Status failure_;
  std::string keys_ = testing::SetOf({a_.Jwk("a")});
  std::vector<std::size_t> sizes_;
};

TEST_F(OidcKeysTest, AnUnknownKeyIsFetchedAtOnce) {
  OidcKeys keys(Options(), [this](const access::KeySet& set) { OnKeys(set); });
  Await([&] { return sizes_.size() == 1; });
  {
    const std::lock_guard lock(mutex_);
    keys_ = testing::SetOf({a_.Jwk("a"), b_.Jwk("b")});
  }
  keys.OnUnknownKey();
  Await([&] { return sizes_.size() >= 2 && sizes_.back() == 2; });
}

TEST_F(OidcKeysTest, AFailureKeepsTheKeysUntilTheyAreTooOld) {
  OidcKeysOptions options = Options();
  options.age_max = 200ms;
  OidcKeys keys(options, [this](const access::KeySet& set) { OnKeys(set); });
  Await([&] { return sizes_.size() == 1; });
  {
    const std::lock_guard lock(mutex_);
    failure_ = Status(Code::kUnavailable, "gone");
  }
  keys.OnUnknownKey();
  Await([&] { return sizes_.size() == 2 && sizes_.back() == 0; });
  {
    const std::lock_guard lock(mutex_);
    EXPECT_GT(fetches_, 3) << "tried again meanwhile";
    failure_ = Status();
  }
  Await([&] { return sizes_.size() == 3 && sizes_.back() == 1; });
}

TEST_F(OidcKeysTest, AnAnswerThatIsNoKeySetIsAFailure) {
  keys_ = "<html>";
  const OidcKeys keys(Options(), [this](const access::KeySet& set) { OnKeys(set); });
  Await([&] { return fetches_ >= 3; });
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(sizes_.empty());
}

}  // namespace
}  // namespace fabric
