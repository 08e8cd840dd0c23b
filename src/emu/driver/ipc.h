/* Handles that are bytes, of CUDA IPC and fabric ones: each names a memfd of the process that made it, which others open through /proc while
 * that has it. */
#ifndef GSAN_EMU_DRIVER_IPC_H
#define GSAN_EMU_DRIVER_IPC_H

#include "emu/driver/process.h"

enum emu_ipc_kind { EMU_IPC_MEMORY = 1, EMU_IPC_EVENT, EMU_IPC_FABRIC };
struct emu_ipc_name {
	char magic[8];
	uint32_t kind;
	int32_t pid, fd, device;
	uint64_t inode, size;
	uint64_t bytes, number; /* of CUDA IPC memory: as asked for; as the trace names it */
	uint8_t rest[8];
};
_Static_assert(sizeof(struct emu_ipc_name) == sizeof(CUipcMemHandle) && sizeof(CUipcMemHandle) == sizeof(CUipcEventHandle) &&
	       sizeof(CUipcMemHandle) == sizeof(CUmemFabricHandle), "");

int emu_ipc_create(uint64_t size); /* a memfd, or -1 */
int emu_ipc_name(struct emu_ipc_name *name, enum emu_ipc_kind kind, int fd); /* with the other fields 0. 0 or -1 */
/* CUDA_ERROR_INVALID_CONTEXT: this process has made it, and it is none of EMU_IPC_FABRIC; CUDA_ERROR_INVALID_VALUE: there is no such thing. */
CUresult emu_ipc_open(const struct emu_ipc_name *name, enum emu_ipc_kind kind, int *fd);

#endif
