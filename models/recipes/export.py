"""Writes trained networks as NCNN (for the table) or ONNX, and checks that the exported one answers as the trained one.

Runs in the training environment (PyTorch, Ultralytics, pnnx). In: `best.pt` of either recipe. Out:
`<out>/<network>.ncnn.param` and `.bin`, or `<out>/<network>.onnx`. The detector leaves without any decoding: blobs
`p8`, `p16`, `p32`, each (4·16 + classes, h, w), because `vision.yolo` decodes only the few cells that matter.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("YOLO_OFFLINE", "1")
os.environ.setdefault("YOLO_AUTOINSTALL", "False")

import numpy as np
import torch
from torch import nn

OUTPUTS = {
    "detector": ("p8", "p16", "p32"),
    "secondlook": ("logits", "embedding", "cocked"),
    "cardcorners": ("corners",),
    "cardface": ("logits", "embedding"),
}
SHAPES = {
    "detector": ((1, 3, 320, 416), (1, 3, 416, 352)),
    "secondlook": ((1, 3, 64, 64), (1, 3, 64, 64)),
    "cardcorners": ((1, 3, 96, 96), (1, 3, 96, 96)),
    "cardface": ((1, 3, 128, 80), (1, 3, 128, 80)),
}
"""Two shapes each: whatever differs between them may vary at run time."""
TOLERANCE = 0.05
"""Largest allowed difference relative to the spread of an output: fp16 weights cost about a hundredth."""


class RawHeads(nn.Module):
    """A YOLO network up to its heads' convolutions: one map a stride, box bins first, then classes."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        *body, self.head = network.model
        self.body = nn.ModuleList(body)
        self.sources = [module.f for module in network.model]
        self.kept = set(network.save)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs: list[torch.Tensor | None] = []
        for module, source in zip(self.body, self.sources, strict=False):
            x = module(self._inputs(source, outputs, x))
            outputs.append(x if module.i in self.kept else None)
        levels = [outputs[i] for i in self.sources[-1]]
        return tuple(
            torch.cat((box(level), names(level)), 1)
            for box, names, level in zip(self.head.cv2, self.head.cv3, levels, strict=True)
        )

    @staticmethod
    def _inputs(source: int | list[int], outputs: list[torch.Tensor | None], x: torch.Tensor) -> object:
        if isinstance(source, int):
            return x if source == -1 else outputs[source]
        return [x if i == -1 else outputs[i] for i in source]


def load(network: str, weights: Path | None) -> nn.Module:
    """The trained network in the form that is exported. Without weights: as it is before training, for trying out."""
    if network == "secondlook":
        from .secondlook import SecondLook

        state = torch.load(weights, map_location="cpu", weights_only=False) if weights else {"width": 16}
        model: nn.Module = SecondLook(state["width"])
        if weights:
            model.load_state_dict(state["model"])
        return model.eval()
    if network in ("cardcorners", "cardface"):
        from .cards import CardCorners, CardFace

        model = CardCorners() if network == "cardcorners" else CardFace()
        if weights:
            model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=False)["model"])
        return model.eval()
    from ultralytics import YOLO

    yolo = YOLO(str(weights or Path(__file__).with_name("detector.yaml")), task="detect")
    return RawHeads(yolo.model.float().fuse().eval()).eval()


def export(network: str, weights: Path | None, out: Path, kind: str = "ncnn") -> list[Path]:
    """Export and verify; returns the files written. Raises ValueError when the exported network answers differently."""
    model = load(network, weights)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    out = out.resolve()  # exporting changes the working directory
    out.mkdir(parents=True, exist_ok=True)
    files = (_export_ncnn if kind == "ncnn" else _export_onnx)(model, network, out)
    difference = compare(model, network, out, kind)
    # Standard output belongs to the file names.
    print(f"{network}: largest relative difference to PyTorch {difference:.4f}", file=sys.stderr)
    if not difference < TOLERANCE:
        raise ValueError(
            f"expected the exported {network} to answer as the trained one (difference below {TOLERANCE}), "
            f"got {difference:.3f}: check the versions of torch and pnnx"
        )
    return files


def _export_ncnn(model: nn.Module, network: str, out: Path) -> list[Path]:
    import pnnx

    first, second = (torch.rand(shape) for shape in SHAPES[network])
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with open("pnnx.log", "w") as log, _streams_to(log):
            pnnx.export(model, "net.pt", first, second, fp16=True, check_trace=False)
        param = Path("net.ncnn.param").read_text()
        files = [out / f"{network}.ncnn.param", out / f"{network}.ncnn.bin"]
        files[0].write_text(_rename(param, OUTPUTS[network]))
        shutil.copy("net.ncnn.bin", files[1])
    return files


@contextlib.contextmanager
def _streams_to(log: object):  # type: ignore[no-untyped-def]
    """Both standard streams, including what the pnnx program writes, go to `log`."""
    saved = os.dup(1), os.dup(2)
    try:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)  # type: ignore[attr-defined]
        yield
    finally:
        for stream, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, stream)
            os.close(copy)


def _rename(param: str, names: Sequence[str]) -> str:
    """Give the output blobs of an NCNN text (`out0` …) our names."""
    renamed = {f"out{i}": name for i, name in enumerate(names)}
    lines = [" ".join(renamed.get(word, word) for word in line.split()) for line in param.splitlines()]
    return "\n".join(lines) + "\n"


def _export_onnx(model: nn.Module, network: str, out: Path) -> list[Path]:
    path = out / f"{network}.onnx"
    axes = {"in0": {0: "n", **({2: "h", 3: "w"} if network == "detector" else {})}}
    torch.onnx.export(
        model,
        (torch.rand(SHAPES[network][0]),),
        str(path),
        input_names=["in0"],
        output_names=list(OUTPUTS[network]),
        dynamic_axes=axes,
        dynamo=False,
    )
    return [path]


def compare(model: nn.Module, network: str, out: Path, kind: str) -> float:
    """Largest difference of any output between PyTorch and the exported file, relative to that output's spread."""
    rng, worst = np.random.default_rng(5), 0.0
    for shape in SHAPES[network]:
        # Smooth noise: closer to a picture than white noise, which leaves every activation at its mean.
        small = torch.from_numpy(rng.random((1, 3, shape[2] // 16, shape[3] // 16), np.float32))
        x = nn.functional.interpolate(small, shape[2:], mode="bicubic").clamp(0, 1)
        with torch.no_grad():
            answer = model(x)
            wanted = [value[0].numpy() for value in ((answer,) if isinstance(answer, torch.Tensor) else answer)]
        got = (_run_ncnn if kind == "ncnn" else _run_onnx)(network, out, x.numpy())
        for a, b in zip(wanted, got, strict=True):
            scale = np.abs(a).max() + 1e-6
            worst = max(worst, float(np.abs(a.reshape(-1) - b.reshape(-1)).max() / scale))
    return worst


def _run_ncnn(network: str, out: Path, x: np.ndarray) -> list[np.ndarray]:
    from vision.ncnn_net import NcnnNet

    return NcnnNet(out / f"{network}.ncnn.param", outputs=OUTPUTS[network]).run(x[0])


def _run_onnx(network: str, out: Path, x: np.ndarray) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(out / f"{network}.onnx", providers=["CPUExecutionProvider"])
    return [value[0] for value in session.run(list(OUTPUTS[network]), {"in0": x})]
