#include "ctl/man_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManText, EscapesWhatIsACommandOfThePage) {
  EXPECT_EQ(ManText(".TH"), "\\&.TH");
  EXPECT_EQ(ManText("'so"), "\\&'so");
  EXPECT_EQ(ManText("a\n.b a.b"), "a\n\\&.b a.b");
  EXPECT_EQ(ManText("--no-wait"), "\\-\\-no\\-wait");
  EXPECT_EQ(ManText("C:\\n"), "C:\\en");
  EXPECT_EQ(ManText("~/.config ^ `x`"), "\\(ti/.config \\(ha \\(gax\\(ga");
}

TEST(ManPages, EachCommandHasAPage) {
  FakeController controller;
  const Said listed = RunWords("manpage", controller);
  EXPECT_EQ(listed.status, kExitOk);
  EXPECT_TRUE(listed.out.starts_with("fabricctl\n"));
  for (const Command* command : AllCommands()) {
    std::string name = Format("fabricctl-{}", command->path);
    std::ranges::replace(name, ' ', '-');
    EXPECT_THAT(listed.out, HasSubstr("\n" + name + "\n"));
    const std::string page = RunWords("manpage " + name, controller).out;
    EXPECT_TRUE(page.starts_with(".TH \"")) << name;
    EXPECT_THAT(page, AllOf(HasSubstr("\n.SH NAME\n"), HasSubstr("\n.SH \"EXAMPLES\"\n"))) << name;
    for (const Option& option : command->options)
      EXPECT_THAT(page, HasSubstr(ManText(DisplayName(option)))) << name;
    for (const std::string_view line : Split(page, '\n')) {
      const bool macro = line.starts_with('.') || line.starts_with('\'');
      EXPECT_TRUE(!macro || line.size() > 2) << name << ": " << line;
    }
  }
}

TEST(ManPages, ThePageOfTheProgramListsTheCommands) {
  FakeController controller;
  const std::string page = RunWords("manpage fabricctl", controller).out;
  EXPECT_THAT(page, AllOf(HasSubstr(".TP\n\\fBfabricctl\\-probe\\-run\\fR(1)\n"),
                          HasSubstr("\\fBFABRICCTL_CONTROLLER\\fR"), HasSubstr("\\fB130\\fR")));
}

TEST(ManPages, CommandsOfAGroupLinkToEachOther) {
  FakeController controller;
  const std::string page = RunWords("manpage fabricctl-probe-run", controller).out;
  const std::string links = page.substr(page.find("SEE ALSO"));
  EXPECT_THAT(links,
              AllOf(HasSubstr("\\fBfabricctl\\fR(1)"),
                    HasSubstr("\\fBfabricctl\\-probe\\-show\\fR(1)"), Not(HasSubstr("silence"))));
}

TEST(ManPages, AnUnknownPageIsAnError) {
  FakeController controller;
  const Said said = RunWords("manpage fabricctl-frobe", controller);
  EXPECT_EQ(said.status, kExitError);
  EXPECT_EQ(said.err, "fabricctl: manpage: unknown page 'fabricctl-frobe'\n");
}

}  // namespace
}  // namespace fabric::ctl
