#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "bindings/common.hpp"
#include "lifeguard/core/stop.hpp"

namespace lifeguard::python {

/// Lets Ctrl-C end work that was begun from Python and holds no lock of the interpreter: the thread
/// that began it looks for signals some times a second, whoever else works only learns of it.
class Interrupt {
 public:
  /// To be asked by the work, from any thread.
  StopToken token() {
    return StopToken([this] { return asked(); });
  }

  /// Runs `work` without the interpreter's lock; what Ctrl-C raised is raised again.
  template <class Work>
  auto run(const Work& work) {
    try {
      const nb::gil_scoped_release release;
      return work();
    } catch (const Stopped&) {
      if (!error_) throw nb::builtin_exception(nb::exception_type::runtime_error, "stopped");
      throw std::exchange(error_, std::nullopt).value();
    }
  }

  /// The same for work(deadline) that ends by itself soon after the deadline passed, with a result
  /// or an error that nobody wants after Ctrl-C.
  template <class Work>
  auto run_until(double seconds, const Work& work) {
    const Deadline deadline = Deadline::after(seconds, token());
    try {
      auto result = run([&] { return work(deadline); });
      raise_kept();
      return result;
    } catch (...) {
      raise_kept();
      throw;
    }
  }

  /// Whether what `call` does with Python ended without an exception; else the work is to stop, and
  /// the exception is kept. For callbacks of the user's.
  template <class Call>
  bool call(const Call& call) {
    const nb::gil_scoped_acquire acquire;
    try {
      return call();
    } catch (nb::python_error& error) {
      keep(std::move(error));
      return false;
    }
  }

  /// Raises what a callback or Ctrl-C raised, where the work ended by itself after it.
  void raise_kept() {
    if (error_) throw std::exchange(error_, std::nullopt).value();
  }

 private:
  void keep(nb::python_error&& error) {
    if (!error_) error_.emplace(std::move(error));
    stop_ = true;
  }

  bool asked() {
    if (stop_ || std::this_thread::get_id() != caller_) return stop_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return false;
    last_ = now;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) keep(nb::python_error());
    return stop_;
  }

  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::atomic<bool> stop_ = false;
  std::optional<nb::python_error> error_;
};

}  // namespace lifeguard::python
