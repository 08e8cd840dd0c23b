#include "emu/driver/graph/object.h"

#include <stdlib.h>

#include "emu/driver/graph/live.h"

struct CUuserObject_st {
	struct CUuserObject_st *next; /* of those to destroy */
	void *data;
	CUhostFn destroy;
	unsigned references;
};
struct emu_object_use { struct emu_object_use *next; CUuserObject object; unsigned references; };

static CUuserObject dead;

static void release(CUuserObject o, unsigned count)
{
	o->references -= count;
	if (o->references)
		return;
	emu_live_remove(o);
	o->next = dead;
	dead = o;
}

static CUresult use(CUgraph g, CUuserObject o, unsigned count)
{
	struct emu_object_use *u = g->objects;
	while (u && u->object != o)
		u = u->next;
	if (!u && (u = calloc(1, sizeof *u))) {
		*u = (struct emu_object_use){g->objects, o, 0};
		g->objects = u;
	}
	if (!u)
		return CUDA_ERROR_OUT_OF_MEMORY;
	u->references += count;
	return CUDA_SUCCESS;
}

CUresult emu_objects_share(CUgraph from, CUgraph to)
{
	CUresult result = CUDA_SUCCESS;
	for (struct emu_object_use *u = from->objects; u && !result; u = u->next) {
		result = use(to, u->object, 1);
		if (!result)
			u->object->references++;
	}
	return result;
}

void emu_objects_drop(CUgraph g)
{
	while (g->objects) {
		struct emu_object_use *u = g->objects;
		g->objects = u->next;
		release(u->object, u->references);
		free(u);
	}
}

void emu_objects_destroy(void)
{
	for (;;) {
		pthread_mutex_lock(&emu.lock);
		CUuserObject o = dead;
		dead = o ? o->next : NULL;
		pthread_mutex_unlock(&emu.lock);
		if (!o)
			return;
		o->destroy(o->data);
		free(o);
	}
}

/* ---- calls */

static CUresult enter_object(CUuserObject o, unsigned count)
{
	CUresult result = count ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	return emu_live(o, EMU_LIVE_OBJECT) ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned references, unsigned flags)
{
	CUresult result = object && destroy && references && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUuserObject o = calloc(1, sizeof *o);
	if (!o || emu_live_add(o, EMU_LIVE_OBJECT)) {
		free(o);
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	*o = (struct CUuserObject_st){NULL, data, destroy, references};
	*object = o;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject o, unsigned count)
{
	CUresult result = enter_object(o, count);
	if (result)
		return result;
	o->references += count;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject o, unsigned count)
{
	CUresult result = enter_object(o, count);
	if (result)
		return result;
	if (count > o->references)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	release(o, count);
	emu_leave(CUDA_SUCCESS);
	emu_objects_destroy();
	return CUDA_SUCCESS;
}

/* A graph takes the caller's references, or gets its own. */
CUresult CUDAAPI cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned count, unsigned flags)
{
	CUresult result = flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE ? CUDA_ERROR_INVALID_VALUE : enter_object(o, count);
	if (result)
		return result;
	result = emu_live(g, EMU_LIVE_GRAPH) ? use(g, o, count) : CUDA_ERROR_INVALID_VALUE;
	if (!result && !(flags & CU_GRAPH_USER_OBJECT_MOVE))
		o->references += count;
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned count)
{
	CUresult result = enter_object(o, count);
	if (result)
		return result;
	struct emu_object_use **at = emu_live(g, EMU_LIVE_GRAPH) ? &g->objects : NULL, *u;
	while (at && *at && (*at)->object != o)
		at = &(*at)->next;
	u = at ? *at : NULL;
	if (!u || count > u->references)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	u->references -= count;
	if (!u->references) {
		*at = u->next;
		free(u);
	}
	release(o, count);
	emu_leave(CUDA_SUCCESS);
	emu_objects_destroy();
	return CUDA_SUCCESS;
}
