# What `cmake --install` puts where. All of it is found relative to the program that uses it, so that an installed tree
# can be moved: bin/ programs look for ../lib/gsan. The emulated driver has a folder of its own: it carries the name of
# the system's libcuda.so.1 and must not be found by accident.
include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/GSan)

foreach(program gsan-launch gsan-ptxas gsan-report)
  if(TARGET ${program})
    install(TARGETS ${program} EXPORT GSan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(TARGET gsan)
  install(TARGETS gsan LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gsan)
endif()
if(TARGET emu)
  install(TARGETS emu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gsan/emu)
endif()

configure_file(${CMAKE_SOURCE_DIR}/include/gsan/version.h.in ${CMAKE_BINARY_DIR}/include/gsan/version.h @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/include/gsan/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gsan)
add_library(gsan_headers INTERFACE)
set_target_properties(gsan_headers PROPERTIES EXPORT_NAME gsan)
target_include_directories(gsan_headers INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS gsan_headers EXPORT GSan)

install(EXPORT GSan NAMESPACE GSan:: FILE GSanTargets.cmake DESTINATION ${cmake_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/GSanConfig.cmake.in ${CMAKE_BINARY_DIR}/GSanConfig.cmake
  INSTALL_DESTINATION ${cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GSanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/GSanConfig.cmake ${CMAKE_BINARY_DIR}/GSanConfigVersion.cmake DESTINATION ${cmake_dir})

# pkg-config takes the prefix from where gsan.pc lies (pcfiledir), so the file need not change when the tree moves.
file(RELATIVE_PATH GSAN_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/gsan.pc.in ${CMAKE_BINARY_DIR}/gsan.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gsan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/ranks.py examples/driver_world.py examples/torch_world.py examples/message_passing.py
  examples/counter_lock.py examples/neighbours.py DESTINATION ${CMAKE_INSTALL_DATADIR}/gsan/examples)
