// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

constexpr mode_t kNewFileMode = 0666;  // less the user's umask
constexpr const char* kExists = "exists already; --overwrite replaces it";

std::string reason(int error) { return std::generic_category().message(error); }

RuntimeFailure failed(std::string_view call, const std::string& path, int error) {
  return RuntimeFailure(text("output file '{}': {} failed: {}", path, call, reason(error)));
}

ConfigError refused(const std::string& path, const std::string& why) {
  return ConfigError(text("output file '{}': {}", path, why));
}

enum class PathKind { kMissing, kRegular, kDirectory, kOther };

struct PathState {
  PathKind kind = PathKind::kMissing;
  int error = 0;  ///< why kMissing
};

PathState state_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return {PathKind::kMissing, errno};
  if (S_ISDIR(facts.st_mode)) return {PathKind::kDirectory, 0};
  if (!S_ISREG(facts.st_mode)) return {PathKind::kOther, 0};
  // /dev/stdout leads to a regular file where the shell redirected it there. Renaming onto that file would
  // cut off everything that the process prints to it.
  struct stat link {};
  const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  return {is_link && path.starts_with("/dev/") ? PathKind::kOther : PathKind::kRegular, 0};
}

/// A link's target is what gets replaced, not the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr), &std::free);
  return target ? std::string(target.get()) : path;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Owns an open file. close() reports what writing back found out; the destructor is for the way out of a
/// failure.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] int close() { return ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_;
};

/// A new file in a directory, without a name until it is whole where the file system can do that: then
/// nothing is left of a process that is killed while it writes. Elsewhere it has a name that nobody has from
/// the start. Removed again unless it is renamed to its final name.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  /// 0, or the system's reason why `directory` takes no file.
  [[nodiscard]] int create(const std::string& directory) {
    directory_ = directory;
    file_ =
        std::make_unique<OpenFile>(open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kNewFileMode));
    // Without /proc it could not be given a name later.
    if (file_->get() >= 0 && access(own_path().c_str(), F_OK) == 0) return 0;
    return under_free_name([&](const std::string& name) {
      file_ = std::make_unique<OpenFile>(
          open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode));
      return file_->get() >= 0;
    });
  }
  [[nodiscard]] OpenFile& file() { return *file_; }
  /// A name of its own for the file, which must be open still. What stands under it is whole.
  [[nodiscard]] int give_name() {
    if (!name_.empty()) return 0;
    return under_free_name([&](const std::string& name) {
      return linkat(AT_FDCWD, own_path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
  }
  [[nodiscard]] int rename_to(const std::string& path, Overwrite overwrite) {
    // A file that another program made meanwhile is not replaced: the kernel decides, not a look beforehand.
    const unsigned int flags = overwrite == Overwrite::kAllow ? 0U : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path.c_str(), flags) != 0) return errno;
    name_.clear();
    return 0;
  }

 private:
  [[nodiscard]] std::string own_path() const { return text("/proc/self/fd/{}", file_->get()); }
  /// Calls `make`, which sets errno where it fails, with names until one is not taken, and keeps that one.
  template <class Make>
  [[nodiscard]] int under_free_name(Make make) {
    constexpr int kMostNames =
        100;  // left behind by processes of this id that were killed, or on another host
    for (int n = 0; n < kMostNames; ++n) {
      const std::string name = text("{}/.muonbench.{}.{}.tmp", directory_, getpid(), n);
      if (make(name)) {
        name_ = name;
        return 0;
      }
      if (errno != EEXIST) return errno;
    }
    return EEXIST;
  }

  std::string directory_;
  std::unique_ptr<OpenFile> file_;
  std::string name_;
};

void write_all(const OpenFile& file, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw failed("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_in_place(const std::string& path, const std::string& content) {
  OpenFile file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) throw failed("open", path, errno);
  write_all(file, path, content);
  if (file.close() != 0) throw failed("close", path, errno);
}

void write_by_rename(const std::string& path, const std::string& content, Overwrite overwrite) {
  const std::string target = resolved(path);
  TemporaryFile temporary;
  if (const int error = temporary.create(directory_of(target)); error != 0)
    throw failed(text("creating a file in '{}'", directory_of(target)), path, error);
  write_all(temporary.file(), path, content);
  // Without it a crash of the host could leave the new name with an empty file.
  if (fsync(temporary.file().get()) != 0) throw failed("fsync", path, errno);
  if (const int error = temporary.give_name(); error != 0) throw failed("linkat", path, error);
  if (temporary.file().close() != 0) throw failed("close", path, errno);
  const int error = temporary.rename_to(target, overwrite);
  if (error == EEXIST) throw refused(path, kExists);
  if (error != 0) throw failed("rename", path, error);
}

/// Permissions say less than an attempt: root passes them all, and a read-only mount passes none.
void check_directory(const std::string& path, const std::string& directory) {
  const PathState state = state_of(directory);
  if (state.kind == PathKind::kMissing)
    throw refused(path, text("directory '{}': {}", directory, reason(state.error)));
  if (state.kind != PathKind::kDirectory) throw refused(path, text("'{}' is not a directory", directory));
  if (const int error = TemporaryFile().create(directory); error != 0)
    throw refused(path, text("directory '{}' takes no new file: {}", directory, reason(error)));
}

}  // namespace

void check_output_writable(const std::string& path, Overwrite overwrite) {
  if (path.empty()) throw ConfigError("output file: expected a path, got an empty one");
  const PathState state = state_of(path);
  switch (state.kind) {
    case PathKind::kDirectory: throw refused(path, "is a directory, expected a file");
    case PathKind::kOther:
      if (access(path.c_str(), W_OK) != 0) throw refused(path, reason(errno));
      return;
    case PathKind::kRegular:
      if (overwrite == Overwrite::kRefuse) throw refused(path, kExists);
      break;
    case PathKind::kMissing:
      if (state.error != ENOENT) throw refused(path, reason(state.error));
      if (path.ends_with('/')) throw refused(path, "names a directory, expected a file");
      break;
  }
  check_directory(path, directory_of(resolved(path)));
}

void write_file_atomically(const std::string& path, const std::string& content, Overwrite overwrite) {
  switch (state_of(path).kind) {
    case PathKind::kDirectory: throw failed("open", path, EISDIR);
    case PathKind::kOther: write_in_place(path, content); return;
    case PathKind::kRegular:
    case PathKind::kMissing: write_by_rename(path, content, overwrite); return;
  }
}

}  // namespace muonbench
