# `cpack -G DEB` packs what `cmake --install` installs, stripped; what it needs of other packages dpkg-shlibdeps says. liblz4 and libzstd are
# loaded when compressed PTX is met.
set(CPACK_PACKAGE_VENDOR "GSan")
set(CPACK_PACKAGE_CONTACT "GSan")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "liblz4-1, libzstd1")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/build)
# The component that all is of by default: without the word what is packed would be listed as what `make uninstall` removes.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};Unspecified;/")
include(CPack)
