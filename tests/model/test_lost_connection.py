"""The reason of a lost connection in texts."""

from __future__ import annotations

from loadstone.model.language import in_language
from loadstone.model.lost_connection import reason_said


def test_the_engines_own_text_is_translated_and_the_servers_stays() -> None:
    chinese = in_language("zh")
    own = reason_said("2013 the server closed the connection")
    assert own == "2013 the server closed the connection"
    assert chinese(own) == "2013 服务器关闭了连接"
    assert chinese(reason_said("1927 Connection was killed")) == "1927 Connection was killed"
