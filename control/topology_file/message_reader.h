// SPDX-License-Identifier: Apache-2.0
// Walks a YAML tree along a message's descriptor and fills the message: the one reader of all of
// bfly's YAML files. What a field may say is its (field_rule) option in proto/bfly/v1/*.proto.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/yaml_tree.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace bfly::control {

class MessageReader {
 public:
  // `file` is quoted in diagnostics. Both must outlive the reader.
  MessageReader(std::string file, std::vector<Diagnostic>* diagnostics)
      : file_(std::move(file)), diagnostics_(*diagnostics) {}

  // Reads all of `text` into `message`. Returns false if nothing could be read (not YAML, empty,
  // too long, an alias bomb); then the only diagnostic says why. `what` names the kind of file ("a
  // topology file"), `minimum` what it must have ("name and network").
  bool Read(absl::string_view text, absl::string_view what, absl::string_view minimum,
            google::protobuf::Message* message);

  void Complain(Place place, const std::string& field, const std::string& value,
                const std::string& message) {
    diagnostics_.push_back({file_, place.line, place.column, field, value, message});
  }
  // The place of `field` or, if it is absent, of the nearest field that contains it.
  Place PlaceOf(std::string field) const;
  // Puts the diagnostics in the order of their lines.
  void Sort();

 private:
  // Values that may be visited, with those behind aliases counted every time. It bounds the cost of
  // an alias bomb.
  static constexpr int kMaxValues = 200'000;
  // The same for the bytes of these values. A file without aliases is shorter by itself.
  static constexpr size_t kMaxTextBytes = 4 << 20;

  bool too_long() const { return values_ > kMaxValues || text_bytes_ > kMaxTextBytes; }
  void ReadMessage(const YamlNode& node, google::protobuf::Message* message,
                   const std::string& path);
  void ReadField(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                 google::protobuf::Message* message, const std::string& path);
  void ReadElement(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                   google::protobuf::Message* message, const std::string& path);
  void ReadScalar(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                  google::protobuf::Message* message, const std::string& path);
  bool ReadRange(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                 google::protobuf::Message* message, const std::string& path);
  void ReadNumber(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                  google::protobuf::Message* message, const std::string& path);
  void ReadReal(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                google::protobuf::Message* message, const std::string& path);

  std::string file_;
  std::vector<Diagnostic>& diagnostics_;
  std::map<std::string, Place> places_;
  int values_ = 0;
  size_t text_bytes_ = 0;
};

}  // namespace bfly::control
