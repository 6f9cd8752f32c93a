"""The renderer's geometry: the body, the throws, the lens, the labels of a stored layer of our own drawings."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets.render import camera, layers, scene, shape, textures
from scorer.faces import Face

LAYER = Path(__file__).parent / "layer" / "train-000404.npz"
BODY = shape.BodyShape()
MESH = shape.die_mesh(BODY, 12)
PACKER = scene.Packer.of(BODY, MESH)


def test_body_has_flats_rounded_corners_and_outward_normals() -> None:
    assert np.abs(MESH.vertices).max() == pytest.approx(0.5, abs=2e-3)
    assert np.linalg.norm(MESH.vertices, axis=1).max() < 0.68  # a sharp cube's corner is at 0.866
    assert (np.einsum("ij,ij->i", MESH.vertices, MESH.normals) > 0.3).all()
    ring = 0.40 * np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 6, 20)])
    on_flat = np.column_stack([ring, np.full(20, 0.5)])
    assert np.abs(BODY.distance(on_flat)).max() < 4e-3


def test_triangles_face_outward() -> None:
    a, b, c = (MESH.vertices[MESH.triangles[:, k]] for k in range(3))
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c) > 0).all()


def test_no_side_is_mirrored() -> None:
    for normal, right, up in shape.SIDES:
        assert tuple(np.cross(right, up)) == normal


def test_atlas_tiles_lie_on_their_sides() -> None:
    assert MESH.uv.min() >= 0
    assert MESH.uv.max() <= 1
    per_side = len(MESH.vertices) // 6
    for side in range(6):
        uv = MESH.uv[side * per_side : (side + 1) * per_side]
        column, row = side % 3, side // 3
        assert uv[:, 0].min() >= column / 3 - 1e-9
        assert uv[:, 0].max() <= (column + 1) / 3 + 1e-9
        assert uv[:, 1].min() >= row / 2 - 1e-9
        assert uv[:, 1].max() <= (row + 1) / 2 + 1e-9


def test_upward_side_of_every_quarter_turn() -> None:
    seen = set()
    for turn in scene.CUBE_TURNS:
        side, tilt = shape.upward_side(turn)
        seen.add(side)
        assert tilt == pytest.approx(0)
        assert (turn @ np.array(shape.SIDES[side][0]))[2] == pytest.approx(1)
    assert seen == set(range(6))
    assert len(scene.CUBE_TURNS) == 24


@pytest.mark.parametrize("seed", range(6))
def test_thrown_dice_rest_on_the_table_and_never_overlap(seed: int) -> None:
    poses, ours = scene.lay_dice(np.random.default_rng(seed), PACKER, 8, [0.8], 5.0)
    assert 1 <= ours <= 8
    for k, pose in enumerate(poses):
        if pose.how != "stacked":
            assert pose.to_world(PACKER.points)[:, 2].min() == pytest.approx(0, abs=1e-9)
        assert not any(PACKER.cuts(pose, other) for other in poses[:k])


def test_leaning_dice_keep_a_face_upward() -> None:
    leaning = []
    for seed in range(30):
        poses, _ = scene.lay_dice(np.random.default_rng(seed), PACKER, 6, [], 5.0)
        leaning += [shape.upward_side(pose.rotation)[1] for pose in poses if pose.how == "leaning"]
    assert len(leaning) >= 5
    assert min(leaning) >= 8
    assert max(leaning) <= 35.01


def test_homography_agrees_with_projection() -> None:
    rng = np.random.default_rng(4)
    lens = scene.draw_lens(rng, 60, 640, 640)
    plane = np.column_stack([rng.uniform(-4, 4, (20, 2)), np.zeros(20)])
    flat = np.column_stack([plane[:, :2], np.ones(20)]) @ lens.homography.T
    assert np.allclose(flat[:, :2] / flat[:, 2:], lens.project(plane))
    assert 0 <= lens.tilt <= 25
    # Seen from above, right-handed table axes turn clockwise on a screen whose y runs down: no mirror.
    o, x, y = lens.project(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]))
    assert np.cross(np.append(x - o, 0), np.append(y - o, 0))[2] < 0


@pytest.mark.parametrize("k1", [-0.12, 0.08])
def test_distorted_labels_follow_the_distorted_picture(k1: float) -> None:
    size = (320, 240)
    picture = np.zeros((240, 320), np.float32)
    spots = np.array([[60.0, 50.0], [250.0, 180.0], [160.0, 120.0]])
    for x, y in spots:
        cv2.circle(picture, (int(x), int(y)), 4, 1.0, -1)
    bent = cv2.remap(picture, *camera.distortion_maps(size, k1), cv2.INTER_LINEAR)
    for x, y in camera.distort_points(spots, size, k1):
        x0, y0 = round(x) - 7, round(y) - 7
        ys, xs = np.nonzero(bent[y0 : y0 + 15, x0 : x0 + 15] > 0.5)
        assert abs(xs.mean() + x0 - x) < 0.8
        assert abs(ys.mean() + y0 - y) < 0.8


def test_stored_layer_has_consistent_labels() -> None:
    layer = layers.load(LAYER)
    h, w = layer.ids.shape
    assert layer.dice.shape == layer.light.shape == (h, w, 3)
    assert layer.cover.shape == (h, w)
    assert len(layer.meta["dice"]) == 8
    assert layer.meta["source"] == "drawing"
    homography = np.array(layer.meta["homography"])
    for die in layer.meta["dice"]:
        assert die["face"] in [face.value for face in Face]
        x0, y0, x1, y1 = die["box"]
        ys, xs = np.nonzero(layer.ids == die["id"])
        assert (x0, y0, x1, y1) == (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)
        assert x0 < die["middle"][0] < x1
        assert y0 < die["middle"][1] < y1
        assert die["cocked"] == (die["tilt"] > 6)
        foot = homography @ [*die["ground"][:2], 1]
        assert np.hypot(*(foot[:2] / foot[2] - die["middle"])) < layer.meta["pixels_per_edge"]
    assert sum(die["cocked"] for die in layer.meta["dice"]) == 1
    assert (layer.dice[layer.cover == 0] == 0).all()
    white = layer.dice[layer.ids > 0]
    assert 0.2 < np.percentile(white, 80) < 3  # white plastic is about as bright as white paper


def test_light_is_darker_beside_dice_than_far_away() -> None:
    layer = layers.load(LAYER)
    grey = layer.light.mean(2)
    beside = (cv2.dilate((layer.ids > 0).astype(np.uint8), np.ones((9, 9))) > 0) & (layer.cover == 0)
    assert grey[beside].min() < 0.6 * np.percentile(grey, 80)


def test_layers_survive_the_disk(tmp_path: Path) -> None:
    layer = layers.load(LAYER)
    layers.save(layer, tmp_path / "train-000001.npz")
    again = layers.load(tmp_path / "train-000001.npz")
    assert again.meta == layer.meta
    assert (again.ids == layer.ids).all()
    assert np.abs(np.sqrt(again.dice) - np.sqrt(layer.dice)).max() < 2e-3
    assert not list(tmp_path.glob("*.part"))


def test_face_maps_carry_ink_grooves_and_gloss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUSGUCK_REFERENCE", "/nonexistent")
    rng = np.random.default_rng(2)
    look = textures.set_look(rng, textures.draw_run(rng, "train"))
    for face in textures.FACES:
        albedo, height, rough = textures.face_maps(face, look, rng, 96)
        assert albedo.shape == (96, 96, 3)
        assert albedo.min() > 0
        assert albedo.max() <= 0.97
        assert height.min() < -0.003
        assert height.max() <= 1e-6
        assert abs(np.median(albedo[:6]) - look.body.mean()) < 0.1  # the rim is plastic
        assert rough.min() > 0.05


def test_print_runs_of_the_splits_differ() -> None:
    names = {
        split: {textures.draw_run(np.random.default_rng(k), split).name for k in range(60)}
        for split in ("train", "test")
    }
    assert not names["train"] & names["test"]
