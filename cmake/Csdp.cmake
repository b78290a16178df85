# CSDP's library (Debian: libsdp-dev) solves the semi-definite programs: that of the projection's
# `paper` mode and those that make closed-loop sets. It has neither a CMake package nor a pkg-config
# file, so this only checks that it is there; the target links it by name, which an installed
# lifeguard can do as well. The shared library brings LAPACK along.
find_path(CSDP_INCLUDE_DIR csdp/declarations.h REQUIRED)
find_library(CSDP_LIBRARY sdp REQUIRED)
