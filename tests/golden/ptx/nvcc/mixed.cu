#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
__device__ int counter; __device__ volatile int vflag;
__global__ void grid_sum(float*p,int n){ auto g=cg::this_grid(); for(int i=g.thread_rank();i<n;i+=g.size()) p[i]+=1; g.sync(); if(g.thread_rank()==0) p[0]=p[n-1]; }
__device__ __noinline__ int helper(int*p,int i){ if(i<=0) return p[0]; return p[i]+helper(p,i-1);}
__device__ __noinline__ void put(int *p,int v){ *p=v; __threadfence(); vflag=1;}
typedef int (*fn)(int*,int);
__global__ void calls(int*p,int i,fn f){ put(p,helper(p,i)); if(f) p[1]=f(p,2); switch(i){case 0:p[3]=1;break;case 1:p[4]=2;break;case 2:p[5]=6;break;case 3:p[9]=6;break;case 4:p[8]=5;} }
__global__ void scopes(cuda::atomic<int,cuda::thread_scope_system>*a, cuda::atomic<int,cuda::thread_scope_block>*b,int*c){ a->store(1,cuda::memory_order_release); b->fetch_add(1,cuda::memory_order_acq_rel); while(a->load(cuda::memory_order_acquire)!=2); atomicAdd(c,1); atomicCAS_system(c,1,2); a->exchange(4); int e=3; a->compare_exchange_strong(e,7);}
