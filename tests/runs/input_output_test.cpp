// What a user names is read whole or refused; what is written is there whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

#include "lifeguard/runs/file_claim.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::input_output_test {

using testing::HasSubstr;

class InputFile : public test_support::Folder {
 protected:
  void expect_refused(const std::filesystem::path& file, const std::string& why) {
    test_support::expect_invalid([&] { read_input_file("config", file, 1000); }, "config",
                                 "\"" + file.string() + "\"", why);
  }
};

TEST_F(InputFile, IsReadToTheLastByte) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    make("text", std::string(size, 'x'));
    EXPECT_EQ(read_input_file("config", path("text"), 1000), std::string(size, 'x'));
  }
  make("large", std::string(300000, 'y'));
  EXPECT_EQ(read_input_file("config", path("large")).size(), 300000U);
}

TEST_F(InputFile, WhatCannotBeReadSaysWhy) {
  expect_refused(path("missing"), "No such file");
  expect_refused(path("missing/below"), "No such file");
  expect_refused(folder_, "Is a directory");
  make("file", "");
  expect_refused(path("file/below"), "Not a directory");
  make("long", std::string(1001, 'x'));
  expect_refused(path("long"), "more than 1000 bytes");
  expect_refused("/dev/zero", "more than 1000 bytes");
  make("binary", std::string("ab\0c", 4));
  expect_refused(path("binary"), "its byte 2 is zero");
}

TEST_F(InputFile, APipeIsReadWhileSomebodyWritesAndEmptyIfNobodyDoes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_input_file("config", path("pipe")), "");
  std::fstream both(path("pipe"), std::ios::in | std::ios::out);  // so that there is a writer
  both << "first " << std::flush;
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    both << "second" << std::flush;
    both.close();
  });
  EXPECT_EQ(read_input_file("config", path("pipe")), "first second");
  slow.join();
}

class OutputFiles : public test_support::Folder {};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "(no error)";
  } catch (const OutputError& error) {
    return error.what();
  }
}

TEST_F(OutputFiles, AreThereOnlyWhenTheyAreWhole) {
  make("a", "old");
  {
    OutputFile file(path("a"));
    file.write(std::string(1000000, 'x'));
    EXPECT_EQ(text_of("a"), "old");
  }
  EXPECT_EQ(text_of("a"), "old");
  EXPECT_EQ(files(), 1);
  write_file(path("a"), "new");
  EXPECT_EQ(text_of("a"), "new");
  write_file(path("b/c/d"), "below");
  EXPECT_EQ(text_of("b/c/d"), "below");
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFiles, KeepModesAndLinks) {
  make("a", "old");
  std::filesystem::permissions(path("a"), std::filesystem::perms(0640));
  std::filesystem::create_symlink("a", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(text_of("a"), "new");
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0640));
  std::filesystem::create_symlink("not there yet", path("dangling"));
  write_file(path("dangling"), "now");
  EXPECT_EQ(text_of("not there yet"), "now");
}

TEST_F(OutputFiles, ErrorsNameThePathAndTheReason) {
  EXPECT_THAT(error_of([&] { write_file(folder_, "x"); }), HasSubstr("Is a directory"));
  make("file", "");
  EXPECT_THAT(error_of([&] { write_file(path("file/below"), "x"); }), HasSubstr("Not a directory"));
  EXPECT_THAT(error_of([&] { write_file(path(std::string(300, 'x')), "x"); }),
              HasSubstr("File name too long"));
  std::filesystem::create_symlink("round", path("round"));
  EXPECT_THAT(error_of([&] { write_file(path("round"), "x"); }), HasSubstr("symbolic links"));
  try {
    write_file("/dev/full", "x");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutputError& error) {
    EXPECT_TRUE(error.disk_full());
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
  }
  EXPECT_FALSE(OutputError("x", EACCES).disk_full());
  EXPECT_NO_THROW(write_file("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFiles, DoNotReplaceADatabase) {
  make("a.run", std::string("SQLite format 3\0and so on", 25));
  EXPECT_THROW(write_file(path("a.run"), "x"), InvalidInput);
  EXPECT_THAT(text_of("a.run"), HasSubstr("and so on"));
}

class Claims : public test_support::Folder {};

TEST_F(Claims, AreHeldByOneAtATime) {
  make("a", "");
  {
    const FileClaim first = FileClaim::on_existing(path("a"));
    EXPECT_THROW(FileClaim::on_existing(path("a")), RunFileError);
    EXPECT_TRUE(first.holds(path("a")));
  }
  EXPECT_NO_THROW(FileClaim::on_existing(path("a")));
  EXPECT_THROW(FileClaim::on_existing(path("b")), OutputError);
}

TEST_F(Claims, FollowAFileToItsNewNameAndNoticeThatItIsGone) {
  make("new", "left over");
  const FileClaim claim = FileClaim::on_new(path("new"));
  EXPECT_EQ(text_of("new"), "");
  rename_to_free_name(path("new"), path("a"));
  EXPECT_FALSE(claim.holds(path("new")));
  EXPECT_TRUE(claim.holds(path("a")));
  EXPECT_THROW(FileClaim::on_existing(path("a")), RunFileError);
  make("other", "");
  EXPECT_THROW(rename_to_free_name(path("other"), path("a")), RunFileError);
  std::filesystem::rename(path("other"), path("a"));
  EXPECT_FALSE(claim.holds(path("a")));
  std::filesystem::remove(path("a"));
  EXPECT_FALSE(claim.holds(path("a")));
}

}  // namespace lifeguard::input_output_test
