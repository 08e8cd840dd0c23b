# What `cmake --install` puts where, beyond what folders install of their own. Everything is found relative to the program
# that looks for it, so that an installed tree can be moved. The emulated driver has a folder of its own: it carries the
# name of the system's libcuda.so.1 and must not be found by accident.
include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/GSan)

if(TARGET gsan)
  install(TARGETS gsan LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET gsan-ptxas)
  install(TARGETS gsan-ptxas RUNTIME)
endif()
if(TARGET emu)
  install(TARGETS emu emu_nvml emu_runtime_13 emu_runtime_12 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gsan/emu)
  install(FILES ${CMAKE_BINARY_DIR}/lib/emu/libcudart.so DESTINATION ${CMAKE_INSTALL_LIBDIR}/gsan/emu)
endif()

configure_file(${CMAKE_SOURCE_DIR}/include/gsan/version.h.in ${CMAKE_BINARY_DIR}/include/gsan/version.h @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/include/gsan/version.h include/gsan/annotate.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gsan)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/GSanConfig.cmake.in ${CMAKE_BINARY_DIR}/GSanConfig.cmake
  INSTALL_DESTINATION ${cmake_dir} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GSanConfigVersion.cmake COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/GSanConfig.cmake ${CMAKE_BINARY_DIR}/GSanConfigVersion.cmake DESTINATION ${cmake_dir})

# pkg-config takes the prefix from where gsan.pc lies (pcfiledir), so the file need not change when the tree moves.
file(RELATIVE_PATH GSAN_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/gsan.pc.in ${CMAKE_BINARY_DIR}/gsan.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gsan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB pages CONFIGURE_DEPENDS docs/*.md)
file(GLOB pictures CONFIGURE_DEPENDS docs/pictures/*.png)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES ${pictures} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/pictures)
install(FILES configs/report.schema.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/configs) # where the pages name it
foreach(program gsan-launch gsan-report gsan-ptxas gsan-nvcc) # bash looks for it by the command's name
  install(FILES launcher/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
install(FILES examples/ranks.py examples/driver_world.py examples/torch_world.py examples/message_passing.py
  examples/counter_lock.py examples/neighbours.py DESTINATION ${CMAKE_INSTALL_DATADIR}/gsan/examples)
install(DIRECTORY examples/dashboard DESTINATION ${CMAKE_INSTALL_DATADIR}/gsan/examples)
install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_DATADIR}/gsan PATTERN __pycache__ EXCLUDE PATTERN *.egg-info EXCLUDE PATTERN build EXCLUDE)

# For uninstall.cmake. Packages and wheels, which name a component, are no installation.
install(CODE "if(NOT CMAKE_INSTALL_COMPONENT)
  file(WRITE \"${CMAKE_BINARY_DIR}/install_prefix.txt\" \"\${CMAKE_INSTALL_PREFIX}\")
endif()")
