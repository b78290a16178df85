#include "bindings/common.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard::python {
namespace {

/// An exception of lifeguard/errors.py. It is not looked for before it is needed, and if that fails
/// the reason is what the caller sees.
template <typename... Arguments>
void raise(const char* name, const Arguments&... arguments) {
  try {
    const nb::object type = nb::module_::import_("lifeguard.errors").attr(name);
    const nb::object error = type(arguments...);
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

void bind_errors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void* /*payload*/) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InvalidInput& error) {
      raise("InvalidInput", error.field(), error.value(), error.rule());
    } catch (const NotARunFile& error) {
      raise("NotARunFile", error.what());
    } catch (const RunFileBusy& error) {
      raise("RunFileBusy", error.what());
    } catch (const RunFileExists& error) {
      raise("RunFileExists", error.what());
    } catch (const DamagedRunFile& error) {
      raise("DamagedRunFile", error.what());
    } catch (const RunFileError& error) {
      raise("RunFileError", error.what());
    } catch (const OutputError& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    }
  });
}

}  // namespace lifeguard::python
