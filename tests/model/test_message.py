"""Messages: English text that remembers its template and values, for other languages."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import TypeAdapter

from loadstone.model.figure import (
    Bytes,
    Change,
    Count,
    Figure,
    General,
    Number,
    Percent,
    Rate,
    Seconds,
    Short,
)
from loadstone.model.finding import Evidence, Finding, Setting, Trial
from loadstone.model.language import ENGLISH, Language, in_language, named, of_environment
from loadstone.model.message import (
    Joined,
    Message,
    counted,
    listed,
    plain,
    say,
    say_in,
    sentences,
    user_count,
)
from loadstone.model.with_messages import WithMessages

CHINESE = in_language("zh")

WAIT = say(
    "The largest wait is {wait}.",
    wait=say("outside the server, {share} of the users' time", share=Percent(0.41)),
)

MESSAGES = (
    say("row locks"),
    plain("row_lock_waits {of} it"),
    say_in("unit", "connections"),
    WAIT,
    user_count(1),
    user_count(4096),
    say("{number} {reason}", number=Count(3), reason=say("steal")),
    say('the state "{state}", {share} of the users\' time', state="init", share=Percent(None)),
    say("{nic} ({mbit} Mbit/s)", nic="eth1", mbit=Joined([Count(1000), "or", say("more")])),
    sentences(WAIT, say("That is no remedy; the cause stands."), WAIT),
)


class Said(WithMessages):
    """A type with messages of each shape."""

    one: Message
    many: tuple[Message, ...] = ()
    maybe: Message | None = None
    other: str = "plain"


def same(one: Message, other: Message) -> bool:
    """In all that it is made from, not just in its English."""
    return one == other and one.as_json() == other.as_json()


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Number(1234.5), "1,234"),
        (Number(0.0891), "0.0891"),
        (Number(56.0), "56"),
        (Rate(56.0), "56.0"),
        (Count(1234567), "1,234,567"),
        (Percent(0.4149), "41 %"),
        (Percent(0.0081), "0.81 %"),
        (Change(0.314), "+31.4 %"),
        (Bytes(48 << 20), "48 MiB"),
        (Seconds(200), "3 min 20 s"),
        (Short(1234567), "1.23e+06"),
        (General(97.5), "97.5"),
        (Number(None), "-"),
    ],
)
def test_a_figure_is_written_by_its_kind(figure: Figure, text: str) -> None:
    assert str(figure) == text
    assert say("it is {value}.", value=figure) == f"it is {text}."


def test_a_message_is_its_english_text() -> None:
    assert WAIT == "The largest wait is outside the server, 41 % of the users' time."
    assert isinstance(WAIT, str)
    assert {str(WAIT): 1}[WAIT] == 1


def test_a_text_without_values_may_have_braces() -> None:
    assert plain("a {b} c{") == "a {b} c{"
    assert say('{"ok": true}') == '{"ok": true}'


def test_a_value_without_a_placeholder_s_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("{share} of it", part=1)


def test_one_and_many_are_told_apart() -> None:
    assert [user_count(number) for number in (0, 1, 4096)] == ["0 users", "1 user", "4,096 users"]
    assert counted("1 of {all}", "{number} of {all}", 2, all=7) == "2 of 7"
    assert [CHINESE(user_count(number)) for number in (1, 64)] == ["1 并发", "64 并发"]


def test_plain_keeps_a_message() -> None:
    assert plain(WAIT) is WAIT


def test_parts_are_joined_as_a_list_as_clauses_or_as_sentences() -> None:
    parts = [say("row locks"), "eth1", Percent(0.5)]
    joins = [str(Joined(parts, by)) for by in ("list", "clauses", "sentences")]
    assert joins == ["row locks, eth1, 50 %", "row locks; eth1; 50 %", "row locks eth1 50 %"]
    chinese = [CHINESE.value(Joined(parts, by)) for by in ("list", "clauses", "sentences")]
    assert chinese == ["行锁、eth1、50%", "行锁；eth1；50%", "行锁eth150%"]
    assert str(Joined([])) == ""


def test_sentences_and_lists_are_messages_of_their_own() -> None:
    one, other = say("That is no remedy; the cause stands."), say("row locks")
    assert sentences(one) is one
    assert sentences(one, WAIT) == f"{one} {WAIT}"
    assert listed(other, other, other) == "row locks, row locks, row locks"
    assert CHINESE(listed(other, other, other)) == "行锁、行锁、行锁"


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_survives_json_and_copies(message: Message) -> None:
    assert same(Message.from_json(message.as_json()), message)
    assert same(copy.deepcopy(message), message)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"id": 1},
        {"id": "{a}", "values": {"b": 1}},
        {"id": "{a}", "values": {"a": {"furlongs": 1}}},
        {"id": "{a}", "values": {"a": {"number": 1, "count": 2}}},
        {"id": "{a}", "values": 3},
    ],
)
def test_what_is_no_message_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError):
        Message.from_json(broken)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_type_with_messages_keeps_them_in_json(message: Message) -> None:
    said = Said(one=message, many=(say("row locks"), message), maybe=message)
    read = Said.model_validate_json(said.model_dump_json())
    assert same(read.one, message)
    assert [same(*pair) for pair in zip(read.many, said.many, strict=True)] == [True, True]
    assert read.maybe is not None
    assert same(read.maybe, message)
    assert CHINESE(read.one) == CHINESE(message)
    assert (read.other, read) == ("plain", said)


def test_in_json_a_message_is_a_string_and_its_template_stands_apart() -> None:
    shown = Said(one=WAIT, many=(plain("a"), plain("b"))).model_dump(mode="json")
    assert shown == {
        "one": "The largest wait is outside the server, 41 % of the users' time.",
        "many": ["a", "b"],
        "maybe": None,
        "other": "plain",
        "messages": {
            "one": {
                "id": "The largest wait is {wait}.",
                "values": {
                    "wait": {
                        "id": "outside the server, {share} of the users' time",
                        "values": {"share": {"percent": 0.41}},
                    }
                },
            }
        },
    }


def test_plain_strings_of_an_older_version_are_read_as_they_stand() -> None:
    read = Said.model_validate_json('{"one": "row locks", "many": ["The {x} is full"]}')
    assert (read.one, read.many) == ("row locks", ("The {x} is full",))
    assert CHINESE(read.one) == "行锁"
    assert CHINESE(read.many[0]) == "The {x} is full"


@pytest.mark.parametrize(
    "later",
    [
        {"one": {"id": "{a} b", "values": {"a": {"furlongs": 3}}}},
        {"one": {"id": "{a} b", "values": {"c": 1}}},
        {"one": {"template": "{a} b"}},
        {"one": "a string"},
        {"none": {"id": "b"}},
    ],
)
def test_what_a_later_version_made_it_from_leaves_the_text(later: Any) -> None:
    read = Said.model_validate({"one": "3 furlongs b", "messages": later})
    assert same(read.one, plain("3 furlongs b"))


def test_the_schema_has_texts_and_what_they_are_made_from() -> None:
    schema = TypeAdapter(Said).json_schema(mode="serialization")
    assert schema["properties"]["one"]["type"] == "string"
    assert schema["properties"]["messages"]["type"] == "object"


def test_a_finding_read_again_can_be_said_in_another_language() -> None:
    setting = Setting(name="tls", before="TLSv1.3", value="disabled")
    evidence = Evidence(
        counter=say("CPU busy"),
        value=0.9,
        unit=say("of the cores"),
        threshold=None,
        users=64,
        from_s=None,
        to_s=None,
    )
    finding = Finding(
        cause="tls",
        group="setting",
        sentence=WAIT,
        evidence=(evidence,),
        share=None,
        confidence=0.6,
        remedy=say("row locks"),
        trial=Trial(kind="client", settings=(setting,), subject=say("TLS")),
    )
    read = Finding.model_validate_json(finding.model_dump_json())
    assert CHINESE(read.sentence) == "最大的等待：在服务器之外，占用户时间的 41%。"
    assert CHINESE(read.evidence[0].unit) == "（占全部核）"
    assert read.trial is not None
    assert read.trial.change == "tls=disabled in place of TLSv1.3"
    assert CHINESE(read.trial.change) == "tls=disabled（原为 TLSv1.3）"


def test_a_language_says_messages_and_leaves_other_texts() -> None:
    assert ENGLISH(WAIT) == str(WAIT)
    assert CHINESE(WAIT) == "最大的等待：在服务器之外，占用户时间的 41%。"
    assert CHINESE("row locks") == "row locks"
    assert CHINESE.lookup("row locks") == "行锁"
    said = plain("Access denied for user '{a}'@'b'")
    assert CHINESE(said) == said


def test_the_context_tells_equal_texts_apart() -> None:
    assert [CHINESE(one) for one in (say("connections"), say_in("unit", "connections"))] == [
        "连接",
        "个连接",
    ]


def test_what_has_no_translation_is_said_in_english() -> None:
    whole = say("Nobody translated {what} and {share}", what=say("row locks"), share=Percent(0.5))
    assert CHINESE(whole) == "Nobody translated row locks and 50 %"
    assert not CHINESE.knows(whole)
    assert CHINESE.knows(WAIT)
    assert ENGLISH.knows(whole)


@pytest.mark.parametrize(
    ("wanted", "tag"),
    [("zh", "zh-CN"), ("zh_CN.UTF-8", "zh-CN"), ("zh-TW", "zh-CN"), ("ZH", "zh-CN")]
    + [(one, "en") for one in ("en", "de_DE.UTF-8", "C", "POSIX", "zhx", "")],
)
def test_a_language_is_found_by_its_name(wanted: str, tag: str) -> None:
    assert named(wanted).tag == tag


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ENGLISH),
        ({"LC_ALL": "C", "LOADSTONE_LANG": "zh"}, CHINESE),
        ({"LC_MESSAGES": "zh_CN", "LANG": "C", "LC_ALL": ""}, CHINESE),
    ],
)
def test_the_environment_says_which_language(
    environment: dict[str, str], language: Language
) -> None:
    assert of_environment(environment) == language
