// Results of a campaign in a compact binary form for heat maps. REST sends it for
// ListCampaignResults with "Accept: application/vnd.fabricd.results". docs/WEB.md describes it.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/api/rest/rest_service.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::api {

inline constexpr std::string_view kResultMatrixType = "application/vnd.fabricd.results";

// Blocks begin with three numbers of 32 bits, little endian, like all numbers: type, measure,
// count.
enum class MatrixBlock : std::uint32_t {
  kPorts = 1,  // `count` bytes of JSON: ports that are new, padded with blanks to 4 bytes
  kCells = 2,  // `count` cells: from, to (positions among all ports), value as float
  kEnd = 3,    // All results were sent.
};

// Turns results into blocks. A value without threads.
class MatrixWriter {
 public:
  // Appends a block of new ports, if any, and a block for each measure.
  void Append(const google::protobuf::RepeatedPtrField<v1::PairResult>& results, std::string& out);
  static void AppendEnd(std::string& out);

 private:
  std::uint32_t NumberOf(const v1::ProbePort& port);

  std::map<std::string, std::uint32_t> ports_;
  std::string new_ports_;  // Of the block in progress
};

// Microseconds, bits per second, or bytes of the path MTU. Not a number: the probe measures
// nothing of these. Negative: it failed, with the number of its ProbeStatus.
float MatrixValue(const v1::PairResult& result);

bool WantsMatrix(const HttpRequest& request, const google::protobuf::Message& call_request);

// Reads the results page by page, each as a call of the caller. `call_function` is borrowed by the
// stream.
std::variant<HttpResponse, EventStreamStart, StreamedResponse> StreamMatrix(
    const CallFunction& call_function, const RestCall& call, const access::Caller& caller);

}  // namespace fabric::api
