"""Pictures that are compared with kept ones: small, of few colours, and slightly blurred.

So a kept picture takes some kilobytes, and is the same picture with another version of the browser,
whose text differs in its edges. A line that moved, a text that is missing, and a colour that became
fainter or another one are differences.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from PIL import Image, ImageChops, ImageFilter

SHRUNK = 2
_COLOURS = 32
_BLURRED_BY = 2
_DIFFERENT = (24, 12, 12)
"""Of 256, between two pixels of blurred pictures: in lightness, and in the two parts of hue (Y, Cb,
Cr). Edges of text differ in lightness alone, so hue can be compared more strictly: another accent
is seen in all views, and the few colours alone make no picture differ."""

MOST_DIFFERENT = 0.004
"""The share of pixels that may be different."""

TALLER = 0.01
"""The share by which the height may differ."""


@dataclass(frozen=True)
class KeptPictures:
    """A folder of kept pictures, and one for what differs from them."""

    kept: Path
    differing: Path
    renew: bool = False
    """Whether to keep what is there now, and compare nothing."""

    def difference(self, name: str, screenshot: bytes) -> str | None:
        """What is different from the kept picture of that name; `None` if it is the same.

        The new picture and, where both have the same size, a picture of the difference are written.
        """
        now, path = reduced(screenshot), self.kept / f"{name}.png"
        if self.renew:
            self.kept.mkdir(parents=True, exist_ok=True)
            _few_colours(now).save(path, optimize=True)
            return None
        if not path.exists():
            return f"{name}: there is no kept picture"
        with Image.open(path) as opened:
            why = _difference(opened.convert("RGB"), now, self.differing / f"{name}-difference.png")
        if why is None:
            return None
        self.differing.mkdir(parents=True, exist_ok=True)
        (self.differing / f"{name}.png").write_bytes(screenshot)
        return f"{name}: {why}; see {self.differing / name}.png"


def reduced(screenshot: bytes) -> Image.Image:
    """The screenshot at half the size."""
    with Image.open(io.BytesIO(screenshot)) as full:
        return full.convert("RGB").reduce(SHRUNK)


def _few_colours(picture: Image.Image) -> Image.Image:
    # By how far colours reach, not by how often they occur: thin lines have most of the hues.
    return picture.quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def _difference(kept: Image.Image, now: Image.Image, shown: Path) -> str | None:
    width, height = kept.size
    if now.width != width or abs(now.height - height) > TALLER * height:
        return f"it has {now.width} × {now.height} pixels, and the kept one {width} × {height}"
    size = (0, 0, width, min(height, now.height))
    blurred = (each.crop(size).filter(ImageFilter.BoxBlur(_BLURRED_BY)) for each in (kept, now))
    parts = ImageChops.difference(*(each.convert("YCbCr") for each in blurred)).split()
    far = (
        part.point([255 * (shade > most) for shade in range(256)])
        for part, most in zip(parts, _DIFFERENT, strict=True)
    )
    apart = reduce(ImageChops.lighter, far)
    share = apart.histogram()[255] / (apart.width * apart.height)
    if share <= MOST_DIFFERENT:
        return None
    shown.parent.mkdir(parents=True, exist_ok=True)
    Image.merge("RGB", (apart, *[now.crop(size).convert("L")] * 2)).save(shown)
    return f"{share:.1%} of its pixels differ"
