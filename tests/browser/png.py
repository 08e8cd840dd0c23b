"""A pixel of a PNG as Chromium writes them: 8 bits a channel, RGB or RGBA, not interlaced."""
import struct
import zlib


def _paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def pixel(image, x, y):
    """(red, green, blue), of the top rows only: those above it are undone one by one."""
    at, data = 8, b""
    while at < len(image):
        size, kind = struct.unpack(">I4s", image[at:at + 8])
        if kind == b"IHDR":
            width, _, depth, form, _, _, interlaced = struct.unpack(">IIBBBBB", image[at + 8:at + 8 + size])
        elif kind == b"IDAT":
            data += image[at + 8:at + 8 + size]
        at += 12 + size
    if depth != 8 or form not in (2, 6) or interlaced:
        raise ValueError(f"a PNG of another form: {depth}, {form}, {interlaced}")
    channels, rows = {2: 3, 6: 4}[form], zlib.decompress(data)
    line = bytearray(width * channels)
    for row in range(y + 1):
        start = row * (width * channels + 1)
        above, line, filter_type = line, bytearray(rows[start + 1:start + 1 + width * channels]), rows[start]
        for i in range(len(line)):
            left, up, corner = line[i - channels] if i >= channels else 0, above[i], above[i - channels] if i >= channels else 0
            line[i] = (line[i] + (0, left, up, (left + up) // 2, _paeth(left, up, corner))[filter_type]) & 255
    return tuple(line[x * channels:x * channels + 3])
