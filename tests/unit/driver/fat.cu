/* The kernel of fat.c, in a source. */
extern "C" __global__ void both(char *p, unsigned stride)
{
	*(int *)(p + stride * blockIdx.x + 4) = 7;
}
