// Progress lines, with the remaining time, of commands that go through nodes or files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "ctl/command.h"

namespace fabric::ctl {

// The line: none within the first second, then "check: TEXT, about 12s left", at most ten times a
// second. The time left follows from the share of the work that is done.
class Remaining {
 public:
  // `stream` and `what` must outlive the object.
  Remaining(Stream& stream, std::string_view what)
      : stream_(stream), what_(what), start_(stream.Now()) {}

  // `share`: from 0 to 1. 0: not known, the line has no time.
  void Show(std::string_view text, double share);
  // Of work whose share is not known: "check: TEXT".
  void Show(std::string_view text) { Show(text, 0); }

 private:
  Stream& stream_;
  const std::string_view what_;
  const WallTime start_;
  WallTime shown_ = {};
};

// Of a command that asks the controller for one node after the other.
class NodeProgress {
 public:
  NodeProgress(Stream& stream, std::string_view what, std::size_t nodes)
      : line_(stream, what), nodes_(nodes) {}

  void Next();  // Before each node: "nccl-env: 40 of 1024 nodes, about 12s left"

 private:
  Remaining line_;
  const std::size_t nodes_;
  std::size_t done_ = 0;
};

// Of a command that reads files, by their sizes. Standard input ("-") and files that cannot be read
// have no size: the line has no time then.
class FileProgress {
 public:
  FileProgress(Stream& stream, std::string_view what, const std::vector<std::string>& files);

  void Next();                   // Before each file: "check: 40 of 1000 files, about 12s left"
  void Read(std::size_t bytes);  // After a part of the file, for large files
  // After the last file, before the work that follows: "check: TEXT".
  void Then(std::string_view text) { line_.Show(text); }

 private:
  void Show();

  Remaining line_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t total_ = 0;  // 0: not known
  std::size_t next_ = 0;
  std::uint64_t before_ = 0;   // Bytes of the files before this one
  std::uint64_t of_file_ = 0;  // Bytes of this one that are done
};

}  // namespace fabric::ctl
