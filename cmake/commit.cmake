# Writes the header OUTPUT, that says which commit of SOURCE is built, if it says something else: cmake -D SOURCE=... -D OUTPUT=... -P
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(line "#define GSAN_COMMIT NULL\n")
else()
  set(line "#define GSAN_COMMIT \"${commit}\"\n")
endif()
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${old}" STREQUAL "${line}")
  file(WRITE ${OUTPUT} "${line}")
endif()
