"""A world of ranks as PyTorch programs have it: torch.distributed, and its symmetric memory for buffers that peers
address. Hosts meet over gloo, so that no kernel but the example's own runs on the GPUs; EXAMPLE_BACKEND=nccl has them meet
as most programs do.
"""
import os

import torch
import torch.distributed as dist


class _Shared(list):
    """The buffers of all ranks; views only, so it keeps this rank's allocation and its peers' mappings alive."""

    def __init__(self, mine, peers, size):
        self.kept = mine, peers
        super().__init__(peers.get_buffer(rank, mine.shape, mine.dtype) for rank in range(size))


class TorchWorld:
    def __init__(self):
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.cuda.set_device(self.device)
        if self.size > 1:
            backend = os.environ.get("EXAMPLE_BACKEND") or "gloo"
            dist.init_process_group(backend, device_id=self.device if backend == "nccl" else None)

    def zeros(self, count, dtype):
        return torch.zeros(count, dtype=getattr(torch, dtype), device=self.device)

    def array(self, host):
        return torch.from_numpy(host).to(self.device).reshape(-1)

    def shared(self, count, dtype):
        if self.size == 1:
            return [self.zeros(count, dtype)]
        import torch.distributed._symmetric_memory as symm_mem
        mine = symm_mem.empty(count, dtype=getattr(torch, dtype), device=self.device)
        mine.zero_()
        return _Shared(mine, symm_mem.rendezvous(mine, dist.group.WORLD), self.size)

    def barrier(self):
        if self.size > 1:
            dist.barrier()

    def synchronize(self):
        torch.cuda.synchronize(self.device)

    def numpy(self, buffer):
        return buffer.cpu().numpy()

    def close(self):
        if self.size > 1:
            dist.destroy_process_group()
