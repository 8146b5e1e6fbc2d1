// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

namespace fs = std::filesystem;

/// A directory of its own for each test, removed with all that is in it.
class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(testing::TempDir()) / (std::string(info->name()) + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  void TearDown() override {
    fs::permissions(directory_, fs::perms::owner_all);
    fs::remove_all(directory_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  [[nodiscard]] static std::string content_of(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

 private:
  fs::path directory_;
};

template <class Failure, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

std::string write_failure(const std::string& path) {
  return message_of<RuntimeFailure>([&] { write_file_atomically(path, "new"); });
}

std::string refusal(const std::string& path, Overwrite overwrite) {
  return message_of<ConfigError>([&] { check_output_writable(path, overwrite); });
}

constexpr const char* kNone = "no failure";

bool names(const std::string& message, const std::string& path, const std::string& why) {
  return message.find(path) != std::string::npos && message.find(why) != std::string::npos;
}

TEST_F(WriteFile, WritesTheWholeTextUnderItsNameAndNothingBesideIt) {
  const std::string text(3 << 20, 'x');
  write_file_atomically(path("a.json"), text);
  EXPECT_EQ(content_of(path("a.json")), text);
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, ReplacesAnOlderFileByANewOne) {
  write_file_atomically(path("a.json"), "old and longer");
  struct stat before {};
  ASSERT_EQ(stat(path("a.json").c_str(), &before), 0);
  write_file_atomically(path("a.json"), "new");
  struct stat after {};
  ASSERT_EQ(stat(path("a.json").c_str(), &after), 0);
  EXPECT_EQ(content_of(path("a.json")), "new");
  // Who holds the older file open keeps reading a whole one: it was not written into.
  EXPECT_NE(before.st_ino, after.st_ino);
}

TEST_F(WriteFile, WritesThroughALinkAndKeepsIt) {
  write_file_atomically(path("real.json"), "old");
  fs::create_symlink(path("real.json"), path("link.json"));
  write_file_atomically(path("link.json"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(content_of(path("real.json")), "new");
}

TEST_F(WriteFile, PassesOverTemporaryNamesThatAKilledRunLeftBehind) {
  const std::string left = path(".muonbench." + std::to_string(getpid()) + ".0.tmp");
  std::ofstream(left) << "left";
  write_file_atomically(path("a.json"), "new");
  EXPECT_EQ(content_of(path("a.json")), "new");
  EXPECT_EQ(content_of(left), "left");
}

TEST_F(WriteFile, FailsWithPathAndReasonInAMissingDirectory) {
  const std::string target = path("none/a.json");
  EXPECT_TRUE(names(write_failure(target), target, "No such file or directory")) << write_failure(target);
}

TEST_F(WriteFile, FailsWithPathAndReasonOnADirectoryAndLeavesNoTemporaryFile) {
  EXPECT_TRUE(names(write_failure(path(".")), path("."), "Is a directory")) << write_failure(path("."));
  EXPECT_EQ(files(), 0U);
}

TEST_F(WriteFile, FailsOnAFullDeviceAndLeavesItADevice) {
  EXPECT_TRUE(names(write_failure("/dev/full"), "/dev/full", "No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WriteFile, LeavesNoTemporaryFileWhenTheRenameFails) {
  // A name that is too long for the file system is found out by the rename alone.
  const std::string target = path(std::string(256, 'n'));
  EXPECT_TRUE(names(write_failure(target), target, "File name too long")) << write_failure(target);
  EXPECT_EQ(files(), 0U);
}

TEST_F(WriteFile, RefusesAFileThatAppearedMeanwhileAsTheCheckDoes) {
  write_file_atomically(path("a.json"), "another's", Overwrite::kRefuse);
  EXPECT_EQ(
      message_of<ConfigError>([&] { write_file_atomically(path("a.json"), "own", Overwrite::kRefuse); }),
      refusal(path("a.json"), Overwrite::kRefuse));
  EXPECT_EQ(content_of(path("a.json")), "another's");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, WritesIntoAPipeInsteadOfReplacingIt) {
  const std::string fifo = path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content_of(fifo); });
  write_file_atomically(fifo, "through the pipe");
  reader.join();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(WriteFile, CheckLetsANewFileThroughAndCreatesNothing) {
  EXPECT_EQ(refusal(path("a.json"), Overwrite::kRefuse), kNone);
  EXPECT_EQ(files(), 0U);
}

TEST_F(WriteFile, CheckRefusesAnOlderFileUnlessItMayBeReplaced) {
  write_file_atomically(path("a.json"), "old");
  EXPECT_TRUE(names(refusal(path("a.json"), Overwrite::kRefuse), path("a.json"), "--overwrite"));
  EXPECT_EQ(refusal(path("a.json"), Overwrite::kAllow), kNone);
  EXPECT_EQ(content_of(path("a.json")), "old");
}

TEST_F(WriteFile, CheckRefusesDirectoriesAndWhatLiesInMissingOnes) {
  for (const Overwrite overwrite : {Overwrite::kRefuse, Overwrite::kAllow}) {
    EXPECT_TRUE(names(refusal(path("."), overwrite), path("."), "is a directory"));
    EXPECT_TRUE(names(refusal(path("none/a"), overwrite), path("none/a"), "No such file or directory"));
    EXPECT_TRUE(names(refusal(path("none/"), overwrite), path("none/"), "names a directory"));
  }
  write_file_atomically(path("file"), "");
  EXPECT_TRUE(names(refusal(path("file/a"), Overwrite::kAllow), path("file/a"), "Not a directory"));
  EXPECT_TRUE(names(refusal("", Overwrite::kAllow), "", "empty"));
}

TEST_F(WriteFile, CheckRefusesADirectoryThatTakesNoFilesEvenFromRoot) {
  EXPECT_TRUE(names(refusal("/proc/result.json", Overwrite::kRefuse), "/proc", "takes no new file"))
      << refusal("/proc/result.json", Overwrite::kRefuse);
}

TEST_F(WriteFile, CheckRefusesADirectoryWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(path("."), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(names(refusal(path("a.json"), Overwrite::kRefuse), path("a.json"), "Permission denied"));
}

TEST_F(WriteFile, CheckLetsDevicesThrough) {
  EXPECT_EQ(refusal("/dev/null", Overwrite::kRefuse), kNone);
  EXPECT_EQ(refusal("/dev/full", Overwrite::kRefuse), kNone);
}

}  // namespace
}  // namespace muonbench
