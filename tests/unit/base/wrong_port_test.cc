#include "base/wrong_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(ConnectionCause, IsTheLastPartOfTheMessage) {
  for (const auto& [message, cause] : {
           std::pair("failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: "
                     "Failed to connect to remote host: Connection refused",
                     "connection refused"),
           std::pair("DNS resolution failed for x:1: C-ares status is not ARES_SUCCESS qtype=A "
                     "name=x is_balancer=0: Domain name not found",
                     "domain name not found"),
           std::pair("failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: "
                     "Cannot check peer: missing selected ALPN property.",
                     "this is a port of HTTP, as of REST (9419); expected the port of gRPC (9418)"),
       }) {
    EXPECT_TRUE(IsConnectionFailure(message)) << message;
    EXPECT_EQ(ConnectionCause(message), cause);
  }
  EXPECT_EQ(ConnectionCause(""), "no reason given");
}

TEST(ConnectionCause, TheAnswerOfAControllerIsNotAFailureToConnect) {
  for (const char* const message :
       {"this controller does not lead: the leader is head1:9418", "Socket closed", ""})
    EXPECT_FALSE(IsConnectionFailure(message)) << message;
}

}  // namespace
}  // namespace fabric
