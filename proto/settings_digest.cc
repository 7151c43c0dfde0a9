#include "proto/settings_digest.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string>
#include <vector>

#include "base/hash.h"

namespace fabric {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields of NodeSnapshot are messages, but for `captured`, which is false for live machines.
void Add(const Message& message, std::string& buffer, std::uint64_t& digest) {
  buffer.clear();
  {
    google::protobuf::io::StringOutputStream stream(&buffer);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    (void)message.SerializePartialToCodedStream(&coded);
  }
  digest = FnvStep(Fnv(buffer, digest), buffer.size());
}

}  // namespace

std::uint64_t SettingsDigest(const v1::NodeSnapshot& snapshot) {
  const auto& reflection = *v1::NodeSnapshot::GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(snapshot, &fields);
  std::uint64_t digest = kFnvOffset;
  std::string buffer;
  for (const FieldDescriptor* const field : fields) {
    if (field->number() == v1::NodeSnapshot::kTakenAtFieldNumber ||
        field->number() == v1::NodeSnapshot::kCountersFieldNumber)
      continue;
    digest = FnvStep(digest, static_cast<std::uint64_t>(field->number()));
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      Add(reflection.GetMessage(snapshot, field), buffer, digest);
      continue;
    }
    for (int n = 0; n < reflection.FieldSize(snapshot, field); ++n)
      Add(reflection.GetRepeatedMessage(snapshot, field, n), buffer, digest);
  }
  return digest;
}

}  // namespace fabric
