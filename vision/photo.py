"""Loads photographs that people took with a phone: upright, eight bits, bounded in memory, or refused in one sentence.

In: a file, or its bytes. Out: a `Photo`. Its header is read before anything is decoded, so that a picture of a
thousand megapixels costs nothing; a file that stops early is refused, because OpenCV would fill the rest with grey.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from .reading import Image

MOST_PIXELS = 50_000_000
MOST_BYTES = 100 * 2**20
HALVED_FROM = 16_000_000
"""JPEGs of more pixels are decoded at half their size: a fraction of the memory, and still far more than is needed."""
SENTENCE_KINDS = "a JPEG, PNG or WebP picture"


class PhotoError(ValueError):
    """A picture that cannot be read. `str(error)` is a sentence for people."""


@dataclass(frozen=True, slots=True, eq=False)
class Photo:
    """A decoded photograph."""

    image: Image
    """(h, w, 3) uint8, BGR, upright."""
    scale: float
    """Pixels of the upright original for one pixel of `image`."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a file say."""

    kind: str
    width: int
    height: int
    alpha: bool = False


def load_photo(path: Path) -> Photo:
    """Load a picture file. Raises PhotoError."""
    try:
        if not path.is_file():
            found = "a folder" if path.is_dir() else "nothing"
            raise PhotoError(f"expected {SENTENCE_KINDS} at {path}, found {found}")
        if path.stat().st_size > MOST_BYTES:
            raise PhotoError(f"expected a picture of at most {MOST_BYTES >> 20} MB, but {path} is larger: shrink it")
        data = path.read_bytes()
    except OSError as error:
        raise PhotoError(f"cannot read {path}: {error.strerror or error}") from error
    return decode_photo(data, name=str(path))


def decode_photo(data: bytes, *, name: str = "the picture") -> Photo:
    """Decode the bytes of a picture file; `name` is how sentences call it. Raises PhotoError."""
    header = read_header(data, name)
    megapixels = header.width * header.height / 1e6
    if header.width * header.height > MOST_PIXELS:
        raise PhotoError(
            f"expected a picture of at most {MOST_PIXELS // 1_000_000} megapixels, "
            f"but {name} has {megapixels:.0f}: shrink it"
        )
    if header.width < 1 or header.height < 1:
        raise PhotoError(f"expected a picture with at least one pixel, but {name} says {header.width}×{header.height}")
    halved = header.kind == "jpeg" and header.width * header.height > HALVED_FROM
    flag = cv2.IMREAD_REDUCED_COLOR_2 if halved else cv2.IMREAD_COLOR
    try:
        if header.alpha:
            image = _over_grey(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED))
        else:
            image = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except (cv2.error, MemoryError):
        image = None
    if image is None or image.ndim != 3:
        raise PhotoError(f"expected {SENTENCE_KINDS}, but {name} cannot be decoded: the file is damaged")
    return Photo(np.ascontiguousarray(image, np.uint8), 2.0 if halved else 1.0)


def _over_grey(image: np.ndarray | None) -> np.ndarray | None:
    """A picture with transparency, laid on neutral grey; 16 bits become 8."""
    if image is None:
        return None
    if image.dtype == np.uint16:
        image = (image >> 8).astype(np.uint8)
    if image.ndim != 3 or image.shape[2] != 4:
        return cv2.cvtColor(image, cv2.COLOR_GRAY2BGR) if image.ndim == 2 else image[..., :3]
    share = image[..., 3:].astype(np.float32) / 255
    return np.asarray(image[..., :3] * share + 128 * (1 - share), np.uint8)


def read_header(data: bytes, name: str = "the picture") -> Header:
    """Kind and size of a picture file, after checking that it is complete and a single picture. Raises PhotoError."""
    if data[:3] == b"\xff\xd8\xff":
        return _jpeg(data, name)
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return _png(data, name)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data, name)
    if data[4:8] == b"ftyp":
        raise PhotoError(
            f"expected {SENTENCE_KINDS}, but {name} is HEIC, AVIF or a video: save it as JPEG "
            "(iPhone: Settings, Camera, Formats, Most Compatible)"
        )
    if data[:4] == b"GIF8":
        raise PhotoError(f"expected {SENTENCE_KINDS}, but {name} is a GIF: save one still as JPEG")
    raise PhotoError(f"expected {SENTENCE_KINDS}, but {name} is none" + ("" if data else ": it is empty"))


def _truncated(name: str) -> PhotoError:
    return PhotoError(f"expected a whole picture, but {name} stops before its end: copy it again")


MARKER = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])")
"""A marker inside JPEG's coded data: neither a stuffed zero nor a restart."""
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def _jpeg(data: bytes, name: str) -> Header:
    """Walk the segments up to the end marker; what cameras append behind it does not matter."""
    at, size = 2, (0, 0)
    while True:
        found = MARKER.search(data, at)
        if found is None:
            raise _truncated(name)
        marker, at = found.group(1)[0], found.end()
        if marker == 0xD9:
            if size == (0, 0):
                raise PhotoError(f"expected {SENTENCE_KINDS}, but {name} holds none: the file is damaged")
            return Header("jpeg", *size)
        if marker == 0x01:
            continue
        if at + 2 > len(data):
            raise _truncated(name)
        (length,) = struct.unpack_from(">H", data, at)
        if marker in FRAMES and at + 7 <= len(data):
            height, width = struct.unpack_from(">HH", data, at + 3)
            size = (width, height)
        at += max(length, 2)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and length of each chunk."""
    at = 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], at + 8, length
        at += 12 + length


def _png(data: bytes, name: str) -> Header:
    header = None
    for kind, at, length in _png_chunks(data):
        if kind == b"acTL":
            raise PhotoError(f"expected one still picture, but {name} is animated: save one still as JPEG")
        if kind == b"IHDR" and at + 10 <= len(data):
            width, height, _, colour = struct.unpack_from(">IIBB", data, at)
            header = Header("png", width, height, alpha=colour in (4, 6))
        if kind == b"tRNS" and header:
            header = Header("png", header.width, header.height, alpha=True)
        if kind == b"IEND" and header:
            return header
        if at + length > len(data):
            break
    raise _truncated(name)


def _webp(data: bytes, name: str) -> Header:
    (length,) = struct.unpack_from("<I", data, 4)
    if length + 8 > len(data) or len(data) < 30:
        raise _truncated(name)
    kind = data[12:16]
    if kind == b"VP8X":
        if data[20] & 2:
            raise PhotoError(f"expected one still picture, but {name} is animated: save one still as JPEG")
        width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        return Header("webp", width, height, alpha=bool(data[20] & 16))
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return Header("webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF), alpha=bool(bits >> 28 & 1))
    if kind == b"VP8 ":
        width, height = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        return Header("webp", width, height)
    raise PhotoError(f"expected {SENTENCE_KINDS}, but {name} is a WebP of a kind that is not known")
