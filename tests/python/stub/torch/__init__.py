"""As much of torch as gsan touches, for machines without it. tests/gpu/run does the same with torch itself."""


class device(str):
    @property
    def type(self):
        return self.split(":")[0]


class _Dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, _Dtype) and self.name == other.name


class _Storage:
    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.ctypes.data

    def nbytes(self):
        return self.array.nbytes


class Tensor:
    """Over a NumPy array of one dimension."""

    def __init__(self, array, where="cpu", whole=None):
        self.array, self.device, self.dtype = array, device(where), _Dtype(array.dtype.name)
        self.whole = array if whole is None else whole

    def __getitem__(self, which):
        return Tensor(self.array[which], self.device, self.whole)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return _Storage(self.whole)
