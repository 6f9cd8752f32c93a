"""The quick renderer: exact geometry, local shading, tens of milliseconds a frame, for clips and volume.

The path tracer (`datasets.render`) makes stills that look right to the last bounce of light; a clip has hundreds of
frames and needs this. Numpy and OpenCV only.
"""
