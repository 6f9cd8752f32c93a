"""Cameras behind one small interface: Pi camera, webcam, clip, network stream, or none.

In: a word such as `auto` or `usb:0`. Out: `Frame`s, each exposed no earlier than the moment asked about.
"""

from .camera import (
    Camera,
    CameraBroken,
    CameraEnded,
    CameraError,
    CameraMissing,
    CameraOff,
    CameraSettings,
    CameraSilent,
    CameraState,
    CameraStatus,
)
from .choose import NoCamera, Probe, open_camera, probe_cameras, wait_for_frame
from .clip import ClipCamera
from .keeper import CameraKeeper, LatestFrame
from .picamera import PiCamera
from .stream import StreamCamera
from .usb import UsbCamera, list_webcams

__all__ = [
    "Camera",
    "CameraBroken",
    "CameraEnded",
    "CameraError",
    "CameraKeeper",
    "CameraMissing",
    "CameraOff",
    "CameraSettings",
    "CameraSilent",
    "CameraState",
    "CameraStatus",
    "ClipCamera",
    "LatestFrame",
    "NoCamera",
    "PiCamera",
    "Probe",
    "StreamCamera",
    "UsbCamera",
    "list_webcams",
    "open_camera",
    "probe_cameras",
    "wait_for_frame",
]
