#include "daemon/snapshot_diff/flatten.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"
#include "daemon/snapshot_diff/field_kinds.h"
#include "daemon/snapshot_diff/flattener.h"

namespace fabric::snapshot_diff {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Kernel parameters that differ between boots of one image.
constexpr std::string_view kBootIdentity[] = {"root", "resume",   "BOOT_IMAGE",   "initrd",
                                              "ip",   "hostname", "rd.luks.uuid", "rd.lvm.lv"};

// Kernel log lines with numbers replaced: "mlx5 0000:17:00.0: health: N of N".
std::string WithoutNumbers(const std::string& text) {
  constexpr std::size_t kShown = 80;
  std::string plain;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !plain.empty() && plain.back() == 'N') continue;
    plain += digit ? 'N' : c == '[' ? '(' : c == ']' ? ')' : c;
  }
  return plain.substr(0, kShown);
}

}  // namespace

FieldValues Flatten(const v1::NodeSnapshot& snapshot) {
  Flattener flattener(false);
  flattener.AddMessage(snapshot);
  return flattener.Take();
}

FieldValues FlattenCounters(const v1::NodeSnapshot& snapshot) {
  Flattener flattener(true);
  flattener.AddMessage(snapshot);
  for (const v1::CounterSet& set : snapshot.counters()) {
    flattener.Go(set.device().empty() ? Format("counters[{}]", set.netdev())
                                      : Format("counters[{}/{}]", set.device(), set.port()));
    for (const v1::Counter& counter : set.counters())
      flattener.Put(counter.name(), Format("{}", counter.value()));
  }
  flattener.Go("");
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    flattener.Put(Format("kernel_log[{}: {}]", line.category(), WithoutNumbers(line.text())),
                  Format("{}", line.count()));
  FieldValues values = flattener.Take();
  // Duplicates: a counter from two sources, or kernel lines that differ in numbers only.
  const auto same = [](const FieldValue& a, const FieldValue& b) { return a.path == b.path; };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  return values;
}

bool IsIdentity(std::string_view path) {
  const Descriptor* type = v1::NodeSnapshot::descriptor();
  while (type != nullptr && !path.empty()) {
    const std::size_t end = path.find_first_of(".[");
    const FieldDescriptor* const field = type->FindFieldByName(std::string(path.substr(0, end)));
    if (field == nullptr) return false;
    if (field->options().GetExtension(v1::comparison) == v1::COMPARISON_IDENTITY) return true;
    path.remove_prefix(std::min(end, path.size()));
    if (path.starts_with("[")) {
      const std::size_t close = path.find(']');
      if (close == std::string_view::npos) return false;
      if (field->name() == "kernel_command_line") {
        const std::string_view word = path.substr(1, close - 1);
        return std::find(std::begin(kBootIdentity), std::end(kBootIdentity), word) !=
               std::end(kBootIdentity);
      }
      path.remove_prefix(close + 1);
    }
    if (path.starts_with(".")) path.remove_prefix(1);
    type = field->message_type();
  }
  return false;
}

}  // namespace fabric::snapshot_diff
