// SPDX-License-Identifier: Apache-2.0
// An audit log in a folder of the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/access/audit_log.h"
#include "tests/temporary_folder.h"

namespace bfly::control {

class AuditTest : public testing::Test {
 protected:
  std::vector<nlohmann::json> Lines(const std::string& path) {
    std::vector<nlohmann::json> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  AuditEntry Entry(int number) {
    AuditEntry entry;
    entry.begin =
        std::chrono::system_clock::time_point(std::chrono::microseconds(1'500'000'000'123'456));
    entry.took = std::chrono::microseconds(42);
    entry.caller = {Role::kOperator, "certificate bob"};
    entry.call = "bfly.v1.Fabric.Load";
    entry.messages = number;
    entry.status = "OK";
    return entry;
  }
  // An entry that holds the log's thread up. The thread counts `tried` down once the lines before
  // it were tried, and waits for `room`.
  AuditEntry HoldingEntry(int number, std::latch& tried, std::latch& room) {
    AuditEntry entry = Entry(number);
    entry.request = [&tried, &room] {
      tried.count_down();
      room.wait();
      return std::string();
    };
    return entry;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/audit.log";
};

}  // namespace bfly::control
