"""Clips of whole raids: dice thrown by rigid-body physics, hands, cards, cameras, and what is expected of them.

`physics` throws, `stage` directs (what lies where at each moment), `film` renders, `script` turns a raid into
directions and into the expected result. Needs the `datasets` extra (MuJoCo, resvg-py, PyAV).
"""
