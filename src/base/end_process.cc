// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/end_process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/in.h>
#include <time.h>

namespace muonbench {
namespace {

constexpr timespec kMoment{0, 300'000'000};
constexpr int kFirstFile = 3;
/// Where the connection is looked for: it is one of the first things that MPI opens.
constexpr int kMostFiles = 1024;

/// The port on which the launcher listens to the ranks of this host, "....0;tcp4://127.0.0.1:44447"; 0 if it
/// told none.
std::uint16_t launcher_port() {
  for (const char* name : std::array{"PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2"}) {
    const char* told = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    if (told == nullptr) continue;
    const std::string_view uri(told);
    std::uint16_t port = 0;
    const char* digits = uri.data() + std::min(uri.size(), uri.rfind(':') + 1);
    if (std::from_chars(digits, uri.data() + uri.size(), port).ec == std::errc()) return port;
  }
  return 0;
}

bool leads_to(int file, std::uint16_t port) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&peer)->sin_port) == port;
  if (peer.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_port) == port;
  return false;
}

}  // namespace

bool leave_launcher() {
  const std::uint16_t port = launcher_port();
  const int nothing = port == 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return false;
  bool left = false;
  // A file without data takes the connection's place: its number stays taken, so that a thread which still
  // uses it meets nothing else.
  for (int file = kFirstFile; file < kMostFiles; ++file)
    if (leads_to(file, port)) left = dup2(nothing, file) == file || left;
  close(nothing);
  return left;
}

void end_process(ExitCode code) {
  if (leave_launcher()) nanosleep(&kMoment, nullptr);
  _exit(static_cast<int>(code));
}

}  // namespace muonbench
