"""Labelled, photo-like scenes: path-traced layers of dice (`trace`), composited over tables (`compose`).

Only `trace` needs the path tracer (the `datasets` extra); everything else is numpy and OpenCV.
"""
