#include "ctl/render.h"

#include <gtest/gtest.h>

#include "base/lists.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

TEST(DisplayWidth, CountsColumnsOfTheTerminal) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("mlx5_0"), 6u);
  EXPECT_EQ(DisplayWidth("µs"), 2u);
  EXPECT_EQ(DisplayWidth("節点"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2u) << "no UTF-8";
}

TEST(Printable, KeepsTextAndDropsWhatDrivesTheTerminal) {
  EXPECT_EQ(Printable("plain µ 節"), "plain µ 節");
  EXPECT_EQ(Printable("a\nb\tc\x1b[31m"), "a b c [31m");
  EXPECT_EQ(Printable("\u009b31m"), " 31m") << "the one-character escape";
  EXPECT_EQ(Printable("\xff\xe0\x80"), "???");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
}

Output TwoColumns() {
  Output output;
  output.tables.push_back({.columns = {{.title = "NAME"},
                                       {.title = "SIZE", .right_aligned = true},
                                       {.title = "EXTRA", .wide_only = true},
                                       {.title = "STATE", .coloured = true}},
                           .rows = {{"節", "5", "x", "ok"}, {"long-name", "12345", "-", "lost"}}});
  return output;
}

TEST(Render, AlignsByDisplayWidth) {
  EXPECT_EQ(Render(TwoColumns(), {}).out,
            "NAME        SIZE  STATE\n"
            "節             5  ok\n"
            "long-name  12345  lost\n");
}

TEST(Render, WideShowsEveryColumn) {
  EXPECT_EQ(Render(TwoColumns(), {.format = OutputFormat::kWide}).out,
            "NAME        SIZE  EXTRA  STATE\n"
            "節             5  x      ok\n"
            "long-name  12345  -      lost\n");
}

TEST(Render, ColoursDoNotMoveColumns) {
  EXPECT_EQ(Render(TwoColumns(), {.colour = true}).out,
            "NAME        SIZE  STATE\n"
            "節             5  \x1b[32mok\x1b[0m\n"
            "long-name  12345  \x1b[31mlost\x1b[0m\n");
}

TEST(Render, PartsStandApartAndEmptyTablesAreNotes) {
  Output output = TwoColumns();
  output.tables[0].rows.resize(1);
  output.tables[0].title = "Things";
  output.tables.push_back({.columns = {{.title = "NONE"}}, .empty_note = "No others."});
  output.before = "before\n";
  output.after = "after\nlast\n";
  const Rendered rendered = Render(output, {});
  EXPECT_EQ(rendered.out, "before\n\nThings\nNAME  SIZE  STATE\n節       5  ok\n\nafter\nlast\n");
  EXPECT_EQ(rendered.notes, "No others.\n");
}

TEST(NaturalOrder, CountsDigitsAsNumbers) {
  EXPECT_TRUE(NaturalLess("n2", "n10"));
  EXPECT_FALSE(NaturalLess("n10", "n2"));
  EXPECT_TRUE(NaturalLess("n1", "n1/rxe0"));
  EXPECT_TRUE(NaturalLess("a9", "b1"));
  EXPECT_TRUE(NaturalLess("rack1-n9", "rack1-n10"));
  EXPECT_TRUE(NaturalLess("n01", "n1") != NaturalLess("n1", "n01")) << "a total order";
  EXPECT_FALSE(NaturalLess("n1", "n1"));
}

}  // namespace
}  // namespace fabric::ctl
