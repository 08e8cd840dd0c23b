"""Host arrays as arguments of kernels: NumPy arrays and CPU tensors of torch. All the memory in which they lie is copied to the
device before the kernel and back after it, so that views of one array are views of one array there, too. Findings name it by the
parameters."""
import contextlib
import ctypes
import sys

from gsan import label
from gsan.driver import Buffer

NOT_NUMBERS = "cOSUMm"  # kinds of NumPy types that Triton has none for
LABEL_MAX = 200  # bytes


def _instance(value, module, name):
    """Whoever has not imported the module has none of its objects."""
    module = sys.modules.get(module)
    return module is not None and isinstance(value, getattr(module, name))


def is_array(value):
    return _instance(value, "numpy", "ndarray")


def is_tensor(value):
    return _instance(value, "torch", "Tensor")


def bounds(array):
    """The first address of a NumPy array's elements and the one behind the last."""
    low = high = array.ctypes.data
    if not array.size:
        return low, high
    for length, stride in zip(array.shape, array.strides):
        low += min(0, (length - 1) * stride)
        high += max(0, (length - 1) * stride)
    return low, high + array.itemsize


class Argument:
    """One array: its own address, and the host memory from `low` to `high` in which it lies."""

    def __init__(self, name, value):
        self.name, self.dtype = name, value.dtype
        if is_array(value):
            self._of_numpy(value)
        else:
            self._of_torch(value)

    def _of_numpy(self, value):
        if self.dtype.kind in NOT_NUMBERS or self.dtype.fields or not self.dtype.isnative:
            raise TypeError(f"argument {self.name}: an array of {self.dtype!r}, for which Triton has no type")
        self.address, self.writeable = value.ctypes.data, value.flags.writeable
        while is_array(value.base):
            value = value.base
        self.low, self.high = bounds(value)

    def _of_torch(self, value):
        if value.device.type != "cpu":
            raise TypeError(f"argument {self.name}: a tensor on {value.device}; on the emulated device kernels take CPU tensors")
        memory = value.untyped_storage()
        self.address, self.writeable = value.data_ptr(), True
        self.low, self.high = memory.data_ptr(), memory.data_ptr() + memory.nbytes()


def find(values):
    """The arrays among {parameter: value}."""
    for name, value in values.items():
        if isinstance(value, (tuple, list)) and any(is_array(v) or is_tensor(v) for v in value):
            raise TypeError(f"argument {name}: arrays in a {type(value).__name__} are not copied; make each an argument")
        if type(value).__name__ == "TensorDescriptor":
            raise TypeError(f"argument {name}: the emulated device does not execute what tensor descriptors are for; pass the array")
        if is_array(value) or is_tensor(value):
            yield Argument(name, value)


def meeting(arguments):
    """The arguments as lists of those whose memory meets, in the order of the arguments: where the host has its arrays, which is another
    place in each run, does not show on the device."""
    arguments, groups, end = list(arguments), [], 0
    for argument in sorted(arguments, key=lambda a: (a.low, a.high)):
        if groups and argument.low < end:
            groups[-1].append(argument)
        else:
            groups.append([argument])
        end = max(end, argument.high)
    return sorted(groups, key=lambda group: min(map(arguments.index, group)))


class Piece:
    """The memory of arguments that meet, and its copy on the device."""

    def __init__(self, cuda, arguments):
        self.cuda, self.arguments = cuda, arguments
        self.low, self.size = arguments[0].low, max(a.high for a in arguments) - arguments[0].low
        self.device = cuda.alloc(max(self.size, 1))
        name = ", ".join(a.name for a in arguments)
        if self.size and len(name.encode()) <= LABEL_MAX:
            label(self.device, name, self.size)

    def buffers(self):
        return {a.name: Buffer(self.device + a.address - self.low, a.dtype) for a in self.arguments}

    def upload(self):
        if self.size:
            self.cuda.upload(self.device, self.low, self.size)

    def download(self):
        if self.size and any(a.writeable for a in self.arguments):
            self.cuda.download(self.low, self.device, self.size)
        elif self.size:
            self._unchanged()

    def _unchanged(self):
        now = ctypes.create_string_buffer(self.size)
        self.cuda.download(ctypes.addressof(now), self.device, self.size)
        if now.raw != ctypes.string_at(self.low, self.size):
            raise ValueError(f"argument {self.arguments[0].name}: the kernel wrote to a read-only array")


@contextlib.contextmanager
def on_device(cuda, values):
    """{parameter: value} with buffers on the device in the place of arrays, for what is launched within. The device has done it,
    and the arrays are as it left them, at the end."""
    pieces = []
    try:
        for group in meeting(find(values)):
            pieces.append(Piece(cuda, group))
            pieces[-1].upload()
        yield {**values, **{name: buffer for piece in pieces for name, buffer in piece.buffers().items()}}
        cuda.cuCtxSynchronize()
        for piece in pieces:
            piece.download()
    finally:
        with contextlib.suppress(RuntimeError):  # of a context that is lost
            for piece in pieces:
                cuda.free(piece.device)
