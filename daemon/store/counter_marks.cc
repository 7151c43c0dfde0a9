#include "daemon/store/counter_marks.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "daemon/store/retention.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

namespace io = google::protobuf::io;

// Compressed, because nine tenths of a mark are counter names, which repeat.
std::string Packed(const v1::DiffNodeResponse& mark) {
  std::string bytes;
  io::StringOutputStream out(&bytes);
  io::GzipOutputStream packed(&out);
  mark.SerializeToZeroCopyStream(&packed);
  packed.Close();
  return bytes;
}

bool Unpack(std::string_view bytes, v1::DiffNodeResponse& mark) {
  io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  io::GzipInputStream unpacked(&in);
  // Invalid gzip data parses as an empty message; truncated data lacks the last field.
  return mark.ParseFromZeroCopyStream(&unpacked) && mark.has_since();
}

}  // namespace

CounterMarkTable::CounterMarkTable(Statement add, Statement drop, Statement newest,
                                   Statement oldest, Statement remove)
    : add_(std::move(add)),
      drop_(std::move(drop)),
      newest_(std::move(newest)),
      oldest_(std::move(oldest)),
      remove_(std::move(remove)) {}

Result<CounterMarkTable> CounterMarkTable::Make(Database& database) {
  ASSIGN_OR_RETURN(
      Statement add,
      database.Prepare("INSERT INTO counter_marks (node, at, counters) VALUES (?, ?, ?)"));
  ASSIGN_OR_RETURN(Statement drop,
                   database.Prepare("DELETE FROM counter_marks WHERE node = ?1 AND sequence <= "
                                    "(SELECT sequence FROM counter_marks WHERE node = ?1 "
                                    "ORDER BY sequence DESC LIMIT 1 OFFSET ?2)"));
  // The first row that can be decoded is the answer.
  ASSIGN_OR_RETURN(Statement newest,
                   database.Prepare("SELECT counters FROM counter_marks WHERE node = ? AND "
                                    "at <= ? ORDER BY at DESC"));
  ASSIGN_OR_RETURN(Statement oldest, database.Prepare("SELECT counters FROM counter_marks WHERE "
                                                      "node = ? ORDER BY at"));
  ASSIGN_OR_RETURN(Statement remove, database.Prepare("DELETE FROM counter_marks WHERE node = ?"));
  return CounterMarkTable(std::move(add), std::move(drop), std::move(newest), std::move(oldest),
                          std::move(remove));
}

Status CounterMarkTable::Add(const std::string& node, const v1::DiffNodeResponse& mark) {
  RETURN_IF_ERROR(
      add_.Text(0, node).Bind(1, Nanoseconds(mark.since())).Blob(2, Packed(mark)).Run());
  return drop_.Text(0, node).Bind(1, Bounds().marks_of_node).Run();
}

Status CounterMarkTable::Remove(const std::string& node) {
  return remove_.Text(0, node).Run();
}

Result<v1::DiffNodeResponse> CounterMarkTable::Read(const std::string& node,
                                                    const google::protobuf::Timestamp& at,
                                                    std::uint64_t& damaged) {
  newest_.Text(0, node).Bind(1, Nanoseconds(at));
  oldest_.Text(0, node);
  for (Statement* const query : {&newest_, &oldest_}) {
    while (true) {
      ASSIGN_OR_RETURN(const bool row, query->Step());
      if (!row) break;
      v1::DiffNodeResponse mark;
      if (Unpack(query->Bytes(0), mark)) {
        query->Reset();
        return mark;
      }
      ++damaged;
    }
  }
  return v1::DiffNodeResponse();
}

}  // namespace fabric::store
