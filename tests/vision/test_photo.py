"""Photographs as people send them: read, or refused in one sentence. Never a crash."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.photo import PhotoError, decode_photo, load_photo, read_header

COLOURS = np.zeros((40, 60, 3), np.uint8)
COLOURS[:20, :30], COLOURS[:20, 30:], COLOURS[20:, :30] = (200, 30, 30), (30, 200, 30), (30, 30, 200)


def encoded(kind: str, image: np.ndarray = COLOURS, *options: int) -> bytes:
    done, data = cv2.imencode(kind, image, list(options))
    assert done
    return data.tobytes()


def with_orientation(jpeg: bytes, value: int) -> bytes:
    """`jpeg` with an EXIF block that says only how the phone was held."""
    tiff = b"II*\0" + struct.pack("<IHHHII", 8, 1, 0x0112, 3, 1, value) + struct.pack("<I", 0)
    body = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def png(width: int, height: int, colour: int, depth: int, rows: bytes, *extra: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    middle = b"".join(chunk(kind, data) for kind, data in extra)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + middle + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", [".jpg", ".png", ".webp"])
def test_common_kinds_are_read(kind: str) -> None:
    photo = decode_photo(encoded(kind))
    assert photo.image.shape == (40, 60, 3)
    assert photo.image.dtype == np.uint8
    assert photo.scale == 1
    assert np.abs(photo.image[10, 10].astype(int) - COLOURS[10, 10]).max() < 25


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_are_turned_upright(orientation: int) -> None:
    """Where the red quarter (top right as stored, by EXIF's table) must come to lie."""
    image = decode_photo(with_orientation(encoded(".jpg", COLOURS, cv2.IMWRITE_JPEG_QUALITY, 95), orientation)).image
    stored = COLOURS
    upright = {
        1: stored,
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.transpose(1, 0, 2),
        6: np.rot90(stored, -1),
        7: stored[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(stored),
    }[orientation]
    assert image.shape == upright.shape
    assert np.abs(image.astype(int) - upright)[5:-5, 5:-5].mean() < 8


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("kind", [".jpg", ".png", ".webp"])
def test_pictures_that_stop_early_are_refused(kind: str, share: float) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (90, 120, 3), np.uint8)
    data = encoded(kind, noise)
    with pytest.raises(PhotoError, match=r"expected"):
        decode_photo(data[: int(len(data) * share)])


def test_every_cut_of_a_picture_is_a_sentence_or_a_picture() -> None:
    for kind in (".jpg", ".png", ".webp"):
        data = encoded(kind)
        for length in range(0, len(data), 7):
            with pytest.raises(PhotoError):
                decode_photo(data[:length])


def test_damaged_bytes_never_crash() -> None:
    rng = np.random.default_rng(4)
    for kind in (".jpg", ".png", ".webp"):
        for _ in range(60):
            data = bytearray(encoded(kind))
            for at in rng.integers(0, len(data), 3):
                data[at] = int(rng.integers(256))
            try:
                photo = decode_photo(bytes(data))
            except PhotoError:
                continue
            assert photo.image.ndim == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"hello, I am text" * 10, "is none"),
        (b"GIF89a" + bytes(50), "GIF"),
        (b"\0\0\0\x18ftypheic" + bytes(50), "Most Compatible"),
        (b"\xff\xd8\xff\xd9", "damaged"),
        (b"\x89PNG\r\n\x1a\n", "stops before its end"),
    ],
)
def test_what_is_no_picture_is_said(data: bytes, words: str) -> None:
    with pytest.raises(PhotoError, match=words):
        decode_photo(data)


def test_sixty_megapixels_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(PhotoError, match="at most 50 megapixels, but the picture has 60"):
        decode_photo(png(10000, 6000, 2, 8, b""))
    with pytest.raises(PhotoError, match="megapixels"):
        decode_photo(png(2**31 - 1, 2**31 - 1, 2, 8, b""))


def test_animations_are_refused() -> None:
    with pytest.raises(PhotoError, match="animated"):
        decode_photo(png(2, 2, 2, 8, bytes(14), (b"acTL", struct.pack(">II", 2, 0))))
    webp = b"RIFF" + struct.pack("<I", 50) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\x02" + bytes(60)
    with pytest.raises(PhotoError, match="animated"):
        decode_photo(webp)


def test_sixteen_bits_grey_and_transparency_are_read() -> None:
    deep = decode_photo(encoded(".png", (COLOURS.astype(np.uint16) << 8)))
    assert deep.image.dtype == np.uint8
    assert np.abs(deep.image.astype(int) - COLOURS).max() < 4
    assert decode_photo(encoded(".png", COLOURS[..., 0])).image.shape == (40, 60, 3)
    clear = np.dstack([COLOURS, np.zeros((40, 60), np.uint8)])
    assert (decode_photo(encoded(".png", clear)).image == 128).all()
    deep_clear = np.dstack([COLOURS.astype(np.uint16) << 8, np.full((40, 60), 65535, np.uint16)])
    assert np.abs(decode_photo(encoded(".png", deep_clear)).image.astype(int) - COLOURS).max() < 4


def test_one_pixel_is_a_picture() -> None:
    assert decode_photo(encoded(".png", COLOURS[:1, :1])).image.shape == (1, 1, 3)


def test_large_jpegs_are_halved() -> None:
    photo = decode_photo(encoded(".jpg", np.zeros((3600, 4800, 3), np.uint8)))
    assert photo.image.shape == (1800, 2400, 3)
    assert photo.scale == 2


def test_bytes_behind_the_end_do_not_matter() -> None:
    """Phones append previews and videos."""
    assert read_header(encoded(".jpg") + b"\xff\xd8 more").width == 60


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PhotoError, match="found nothing"):
        load_photo(tmp_path / "missing.jpg")
    with pytest.raises(PhotoError, match="found a folder"):
        load_photo(tmp_path)
    (tmp_path / "good.jpg").write_bytes(encoded(".jpg"))
    assert load_photo(tmp_path / "good.jpg").image.shape == (40, 60, 3)
