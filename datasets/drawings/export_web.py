"""Write the page's pictures from the drawings: `python -m datasets.drawings.export_web`.

The drawings under `datasets/drawings` are the one source; what lies under `device/web/static` is generated
and committed, so that a table serves it without the `datasets` room's extra. `--check` only compares.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from datasets.drawings import cards, faces
from scorer.faces import Face

STATIC = Path(__file__).parents[2] / "device" / "web" / "static"
ICON = Path(__file__).with_name("icon.svg")
ICON_SIZES = (180, 192, 512)
"""Edges in pixels of the icon's PNG copies: home screens of iOS (180) and Android (192, 512)."""

_DIE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
<title>{title}</title>
<defs><radialGradient id="{face}-body" cx=".4" cy=".32" r=".8"><stop offset="0" stop-color="#fff"/>\
<stop offset=".72" stop-color="#f4f3ef"/><stop offset="1" stop-color="#d3d4d3"/></radialGradient>\
<path id="{face}-ink" fill-rule="evenodd" d="{path}"/></defs>
<path fill="url(#{face}-body)" stroke="#a9aeb2" stroke-width=".8" \
d="M22 1.2C40 .4 60 .4 78 1.2 91 1.8 98.2 9 98.8 22 99.6 40 99.6 60 98.8 78 98.2 91 91 98.2 78 98.8\
 60 99.6 40 99.6 22 98.8 9 98.2 1.8 91 1.2 78 .4 60 .4 40 1.2 22 1.8 9 9 1.8 22 1.2Z"/>
<circle cx="50" cy="50" r="43" fill="#fff" opacity=".55"/>
<use href="#{face}-ink" x=".7" y=".9" fill="#fff"/>
<use href="#{face}-ink" x="-.25" y="-.3" fill="#000" opacity=".3"/>
<use href="#{face}-ink" fill="{ink}"/>
</svg>
"""


def web_face(face: Face) -> str:
    """The SVG text of a whole white die that shows `face`."""
    source = (faces.FOLDER / f"{face.value}.svg").read_text(encoding="utf-8")
    title = re.search(r"<title>(.*?)</title>", source, re.DOTALL)
    path = re.search(r'\sd="(.*?)"', source, re.DOTALL)
    if title is None or path is None:
        raise ValueError(f"Expected a title and a path in the drawing of {face.value}, found no such thing.")
    ink = "#{:02x}{:02x}{:02x}".format(*faces.INKS[face][0])
    data = path.group(1).replace("\n", "")
    return _DIE.format(title=title.group(1), face=face.value, path=data, ink=ink)


def web_files() -> dict[str, str]:
    """Every SVG that the page serves, by its path under `device/web/static`."""
    files = {f"faces/{face.value}.svg": web_face(face) for face in Face}
    files |= {f"cards/{name}.svg": cards.card_svg(name).read_text(encoding="utf-8") for name in cards.NAMES}
    files["icon.svg"] = ICON.read_text(encoding="utf-8")
    return files


def stale(static: Path = STATIC) -> list[str]:
    """Paths under `static` that are missing or differ from what the drawings give."""
    return [
        name
        for name, text in web_files().items()
        if not (static / name).is_file() or (static / name).read_text(encoding="utf-8") != text
    ]


def write(static: Path = STATIC) -> list[str]:
    """Bring `static` up to date, with the icon's PNG copies where it changed; returns what was written."""
    changed = stale(static)
    files = web_files()
    for name in changed:
        target = static / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(files[name], encoding="utf-8")
    for size in ICON_SIZES:
        target = static / f"icon-{size}.png"
        if "icon.svg" in changed or not target.is_file():
            target.write_bytes(cards.paint_png(files["icon.svg"], size))
            changed.append(target.name)
    return changed


def main(arguments: list[str] | None = None) -> int:
    """Write or check; exit code 1 where a check finds something out of date."""
    parser = argparse.ArgumentParser(description="Write the page's pictures from the drawings.")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is out of date")
    options = parser.parse_args(arguments)
    names = stale() if options.check else write()
    for name in names:
        print(name)
    if options.check and names:
        print("Expected pictures that match the drawings: run python -m datasets.drawings.export_web", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
