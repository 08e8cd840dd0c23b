# cuda.h and nothing else of CUDA: from PyPI's nvidia-cuda-runtime in the project's .venv (scripts/setup), else from a
# toolkit. Defines the INTERFACE target cuda_headers.
file(GLOB cuda_headers_wheels ${CMAKE_SOURCE_DIR}/.venv/*/lib/python3*/site-packages/nvidia/*/include)
find_path(CUDA_HEADERS_DIR cuda.h PATHS ${cuda_headers_wheels} ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES include NO_DEFAULT_PATH)
if(NOT CUDA_HEADERS_DIR)
  message(FATAL_ERROR "cuda.h not found: run `make` (it installs PyPI's nvidia-cuda-runtime into .venv), or set CUDA_HOME or -DCUDA_HEADERS_DIR")
endif()
if(NOT TARGET cuda_headers)
  add_library(cuda_headers INTERFACE)
  target_include_directories(cuda_headers SYSTEM INTERFACE ${CUDA_HEADERS_DIR})
  target_compile_definitions(cuda_headers INTERFACE CUDA_ENABLE_DEPRECATED) # which programs may still call
endif()
