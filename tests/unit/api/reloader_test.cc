// Settings in use, by Reloader.
#include "daemon/reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using ::testing::ElementsAre;

class SettingsInUse : public ::testing::Test {
 protected:
  SettingsInUse() {
    tree_.File("fabricd.yaml", "lost-after: 7s\nlog-level: info\n");
    arguments_ = {"--config", tree_.path() + "/fabricd.yaml", "--state",
                  "postgresql://fabricd:hunter2@db/fabricd"};
    std::vector<const char*> words;
    for (const std::string& word : arguments_) words.push_back(word.c_str());
    settings_ = *Settings::Load(ControllerSettings(), words);
    reloader_.emplace(
        arguments_, settings_,
        [](const Settings&) -> Result<std::vector<notify::Receiver>> {
          return std::vector<notify::Receiver>();
        },
        [](const Reloader::Loaded&, Moment) {});
  }
  v1::EffectiveSetting Of(const std::string& name) {
    const v1::EffectiveSettings all = reloader_->InUse();
    for (const v1::EffectiveSetting& setting : all.settings())
      if (setting.name() == name) return setting;
    ADD_FAILURE() << name;
    return {};
  }

  testing::TempTree tree_;
  std::vector<std::string> arguments_;
  Settings settings_{ControllerSettings()};
  std::optional<Reloader> reloader_;
};

TEST_F(SettingsInUse, HaveTheirSourceAndNoSecrets) {
  EXPECT_EQ(reloader_->InUse().settings_size(), static_cast<int>(ControllerSettings().size()));
  EXPECT_THAT(Of("lost-after").values(), ElementsAre("7s"));
  EXPECT_EQ(Of("lost-after").source(), v1::SETTING_SOURCE_FILE);
  EXPECT_THAT(Of("lease").values(), ElementsAre("3s"));
  EXPECT_EQ(Of("lease").source(), v1::SETTING_SOURCE_DEFAULT);
  EXPECT_EQ(Of("rules").values_size(), 0) << "not set";
  const v1::EffectiveSetting state = Of("state");
  EXPECT_THAT(state.values(), ElementsAre("postgresql://fabricd:(removed)@db/fabricd"));
  EXPECT_TRUE(state.redacted());
  EXPECT_EQ(state.source(), v1::SETTING_SOURCE_COMMAND_LINE);
}

TEST_F(SettingsInUse, ChangeByAReloadWhenItAppliesThem) {
  tree_.File("fabricd.yaml", "lost-after: 9s\nlog-level: error\n");
  const auto reloaded = reloader_->Reload({});
  ASSERT_TRUE(reloaded.ok()) << reloaded.status().message();
  EXPECT_THAT(reloaded->restart_needed(), ElementsAre("lost-after"));
  EXPECT_THAT(Of("log-level").values(), ElementsAre("error"));
  EXPECT_THAT(Of("lost-after").values(), ElementsAre("7s")) << "needs a restart";
  tree_.File("fabricd.yaml", "log-level: nothing\n");
  EXPECT_FALSE(reloader_->Reload({}).ok());
  EXPECT_THAT(Of("log-level").values(), ElementsAre("error"));
}

TEST_F(SettingsInUse, AreAnAnswerOfTheApi) {
  v1::EffectiveSettings answer;
  const auto status = reloader_->Answer(v1::GetSettingsRequest(), answer, {});
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->ok());
  EXPECT_GT(answer.settings_size(), 0);
  v1::ReloadResponse other;
  EXPECT_EQ(reloader_->Answer(v1::GetSettingsRequest(), other, {})->code(), Code::kInternal);
  EXPECT_FALSE(reloader_->Answer(v1::GetMeshRequest(), answer, {}).has_value());
}

}  // namespace
}  // namespace fabric
