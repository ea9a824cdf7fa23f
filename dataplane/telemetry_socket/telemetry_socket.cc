// SPDX-License-Identifier: Apache-2.0
#include "dataplane/telemetry_socket/telemetry_socket.h"

#include <rte_telemetry.h>

#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "dataplane/telemetry_socket/fabric_answers.h"

namespace bfly::dataplane {
namespace {

// DPDK gives a command no pointer of ours, so the reader stands here. Commands are answered one
// after the other, so that clients that ask without a pause leave room for changes of the fabric.
std::mutex reader_mutex;
FabricReader fabric_reader;  // guarded by reader_mutex

// DPDK keeps this many bytes of a string, and writes it into JSON.
constexpr size_t kLongestText = 100;
std::string Presentable(std::string text) {
  if (text.size() > kLongestText) text.resize(kLongestText);
  for (char& byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code >= 0x7f || byte == '"' || byte == '\\') byte = '?';
  }
  return text;
}

void Add(const FigureList& figures, rte_tel_data* dict) {
  for (const auto& [name, value] : figures) {
    if (const uint64_t* const number = std::get_if<uint64_t>(&value)) {
      rte_tel_data_add_dict_u64(dict, name.c_str(), *number);
    } else {
      rte_tel_data_add_dict_string(dict, name.c_str(),
                                   Presentable(std::get<std::string>(value)).c_str());
    }
  }
}

// False: there is no memory. DPDK frees what was added.
bool Write(const FabricAnswer& answer, rte_tel_data* info) {
  Add(answer.figures, info);
  if (answer.next) rte_tel_data_add_dict_u64(info, "next", *answer.next);
  if (*answer.list == '\0') return true;
  rte_tel_data* const list = rte_tel_data_alloc();
  if (list == nullptr) return false;
  // DPDK 22.11 takes dictionaries into a dictionary, but no arrays of them.
  rte_tel_data_start_dict(list);
  for (size_t i = 0; i < answer.items.size(); ++i) {
    rte_tel_data* const item = rte_tel_data_alloc();
    if (item == nullptr) break;
    rte_tel_data_start_dict(item);
    Add(answer.items[i], item);
    rte_tel_data_add_dict_container(list, absl::StrCat(answer.first + i).c_str(), item, 0);
  }
  rte_tel_data_add_dict_container(info, answer.list, list, 0);
  return true;
}

const FabricCommand* FindCommand(const std::string& path) {
  for (const FabricCommand& command : FabricCommands())
    if (path == command.path) return &command;
  return nullptr;
}

int AnswerCommand(const char* path, const char* parameters, rte_tel_data* info) {
  const FabricCommand* const command = FindCommand(path);
  if (command == nullptr) return -1;
  absl::StatusOr<FabricAnswer> answer = absl::FailedPreconditionError("no fabric is loaded");
  {
    const std::lock_guard lock(reader_mutex);
    if (fabric_reader) {
      fabric_reader([&](const Fabric& fabric) {
        answer = command->answer(fabric, parameters == nullptr ? "" : parameters);
      });
    }
  }
  rte_tel_data_start_dict(info);
  if (!answer.ok()) {
    const std::string why = Presentable(std::string(answer.status().message()));
    return rte_tel_data_add_dict_string(info, "error", why.c_str());
  }
  return Write(*answer, info) ? 0 : -1;
}

}  // namespace

TelemetrySocket::TelemetrySocket(FabricReader reader) {
  {
    const std::lock_guard lock(reader_mutex);
    fabric_reader = std::move(reader);
  }
  static std::once_flag registered;
  std::call_once(registered, [] {
    for (const FabricCommand& command : FabricCommands())
      rte_telemetry_register_cmd(command.path, AnswerCommand, command.help);
  });
}

TelemetrySocket::~TelemetrySocket() {
  const std::lock_guard lock(reader_mutex);
  fabric_reader = nullptr;
}

}  // namespace bfly::dataplane
