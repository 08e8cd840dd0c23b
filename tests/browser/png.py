"""What is in a PNG as Chromium writes them: 8 bits a channel, RGB or RGBA, not interlaced."""
import itertools
import struct
import zlib


def _paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def _read(image):
    """(width, height, channels, the rows' data as it was filtered)"""
    at, data = 8, b""
    while at < len(image):
        length, kind = struct.unpack(">I4s", image[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, form, _, _, interlaced = struct.unpack(">IIBBBBB", image[at + 8:at + 8 + length])
        elif kind == b"IDAT":
            data += image[at + 8:at + 8 + length]
        at += 12 + length
    if depth != 8 or form not in (2, 6) or interlaced:
        raise ValueError(f"a PNG of another form: {depth}, {form}, {interlaced}")
    return width, height, {2: 3, 6: 4}[form], zlib.decompress(data)


def _rows(image):
    """Yields each row as a list of pixels, (red, green, blue); those above it are undone one by one."""
    width, height, channels, data = _read(image)
    line = bytearray(width * channels)
    for row in range(height):
        start = row * (width * channels + 1)
        above, line, filter_type = line, bytearray(data[start + 1:start + 1 + width * channels]), data[start]
        for i in range(len(line) if filter_type else 0):
            left, up, corner = line[i - channels] if i >= channels else 0, above[i], above[i - channels] if i >= channels else 0
            line[i] = (line[i] + (0, left, up, (left + up) // 2, _paeth(left, up, corner))[filter_type]) & 255
        yield [tuple(line[i:i + 3]) for i in range(0, len(line), channels)]


def size(image):
    """(width, height) in pixels"""
    return _read(image)[:2]


def pixel(image, x, y):
    """(red, green, blue)"""
    return next(itertools.islice(_rows(image), y, None))[x]


def colors(image):
    """All that occur."""
    return {color for row in _rows(image) for color in row}
