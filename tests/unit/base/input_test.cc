#include "base/input.h"

#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

TEST(Input, IsHandedOverInPieces) {
  testing::TempTree tree;
  const std::string text(300 << 10, 'x');
  tree.File("log", text);
  std::string read;
  int pieces = 0;
  const Status status = ReadInput(tree.path() + "/log", [&](std::string_view piece) {
    read += piece;
    ++pieces;
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(read, text);
  EXPECT_GT(pieces, 1);
}

TEST(Input, AFileHasABound) {
  testing::TempTree tree;
  tree.File("rules.yaml", "12345");
  const std::string path = tree.path() + "/rules.yaml";
  EXPECT_EQ(*ReadFile(path, 5), "12345");
  EXPECT_EQ(ReadFile(path, 4).status(),
            Status(Code::kResourceExhausted, path + ": expected at most 4 bytes, saw more"));
}

TEST(Input, WhatCannotBeReadIsNamed) {
  testing::TempTree tree;
  tree.File("empty", "");
  EXPECT_EQ(*ReadFile(tree.path() + "/empty", 1), "");
  EXPECT_EQ(ReadFile(tree.path() + "/none", 1).status(),
            Status(Code::kNotFound, tree.path() + "/none: No such file or directory"));
  EXPECT_NE(ReadFile(tree.path(), 1).status().message().find("Is a directory"), std::string::npos);
}

}  // namespace
}  // namespace fabric
