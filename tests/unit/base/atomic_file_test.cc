#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/input.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat file {};
  EXPECT_EQ(stat(path.c_str(), &file), 0) << path;
  return file.st_mode & 07777;
}

class AtomicFileTest : public ::testing::Test {
 protected:
  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/file";
};

TEST_F(AtomicFileTest, ReplacesAFileWithItsPermissions) {
  for (const mode_t mode : {0600, 0644}) {
    const std::string text = std::to_string(mode);
    ASSERT_TRUE(WriteFileAtomically(path_, text, mode).ok());
    EXPECT_EQ(*ReadFile(path_, 100), text);
    EXPECT_EQ(ModeOf(path_), mode);
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(AtomicFileTest, DoesNotFollowALinkInPlaceOfTheNewFile) {
  directory_.File("other", "theirs");
  std::filesystem::create_symlink(directory_.path() + "/other", path_ + ".new");
  ASSERT_TRUE(WriteFileAtomically(path_, "ours", 0600).ok());
  EXPECT_EQ(*ReadFile(directory_.path() + "/other", 100), "theirs");
  EXPECT_EQ(*ReadFile(path_, 100), "ours");
}

TEST_F(AtomicFileTest, CreatingNeverReplaces) {
  ASSERT_TRUE(CreateFileAtomically(path_, "first", 0600).ok());
  EXPECT_EQ(CreateFileAtomically(path_, "second", 0600).code(), Code::kAlreadyExists);
  EXPECT_EQ(*ReadFile(path_, 100), "first");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(AtomicFileTest, ErrorsNameThePath) {
  const std::string nowhere = directory_.path() + "/missing/file";
  EXPECT_EQ(WriteFileAtomically(nowhere, "", 0600).code(), Code::kNotFound);
  EXPECT_EQ(WriteFileAtomically(nowhere, "", 0600).message(),
            nowhere + ".new: No such file or directory");
}

TEST_F(AtomicFileTest, PrivateFilesHaveNoPermissionsOfOthers) {
  directory_.File("file", "");
  std::filesystem::permissions(path_, std::filesystem::perms(0664));
  ASSERT_TRUE(MakePrivate(path_).ok());
  EXPECT_EQ(ModeOf(path_), 0600u);
}

}  // namespace
}  // namespace fabric
