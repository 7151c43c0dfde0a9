#include "daemon/api/rest/request_guard.h"

#include <gtest/gtest.h>

namespace fabric::api {
namespace {

struct GuardCase {
  RequestHeaders headers;
  std::string refusal;  // Empty: it passes.
};

TEST(RequestGuard, RefusesWhatPagesOfOtherSitesSend) {
  const RequestGuard guard({"Fabricd.example"});
  const GuardCase cases[] = {
      {{.host = "127.0.0.1:9419"}, ""},
      {{.host = "[::1]:9419"}, ""},
      {{.host = "10.1.2.3"}, ""},
      {{.host = "localhost:9419"}, ""},
      {{.host = "LOCALHOST"}, ""},
      {{.host = "fabricd.EXAMPLE:9419"}, ""},
      {{.host = ""}, ""},
      {{.host = "evil.example"},
       "Host: expected an IP address, localhost or a name of the setting rest-hosts, saw "
       "'evil.example'"},
      {{.host = "fabricd.example.evil"},
       "Host: expected an IP address, localhost or a name of the setting rest-hosts, saw "
       "'fabricd.example.evil'"},
      {{.host = "1.2.3.4.evil:1"},
       "Host: expected an IP address, localhost or a name of the setting rest-hosts, saw "
       "'1.2.3.4.evil:1'"},
      {{.host = "127.0.0.1:9419", .origin = "http://127.0.0.1:9419"}, ""},
      {{.host = "localhost:9419", .origin = "http://evil.example"},
       "Origin: expected 'localhost:9419' as in Host, saw 'http://evil.example'"},
      {{.host = "localhost:9419", .origin = "http://localhost:80"},
       "Origin: expected 'localhost:9419' as in Host, saw 'http://localhost:80'"},
      {{.host = "localhost", .origin = "null"},
       "Origin: expected 'localhost' as in Host, saw 'null'"},
      {{.host = "localhost", .content_type = "application/json", .has_body = true}, ""},
      {{.host = "localhost", .content_type = "Application/JSON; charset=utf-8", .has_body = true},
       ""},
      {{.host = "localhost", .content_type = "text/plain", .has_body = true},
       "Content-Type: expected application/json, saw 'text/plain'"},
      {{.host = "localhost", .has_body = true}, "Content-Type: expected application/json, saw ''"},
  };
  for (const GuardCase& one : cases)
    EXPECT_EQ(guard.Check(one.headers).message(), one.refusal)
        << one.headers.host << " " << one.headers.origin << " " << one.headers.content_type;
  EXPECT_TRUE(RequestGuard({"*"}).Check({.host = "any.example"}).ok());
}

}  // namespace
}  // namespace fabric::api
