# xxHash is used as a header, from a system package without a CMake package of its own.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(XxHash::XxHash INTERFACE IMPORTED)
target_include_directories(XxHash::XxHash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
