// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/end_process.h"

#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "src/base/text.h"

namespace muonbench {
namespace {

/// Stands for a launcher's server of one rank.
class Launcher {
 public:
  Launcher() : listening_(socket(AF_INET, SOCK_STREAM, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at_;
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&at_), size), 0);
    EXPECT_EQ(listen(listening_, 1), 0);
    EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&at_), &size), 0);
  }
  ~Launcher() { close(listening_); }

  [[nodiscard]] std::string uri() const { return text("17.0;tcp4://127.0.0.1:{}", ntohs(at_.sin_port)); }
  [[nodiscard]] int connect_to() const {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
    return file;
  }
  /// Blocks until the rank's side is closed.
  void wait_until_left() const {
    const int rank = accept(listening_, nullptr, nullptr);
    char byte = 0;
    EXPECT_EQ(read(rank, &byte, 1), 0);
    close(rank);
  }

 private:
  int listening_;
  sockaddr_in at_{};
};

TEST(EndProcess, LeavesTheLauncherThatToldWhereItListens) {
  const Launcher launcher;
  ASSERT_EQ(setenv("PMIX_SERVER_URI4", launcher.uri().c_str(), 1), 0);
  EXPECT_FALSE(leave_launcher()) << "there is no connection yet";
  const int connection = launcher.connect_to();
  const int other = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_TRUE(leave_launcher());
  launcher.wait_until_left();
  // The number stays taken, by a file that takes everything and gives nothing.
  EXPECT_EQ(write(connection, "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(connection, &byte, 1), 0);
  close(connection);
  close(other);
}

TEST(EndProcess, EndsWithItsCodeWhateverTheLauncherTold) {
  for (const char* uri : {"", ":", "no port", "17.0;tcp4://127.0.0.1:99999999", "tcp4://127.0.0.1:1"}) {
    ASSERT_EQ(setenv("PMIX_SERVER_URI4", uri, 1), 0);
    EXPECT_EXIT(end_process(ExitCode::kInterrupted), testing::ExitedWithCode(7), "") << uri;
  }
}

}  // namespace
}  // namespace muonbench
