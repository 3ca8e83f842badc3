"""Pictures that are compared with kept ones: small, in shades of grey, and slightly blurred.

So a kept picture takes some kilobytes, and is the same picture with another version of the browser,
whose text differs in its edges. A line that moved, a text that is missing and a colour that became
fainter are differences.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageChops, ImageFilter

SHRUNK = 2
_SHADES = 16
_BLURRED_BY = 2
_DIFFERENT = 24
"""Of 256 shades, between two pixels of blurred pictures."""

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
            now.quantize(_SHADES, dither=Image.Dither.NONE).save(path, optimize=True)
            return None
        if not path.exists():
            return f"{name}: there is no kept picture"
        with Image.open(path) as opened:
            why = _difference(opened.convert("L"), now, self.differing / f"{name}-difference.png")
        if why is None:
            return None
        self.differing.mkdir(parents=True, exist_ok=True)
        (self.differing / f"{name}.png").write_bytes(screenshot)
        return f"{name}: {why}; see {self.differing / name}.png"


def reduced(screenshot: bytes) -> Image.Image:
    """The screenshot at half the size, in shades of grey."""
    with Image.open(io.BytesIO(screenshot)) as full:
        return full.convert("L").reduce(SHRUNK)


def _difference(kept: Image.Image, now: Image.Image, shown: Path) -> str | None:
    width, height = kept.size
    if now.width != width or abs(now.height - height) > TALLER * height:
        return f"it has {now.width} × {now.height} pixels, and the kept one {width} × {height}"
    size = (0, 0, width, min(height, now.height))
    blurred = (each.crop(size).filter(ImageFilter.BoxBlur(_BLURRED_BY)) for each in (kept, now))
    apart = ImageChops.difference(*blurred).point(lambda shade: 255 * (shade > _DIFFERENT))
    share = apart.histogram()[255] / (apart.width * apart.height)
    if share <= MOST_DIFFERENT:
        return None
    shown.parent.mkdir(parents=True, exist_ok=True)
    Image.merge("RGB", (apart, *[now.crop(size)] * 2)).save(shown)
    return f"{share:.1%} of its pixels differ"
