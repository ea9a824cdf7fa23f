// SPDX-License-Identifier: Apache-2.0
// A file that is a message written as YAML, with values from the command line laid over it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace bfly::control {

// Reads the contents `text` of the file `path` into `message`, lays `settings` ("rho=0.5" or
// "seeds=[1, 2]", any key of the message) over it and fills in the defaults. The status lists all
// errors in the text, one a line, or else the first wrong setting. `what` names the kind of
// file, such as "an experiment file", and `minimum` the keys that it must have. Then calls `check`
// with the message; an error from `check` that starts with a field
// ("protocol[1]: ...") gets the line of that value, or the setting that the value comes from.
absl::Status ReadWithSettings(const std::string& path, absl::string_view text,
                              absl::string_view what, absl::string_view minimum,
                              const std::vector<std::string>& settings,
                              google::protobuf::Message* message,
                              const std::function<absl::Status()>& check);

// What the (field_rule) options of the message forbid, one error a line.
absl::Status CheckAllRules(const google::protobuf::Message& message);

}  // namespace bfly::control
