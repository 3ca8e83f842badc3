"""What counts as a difference between two pictures."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from kept_pictures import KeptPictures


def painted(spot: tuple[int, int, int, int], shade: int = 0) -> bytes:
    picture = Image.new("L", (400, 400), 255)
    picture.paste(shade, spot)
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
        painted((50, 50, 150, 90), 90),
    ):
        why = kept.difference("one", other)
        assert why is not None
        assert "of its pixels differ" in why
    assert {one.name for one in kept.differing.iterdir()} == {"one.png", "one-difference.png"}
    assert "no kept picture" in str(kept.difference("two", painted((0, 0, 1, 1))))
