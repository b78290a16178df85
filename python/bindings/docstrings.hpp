#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace lifeguard::python {

/// What a header says of a name: all of it, and its first sentence.
struct HeaderText {
  std::string_view name;
  const char* text;
  const char* first;
};

}  // namespace lifeguard::python

#include "header_texts.hpp"  // made by python/docstrings.py

namespace lifeguard::python {

/// A name that a header describes, "SafeSet::with_slack_limit". The compiler refuses all others.
class Described {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a text in quotes stands for the name
  consteval Described(const char* name) {
    for (const HeaderText& entry : kHeaderTexts) {
      if (entry.name == std::string_view(name)) {
        text_ = entry.text;
        first_ = entry.first;
      }
    }
    if (text_ == nullptr) throw "no header describes this name";
  }

  const char* text() const { return text_; }
  const char* first() const { return first_; }

 private:
  const char* text_ = nullptr;
  const char* first_ = nullptr;
};

/// Two parts of a docstring. It lives as long as the program, as those of nanobind must.
inline const char* joined(const char* said, const char* added) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::string(said) + added).c_str();
}

/// The docstring of what a header describes: its comment, and what is to be said of Python.
inline const char* doc(Described name) { return name.text(); }
inline const char* doc(Described name, const char* added) { return joined(name.text(), added); }

/// The same of the comment's first sentence, where the rest is about C++ alone.
inline const char* first(Described name) { return name.first(); }
inline const char* first(Described name, const char* added) { return joined(name.first(), added); }

}  // namespace lifeguard::python
