#include "daemon/api/rest/rest_connection.h"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "base/text.h"
#include "daemon/api/caught.h"
#include "daemon/api/rest/rest_text.h"

namespace fabric::api {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;
using net::ip::tcp;
constexpr std::size_t kEventBytesAtOnceMax = 64 << 10;
constexpr std::size_t kChunkBytes = 64 << 10;
constexpr Duration kLinger = std::chrono::seconds(1);

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

HttpResponse BadHttp(boost::system::error_code error, const RestLimits& limits) {
  if (error == http::error::header_limit)
    return ErrorResponse(
        431, {Code::kResourceExhausted,
              Format("expected a header of at most {} bytes", limits.header_bytes_max)});
  return ErrorResponse(400, {Code::kInvalidArgument, "malformed HTTP: " + error.message()});
}

HttpResponse TooLong(std::uint64_t bytes_max) {
  return ErrorResponse(
      413, {Code::kResourceExhausted, Format("expected a body of at most {} bytes", bytes_max)});
}

}  // namespace

std::string RestConnection::PeerOf(const Socket& socket) {
  Error ignored;
  const auto peer = socket.remote_endpoint(ignored);
  return ToString(HostPort{peer.address().to_string(ignored), peer.port()});
}

RestConnection::RestConnection(RestShared& shared, ConnectionOwner& owner, Socket socket,
                               std::uint64_t id)
    : shared_(shared),
      owner_(owner),
      id_(id),
      stream_(std::move(socket), shared.tls),
      timer_(stream_.get_executor()) {
  caller_.address = PeerOf(stream_.socket());
  caller_.encrypted = stream_.encrypted();
  Error ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
}

RestConnection::~RestConnection() {
  ReleaseBody();
}

void RestConnection::Begin(Result<PeerSlot> slot) {
  if (shared_.tls != nullptr && (!slot.ok() || !stream_.encrypted())) {
    Close();
    return;
  }
  if (!slot.ok()) {
    Refuse(ErrorResponse(503, slot.status()));
    return;
  }
  slot_.emplace(*std::move(slot));
  if (!stream_.encrypted()) {
    ReadHeader(shared_.limits.header_timeout);
    return;
  }
  stream_.expires_after(shared_.limits.header_timeout);
  stream_.async_handshake(Then(&RestConnection::OnHandshake));
}

void RestConnection::OnHandshake(Error error) {
  if (!stream_.socket().is_open()) return;
  if (!error) {
    caller_.certificate = stream_.Certificate();
    ReadHeader(shared_.limits.header_timeout);
    return;
  }
  if (RestSocket::IsPlainHttp(error)) {
    text_ = ResponseText(
        ErrorResponse(400, {Code::kFailedPrecondition, "expected HTTPS, saw HTTP without TLS"}),
        {});
    Error ignored;
    stream_.socket().non_blocking(true, ignored);
    stream_.socket().write_some(net::buffer(text_), ignored);
  }
  stream_.close();
}

void RestConnection::Close() {
  closing_ = true;
  watch_.reset();
  timer_.cancel();
  stream_.close();
  MaybeDrop();
}

void RestConnection::MaybeDrop() {
  if (pending_ == 0 && !stream_.socket().is_open()) owner_.Drop(id_);  // Deletes this.
}

void RestConnection::ReadHeader(Duration timeout) {
  parser_.emplace();
  parser_->header_limit(shared_.limits.header_bytes_max);
  parser_->body_limit(boost::none);  // Known with the route
  stream_.expires_after(timeout);
  http::async_read_header(stream_, buffer_, *parser_, Then(&RestConnection::OnHeader));
}

// All values of the header, so that a second one cannot hide behind the first one.
access::Caller RestConnection::CallerRead() const {
  access::Caller caller = caller_;
  const auto [begin, end] = parser_->get().equal_range(http::field::authorization);
  for (auto at = begin; at != end; ++at) {
    if (!caller.authorization.empty()) caller.authorization += ", ";
    caller.authorization += View(at->value());
  }
  return caller;
}

HttpRequest RestConnection::RequestRead() const {
  const auto& request = parser_->get();
  return {.verb = View(request.method_string()),
          .target = View(request.target()),
          .body = request.body(),
          .last_event_id = View(request["Last-Event-ID"]),
          .accept = View(request["Accept"]),
          .accept_encoding = View(request["Accept-Encoding"]),
          .if_none_match = View(request["If-None-Match"]),
          .caller = CallerRead(),
          .headers = {.host = View(request["Host"]),
                      .origin = View(request["Origin"]),
                      .content_type = View(request["Content-Type"]),
                      .has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0}};
}

void RestConnection::OnHeader(Error error) {
  if (!stream_.socket().is_open()) return;
  if (RestSocket::IsEnd(error)) {
    stream_.close();
    return;
  }
  if (error) {
    Refuse(BadHttp(error, shared_.limits));
    return;
  }
  auto admitted = shared_.service.Admit(RequestRead());
  if (const auto* const refused = std::get_if<HttpResponse>(&admitted)) {
    Refuse(*refused);
    return;
  }
  const std::uint64_t bytes_max =
      std::min(std::get<std::uint64_t>(admitted), shared_.limits.body_bytes_max);
  const std::uint64_t length = parser_->content_length().value_or(bytes_max);
  if (length > bytes_max) {
    Refuse(TooLong(bytes_max));
    return;
  }
  if (!ReserveBody(parser_->chunked() ? bytes_max : parser_->content_length().value_or(0))) {
    Refuse(ErrorResponse(503, {Code::kResourceExhausted,
                               Format("too many requests are being sent: expected at most {} bytes "
                                      "of bodies",
                                      shared_.limits.all_bodies_bytes_max)}));
    return;
  }
  parser_->body_limit(bytes_max);
  stream_.expires_after(shared_.limits.body_timeout);
  http::async_read(stream_, buffer_, *parser_, Then(&RestConnection::OnBody));
}

bool RestConnection::ReserveBody(std::uint64_t bytes) {
  body_reserved_ = bytes;
  return (shared_.body_bytes += bytes) <= shared_.limits.all_bodies_bytes_max;
}

void RestConnection::ReleaseBody() {
  shared_.body_bytes -= std::exchange(body_reserved_, 0);
}

void RestConnection::OnBody(Error error) {
  if (!stream_.socket().is_open()) return;
  if (RestSocket::IsEnd(error)) {
    stream_.close();
    return;
  }
  if (error) {
    Refuse(error == http::error::body_limit ? TooLong(shared_.limits.body_bytes_max)
                                            : BadHttp(error, shared_.limits));
    return;
  }
  const auto& request = parser_->get();
  const bool head = request.method() == http::verb::head;
  const bool keep_alive = request.keep_alive();
  std::variant<HttpResponse, EventStreamStart, StreamedResponse> answer;
  const Status handled = Caught([&] {
    answer = shared_.service.Handle(RequestRead());
    return Status();
  });
  if (!handled.ok()) answer = ErrorResponse(HttpStatus(handled.code()), handled);
  ReleaseBody();
  if (const auto* const start = std::get_if<EventStreamStart>(&answer)) {
    BeginEvents(*start);
    return;
  }
  closing_ = !keep_alive;
  if (auto* const streamed = std::get_if<StreamedResponse>(&answer)) {
    body_ = std::move(streamed->body);
    chunked_ = request.version() >= 11;
    closing_ = closing_ || !chunked_;
    Write(streamed->head, false, !closing_);
    return;
  }
  Write(std::get<HttpResponse>(answer), head, keep_alive);
}

// Answers before the whole request has come.
void RestConnection::Refuse(const HttpResponse& answer) {
  ReleaseBody();
  closing_ = true;
  Write(answer, false, false);
}

void RestConnection::Write(const HttpResponse& answer, bool head, bool keep_alive) {
  stream_.expires_after(shared_.limits.write_timeout);
  text_ = ResponseText(answer, {.head = head,
                                .keep_alive = keep_alive,
                                .length = body_ == nullptr ? BodyLength::kKnown
                                          : chunked_       ? BodyLength::kChunked
                                                           : BodyLength::kToTheEnd});
  net::async_write(stream_, net::buffer(text_), Then(&RestConnection::OnWritten));
}

void RestConnection::OnWritten(Error error) {
  if (!stream_.socket().is_open()) return;
  if (error) {
    stream_.close();
  } else if (body_ != nullptr) {
    WriteChunk();
  } else if (closing_) {
    Linger();
  } else {
    text_ = {};
    ReadHeader(shared_.limits.idle_timeout);
  }
}

// The next piece is made when the client has taken the one before.
void RestConnection::WriteChunk() {
  std::string piece;
  bool more = true;
  while (more && piece.size() < kChunkBytes) {
    const Status made = Caught([&]() -> Status {
      ASSIGN_OR_RETURN(more, body_->Next(piece));
      return {};
    });
    if (!made.ok()) {
      stream_.close();  // The client sees that the answer is not complete.
      return;
    }
  }
  if (!more) body_.reset();
  if (chunked_)
    text_ = (piece.empty() ? "" : Format("{:x}\r\n{}\r\n", piece.size(), piece)) +
            (more ? "" : "0\r\n\r\n");
  else
    text_ = std::move(piece);
  stream_.expires_after(shared_.limits.write_timeout);
  net::async_write(stream_, net::buffer(text_), Then(&RestConnection::OnWritten));
}

// Sends FIN and reads what the client still sends, for a second: closing at once would reset the
// connection and the client could lose the answer.
void RestConnection::Linger() {
  if (stream_.encrypted()) {
    stream_.expires_after(kLinger);
    stream_.async_shutdown(Then(&RestConnection::OnLingered));
    return;
  }
  Error ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  timer_.expires_after(kLinger);
  timer_.async_wait(Then(&RestConnection::OnLingered));
  ReadSome(&RestConnection::OnDiscarded);
}

void RestConnection::OnLingered(Error) {
  stream_.close();
}

void RestConnection::OnDiscarded(Error error) {
  if (error) {
    stream_.close();
    timer_.cancel();
  } else if (stream_.socket().is_open()) {
    ReadSome(&RestConnection::OnDiscarded);
  }
}

// Reads bytes that are ignored.
void RestConnection::ReadSome(Step step) {
  if (stream_.encrypted())
    stream_.async_read_some(net::buffer(discarded_), Then(step));
  else
    stream_.socket().async_read_some(net::buffer(discarded_), Then(step));
}

void RestConnection::BeginEvents(const EventStreamStart& start) {
  closing_ = true;
  auto watch = shared_.events.Start(start.request, SystemClock().Now());
  if (!watch.ok()) {
    Write(ErrorResponse(HttpStatus(watch.status().code()), watch.status()), false, false);
    return;
  }
  auto slot = shared_.watchers.Take(caller_.address);
  if (!slot.ok()) {
    Write(ErrorResponse(503, slot.status()), false, false);
    return;
  }
  watcher_slot_.emplace(*std::move(slot));
  stream_.expires_never();
  text_ = kEventStreamHead;
  watch_ = *std::move(watch);
  caller_ = start.caller;
  WriteEvents();
  ReadSome(&RestConnection::OnClientRead);
  StartHeartbeat();
}

// The client only reads: an error is its end.
void RestConnection::OnClientRead(Error error) {
  if (error)
    EndEvents();
  else if (watch_)
    ReadSome(&RestConnection::OnClientRead);
}

void RestConnection::StartHeartbeat() {
  timer_.expires_after(shared_.limits.heartbeat);
  timer_.async_wait(Then(&RestConnection::OnHeartbeat));
}

void RestConnection::OnHeartbeat(Error error) {
  if (error || !watch_) return;
  if ((writing_ && wrote_nothing_) || !shared_.service.MayWatch(caller_)) {
    EndEvents();
    return;
  }
  wrote_nothing_ = true;
  if (!writing_) {
    text_ = kHeartbeat;
    WriteEvents();
  }
  StartHeartbeat();
}

void RestConnection::PumpEvents() {
  if (writing_ || !watch_) return;
  text_.clear();
  while (text_.size() < kEventBytesAtOnceMax) {
    const auto next = shared_.events.Next(*watch_);
    if (next.more) text_ += kHeartbeat;  // Goes on when it is written
    if (!next.event) break;
    text_ += ServerSentEvent(*next.event);
  }
  if (!text_.empty()) WriteEvents();
}

void RestConnection::WriteEvents() {
  writing_ = true;
  net::async_write(stream_, net::buffer(text_), Then(&RestConnection::OnEventsWritten));
}

void RestConnection::OnEventsWritten(Error error) {
  writing_ = false;
  wrote_nothing_ = false;
  if (error)
    EndEvents();
  else
    PumpEvents();
}

void RestConnection::EndEvents() {
  watch_.reset();
  timer_.cancel();
  stream_.close();
}

}  // namespace fabric::api
