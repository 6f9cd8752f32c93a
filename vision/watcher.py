"""The eyes at work: frames in, events out.

    watcher = Watcher(Reader.load())
    for frame in frames:
        for event in watcher.feed(frame):
            ...

Every frame passes the motion gate. While something moves, a look is taken only now and then (to follow slides and see
hands); when the scene is quiet, looks are taken until they agree; once settled, nothing runs but the gate. What settled
is compared with what lay before (`RollTracker`), and the card is remembered while dice or hands cover it. One thread
only. No clock: all times come with the frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import cv2
import numpy as np

from scorer.faces import DICE, Face

from .events import Doubt, Event, EventKind, Roll, SceneFlag
from .motion import Grey, Motion, MotionGate, difference, small_grey
from .reading import CardReading, DieReading, Frame, Image, Problem, Reading, Status
from .settle import Settled, Settler, SettleSettings, SettleState, Stillness, die_size, pair_up
from .tracker import Change, RollTracker, TrackSettings, Transform


class Reads(Protocol):
    """What the watcher needs of a reader: `vision.reader.Reader`, or a stand-in."""

    def read(self, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
        """Everything that `image` ((h, w, 3) uint8 BGR) shows."""
        ...


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Pace, in seconds of frame time."""

    glimpse_every: float = 0.16
    """Between looks while something moves. 0 looks at every frame, `inf` at none."""
    look_every: float = 0.0
    """Between looks while the scene settles."""
    relook_every: float = 0.7
    """Between looks while a settled scene is doubtful: light and hands change, and a doubt may go away."""
    hand_every: float = 0.3
    """Between looks while a hand rests over the table."""
    check_every: float = 6.0
    """Between looks at a scene that is settled, so that a change too slow for the gate is found."""
    gap: float = 0.5
    """Longer without a frame, and what happened in between is unseen."""
    doubt_fewer: float = 4.0
    """For so long a scene with fewer than eight dice is looked at again as often as a doubtful one."""
    least_rest: float = 0.4
    """Dice that lie for so long lie: shorter, and the rest of the throw is still on its way."""
    fewer_patience: float = 2.5
    """Fewer than eight dice after a throw are doubtful after this long: one may lie under something or on the floor."""
    card_certain: float = 0.9
    """Certainty from which a card is taken without asking."""


class Watcher:
    """Watches one table. `reader` reads single frames; everything else is this package's business."""

    def __init__(
        self,
        reader: Reads,
        *,
        settings: WatchSettings | None = None,
        settle: SettleSettings | None = None,
        track: TrackSettings | None = None,
        gate: MotionGate | None = None,
    ) -> None:
        self._reader = reader
        self._settings = settings or WatchSettings()
        self._gate = gate or MotionGate()
        self._settler = Settler(settle or SettleSettings())
        self._tracker = RollTracker(track or TrackSettings())
        self._stillness = Stillness()
        self._wishes: deque[Callable[[], None]] = deque()
        self._state = SettleState.MOVING
        self._flags = SceneFlag.NONE
        self._settled: Reading | None = None
        self._rest_grey: Grey | None = None
        self._card: CardReading | None = None
        self._card_told = ""
        self._card_sure = ""
        self._card_missing = 0
        self._looked_at = float("-inf")
        self._last_t: float | None = None
        self._dark = False
        self._shaken = False
        self._said_moving = False
        self._said_hand = False
        self._fewer_since: float | None = None
        self._few_at: float | None = None
        self._committed = False  # whether the tracker has taken the settled reading, doubtful as it may be
        self._open_roll: Roll | None = None
        self._busy_settler = Settler(replace(settle or SettleSettings(), span=0.6, enough=4, patience=float("inf")))
        self._busy_stillness = Stillness()
        self.looks = 0
        """How often the reader ran, for whoever measures."""

    # -- what can be asked ----------------------------------------------------------------------------------------

    @property
    def state(self) -> SettleState:
        """What the scene is doing."""
        return self._state

    @property
    def flags(self) -> SceneFlag:
        """Why the scene cannot be taken as it is."""
        return self._flags | (SceneFlag.DARK if self._dark else SceneFlag.NONE)

    @property
    def settled(self) -> Reading | None:
        """The last settled reading, certain or not."""
        return self._settled

    @property
    def card(self) -> CardReading | None:
        """The card that lies there, also while it is covered."""
        return self._card

    def correct(self, die: int, face: Face) -> None:
        """A person says what die number `die` shows. Safe from any thread; takes effect with the next frame."""
        self._wishes.append(lambda: self._correct(die, face))

    def not_rolled(self) -> None:
        """A person says that the last roll was none. Safe from any thread."""
        self._wishes.append(self._tracker.not_rolled)

    def forget(self) -> None:
        """Begin anew: the next eight dice are a first roll. Safe from any thread."""
        self._wishes.append(self._forget)

    def look_again(self) -> None:
        """Read the scene again as soon as it is quiet, though nothing moved. Safe from any thread."""
        self._wishes.append(self._look_again)

    # -- one frame ------------------------------------------------------------------------------------------------

    def feed(self, frame: Frame) -> list[Event]:
        """What this frame adds. At most one look is taken, and most frames take none."""
        while self._wishes:
            self._wishes.popleft()()
        since = frame.t - self._last_t if self._last_t is not None else 0.0
        if since > self._settings.gap:
            self._tracker.blind()
        self._last_t = frame.t
        motion = self._gate.look(frame)
        if motion.dark != self._dark:
            return self._turn_light(frame, motion)
        if motion.dark:
            return []
        if motion.moving:
            return self._moving(frame, motion, since)
        return self._quiet(frame)

    def _turn_light(self, frame: Frame, motion: Motion) -> list[Event]:
        self._dark = motion.dark
        self._settler.restart()
        self._stillness.forget()
        self._state = SettleState.MOVING
        if motion.dark:
            self._tracker.blind()
            return [self._event(EventKind.DARK, frame, note="It is too dark to see the dice.", flags=SceneFlag.DARK)]
        return [self._event(EventKind.LIGHT, frame)]

    # -- moving ---------------------------------------------------------------------------------------------------

    def _moving(self, frame: Frame, motion: Motion, since: float) -> list[Event]:
        events: list[Event] = []
        if self._state is SettleState.SETTLING:
            events += self._conclude_in_haste(frame)
        events += self._leave_incomplete(frame)
        if self._state in (SettleState.SETTLED, SettleState.DOUBTFUL, SettleState.EMPTY, SettleState.HAND):
            self._said_hand = False
        if self._state is not SettleState.MOVING or not self._said_moving:
            events.append(self._event(EventKind.MOVING, frame))
            self._said_moving = True
        self._state = SettleState.MOVING
        self._shaken = self._shaken or motion.level > 0.3
        self._settler.restart()
        self._stillness.forget()
        self._fewer_since = None
        self._committed = False
        self._tracker.motion(0 if motion.level > 0.2 else motion.lone, since)  # a jolt of the picture is no flight
        if frame.t - self._looked_at >= self._settings.glimpse_every:
            events += self._glimpse(frame)
        return events

    def _leave_incomplete(self, frame: Frame) -> list[Event]:
        """Dice were thrown, fewer than eight were seen at rest, and the game goes on: that must not pass in silence."""
        since, self._fewer_since = self._fewer_since, None
        if since is None or self._settled is None or frame.t - since < self._settings.least_rest:
            return []
        return [self._event(EventKind.DOUBTFUL, frame, reading=self._settled, flags=SceneFlag.FEWER,
                            note=_why(self._settled))]

    def _conclude_in_haste(self, frame: Frame) -> list[Event]:
        """The next movement begins before the looks agreed: what they say by now must do, or a roll would be lost."""
        settled = self._settler.so_far()
        if settled is None or len(settled.reading.dice) != DICE or settled.reading.hands:
            return []
        doubtful = [die for die in settled.reading.dice if die.problems]
        if len(doubtful) > 2 or any(Problem.FOREIGN_DIE in die.problems for die in doubtful):
            return []  # too little to call it eight dice at rest
        return self._conclude(settled, frame)

    def _glimpse(self, frame: Frame) -> list[Event]:
        reading = self._read(frame)
        self._tracker.glimpse(reading)
        events = self._notice_hand(reading, frame)
        return events + self._settle_amid(reading, frame)

    def _settle_amid(self, reading: Reading, frame: Frame) -> list[Event]:
        """Something keeps moving (a hand beside the dice, a flickering lamp), yet all eight lie still: they count."""
        restless = self._busy_stillness.restless(frame.image, [die.box for die in reading.dice])
        if len(reading.dice) != DICE or (self._settled is not None and _same_scene(self._settled, reading)):
            self._busy_settler.restart()
            return []
        settled = self._busy_settler.look(reading, restless=restless)
        if settled is None or not settled.certain:
            return []
        self._busy_settler.restart()
        return self._conclude(settled, frame)

    def _notice_hand(self, reading: Reading, frame: Frame) -> list[Event]:
        self._gate.hands(reading.hands)
        if not reading.hands or self._said_hand:
            return []
        self._said_hand = True
        return [self._event(EventKind.HAND, frame, reading=reading, flags=SceneFlag.HAND)]

    # -- quiet ----------------------------------------------------------------------------------------------------

    def _quiet(self, frame: Frame) -> list[Event]:
        s = self._settings
        if self._settled and self._fewer_since is not None and frame.t - self._fewer_since > s.fewer_patience:
            self._fewer_since = None
            return [self._event(EventKind.DOUBTFUL, frame, reading=self._settled, flags=SceneFlag.FEWER,
                                note=_why(self._settled))]
        pace = {SettleState.SETTLED: s.check_every, SettleState.EMPTY: s.check_every,
                SettleState.DOUBTFUL: s.relook_every, SettleState.HAND: s.hand_every}.get(self._state, s.look_every)
        if self._few_at is not None and frame.t - self._few_at < s.doubt_fewer:
            pace = min(pace, s.relook_every)  # fewer than eight: a die may have been overlooked
        if frame.t - self._looked_at < pace:
            return []
        if self._state in (SettleState.SETTLED, SettleState.EMPTY):
            return self._check(frame)
        events: list[Event] = []
        reading = self._read(frame)
        if self._state is SettleState.MOVING:
            self._state = SettleState.SETTLING
            events.append(self._event(EventKind.SETTLING, frame))
        restless = self._stillness.restless(frame.image, [die.box for die in reading.dice])
        events += self._notice_hand(reading, frame)
        if self._hand_hides(reading):
            # A hand that rests here may hold or hide dice: nothing is concluded from what it leaves in view.
            self._state = SettleState.HAND
            self._settler.restart()
            return events
        if self._state is SettleState.HAND:
            self._state = SettleState.SETTLING
        settled = self._settler.look(reading, restless=restless)
        if settled is None:
            return events
        return events + self._conclude(settled, frame)

    def _hand_hides(self, reading: Reading) -> bool:
        """Whether a hand in view keeps this reading from counting: dice are missing, or one under it is not plain."""
        if not reading.hands:
            return False
        if len(reading.dice) < DICE:
            return True
        return any(
            set(die.problems) - {Problem.HAND} and any(_overlap(die.box, hand) > 0.2 for hand in reading.hands)
            for die in reading.dice
        )

    def _check(self, frame: Frame) -> list[Event]:
        """A look at a scene at rest. If it does not show what it did, the scene is read anew."""
        reading = self._read(frame)
        known = self._settled
        if known is None or not _same_scene(known, reading):
            self._look_again()
        return []

    def _look_again(self) -> None:
        self._settler.restart()
        self._stillness.forget()
        if self._state in (SettleState.SETTLED, SettleState.EMPTY, SettleState.DOUBTFUL):
            self._state = SettleState.SETTLING
        self._looked_at = float("-inf")

    def _forget(self) -> None:
        self._tracker.forget()
        self._settled = None
        self._open_roll = None
        self._look_again()

    def _correct(self, die: int, face: Face) -> None:
        self._tracker.correct(die, face)
        roll = self._tracker.roll
        if roll is not None and Doubt.FACE not in roll.doubts:
            self._open_roll = None
            if self._state is SettleState.DOUBTFUL and self._committed:
                self._state = SettleState.SETTLED

    def _read(self, frame: Frame) -> Reading:
        self._looked_at = frame.t
        self.looks += 1
        return self._reader.read(frame.image, t=frame.t, number=frame.number)

    # -- settled --------------------------------------------------------------------------------------------------

    def _conclude(self, settled: Settled, frame: Frame) -> list[Event]:
        """The looks agree: what lies there, and what has become of what lay there before?"""
        grey = small_grey(frame.image)
        events: list[Event] = []
        transform = self._shift(settled.reading, grey)
        if transform is not None:
            self._tracker.carry(transform)
            self._carry_card(transform)
        reading = self._tracker.recall(self._on_card(settled.reading))
        self._flags = settled.flags
        if reading.status is Status.CERTAIN:
            self._flags &= ~SceneFlag.UNSURE
        if transform is not None:
            self._flags |= SceneFlag.CAMERA_MOVED
            events.append(self._event(EventKind.CAMERA_MOVED, frame, reading=reading, flags=SceneFlag.CAMERA_MOVED,
                                      note="The camera or the tray was moved. The dice are the same."))
        events += self._watch_card(reading, settled, frame)
        if len(reading.dice) > DICE or SceneFlag.UNSTABLE in settled.flags or _hard_problems(reading):
            return events + self._doubtful(reading, settled, frame)
        if self._state is SettleState.DOUBTFUL and self._committed and self._same_places(reading):
            return events + self._clear_up(reading, frame)
        return events + self._take(reading, frame, grey)

    def _same_places(self, reading: Reading) -> bool:
        """Whether the dice of a doubtful reading still lie where they lay."""
        known = self._settled
        return known is not None and len(known.dice) == len(reading.dice) and len(
            pair_up([die.centre for die in known.dice], [die.centre for die in reading.dice], 0.3 * self._tracker.size)
        ) == len(known.dice)

    def _clear_up(self, reading: Reading, frame: Frame) -> list[Event]:
        """A doubtful scene was looked at again. Certain now: the roll is told. Else nothing is said twice."""
        if reading.status is not Status.CERTAIN:
            return []
        roll = self._tracker.refine(reading)
        reading = self._tracker.in_order(reading)
        self._state, self._settled, self._open_roll = SettleState.SETTLED, reading, None
        events = [self._event(EventKind.SETTLED, frame, reading=reading, flags=self._flags)]
        if roll is not None:
            events += self._tell(Change(EventKind.ROLL, roll), reading, frame)
        return events

    def _take(self, reading: Reading, frame: Frame, grey: Grey) -> list[Event]:
        """A reading good enough to compare: certain, or with dice whose face is unsure."""
        changes = self._tracker.settle(reading)
        reading = self._tracker.in_order(reading)
        known, self._settled = self._settled, reading
        self._rest_grey, self._shaken, self._committed, self._said_moving = grey, False, True, False
        self._gate.settled(die_size([die.box for die in reading.dice]) if reading.dice else None)
        self._fewer_since = frame.t if self._tracker.incomplete else None
        if not 0 < len(reading.dice) < DICE:
            self._few_at = None
        elif self._few_at is None or known is None or not _same_scene(known, reading):
            self._few_at = frame.t
        events = [self._name_state(reading, frame, changes, known)]
        for change in changes:
            events += self._tell(change, reading, frame)
        return events

    def _name_state(self, reading: Reading, frame: Frame, changes: tuple[Change, ...], known: Reading | None) -> Event:
        """Settled, empty, doubtful or unchanged: the first thing said about a rest."""
        kind, self._state = EventKind.SETTLED, SettleState.SETTLED
        if not reading.dice:
            kind, self._state = EventKind.EMPTY, SettleState.EMPTY
        elif reading.status is not Status.CERTAIN and len(reading.dice) == DICE:
            kind, self._state = EventKind.DOUBTFUL, SettleState.DOUBTFUL
        doubtful = kind is EventKind.DOUBTFUL
        if not changes and known is not None and _same_scene(known, reading) and known.status is reading.status:
            kind = EventKind.UNCHANGED
        roll = next((c.roll for c in changes if c.roll is not None and Doubt.FACE in c.roll.doubts), None)
        return self._event(kind, frame, reading=reading, roll=roll if doubtful else None, flags=self._flags,
                           note=_why(reading) if kind is EventKind.DOUBTFUL else "")

    def _tell(self, change: Change, reading: Reading, frame: Frame) -> list[Event]:
        before: list[Event] = []
        if change.roll is not None:
            if self._open_roll is not None and self._open_roll.serial != change.roll.serial:
                before = self._leave_open_roll(frame)
            if Doubt.FACE in change.roll.doubts:
                self._open_roll = change.roll
                if change.kind is EventKind.ROLL and self._state is SettleState.DOUBTFUL:
                    return before  # told as doubtful; told as a roll once it is certain, or when the next one is told
            else:
                self._open_roll = None
        flags = self._flags
        if change.roll is not None and Doubt.UNSEEN in change.roll.doubts and not change.roll.before:
            flags |= SceneFlag.STARTED_MID_RAID
        told = self._event(change.kind, frame, reading=reading, roll=change.roll, note=change.note, flags=flags,
                           dice=change.dice)
        return [*before, told]

    def _leave_open_roll(self, frame: Frame) -> list[Event]:
        """The dice of a doubtful roll are moving and nobody settled it: it is told as it is, with its doubt."""
        roll, self._open_roll = self._open_roll, None
        if roll is None:
            return []
        note = "This roll was never read for certain."
        return [self._event(EventKind.ROLL, frame, reading=self._settled, roll=roll, note=note)]

    def _doubtful(self, reading: Reading, settled: Settled, frame: Frame) -> list[Event]:
        """Nothing to compare: told once, and looked at again until it clears up."""
        known, told = self._settled, self._state is SettleState.DOUBTFUL
        self._state, self._committed, self._said_moving = SettleState.DOUBTFUL, False, False
        if told and known is not None and _same_scene(known, reading) and known.problems == reading.problems:
            return []
        self._settled = reading
        return [self._event(EventKind.DOUBTFUL, frame, reading=reading, flags=settled.flags, note=_why(reading))]

    # -- the card -------------------------------------------------------------------------------------------------

    def _on_card(self, reading: Reading) -> Reading:
        """Dice that lie where the remembered card lies are on it, also when they hide it."""
        if reading.card is not None or self._card is None or len(self._card.corners) != 4:
            return reading
        quad = np.array(self._card.corners, dtype=np.float32).reshape(-1, 1, 2)
        dice = tuple(replace(die, on_card=die.on_card or _inside(quad, die)) for die in reading.dice)
        return replace(reading, dice=dice)

    def _watch_card(self, reading: Reading, settled: Settled, frame: Frame) -> list[Event]:
        """A card that was not told yet, one that changed, one that is gone."""
        card = reading.card
        if card is None:
            return self._miss_card(reading, frame)
        self._card_missing = 0
        sure = card.certainty >= self._settings.card_certain and card.name not in ("unknown", "back")
        if sure and card.name == self._card_sure:
            self._card = card
            return []
        known = self._card
        if not sure and known is not None and self._card_sure and _still(known, self._card_sure, card):
            return []  # half covered where the known card lies: it is still that one
        told = card.name if sure else f"{card.name}?"
        self._card = card
        if told == self._card_told:
            return []
        self._card_told = told
        self._card_sure = card.name if sure else self._card_sure
        flags = SceneFlag.NONE if sure else SceneFlag.CARD_UNSURE
        note = "" if sure else "A card lies there that is not certain. Which one is it?"
        return [self._event(EventKind.CARD, frame, card=card, flags=flags, note=note)]

    def _miss_card(self, reading: Reading, frame: Frame) -> list[Event]:
        """No card in view. It is remembered, unless its place is plainly free in two settled readings."""
        if self._card is None or reading.hands or self._covered(reading):
            return []
        self._card_missing += 1
        if self._card_missing < 2 and reading.dice:
            return []
        card, self._card, self._card_told, self._card_sure, self._card_missing = self._card, None, "", "", 0
        return [self._event(EventKind.CARD_GONE, frame, card=card)]

    def _covered(self, reading: Reading) -> bool:
        if self._card is None or len(self._card.corners) != 4:
            return True
        quad = np.array(self._card.corners, dtype=np.float32).reshape(-1, 1, 2)
        return any(_inside(quad, die) for die in reading.dice)

    def _carry_card(self, transform: Transform) -> None:
        if self._card is None:
            return
        corners = np.array(self._card.corners) @ transform[:, :2].T + transform[:, 2]
        self._card = replace(self._card, corners=tuple((float(x), float(y)) for x, y in corners))

    # -- the camera -----------------------------------------------------------------------------------------------

    def _shift(self, reading: Reading, grey: Grey) -> Transform | None:
        """How the whole picture shifted since the last settled reading; None if it did not."""
        by_dice = self._tracker.constellation(reading)
        if by_dice is not None and (len(reading.dice) == DICE or self._explains(by_dice, grey)):
            return by_dice
        if not self._shaken or self._rest_grey is None or self._rest_grey.shape != grey.shape:
            return None
        by_picture = register(self._rest_grey, grey)
        if by_picture is None:
            return None
        return _scaled(by_picture, 1 / self._gate.scale)

    def _explains(self, transform: Transform, grey: Grey) -> bool:
        """Whether the background moved with the dice: warped by `transform`, the old picture resembles the new."""
        if self._rest_grey is None or self._rest_grey.shape != grey.shape:
            return False
        small = _scaled(transform, self._gate.scale)
        return _gain(self._rest_grey, grey, small) < 0.6

    def _event(self, kind: EventKind, frame: Frame, *, reading: Reading | None = None, roll: Roll | None = None,
               card: CardReading | None = None, note: str = "", flags: SceneFlag = SceneFlag.NONE,
               dice: tuple[int, ...] = ()) -> Event:
        numbered = reading is not None and self._tracker.in_order(reading) is not reading
        return Event(kind, frame.number, frame.t, reading, roll, card or self._card, note, flags, dice, numbered)


def register(before: Grey, now: Grey) -> Transform | None:
    """Turn and shift that carries `before` onto `now` (small grey pictures), or None if none explains the change."""
    warp = np.eye(2, 3, dtype=np.float32)
    everywhere = np.full(now.shape, 255, np.uint8)
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 60, 1e-4)
    try:
        _, found = cv2.findTransformECC(before, now, warp, cv2.MOTION_EUCLIDEAN, stop, everywhere, 5)
    except cv2.error:
        return None  # does not converge: not the same scene
    forward = np.asarray(found, dtype=np.float64)
    if np.hypot(*forward[:, 2]) < 0.7 and abs(forward[1, 0]) < 0.01:
        return None
    return forward if _gain(before, now, forward) < 0.6 else None


def _gain(before: Grey, now: Grey, transform: Transform) -> float:
    """Difference left after warping `before` by `transform`, over the difference without: small if it explains it."""
    h, w = now.shape
    warped = cv2.warpAffine(before, transform, (w, h), borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
    inner = (slice(h // 10, h - h // 10), slice(w // 10, w - w // 10))
    plain = np.abs(difference(now, before))[inner]
    left = np.abs(difference(now, warped))[inner]
    # Medians of the changed part: dice that moved by themselves must not decide.
    busy = plain > max(3.0, float(np.quantile(plain, 0.7)))
    if not busy.any():
        return 1.0
    return float(np.median(left[busy]) / max(1e-6, np.median(plain[busy])))


def _scaled(transform: Transform, factor: float) -> Transform:
    """The same movement in pixels of a picture `factor` times as large."""
    return np.hstack([transform[:, :2], transform[:, 2:] * factor])


def _overlap(inner: tuple[float, float, float, float], outer: tuple[float, float, float, float]) -> float:
    """Share of `inner` that `outer` covers."""
    w = min(inner[2], outer[2]) - max(inner[0], outer[0])
    h = min(inner[3], outer[3]) - max(inner[1], outer[1])
    area = (inner[2] - inner[0]) * (inner[3] - inner[1])
    return max(0.0, w) * max(0.0, h) / area if area > 0 else 0.0


def _inside(quad: np.ndarray, die: DieReading) -> bool:
    return cv2.pointPolygonTest(quad, die.centre, False) >= 0


def _near(a: tuple[tuple[float, float], ...], b: tuple[tuple[float, float], ...]) -> bool:
    """Whether two cards lie in about the same place: their middles are closer than half the card's shorter side."""
    if len(a) != 4 or len(b) != 4:
        return False
    first, second = np.array(a), np.array(b)
    side = min(float(np.hypot(*(first[i] - first[i - 1]))) for i in range(4))
    return float(np.hypot(*(first.mean(axis=0) - second.mean(axis=0)))) < 0.5 * side


def _still(known: CardReading, name: str, card: CardReading) -> bool:
    """Whether an uncertain look at a card may be the known one: same place, and its name among the likely ones."""
    likely = card.name == name or any(other == name and p >= 0.1 for other, p in card.alternatives)
    return likely and _near(known.corners, card.corners)


def _same_scene(known: Reading, now: Reading) -> bool:
    """The same faces in the same places."""
    if len(known.dice) != len(now.dice):
        return False
    reach = 0.35 * die_size([die.box for die in known.dice])
    pairs = pair_up([die.centre for die in known.dice], [die.centre for die in now.dice], reach)
    return len(pairs) == len(known.dice) and all(known.dice[i].face is now.dice[j].face for i, j in pairs.items())


_HARD = {Problem.TOO_DARK, Problem.TOO_MANY_DICE}
_MANY = 4
"""So many dice with problems at once are a bad picture, not bad dice: out of focus, glaring light, another game."""


def _hard_problems(reading: Reading) -> bool:
    """Whether nothing can be told from this: problems of the whole picture, or of most dice at once."""
    troubled = sum(bool(die.problems) for die in reading.dice)
    return bool(set(reading.problems) & _HARD) or troubled >= _MANY


_SENTENCES = {
    Problem.TOO_FEW_DICE: "Only {n} of the eight dice are in view.",
    Problem.TOO_MANY_DICE: "{n} dice are in view; eight belong to the game.",
    Problem.COCKED: "A die leans on something.",
    Problem.AT_BORDER: "A die lies at the border of the picture.",
    Problem.BLURRED: "The picture is out of focus.",
    Problem.TOO_DARK: "It is too dark.",
    Problem.GLARE: "A die shines too much.",
    Problem.READERS_DIFFER: "A face is not certain.",
    Problem.UNSURE_FACE: "A face is not certain.",
    Problem.FOREIGN_DIE: "A die of another game lies there.",
    Problem.TOO_SMALL: "The dice are too small in the picture.",
}


def _why(reading: Reading) -> str:
    """The problems as sentences."""
    sentences = dict.fromkeys(_SENTENCES[p].format(n=len(reading.dice)) for p in reading.problems if p in _SENTENCES)
    return " ".join(sentences) or "The dice do not look the same from one picture to the next."
