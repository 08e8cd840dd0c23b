/* Devices: EMU_DEVICES equal ones, all peers of each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emu/driver/process.h"

/* Opens a call about a device. */
static CUresult enter_device(CUdevice device, const void *out)
{
	CUresult result = out ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	return device >= 0 && device < emu.devices ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
	CUresult result = enter_device(0, count);
	if (result)
		return result;
	*count = emu.devices;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = enter_device(ordinal, device);
	if (result)
		return result;
	*device = ordinal;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
	CUresult result = enter_device(device, size > 0 ? name : NULL);
	if (result)
		return result;
	snprintf(name, (size_t)size, "GSan emulated device");
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	CUresult result = enter_device(device, uuid);
	if (result)
		return result;
	memcpy(uuid->bytes, "gsan-emu-device-", 16);
	uuid->bytes[15] = (char)device;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result = enter_device(device, bytes);
	if (result)
		return result;
	*bytes = EMU_DEVICE_BYTES;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult result = enter_device(device, minor ? major : NULL);
	if (result)
		return result;
	*major = 9;
	*minor = 0;
	return emu_leave(CUDA_SUCCESS);
}

static int attribute(CUdevice_attribute a, int device)
{
	const struct { CUdevice_attribute attribute; int value; } table[] = {
#define ATTRIBUTE(name, value) {CU_DEVICE_ATTRIBUTE_##name, value},
#include "emu/driver/attributes.def"
#undef ATTRIBUTE
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].attribute == a)
			return table[i].value;
	return 0;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice device)
{
	CUresult result = enter_device(device, value);
	if (result)
		return result;
	if ((int)a <= 0)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = attribute(a, device);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
	CUresult result = enter_device(device, size > 0 ? text : NULL);
	if (result)
		return result;
	int n = snprintf(text, (size_t)size, "0000:%02X:00.0", device + 1);
	return emu_leave(n < size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
	unsigned domain, bus, slot;
	CUresult result = enter_device(0, text ? device : NULL);
	if (result)
		return result;
	if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 || !bus || (int)bus > emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	*device = (CUdevice)bus - 1;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult result = enter_device(device, can);
	if (result)
		return result;
	if (peer < 0 || peer >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	*can = device != peer;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute a, CUdevice from, CUdevice to)
{
	CUresult result = enter_device(from, value);
	if (result)
		return result;
	if (to < 0 || to >= emu.devices || to == from)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	*value = a == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || a == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
	return emu_leave(CUDA_SUCCESS);
}
