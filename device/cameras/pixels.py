"""Turns a picamera2 array of whatever format the camera settled on into BGR.

A camera is free to answer a wish for RGB888 with something else (libcamera's virtual camera always says NV12), so the
configured format is read back and decides here.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from vision.reading import Image

from .camera import CameraBroken

_CONVERSIONS = {
    "BGR888": cv2.COLOR_RGB2BGR,  # libcamera names the bytes from the high end: this one lies in memory as R, G, B
    "XRGB8888": cv2.COLOR_BGRA2BGR,
    "XBGR8888": cv2.COLOR_RGBA2BGR,
    "NV12": cv2.COLOR_YUV2BGR_NV12,
    "NV21": cv2.COLOR_YUV2BGR_NV21,
    "YUV420": cv2.COLOR_YUV2BGR_I420,
    "YVU420": cv2.COLOR_YUV2BGR_YV12,
    "YUYV": cv2.COLOR_YUV2BGR_YUYV,
    "UYVY": cv2.COLOR_YUV2BGR_UYVY,
}

READABLE_FORMATS = ("RGB888", "MJPEG", *_CONVERSIONS)
"""Every format that `to_bgr` understands, in libcamera's names."""


def to_bgr(array: npt.NDArray[np.uint8], pixel_format: str, size: tuple[int, int]) -> Image:
    """An own BGR copy, (h, w, 3) uint8, of `array` as picamera2 hands it out for `pixel_format`.

    `size` is (width, height) of the picture; padding at the end of the rows is cut off. Raises `CameraBroken` for a
    format that is not in `READABLE_FORMATS`.
    """
    width, height = size
    if pixel_format == "RGB888":
        return np.ascontiguousarray(array[:height, :width])
    if pixel_format == "MJPEG":  # picamera2 decodes it itself, to R, G, B
        return np.asarray(cv2.cvtColor(array, cv2.COLOR_RGB2BGR), dtype=np.uint8)
    code = _CONVERSIONS.get(pixel_format)
    if code is None:
        raise CameraBroken(
            f"The camera delivers pixel format {pixel_format}; expected one of {', '.join(READABLE_FORMATS)}."
        )
    if pixel_format in ("YUV420", "YVU420"):
        array = _without_padding(array, size)
    elif array.ndim == 2 and pixel_format in ("YUYV", "UYVY"):
        array = array[:, : 2 * width].reshape(height, width, 2)
    else:
        array = array[:, :width]
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(array), code), dtype=np.uint8)


def _without_padding(array: npt.NDArray[np.uint8], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Planar 4:2:0 with padded rows: each plane's padding lies elsewhere, so the planes are cut one by one."""
    width, height = size
    stride = array.shape[1]
    if stride == width:
        return array
    flat = array.reshape(-1)
    luma = flat[: height * stride].reshape(height, stride)[:, :width]
    chroma = flat[height * stride :].reshape(-1, stride // 2)[:, : width // 2]
    return np.concatenate([luma.reshape(-1), chroma.reshape(-1)]).reshape(height * 3 // 2, width)
