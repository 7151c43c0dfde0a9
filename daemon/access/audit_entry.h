// Parts of an entry of the audit log. Pure.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "fabric/v1/access.pb.h"

namespace fabric::access {

inline constexpr std::size_t kRequestBytesMax = 1024;
inline constexpr std::size_t kReasonBytesMax = 512;

// "silences/s12", "nodes/gpu-7", "campaigns": the HTTP path of the method with the fields of the
// request, and the id of what it created. `response`: nullptr if there is none.
std::string TargetOf(const google::protobuf::MethodDescriptor& method,
                     const google::protobuf::Message& request,
                     const google::protobuf::Message* response);

// The fields that are set, as JSON on one line of at most kRequestBytesMax bytes; "..." marks a
// cut. Fields whose name is token, password, secret or private_key have the value "removed".
std::string RequestText(const google::protobuf::Message& request);

// The text within a limit, cut between characters, with "..." at the end.
std::string CutText(std::string text, std::size_t bytes_max);

// SHA-256 of the entry without `hash`, as protobuf writes it; 64 hexadecimal digits. It includes
// previous_hash, so that entries form a chain.
std::string HashOf(const v1::AuditEntry& entry);

// One line for the operator log, with sequence and hash.
std::string ToLine(const v1::AuditEntry& entry);

}  // namespace fabric::access
