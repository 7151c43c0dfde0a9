// A collector of OTLP behind gRPC. Heavy headers.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/grammar.h"
#include "base/mutex.h"
#include "base/tls/tls_files.h"
#include "daemon/otlp/collector.h"

namespace fabric::otlp {

struct CollectorOptions {
  HostPort endpoint;
  const tls::TlsFiles* tls = nullptr;  // Null: no TLS. Borrowed
  std::string headers_file = {};       // Read for each call, so that it can change. Empty: none
  Duration patience = std::chrono::seconds(10);  // Of a call
  bool gzip = true;                              // Of requests
};

// The content of a file of headers, which other users cannot read.
Result<Headers> ReadHeaders(const std::string& path);

class GrpcCollector final : public Collector {
 public:
  explicit GrpcCollector(CollectorOptions options) : options_(std::move(options)) {}

  Answer Export(const MetricsRequest& request) override;
  Answer Export(const LogsRequest& request) override;
  void Cancel() override;

 private:
  template <class Request, class Response>
  Answer Call(const char* path, const Request& request, Response& response);
  grpc::ChannelInterface& Channel();
  std::string Explain(const std::string& message) const;

  const CollectorOptions options_;
  // gRPC's own counted pointer; made by the thread that exports.
  decltype(grpc::CreateChannel({}, {})) channel_;
  std::uint64_t tls_version_ = 0;  // Of channel_
  Mutex mutex_;
  grpc::ClientContext* call_ GUARDED_BY(mutex_) = nullptr;  // In progress
  bool cancelled_ GUARDED_BY(mutex_) = false;
};

}  // namespace fabric::otlp
