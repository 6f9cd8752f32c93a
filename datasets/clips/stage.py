"""Directs what happens on the table: throws, hands, cards, bumps. A stage is time; each moment of it is a `State`.

Every action appends to the stage; `stage.at(t)` then says where everything is at any moment, so that a frame can look
at several moments of its exposure. Dice are numbered 0 to 7 (8 is a stranger), millimetres and seconds throughout.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from datasets.quick.body import Floats
from datasets.quick.throw import about_z

from .hand import FIST, OPEN, PINCH, Hand
from .physics import Area, Throw, leans, throw_well, turned_to_show
from .session import NINTH, Session

CARD = (62.0, 100.0)


@dataclass(frozen=True, slots=True)
class Flat:
    """A card or a sheet of paper."""

    name: str
    """A card's name, `back`, or `sheet`."""
    x: float
    y: float
    angle: float = 0.0
    """Radians; 0 is upright for the player."""
    z: float = 0.0
    size: tuple[float, float] = CARD

    def corners(self) -> Floats:
        """(4, 3) mm: top left, top right, bottom right, bottom left of the upright card."""
        w, h = self.size[0] / 2, self.size[1] / 2
        flat = np.array([[-w, h], [w, h], [w, -h], [-w, -h]])
        c, s = np.cos(self.angle), np.sin(self.angle)
        turned = flat @ np.array([[c, s], [-s, c]]) + (self.x, self.y)
        return np.column_stack([turned, np.full(4, self.z)]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One moment."""

    positions: Floats
    """(9, 3) mm."""
    rotations: Floats
    """(9, 3, 3)."""
    shown: tuple[bool, ...] = (False,) * 9
    cards: tuple[Flat, ...] = ()
    hand: Hand | None = None
    player: int = 0
    light: float = 1.0
    camera: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shadow: float | None = None
    """Where somebody's shadow falls: x in mm of its middle."""


@dataclass(slots=True, eq=False)
class _Segment:
    start: float
    seconds: float
    look: Callable[[float], State]


def smooth(t: float) -> float:
    """0..1 → 0..1, slow at both ends."""
    t = min(max(t, 0.0), 1.0)
    return t * t * (3 - 2 * t)


@dataclass(slots=True, eq=False)
class Stage:
    """A table that is being directed."""

    session: Session
    rng: np.random.Generator
    card_at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x, y, angle of where cards are laid."""
    pace: float = 1.0
    """Larger: slower hands."""
    now: State = field(init=False)
    seconds: float = 0.0
    segments: list[_Segment] = field(default_factory=list)
    marks: list[tuple[float, str, object]] = field(default_factory=list)
    """(when, what, value): what a script wants to remember, e.g. `settled`."""
    area: Area = field(init=False)
    """Where dice roll."""

    def __post_init__(self) -> None:
        self.now = State(np.zeros((9, 3), np.float32), np.tile(np.eye(3, dtype=np.float32), (9, 1, 1)))
        w, h = self.session.half
        side = -1.0 if self.rng.random() < 0.5 else 1.0
        angle = float(self.rng.normal(0, 0.15) + (np.pi if self.rng.random() < 0.15 else 0))
        self.card_at = (side * (w - 48), float(self.rng.uniform(-h + 68, h - 68)), angle)
        beside = (-w + 16, w - 92) if side > 0 else (-w + 92, w - 16)
        self.area = (beside[0], -h + 18, beside[1], h - 18)

    # -- time -----------------------------------------------------------------------------------------------------

    def play(self, seconds: float, look: Callable[[float], State]) -> None:
        """Append `seconds` during which `look(t)` (t from 0) says how the table is."""
        self.segments.append(_Segment(self.seconds, seconds, look))
        self.seconds += seconds
        self.now = look(seconds)

    def at(self, t: float) -> State:
        """The table at second `t` of the clip."""
        i = max(bisect_right([s.start for s in self.segments], t) - 1, 0)
        segment = self.segments[i]
        return segment.look(min(max(t - segment.start, 0.0), segment.seconds))

    def mark(self, what: str, value: object = None) -> None:
        """Remember this moment."""
        self.marks.append((self.seconds, what, value))

    def rest(self, seconds: float) -> None:
        """Nothing happens."""
        now = self.now
        self.play(seconds, lambda t: now)

    # -- hands ----------------------------------------------------------------------------------------------------

    def _away(self, toward: tuple[float, float]) -> tuple[float, float]:
        """Where a hand is when it is out of view."""
        w, h = self.session.half
        return (float(np.clip(toward[0] * 0.75, -w * 0.8, w * 0.8)) + (0.0 if self.now.player == 0 else 30.0), -h - 95)

    def _heading(self, x: float, y: float) -> float:
        h = self.session.half[1]
        return float(np.arctan2(y + h + 330, x * 0.55 + (18 if self.now.player else -18)))

    def _hand(self, x: float, y: float, z: float, pose: float) -> Hand:
        return Hand(x, y, z, self._heading(x, y), pose, left=self.now.player == 1)

    def move_hand(
        self,
        to: tuple[float, float, float],
        pose: float,
        seconds: float,
        carry: Callable[[State, Hand, float], State] | None = None,
    ) -> None:
        """Move the hand to `to`; `carry(state, hand, share of the way)` moves what it moves."""
        begin = self.now
        hand = begin.hand
        if hand is None:
            x, y = self._away(to[:2])
            hand = self._hand(x, y, to[2] + 20, pose)
        start, seconds = hand, seconds * self.pace

        def look(t: float) -> State:
            share = smooth(t / seconds)
            x, y, z = (a + (b - a) * share for a, b in zip((start.x, start.y, start.z), to, strict=True))
            at = self._hand(x, y, z, start.pose + (pose - start.pose) * share)
            state = replace(begin, hand=at)
            return carry(state, at, share) if carry else state

        self.play(seconds, look)

    def withdraw(self, seconds: float = 0.35, pose: float | None = None) -> None:
        """The hand leaves the picture."""
        hand = self.now.hand
        if hand is None:
            return
        x, y = self._away((hand.x, hand.y))
        self.move_hand((x, y, hand.z + 15), hand.pose if pose is None else pose, seconds)
        self.now = replace(self.now, hand=None)

    def _move_die(self, state: State, die: int, x: float, y: float, z: float, turn: float = 0.0) -> State:
        positions, rotations = state.positions.copy(), state.rotations.copy()
        positions[die] = (x, y, z)
        if turn:
            rotations[die] = about_z(turn) @ rotations[die]
        return replace(state, positions=positions, rotations=rotations)

    def _show(self, dice: Sequence[int], shown: bool) -> State:
        return replace(self.now, shown=tuple(shown if i in dice else s for i, s in enumerate(self.now.shown)))

    # -- rolling --------------------------------------------------------------------------------------------------

    def pick_up(self, dice: Sequence[int], *, each: float = 0.2) -> None:
        """Take dice into the hand, one after the other, and leave the picture with them."""
        left = [die for die in dice if self.now.shown[die]]
        at = (0.0, -self.session.half[1])
        first = True
        while left:
            die = min(left, key=lambda i: float(np.hypot(*(self.now.positions[i][:2] - at))))
            left.remove(die)
            at = (float(self.now.positions[die][0]), float(self.now.positions[die][1]))
            self.move_hand((at[0], at[1] + 8, 2.0), 1.5, 0.4 if first else each)
            first = False
            hidden = self._show([die], False)
            self.now = hidden
            pos = hidden.positions.copy()
            pos[die] = (0, 0, -100)
            self.now = replace(hidden, positions=pos)
        self.withdraw(0.35, FIST)

    def throw(self, faces: Mapping[int, str], *, avoid_card: bool = True, strength: float = 1.0) -> None:
        """Throw dice that are in nobody's view so that they end up showing `faces` (by die)."""
        dice = sorted(faces)
        x0, y0, x1, _ = self.area
        lying = [self.now.positions[i] for i in range(9) if self.now.shown[i]]
        forbidden = [card.corners()[:, :2] for card in self.now.cards] if avoid_card else []
        middle = (x0 + x1) / 2
        flight = None
        for attempt in range(30):
            start = (float(self.rng.uniform(middle - 50, middle + 50)), y0 + 30.0)
            aim = float(np.clip(self.rng.normal(0, 160) - (start[0] - middle) * 3, -420, 420))
            power = strength * float(self.rng.uniform(500, 900)) * (1 - 0.012 * attempt)
            throw = Throw((*start, 46.0), (aim, power, -120.0), self.area)
            try:
                flight = throw_well(
                    throw, len(dice), self.rng, edge=self.session.edge, lying=lying, forbidden=forbidden, tries=6
                )
                break
            except RuntimeError:
                continue
        if flight is None:
            raise RuntimeError(f"expected room for {len(dice)} dice, found none in 30 throws: move the dice that lie")
        turns = [
            turned_to_show(faces[die], self.session.skins[die], flight.rotations[-1][i], self.rng)
            for i, die in enumerate(dice)
        ]
        self.move_hand((start[0], start[1] - 12, 20.0), FIST, 0.32)
        self.mark("thrown", list(dice))
        before = self._show(dice, True)
        hand = before.hand
        assert hand is not None
        away = self._away((hand.x, hand.y))
        gone = 0.5 * self.pace

        def look(t: float) -> State:
            at, turned = flight.at(t)
            positions, rotations = before.positions.copy(), before.rotations.copy()
            for i, die in enumerate(dice):
                positions[die], rotations[die] = at[i], turned[i] @ turns[i]
            share = smooth(t / gone)
            open_ = min(t / 0.12, 1.0)
            follow = 26 * min(t / 0.1, 1.0) * (1 - share)
            reach = (
                None
                if t >= gone
                else self._hand(
                    hand.x + (away[0] - hand.x) * share,
                    hand.y + follow + (away[1] - hand.y) * share,
                    hand.z + 12 * share,
                    FIST - open_ * 1.6,
                )
            )
            return replace(before, positions=positions, rotations=rotations, hand=reach)

        self.play(max(flight.seconds, gone), look)
        self.mark("settled", list(dice))

    def roll(self, faces: Mapping[int, str], *, hold: float = 0.35, avoid_card: bool = True) -> None:
        """Pick up (those that lie there) and throw."""
        self.pick_up([die for die in faces if self.now.shown[die]])
        self.rest(hold * self.pace)
        self.throw(faces, avoid_card=avoid_card)

    # -- handling -------------------------------------------------------------------------------------------------

    def carry_die(
        self, die: int, to: tuple[float, float], *, lift: float = 22.0, turn: float | None = None, seconds: float = 0.5
    ) -> None:
        """Pick a die up between two fingers and put it down elsewhere, its face up as before."""
        x, y, z = (float(v) for v in self.now.positions[die])
        self.move_hand((x, y, 6.0), PINCH, 0.32)
        by = float(self.rng.normal(0, 0.25)) if turn is None else turn
        base = self.now.rotations[die].copy()

        def carry(state: State, hand: Hand, share: float) -> State:
            up = lift * np.sin(np.pi * share)
            moved = self._move_die(state, die, hand.x, hand.y, z + float(up))
            moved.rotations[die] = about_z(by * share) @ base
            return replace(moved, hand=replace(hand, z=6.0 + float(up)))

        self.move_hand((*to, 6.0), PINCH, seconds, carry)

    def slide_die(self, die: int, to: tuple[float, float], *, seconds: float = 0.6, turn: float | None = None) -> None:
        """Push a die over the table with fingers: its face stays in view most of the time."""
        x, y, z = (float(v) for v in self.now.positions[die])
        way = np.array(to) - (x, y)
        behind = -way / max(float(np.linalg.norm(way)), 1e-6) * 15
        self.move_hand((x + float(behind[0]), y + float(behind[1]), 2.0), 0.7, 0.35)
        by = float(self.rng.normal(0, 0.35)) if turn is None else turn
        base = self.now.rotations[die].copy()
        offset = behind

        def carry(state: State, hand: Hand, share: float) -> State:
            moved = self._move_die(state, die, hand.x - float(offset[0]), hand.y - float(offset[1]), z)
            moved.rotations[die] = about_z(by * share) @ base
            return moved

        self.move_hand((to[0] + float(offset[0]), to[1] + float(offset[1]), 2.0), 0.7, seconds, carry)

    def row_places(self, n: int, *, gap: float = 1.18) -> list[tuple[float, float]]:
        """A row at the far side of the area, free of dice that lie elsewhere."""
        x0, _, x1, y1 = self.area
        edge = self.session.edge * gap
        start = (x0 + x1) / 2 - edge * (n - 1) / 2
        return [(start + i * edge, y1 - edge * 0.75) for i in range(n)]

    def set_aside(self, dice: Sequence[int], places: Sequence[tuple[float, float]] | None = None) -> None:
        """Put dice in a row, one by one."""
        for die, place in zip(dice, places or self.row_places(len(dice)), strict=True):
            self._free(place, die)
            self.carry_die(die, place, turn=self._squared(die))
        self.withdraw()

    def _squared(self, die: int) -> float:
        """The smallest turn that lines a die up with the row."""
        r = self.now.rotations[die]
        axis = int(np.argmax(np.abs(r[2])))
        other = r[:, (axis + 1) % 3]
        angle = float(np.arctan2(other[1], other[0]))
        return float(-((angle + np.pi / 4) % (np.pi / 2) - np.pi / 4)) + float(self.rng.normal(0, 0.04))

    def _free(self, place: tuple[float, float], die: int) -> None:
        """Move whatever lies where a die is to be put."""
        for other in range(8):
            away = np.array(self.now.positions[other][:2]) - place
            distance = float(np.linalg.norm(away))
            if other != die and self.now.shown[other] and distance < self.session.edge * 1.1:
                x0, y0, x1, y1 = self.area
                for _ in range(200):
                    spot = (float(self.rng.uniform(x0 + 12, x1 - 12)), float(self.rng.uniform(y0 + 12, y1 - 45)))
                    if self._clear(spot, 1.5):
                        self.slide_die(other, spot)
                        return

    def _clear(self, spot: tuple[float, float], edges: float) -> bool:
        gaps = [float(np.hypot(*(self.now.positions[i][:2] - np.array(spot)))) for i in range(9) if self.now.shown[i]]
        return min(gaps, default=1e9) > edges * self.session.edge

    def free_spot(self, edges: float = 1.6) -> tuple[float, float]:
        """A place in the area where no die lies."""
        x0, y0, x1, y1 = self.area
        for _ in range(500):
            spot = (float(self.rng.uniform(x0 + 12, x1 - 12)), float(self.rng.uniform(y0 + 14, y1 - 14)))
            if self._clear(spot, edges):
                return spot
        raise RuntimeError("expected a free spot on the table, found none: take a larger area")

    def push_together(self, dice: Sequence[int]) -> None:
        """Slide dice up against one another, one by one."""
        anchor = np.array(self.now.positions[dice[0]][:2], float)
        turn = self._squared(dice[0])
        columns = 2
        self.slide_die(dice[0], (float(anchor[0]), float(anchor[1])), turn=turn, seconds=0.2)
        x0, y0, x1, y1 = self.area
        step = self.session.edge * 1.02
        rows = (len(dice) + 1) // columns
        anchor[0] = np.clip(anchor[0], x0 + 14, x1 - 14 - step)
        anchor[1] = np.clip(anchor[1], y0 + 14, y1 - 14 - step * (rows - 1))
        if float(np.hypot(*(anchor - self.now.positions[dice[0]][:2]))) > 1:
            self.slide_die(dice[0], (float(anchor[0]), float(anchor[1])), turn=0.0, seconds=0.3)
        for i, die in enumerate(dice[1:], 1):
            place = (float(anchor[0] + step * (i % columns)), float(anchor[1] + step * (i // columns)))
            self._free(place, die)
            self.slide_die(die, place, turn=self._squared(die), seconds=0.45)
        self.withdraw()

    def swap(self, a: int, b: int) -> None:
        """Exchange two dice by hand."""
        pa, pb = ((float(self.now.positions[i][0]), float(self.now.positions[i][1])) for i in (a, b))
        self.carry_die(a, self.free_spot())
        self.carry_die(b, pa)
        self.carry_die(a, pb)
        self.withdraw()

    def cover(self, seconds: float, over: tuple[float, float] | None = None) -> None:
        """Rest a hand over the dice for a while."""
        x0, y0, x1, y1 = self.area
        at = over or ((x0 + x1) / 2, (y0 + y1) / 2 + 20)
        self.move_hand((*at, 8.0), OPEN, 0.45)
        self.rest(seconds)
        self.withdraw(0.4)

    def sheet(self, seconds: float) -> None:
        """Lay a sheet of paper over everything, and take it away."""
        x0, y0, x1, y1 = self.area
        h = self.session.half[1]
        here = Flat("sheet", (x0 + x1) / 2, (y0 + y1) / 2, 0.1, 19.0, (210.0, 297.0))
        off = replace(here, y=-h - 320)
        self._slide_flat(off, here, 0.7)
        self.rest(seconds)
        self.now = replace(self.now, cards=tuple(c for c in self.now.cards if c.name != "sheet"))
        self._slide_flat(here, off, 0.6)
        self.now = replace(self.now, cards=tuple(c for c in self.now.cards if c.name != "sheet"))

    def _slide_flat(self, start: Flat, end: Flat, seconds: float) -> None:
        begin = self.now
        base = begin.cards

        def look(t: float) -> State:
            s = smooth(t / seconds)
            flat = replace(
                start,
                x=start.x + (end.x - start.x) * s,
                y=start.y + (end.y - start.y) * s,
                angle=start.angle + (end.angle - start.angle) * s,
                z=start.z + (end.z - start.z) * s,
            )
            return replace(begin, cards=(*base, flat))

        self.play(seconds, look)

    # -- cards ----------------------------------------------------------------------------------------------------

    def lay_card(self, name: str, *, covered: bool = False) -> None:
        """Bring a card and lay it down (on top of one that lies there)."""
        x, y, angle = self.card_at
        card = Flat(
            name,
            x + float(self.rng.normal(0, 3)),
            y + float(self.rng.normal(0, 3)),
            angle + float(self.rng.normal(0, 0.06)),
        )
        base = tuple(c for c in self.now.cards)
        grip = (0.0, -38.0)

        def carry(state: State, hand: Hand, share: float) -> State:
            flat = replace(
                card,
                x=hand.x - grip[0],
                y=hand.y - grip[1],
                angle=card.angle - 0.5 * (1 - share),
                z=14 * (1 - share) + 0.3,
            )
            return replace(state, cards=(*base, flat))

        self.move_hand((card.x + grip[0], card.y + grip[1], 4.0), PINCH, 0.65, carry)
        # What was carried lies now, and covers the card below.
        self.now = replace(self.now, cards=(card,))
        self.withdraw(0.35, 0.6)
        self.mark("card", name)

    def take_card(self) -> None:
        """Take the card away."""
        if not self.now.cards:
            return
        card = self.now.cards[-1]
        self.move_hand((card.x, card.y - 38, 4.0), PINCH, 0.4)
        hand = self.now.hand
        assert hand is not None
        away = self._away((hand.x, hand.y))

        def carry(state: State, hand: Hand, share: float) -> State:
            return replace(state, cards=(replace(card, x=hand.x, y=hand.y + 38, z=12 * share),))

        self.move_hand((away[0], away[1] - 70, 20.0), PINCH, 0.5, carry)
        self.now = replace(self.now, cards=(), hand=None)

    def card_places(self) -> list[tuple[float, float]]:
        """Six places for dice on the card that lies there."""
        card = self.now.cards[-1]
        c, s = np.cos(card.angle), np.sin(card.angle)
        local = [(x, y) for y in (28, 0, -28) for x in (-14, 14)]
        return [(card.x + c * x - s * y, card.y + s * x + c * y) for x, y in local]

    # -- mishaps --------------------------------------------------------------------------------------------------

    def bump(self, shift: tuple[float, float, float] = (2.5, -1.5, 0.5)) -> None:
        """Somebody knocks against the table: all shakes, and lies a little elsewhere."""
        self._shake(shift, 0.5, 4.0)

    def move_camera(self, shift: tuple[float, float, float]) -> None:
        """The camera is moved for good: mm in x and y, degrees."""
        self._shake(shift, 0.6, 0.0)

    def _shake(self, shift: tuple[float, float, float], seconds: float, swing: float) -> None:
        begin = self.now
        a = np.array(begin.camera)
        b = a + np.array(shift)

        def look(t: float) -> State:
            s = smooth(t / seconds)
            wave = swing * np.sin(t * 38) * (1 - t / seconds) if t < seconds else 0.0
            x, y, turn = a + (b - a) * s + np.array([wave, -0.6 * wave, 0.12 * wave])
            return replace(begin, camera=(float(x), float(y), float(turn)))

        self.play(seconds, look)

    def lights(self, seconds: float, level: float = 0.0) -> None:
        """The lamp is off (or dimmed) for a while."""
        begin = self.now
        fade = 0.12

        def look(t: float) -> State:
            dim = min(t / fade, 1.0, max((seconds - t) / fade, 0.0))
            return replace(begin, light=1 - (1 - level) * dim)

        self.play(seconds, look)
        self.now = replace(self.now, light=1.0)

    def pass_by(self, seconds: float = 1.2) -> None:
        """Somebody's shadow passes."""
        begin = self.now
        w = self.session.half[0]
        self.play(seconds, lambda t: replace(begin, shadow=-w - 120 + (2 * w + 240) * t / seconds))
        self.now = replace(begin, shadow=None)

    def stranger(self, seconds: float = 0.7) -> None:
        """A ninth die rolls through the picture, past the dice."""
        w, h = self.session.half
        ys = np.linspace(-h + 25, h - 25, 25)
        gaps = [
            min((abs(float(self.now.positions[i][1]) - y) for i in range(8) if self.now.shown[i]), default=99)
            for y in ys
        ]
        y = float(ys[int(np.argmax(gaps))])
        begin = self.now
        edge = self.session.edge
        shown = tuple(s or i == NINTH for i, s in enumerate(begin.shown))

        def look(t: float) -> State:
            x = -w - 30 + (2 * w + 60) * t / seconds
            a = x / (edge * 0.62)
            lift = edge / 2 * (abs(np.cos(a)) + abs(np.sin(a)))
            positions, rotations = begin.positions.copy(), begin.rotations.copy()
            positions[NINTH] = (x, y + 6 * np.sin(x / 40), lift)
            c, s = np.cos(a), np.sin(a)
            rotations[NINTH] = about_z(0.3) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]], np.float32)
            return replace(begin, positions=positions, rotations=rotations, shown=shown)

        self.play(seconds, look)
        self.now = begin

    def lean(self, die: int, degrees: float = 24.0) -> None:
        """Make a die that lies still lean, as if it stood against something (call right after a throw)."""
        from datasets.quick.throw import tilted

        segment = self.segments[-1]
        look, seconds = segment.look, segment.seconds
        angle = np.deg2rad(degrees)
        heading = float(self.rng.uniform(0, 2 * np.pi))
        lift = self.session.edge / 2 * float(np.cos(angle) + np.sin(angle)) - self.session.edge / 2

        def tipped(t: float) -> State:
            state = look(t)
            share = smooth((t - seconds + 0.2) / 0.15)
            if share <= 0:
                return state
            positions, rotations = state.positions.copy(), state.rotations.copy()
            rotations[die] = tilted(float(angle) * share, heading) @ rotations[die]
            positions[die][2] += lift * share
            return replace(state, positions=positions, rotations=rotations)

        segment.look = tipped
        self.now = tipped(seconds)

    def clear(self) -> None:
        """Gather all dice and take them away."""
        self.pick_up([i for i in range(8) if self.now.shown[i]], each=0.14)

    def faces(self) -> list[str]:
        """What lies up on the eight dice."""
        from .physics import upward

        return [self.session.skins[i].faces[upward(self.now.rotations[i])] for i in range(8)]

    def flat(self) -> bool:
        """Whether all that is shown lies flat."""
        return all(leans(self.now.rotations[i]) < 4 for i in range(8) if self.now.shown[i])
