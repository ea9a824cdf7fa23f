// SPDX-License-Identifier: Apache-2.0
// The completion files of bash and zsh, which share the functions that read the words typed so far.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/completion.h"

namespace bfly::control {
namespace {

std::string InQuotes(const std::string& text) { return absl::StrCat("'", text, "'"); }

// An arm of a `case` for an option: 'bfly up --web'|'bfly up -w'.
std::string OptionPattern(const CompletionVerb& verb, const CompletionOption& option) {
  return absl::StrJoin(option.names, "|", [&verb](std::string* out, const std::string& name) {
    absl::StrAppend(out, InQuotes(verb.path + " " + name));
  });
}

// What may be typed for an option: assignments that stand in an arm.
std::string OfferOf(const CompletionOption& option) {
  std::string out;
  if (!option.choices.empty())
    absl::StrAppend(&out, " list+=", InQuotes(" " + absl::StrJoin(option.choices, " ")));
  if (option.file) absl::StrAppend(&out, " files=1");
  if (!option.values.empty()) absl::StrAppend(&out, " values=", option.values);
  return out;
}

// A function that succeeds if its argument is one of the patterns.
std::string Predicate(const std::string& name, const std::vector<std::string>& patterns) {
  return absl::StrCat(name, "() {\n  case \"$1\" in\n    ", absl::StrJoin(patterns, "|\\\n    "),
                      ") return 0 ;;\n  esac\n  return 1\n}\n");
}

std::string TakesValue(const std::vector<CompletionVerb>& verbs) {
  std::vector<std::string> patterns;
  for (const CompletionVerb& verb : verbs)
    for (const CompletionOption& option : verb.options)
      if (option.takes_value && !option.names.empty())
        patterns.push_back(OptionPattern(verb, option));
  return Predicate("_bfly_takes_value", patterns);
}

std::string IsVerb(const std::vector<CompletionVerb>& verbs) {
  std::vector<std::string> patterns;
  for (const CompletionVerb& verb : verbs)
    if (verb.path.find(' ') != std::string::npos) patterns.push_back(InQuotes(verb.path));
  return Predicate("_bfly_is_verb", patterns);
}

// Reads the words before the one that is being typed. The caller has the variables: "verb" becomes
// the path of the verb, "place" the number of words after it that are not options, "before" the
// option whose value comes next, "rest" 1 after `--`, "where" the options that name the fabric.
std::string ReadWords() {
  return absl::StrCat(
      "_bfly_read() {\n"
      "  verb=bfly place=0 before= rest= where=()\n"
      "  local word\n"
      "  for word in \"$@\"; do\n"
      "    if [[ -n $before ]]; then\n"
      "      _bfly_where \"$before\" \"$word\"\n"
      "      before=\n"
      "    elif [[ -n $rest ]]; then\n"
      "      place=$((place + 1))\n"
      "    elif [[ $word == -- ]]; then\n"
      "      rest=1\n"
      "    elif [[ $word == --*=* ]]; then\n"
      "      _bfly_where \"${word%%=*}\" \"${word#*=}\"\n"
      "    elif [[ $word == -* ]]; then\n"
      "      _bfly_takes_value \"$verb $word\" && before=$word\n"
      "    elif _bfly_is_verb \"$verb $word\"; then\n"
      "      verb=\"$verb $word\" place=0\n"
      "    else\n"
      "      place=$((place + 1))\n"
      "    fi\n"
      "  done\n"
      "}\n"
      "_bfly_where() {\n"
      "  case \"$1\" in\n"
      "    ",
      absl::StrJoin(kWhereOptions, "|"),
      ") where+=(\"$1\" \"$2\") ;;\n"
      "  esac\n"
      "}\n");
}

// Sets "list", "files" and "values" to what may follow the words that _bfly_read has read.
std::string Offers(const std::vector<CompletionVerb>& verbs) {
  std::string of_options, of_verbs, of_places;
  for (const CompletionVerb& verb : verbs) {
    std::vector<std::string> words = verb.verbs;
    int place = 0;
    for (const CompletionOption& option : verb.options) {
      words.insert(words.end(), option.names.begin(), option.names.end());
      const std::string offer = OfferOf(option);
      if (!option.names.empty()) {
        if (option.takes_value && !offer.empty())
          absl::StrAppend(&of_options, "      ", OptionPattern(verb, option), ")", offer, " ;;\n");
        continue;
      }
      if (!offer.empty()) {
        absl::StrAppend(&of_places, "    ",
                        option.many ? InQuotes(verb.path + " ") + "*"
                                    : InQuotes(absl::StrCat(verb.path, " ", place)),
                        ")", offer, " ;;\n");
      }
      ++place;
    }
    absl::StrAppend(&of_verbs, "      ", InQuotes(verb.path),
                    ") list=", InQuotes(absl::StrJoin(words, " ")), " ;;\n");
  }
  return absl::StrCat(
      "_bfly_offers() {\n"
      "  list= files= values=\n"
      "  if [[ -n $before ]]; then\n"
      "    case \"$verb $before\" in\n",
      of_options,
      "    esac\n"
      "    return\n"
      "  fi\n"
      "  if [[ -z $rest ]]; then\n"
      "    case \"$verb\" in\n",
      of_verbs,
      "    esac\n"
      "  fi\n"
      "  case \"$verb $place\" in\n",
      of_places,
      "  esac\n"
      "}\n");
}

std::string SharedFunctions(const CLI::App& app) {
  const std::vector<CompletionVerb> verbs = CompletionVerbs(app);
  return absl::StrCat(TakesValue(verbs), IsVerb(verbs), ReadWords(), Offers(verbs));
}

// bash cuts words at ':' and '='. These are the words as they stand between blanks, up to the
// cursor, without quotes, in "typed".
constexpr char kBashWords[] = R"SHELL(_bfly_words() {
  typed=()
  local line=${COMP_LINE:0:COMP_POINT} part begin raw i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    begin=${line#"${line%%[![:space:]]*}"} part=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && part=$begin
    raw=$part
    part=${part/#\~\//"$HOME"/}
    part=${part//[\'\"\\]/}
    if ((i > 0)) && [[ $begin == "$line" ]]; then
      typed[${#typed[@]}-1]+=$part
    else
      typed+=("$part")
    fi
    line=${begin#"$raw"}
  done
}
)SHELL";

// "lead" is an option with its '=', if the value is being typed after it. readline puts a word in
// the place of $2, which begins after the last ':' or '='.
constexpr char kBashMain[] = R"SHELL(_bfly() {
  local verb place before rest list files values cur lead= skip word IFS=$' \t\n'
  local -a typed where
  _bfly_words
  cur=${typed[${#typed[@]}-1]}
  _bfly_read "${typed[@]:1:${#typed[@]}-2}"
  if [[ -z $before$rest && $cur == --*=* ]]; then
    before=${cur%%=*} lead=${cur%%=*}= cur=${cur#*=}
  fi
  _bfly_offers
  skip=$lead$cur
  skip=${skip%"$2"}
  COMPREPLY=()
  while IFS= read -r word; do
    [[ -n $word && $word == "$cur"* ]] || continue
    word=$lead$word
    COMPREPLY+=("${word#"$skip"}")
  done < <(
    for word in $list; do echo "$word"; done
    [[ $cur != -* || -n $before ]] || exit
    [[ -z $values ]] || bfly values "$values" --begin "$cur" "${where[@]}" 2>/dev/null
    [[ -z $files ]] || compgen -f -- "$cur"
  )
  [[ -n $files ]] && compopt -o filenames 2>/dev/null
  return 0
}
complete -F _bfly bfly
)SHELL";

// In zsh `path` is the search path and `words` the command line.
constexpr char kZshMain[] = R"SHELL(_bfly() {
  local verb place before rest list files values
  local -a where
  _bfly_read "${(@Q)words[2,CURRENT-1]}"
  if [[ -z $before$rest && $PREFIX == --*=* ]]; then
    before=${PREFIX%%=*}
    compset -P '*='
  fi
  _bfly_offers
  [[ -n $values ]] && list+=" $(bfly values $values --begin "${(Q)PREFIX}" "${where[@]}" 2>/dev/null)"
  [[ -n $list ]] && compadd -- ${=list}
  [[ -n $files ]] && _files
  return 0
}
# The file is read by `source`, or as the body of the function at its first call.
if [[ ${funcstack[1]} == _bfly ]]; then _bfly; else compdef _bfly bfly; fi
)SHELL";

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat("# bash completion for bfly, written by `bfly completion bash`\n",
                      SharedFunctions(app), kBashWords, kBashMain);
}

std::string ZshCompletion(const CLI::App& app) {
  return absl::StrCat(
      "#compdef bfly\n# zsh completion for bfly, written by `bfly completion zsh`\n",
      SharedFunctions(app), kZshMain);
}

}  // namespace bfly::control
