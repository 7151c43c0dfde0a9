#include "tests/testing/postgres_server.h"

#include <grp.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

namespace fabric::testing {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kNobody = 65534;  // PostgreSQL refuses to run as root.

[[noreturn]] void Abort(const std::string& why) {
  std::fprintf(stderr, "PostgreSQL server of the test: %s\n", why.c_str());
  std::abort();
}

void Pause() {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, std::chrono::milliseconds(20));
}

// A child in a process group of its own.
pid_t Spawn(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
    _exit(126);
  if (std::freopen(log.c_str(), "a", stdout) == nullptr) _exit(126);
  dup2(STDOUT_FILENO, STDERR_FILENO);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

}  // namespace

std::string PostgresServer::Programs() {
  std::string newest;
  std::error_code missing;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", missing))
    if (fs::exists(version.path() / "bin/postgres"))
      newest = std::max(newest, (version.path() / "bin").string());
  return newest;
}

PostgresServer::PostgresServer() {
  const std::string home = directory_.path();
  if (getuid() == 0 && chown(home.c_str(), kNobody, kNobody) != 0) Abort("chown");
  const pid_t initdb = Spawn({Programs() + "/initdb", "-D", home + "/data", "-A", "trust", "-U",
                              "fabricd", "--no-sync", "--no-locale", "-E", "UTF8"},
                             home + "/log");
  int status = 0;
  waitpid(initdb, &status, 0);
  if (status != 0) Abort("initdb failed: " + home + "/log");
  Start();
}

PostgresServer::~PostgresServer() {
  if (pid_ < 0) return;
  Signal(SIGCONT);
  Stop(SIGQUIT);
}

std::string PostgresServer::url() const {
  return "postgresql://fabricd@/postgres?host=" + directory_.path();
}

void PostgresServer::Start() {
  const std::string home = directory_.path();
  pid_ = Spawn(
      {Programs() + "/postgres", "-D", home + "/data", "-c", "listen_addresses=", "-c",
       "unix_socket_directories=" + home, "-c", "shared_buffers=16MB", "-c", "max_connections=30"},
      home + "/log");
  for (int attempt = 0; attempt < 3000; ++attempt) {
    if (PQping(url().c_str()) == PQPING_OK) return;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) Abort("ended: see " + home + "/log");
    Pause();
  }
  Abort("not ready after 60 s");
}

void PostgresServer::Stop(int signal) {
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

// Its processes leave the group of the server: ask for the children of the server.
void PostgresServer::Signal(int signal) const {
  std::vector<pid_t> all = {pid_};
  const std::string server = std::to_string(pid_);
  std::ifstream children("/proc/" + server + "/task/" + server + "/children");
  for (pid_t child = 0; children >> child;) all.push_back(child);
  for (const pid_t process : all) kill(process, signal);
}

void PostgresServer::Sql(const std::string& statement) const {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url().c_str()),
                                                                &PQfinish);
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, decltype(&PQclear)> answer(
      PQexec(connection.get(), statement.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    Abort(PQerrorMessage(connection.get()));
}

}  // namespace fabric::testing
