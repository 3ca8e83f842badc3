"""What counts as a difference between two pictures."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from kept_pictures import KeptPictures

Colour = tuple[int, int, int]
BLACK, GREY, BLUE = (0, 0, 0), (90, 90, 90), (0, 114, 178)
PURPLE_AS_LIGHT = (140, 80, 178)


def painted(spot: tuple[int, int, int, int], colour: Colour = BLACK) -> bytes:
    picture = Image.new("RGB", (400, 400), (255, 255, 255))
    picture.paste(colour, spot)
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


def test_what_moved_or_became_faint_is_a_difference_and_an_edge_is_none(tmp_path: Path) -> None:
    kept = KeptPictures(tmp_path / "kept", tmp_path / "differing")
    KeptPictures(kept.kept, kept.differing, renew=True).difference(
        "one", painted((50, 50, 150, 90))
    )
    assert kept.difference("one", painted((50, 50, 150, 90))) is None
    assert kept.difference("one", painted((50, 50, 151, 90))) is None
    assert not kept.differing.exists()
    for other in (
        painted((50, 70, 150, 110)),
        painted((0, 0, 0, 0)),
        painted((50, 50, 150, 90), GREY),
    ):
        why = kept.difference("one", other)
        assert why is not None
        assert "of its pixels differ" in why
    assert {one.name for one in kept.differing.iterdir()} == {"one.png", "one-difference.png"}
    assert "no kept picture" in str(kept.difference("two", painted((0, 0, 1, 1))))


def test_another_hue_of_the_same_lightness_is_a_difference(tmp_path: Path) -> None:
    kept = KeptPictures(tmp_path / "kept", tmp_path / "differing")
    spot = (50, 50, 150, 90)
    KeptPictures(kept.kept, kept.differing, renew=True).difference("one", painted(spot, BLUE))
    assert kept.difference("one", painted(spot, BLUE)) is None
    lightness = [round(r * 0.299 + g * 0.587 + b * 0.114) for r, g, b in (BLUE, PURPLE_AS_LIGHT)]
    assert abs(lightness[0] - lightness[1]) < 24, "in greys they would be the same"
    assert "of its pixels differ" in str(kept.difference("one", painted(spot, PURPLE_AS_LIGHT)))
