"""Path-traces one layer with Mitsuba 3: dice on a grey plane, with labels. Needs the `datasets` extra.

The plane's own colour is divided out, so that what is stored is light: any table times that light is a picture
with the right contact shadows, cast shadows and glow of white dice.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from . import layers, scene, shape, textures

SAMPLES = 12
DEPTH = 4
WIDTH = 640
MOST_DICE = 13
"""Sizes never change, so that the compiled kernel is used again."""
OLDEST_LLVM = 16
"""Older ones cannot compile these kernels for processors with AVX-512."""


def _variant() -> str:
    """Kernels compiled for this processor where a recent LLVM is installed (several times faster), else plain code."""
    if "DRJIT_LIBLLVM_PATH" in os.environ:
        return "llvm_ad_rgb"
    found = {}
    for path in (*Path("/usr/lib").glob("*/libLLVM*.so*"), *Path("/usr/lib").glob("llvm-*/lib/libLLVM*.so*")):
        number = re.search(r"(\d+)", path.name)
        if number and int(number[1]) >= OLDEST_LLVM:
            found[int(number[1])] = path
    if not found:
        return "scalar_rgb"
    os.environ["DRJIT_LIBLLVM_PATH"] = str(found[max(found)])
    return "llvm_ad_rgb"


def _mended(radiance: np.ndarray) -> np.ndarray:
    """Samples that the tracer lost (NaN) take the mean of their neighbours."""
    lost = ~np.isfinite(radiance).all(2)
    if not lost.any():
        return radiance
    known = np.where(lost[..., None], 0, radiance).astype(np.float32)
    weight = cv2.blur((~lost).astype(np.float32), (5, 5))
    mean = cv2.blur(known, (5, 5)) / np.maximum(weight, 1e-3)[..., None]
    return np.where(lost[..., None], mean, radiance).astype(np.float32)


def _mitsuba() -> Any:
    try:
        import mitsuba
    except ImportError as error:
        raise RuntimeError(
            "expected Mitsuba 3 (pip install 'ausguck[datasets]'), found none: layers cannot be traced"
        ) from error
    mitsuba.set_variant(_variant())
    mitsuba.set_log_level(mitsuba.LogLevel.Error)
    return mitsuba


def use_threads(count: int) -> None:
    """Let this process trace with `count` threads."""
    _mitsuba()
    import drjit

    drjit.set_thread_count(count)


def _texture(mi: Any, data: np.ndarray) -> dict[str, Any]:
    if data.ndim == 2:
        data = data[..., None]
    return {
        "type": "bitmap",
        "bitmap": mi.Bitmap(np.ascontiguousarray(data, np.float32)),
        "raw": True,
        "wrap_mode": "clamp",
    }


def _merged(mesh: shape.Mesh, poses: list[scene.Pose]) -> shape.Mesh:
    """All dice as one mesh: their atlases stand side by side in one picture, so one material serves all."""
    n, count = len(mesh.vertices), len(poses)
    uv = [np.stack([(mesh.uv[:, 0] + k) / MOST_DICE, mesh.uv[:, 1]], 1) for k in range(count)]
    return shape.Mesh(
        np.concatenate([pose.to_world(mesh.vertices) for pose in poses]),
        np.concatenate([mesh.normals @ pose.rotation.T for pose in poses]),
        np.concatenate(uv),
        np.concatenate([mesh.triangles + k * n for k in range(count)]).astype(np.int32),
    )


def _dice(mi: Any, ply: Path, atlases: list[textures.Atlas]) -> dict[str, Any]:
    def side_by_side(name: str) -> dict[str, Any]:
        maps = [getattr(atlas, name) for atlas in atlases]
        return _texture(mi, np.concatenate(maps + [np.zeros_like(maps[0])] * (MOST_DICE - len(maps)), 1))

    plastic = {
        "type": "principled",
        "base_color": side_by_side("albedo"),
        "roughness": side_by_side("rough"),
        "specular": 0.5,
    }
    bump = {"type": "bumpmap", "arbitrary": side_by_side("height"), "scale": 1.0, "nested": plastic}
    return {"type": "ply", "filename": str(ply), "bsdf": bump}


def _world(
    mi: Any, lens: scene.Lens, light: scene.Lighting, dice: dict[str, Any], seed: int, samples: int
) -> dict[str, Any]:
    look = mi.ScalarTransform4f.look_at
    world: dict[str, Any] = {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": DEPTH, "rr_depth": 8},
        "sensor": {
            "type": "perspective",
            "fov_axis": "x",
            "fov": float(2 * np.degrees(np.arctan(lens.width / 2 / lens.focal))),
            "to_world": look(origin=lens.origin.tolist(), target=lens.target.tolist(), up=lens.up.tolist()),
            "film": {
                "type": "hdrfilm",
                "width": lens.width,
                "height": lens.height,
                "pixel_format": "rgb",
                "rfilter": {"type": "box"},
            },
            "sampler": {"type": "independent", "sample_count": samples, "seed": seed},
        },
        "a_table": {
            "type": "rectangle",
            "to_world": mi.ScalarTransform4f().scale([400, 400, 1]),
            "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": light.table.tolist()}},
        },
        "ambient": {"type": "constant", "radiance": {"type": "rgb", "value": light.ambient.tolist()}},
    }
    world["b_dice"] = dice
    dark = scene.Lamp(np.array([0.0, 3.0, 90.0]), 0.01, 0.01, np.full(3, 1e-6))
    for k, lamp in enumerate((*light.lamps, dark, dark)[:3]):  # always three: the compiled kernel is used again
        aim = look(origin=lamp.position.tolist(), target=[0, 0, 0], up=[0.01, 0.02, 1])
        world[f"c_lamp{k}"] = {
            "type": "rectangle",
            "to_world": aim @ mi.ScalarTransform4f().scale([lamp.half_width, lamp.half_height, 1]),
            "emitter": {"type": "area", "radiance": {"type": "rgb", "value": lamp.radiance.tolist()}},
        }
    return world


def _calmed(radiance: np.ndarray, albedo: np.ndarray, on_dice: np.ndarray) -> np.ndarray:
    """Less grain on dice: the light on them is smoothed apart from their paint, which stays sharp."""
    paint = np.clip(albedo, 0, 1) + 0.03
    light = np.log(np.clip(radiance / paint, 1e-3, 50)).astype(np.float32)
    light = np.where(on_dice[..., None], light, 0)
    inner = cv2.erode(on_dice.astype(np.uint8), np.ones((5, 5), np.uint8))[..., None] > 0
    calm = cv2.bilateralFilter(cv2.bilateralFilter(light, 7, 0.7, 1.5), 5, 0.35, 1.2)
    return np.where(inner, np.exp(0.85 * calm + 0.15 * light) * paint, radiance).astype(np.float32)


def _light_on_table(radiance: np.ndarray, cover: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Light that falls on the table (h, w, 3), also guessed under the dice, mildly smoothed against sampling noise."""
    light = np.minimum(radiance / table, 20).astype(np.float32)
    bare = (cover < 0.01).astype(np.float32)
    log = np.log(np.maximum(light, 1e-3))
    log = np.where(bare[..., None] > 0, log, 0)
    smooth = cv2.bilateralFilter(np.ascontiguousarray(log), 5, 0.35, 1.5)
    weight = cv2.GaussianBlur(bare, (0, 0), 1.0)
    fixed = cv2.GaussianBlur(log * bare[..., None], (0, 0), 1.0) / np.maximum(weight, 1e-3)[..., None]
    filled = np.where(
        bare[..., None] > 0, np.where((cv2.erode(bare, np.ones((5, 5))) > 0)[..., None], smooth, log), fixed
    )
    hole = (weight < 0.05) & (bare == 0)
    for sigma in (4, 12, 40):
        weight = cv2.GaussianBlur(bare, (0, 0), sigma)
        wide = cv2.GaussianBlur(log * bare[..., None], (0, 0), sigma) / np.maximum(weight, 1e-4)[..., None]
        use = hole & (weight > 0.02)
        filled = np.where(use[..., None], wide, filled)
        hole &= ~use
    return np.asarray(np.exp(filled), np.float32)


def trace_layer(seed: int, split: str, *, everything: bool = False, samples: int = SAMPLES) -> layers.Layer:
    """Draw and trace the layer of `seed` in `split` ("train" or "test")."""
    mi = _mitsuba()
    began = time.monotonic()
    rng = np.random.default_rng([seed, {"train": 11, "test": 22}[split]])
    body = shape.BodyShape(
        edge_radius=float(rng.uniform(0.09, 0.14)), sphere_radius=float(0.653 + rng.uniform(-0.005, 0.02))
    )
    mesh = shape.die_mesh(body)
    packer = scene.Packer.of(body, mesh)
    width = WIDTH
    per_edge = float(rng.uniform(40, 76))
    lens = scene.draw_lens(rng, per_edge, width, width)
    reach = min(width / per_edge / 2 * 0.8, 6.5)
    ours = 8 if rng.random() < 0.55 else int(rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 10]))
    strangers = int(rng.integers(1, 4)) if rng.random() < 0.16 else 0
    sizes = [float(rng.choice([0.995, 0.75, 1.12, 1.25])) for _ in range(strangers)]
    poses, mine = scene.lay_dice(rng, packer, ours, sizes, reach)
    light = scene.draw_lighting(rng, split == "test")
    run = textures.draw_run(rng, split, everything)
    look = textures.set_look(rng, run)
    stranger = textures.foreign_look(rng)
    atlases = []
    for k in range(len(poses)):
        if k >= mine and rng.random() < 0.4:
            stranger = textures.foreign_look(rng)
        atlases.append(textures.die_atlas(look, rng) if k < mine else textures.foreign_atlas(stranger, rng))
    with tempfile.TemporaryDirectory() as folder:
        ply = Path(folder) / "dice.ply"
        shape.write_ply(_merged(mesh, poses), ply)
        world = mi.load_dict(_world(mi, lens, light, _dice(mi, ply, atlases), seed % 2**31, samples))
    picture = np.array(mi.render(world, spp=samples, seed=seed % 2**31))
    which = mi.load_dict({"type": "aov", "aovs": "sh:shape_index,pr:prim_index,po:position"})
    met = np.array(mi.render(world, spp=1, seed=1, integrator=which))
    mean = np.array(
        mi.render(
            world,
            spp=samples,
            seed=seed % 2**31,
            integrator=mi.load_dict({"type": "aov", "aovs": "sh:shape_index,al:albedo"}),
        )
    )
    on_dice = met[..., 4] > 1e-3
    crisp = np.where(on_dice, np.rint(met[..., 1]).astype(np.int64) // len(mesh.triangles) + 1, 0).astype(np.uint8)
    radiance = _mended(picture[..., :3])
    table, dice_number = float(np.median(met[~on_dice, 0])), float(np.median(met[on_dice, 0]))
    cover = np.clip((mean[..., 0] - table) / (dice_number - table), 0, 1).astype(np.float32)
    radiance = _calmed(radiance, mean[..., 1:4], on_dice)
    lit = _light_on_table(radiance, cover, light.table)
    white = float(np.percentile(lit.mean(2), 80))
    lit = lit / white
    radiance = radiance / white
    painted = np.clip(radiance - (1 - cover)[..., None] * lit * light.table, 0, 8) * (cover > 0.004)[..., None]
    meta = _labels(lens, body, mesh, poses, atlases, mine, crisp)
    assert np.isfinite(painted).all()
    assert np.isfinite(lit).all()
    meta |= {
        "seed": seed,
        "split": split,
        "print_run": run.name,
        "source": run.source,
        "samples": samples,
        "tilt": lens.tilt,
        "pixels_per_edge": per_edge,
        "table": light.table.tolist(),
        "homography": lens.homography.tolist(),
        "seconds": round(time.monotonic() - began, 2),
        "session": f"{split}-{seed}",
    }
    return layers.Layer(meta, crisp, cover, painted.astype(np.float32), lit)


def _labels(
    lens: scene.Lens,
    body: shape.BodyShape,
    mesh: shape.Mesh,
    poses: list[scene.Pose],
    atlases: list[textures.Atlas],
    mine: int,
    crisp: np.ndarray,
) -> dict[str, Any]:
    dice = []
    for k, (pose, atlas) in enumerate(zip(poses, atlases, strict=True)):
        outline = lens.project(pose.to_world(mesh.vertices))
        hull = cv2.convexHull(outline.astype(np.float32))
        full = max(float(cv2.contourArea(hull)), 1.0)
        ys, xs = np.nonzero(crisp == k + 1)
        side, tilt = shape.upward_side(pose.rotation)
        face = atlas.faces[side]
        middle = lens.project(pose.position[None])[0]
        inside = outline.min(0).min() > 0 and (outline.max(0) < [lens.width, lens.height]).all()
        dice.append(
            {
                "id": k + 1,
                "face": face.value if face is not None else "foreign_die",
                "ours": k < mine,
                "tilt": round(tilt, 2),
                "how": pose.how,
                "cocked": bool(tilt > 6),
                "box": [int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1] if len(xs) else None,
                "visible": round(min(len(xs) / full, 1.0), 4),
                "whole": bool(inside),
                "middle": [round(float(v), 2) for v in middle],
                "ground": [round(float(v), 3) for v in pose.position],
                "size": pose.size,
            }
        )
    return {"dice": dice, "width": lens.width, "height": lens.height}
