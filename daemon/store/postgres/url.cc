#include "daemon/store/postgres/url.h"

#include <libpq-fe.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>

#include "base/atomic_file.h"
#include "base/text.h"

namespace fabric::store {
namespace {

// libpq ignores a password file that others than its owner can read.
Status CheckPasswordFile(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return FromErrno(errno, path);
  if ((file.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return {Code::kFailedPrecondition,
          Format("{}: expected a password file with mode 0600, saw mode {:04o}", path,
                 file.st_mode & 07777)};
}

std::string Trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

bool IsPostgresUrl(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

Result<PostgresUrl> ParsePostgresUrl(const std::string& text) {
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(text.c_str(), &problem), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> words(problem, &PQfreemem);
  // libpq repeats the text, which may have a password.
  if (options == nullptr) {
    if (text.find('@') != std::string::npos && text.find(':', text.find("//")) < text.find('@'))
      return Status(Code::kInvalidArgument, "expected a URL of PostgreSQL without a password");
    return Status(Code::kInvalidArgument,
                  Format("expected a URL of PostgreSQL: {}",
                         words ? Trimmed(words.get()) : std::string("out of memory")));
  }
  std::map<std::string, std::string, std::less<>> given;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) given[option->keyword] = option->val;
  for (const char* const secret : {"password", "sslpassword"})
    if (given.contains(secret))
      return Status(Code::kInvalidArgument,
                    Format("expected no {} in the URL, which other users can see: write it into a "
                           "file with mode 0600 and add passfile=FILE",
                           secret));
  if (given.contains("passfile")) RETURN_IF_ERROR(CheckPasswordFile(given["passfile"]));
  if (given.contains("sslkey")) RETURN_IF_ERROR(CheckPrivate(given["sslkey"]));
  std::string place = given["host"].empty() ? given["hostaddr"] : given["host"];
  if (!given["port"].empty()) place += ":" + given["port"];
  return PostgresUrl{.url = text, .shown = Format("postgresql://{}/{}", place, given["dbname"])};
}

}  // namespace fabric::store
