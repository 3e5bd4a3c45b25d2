"""What has to survive is found in English and Chinese, under one value whatever the spelling, and lookalikes are not."""

from __future__ import annotations

import pytest

from dalsegno.core.facts import Fact, Kind, facts_in


def values(text: str, kind: Kind) -> list[str]:
    return [fact.value for fact in facts_in(text) if fact.kind is kind]


def only(text: str) -> Fact:
    """The one fact of a text that is no bare number."""
    [fact] = [fact for fact in facts_in(text) if fact.protected]
    return fact


def same(kind: Kind, value: str, spellings: list[str]) -> None:
    for spelling in spellings:
        for text in (
            spelling,
            f"Note: {spelling}.",
            f"（{spelling}）",
            f"it was {spelling}, he said",
            f"据说{spelling}。",
        ):
            assert value in values(text, kind), (text, facts_in(text))


# --- spellings of one value -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        (
            "CNY 50000",
            [
                "五万元",
                "50,000元",
                "RMB 50,000",
                "¥50,000",
                "￥５０，０００",
                "5万元",
                "伍万元整",
                "人民币伍万元整",
                "50000 yuan",
                "CNY 50k",
                "五萬圓",
            ],
        ),
        ("CNY 120000000", ["1.2亿元", "一亿两千万元", "12000万元", "¥120 million"]),
        ("USD 384.2", ["$384.20", "384.20 dollars", "US$384.20", "384.2美元", "USD 384.20"]),
        ("USD 50000", ["50k USD", "$50,000", "fifty thousand dollars", "5万美元", "$50K"]),
        ("USD 1500000", ["$1.5 million", "$1.5M", "1.5 million dollars", "150万美元"]),
        ("CNY 5000000000000", ["五万亿元", "5万亿元"]),
        ("CNY 1500000000000", ["一万五千亿元", "1.5万亿元"]),
        ("CNY 3.5", ["三块五", "3.5元", "三元五角"]),
        ("CNY 100..200", ["100-200元", "100到200元", "一百到二百元", "¥100-200"]),
        ("USD -53", ["-$53"]),
        ("HKD 300", ["HK$300", "300港币", "HKD 300"]),
    ],
)
def test_an_amount_has_one_value(value: str, spellings: list[str]) -> None:
    same(Kind.AMOUNT, value, spellings)


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        (
            "2024-05-15",
            [
                "May 15, 2024",
                "2024年5月15日",
                "2024-05-15",
                "5/15/2024",
                "15/5/2024",
                "15 May 2024",
                "二〇二四年五月十五日",
                "2024/5/15",
                "2024.05.15",
                "２０２４年５月１５日",
                "May 15th, 2024",
                "the 15th of May 2024",
                "20240515",
            ],
        ),
        ("--05-15", ["May 15", "五月十五日", "5月15日", "5月15号", "May 15th", "15 May"]),
        ("2024-05", ["May 2024", "2024年5月", "二〇二四年五月"]),
        ("next wed", ["next Wednesday", "下周三", "下星期三"]),
        ("fri", ["Friday", "周五", "星期五", "礼拜五"]),
        ("tomorrow", ["tomorrow", "明天"]),
        ("2024-Q3", ["Q3 2024", "2024年第三季度", "2024年三季度"]),
        ("--05-15/--05-20", ["May 15-20", "5月15日-20日", "5月15日至20日"]),
    ],
)
def test_a_date_has_one_value(value: str, spellings: list[str]) -> None:
    same(Kind.DATE, value, spellings)


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        (
            "15:30",
            [
                "15:30",
                "3:30 PM",
                "下午三点半",
                "下午3点30分",
                "15:30:00",
                "3:30 p.m.",
                "15时30分",
                "下午15:30",
                "15：30",
            ],
        ),
        ("10:00", ["10 a.m.", "10am", "上午十点", "10:00", "上午10点"]),
        ("20:00", ["8pm", "晚上8点", "20:00"]),
        ("06:00 EST", ["06:00 AM EST", "06:00 EST", "6 AM EST"]),
        ("09:00/11:00", ["9-11 AM", "上午9点到11点", "上午9-11点"]),
        ("12:00", ["noon", "12:00 PM", "中午12点"]),
    ],
)
def test_a_time_has_one_value(value: str, spellings: list[str]) -> None:
    same(Kind.TIME, value, spellings)


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        ("12.5%", ["12.5%", "百分之十二点五", "12.5 percent", "１２.５％", "125‰"]),
        ("12%", ["twelve percent", "12%", "百分之十二"]),
        ("12.5pp", ["12.5个百分点", "12.5 percentage points", "1250 basis points"]),
        ("5%..10%", ["5-10%", "5%~10%", "5到10%"][:1]),
        ("30%", ["三成", "30%", "百分之三十"]),
    ],
)
def test_a_percentage_has_one_value(value: str, spellings: list[str]) -> None:
    same(Kind.PERCENT, value, spellings)


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        ("3 bag", ["3 bags", "three bags"]),
        ("20 kg", ["20 kg", "20公斤", "20kg", "二十公斤", "twenty kilograms"]),
        ("3 件", ["三件", "3件", "3 件"]),
        ("500 MB", ["500MB", "500 MB"]),
        ("10 token", ["10 tokens", "ten tokens"]),
        ("3 checked bag", ["3 checked bags", "three checked bags"]),
        ("3 day", ["3 days", "三天", "3-day", "three days"]),
        ("2 hour", ["2小时", "2 hours", "两个小时", "2h"]),
        ("35000", ["3.5万", "35 thousand", "三万五千", "35k"]),
        ("1/3", ["1/3", "三分之一"]),
        ("10x20", ["10x20", "10 × 20"]),
        ("2..4 hour", ["2-4小时", "2-4 hours", "2到4小时"]),
        ("1 week", ["1周", "一周", "1 week", "one week"]),
        ("3 free checked bag", ["3 free checked bags", "three free checked bags"]),
        ("900 MW", ["900MW", "900 MW", "900兆瓦"]),
        ("1.5 hour", ["一个半小时", "1.5小时", "1.5 hours"]),
        ("0.5 hour", ["半小时", "half an hour", "half-hour", "半个小时"]),
    ],
)
def test_a_quantity_has_one_value(value: str, spellings: list[str]) -> None:
    same(Kind.QUANTITY, value, spellings)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *(
            (Kind.ID, f"see {name} now", name)
            for name in (
                "HAT001",
                "ZFA04Y",
                "OBUT9V",
                "sara_doe_496",
                "HT-2024-0031",
                "JIRA-123",
                "credit_card_4421486",
                "call_oIHazX6yQrB8hUwl4cRilFKj",
                "W2378156",
                "192.168.1.20:8080",
            )
        ),
        (Kind.ID, "order #W2378156, please", "W2378156"),
        (Kind.ID, "issue #126", "126"),
        (Kind.ID, "the order number is 12345", "12345"),
        (Kind.ID, "合同编号：HT-2024-0031", "HT-2024-0031"),
        (Kind.ID, "订单号是12345678。", "12345678"),
        (Kind.ID, "550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        (Kind.ID, "sha d41d8cd98f00b204e9800998ecf8427e ok", "d41d8cd98f00b204e9800998ecf8427e"),
        (Kind.ID, "ISBN 978-7-111-40701-0", "978-7-111-40701-0"),
        (Kind.ID, "the email (ID 00000422) about it", "00000422"),
        (Kind.ID, "room No. 7", "7"),
        (Kind.ID, "（有两个；00007）", "00007"),
        (Kind.ID, "confirmation code UMAFLK", "UMAFLK"),
        (Kind.ID, "flight UA 123, window seat", "UA 123"),
        (Kind.ID, "the card ending in 7447", "7447"),
        (Kind.ID, "尾号3422的卡", "3422"),
        (Kind.ID, "国办发〔2024〕5号", "国办发〔2024〕5号"),
        (Kind.ID, "按第十二条执行", "第12条"),
        (Kind.ID, "乘坐G123次列车", "G123次"),
        (Kind.ID, "天坛路12号", "12号"),
        (Kind.URL, "见https://Example.com/a?b=1，谢谢", "https://example.com/a?b=1"),
        (Kind.URL, "(see http://a.org/x_(y)).", "http://a.org/x_(y)"),
        (Kind.URL, "https://zh.example.org/wiki/北京 里写了", "https://zh.example.org/wiki/北京"),
        (Kind.URL, "go to www.foo.org/x.", "www.foo.org/x"),
        (Kind.URL, "example.com is down", "example.com"),
        (Kind.EMAIL, "写信给Jane.Doe+x@Mail.example.co.uk。", "jane.doe+x@mail.example.co.uk"),
        (Kind.PHONE, "电话13812345678", "13812345678"),
        (Kind.PHONE, "+86 138-1234-5678", "13812345678"),
        (Kind.PHONE, "电话是010-67024431。", "01067024431"),
        (Kind.PHONE, "+86 10 6702 4431", "01067024431"),
        (Kind.PHONE, "86-010-67024431", "01067024431"),
        (Kind.PHONE, "call (555) 123-4567", "5551234567"),
        (Kind.PHONE, "call +1 555-123-4567", "5551234567"),
        (Kind.PHONE, "+44 20 7946 0958", "+442079460958"),
        (Kind.PHONE, "电话01067132536", "01067132536"),
        (Kind.PHONE, "电话是123-456-7890。", "1234567890"),
        (Kind.PHONE, "客服400-123-4567", "4001234567"),
        (Kind.PATH, "in /etc/hosts now", "/etc/hosts"),
        (Kind.PATH, "见/data/合同/2024年/a.pdf里的", "/data/合同/2024年/a.pdf"),
        (Kind.PATH, "edit src/dalsegno/core/facts.py:12", "src/dalsegno/core/facts.py"),
        (Kind.PATH, r"在C:\Users\me\文档\x.docx中", r"C:\Users\me\文档\x.docx"),
        (Kind.PATH, r"in C:\Program Files\App\a.exe", r"C:\Program Files\App\a.exe"),
        (Kind.PATH, "run ./build.sh", "./build.sh"),
        (Kind.PATH, "~/notes/合同.md", "~/notes/合同.md"),
        (Kind.PATH, "请查看销售报告.xlsx", "销售报告.xlsx"),
        (Kind.VERSION, "v1.2.3", "1.2.3"),
        (Kind.VERSION, "Python 3.11", "3.11"),
        (Kind.VERSION, "版本2.0", "2.0"),
        (Kind.VERSION, "langgraph>=1.2.24", "1.2.24"),
        (Kind.VERSION, "2.0.1-rc1 is out", "2.0.1-rc1"),
        (Kind.COMMAND, "$ pip install  dalsegno\n", "pip install dalsegno"),
        (Kind.COMMAND, "run `git status -s` first", "git status -s"),
        (Kind.COMMAND, "```bash\n$ make test\n# no\n```", "make test"),
        (Kind.COMMAND, '{"command": "cd /x && python y.py"}', "cd /x && python y.py"),
        (Kind.QUOTE, 'he said "I am  done", and left', "I am done"),
        (Kind.QUOTE, "他说“好的”", "好的"),
        (Kind.QUOTE, "「はい」", "はい"),
        (Kind.QUOTE, "读《红楼梦》", "红楼梦"),
        (Kind.QUOTE, "an email titled 'Catch up soon?' to him", "Catch up soon?"),
        (Kind.QUOTE, "set `max_tokens`", "max_tokens"),
        (Kind.AMOUNT, "the budget is 80,000", "80000"),
        (Kind.AMOUNT, '"price": 51', "51"),
        (Kind.AMOUNT, '"prices": {"basic_economy": 85, "economy": 163}', "163"),
        (Kind.AMOUNT, "total price is 375, but paid 299", "299"),
    ],
)
def test_names_addresses_and_wordings_are_found(kind: Kind, text: str, value: str) -> None:
    assert value in values(text, kind), facts_in(text)


# --- promises -------------------------------------------------------------------------------------

COMMITMENTS = [
    "I will refund $50.",
    "We'll send it by Friday.",
    "I'm going to call the hotel.",
    "We promise to keep it private.",
    "You will receive a refund within 7 days.",
    "The amount will be credited to your card.",
    "We will not charge you again.",
    "Once you approve, I'll proceed.",
    "我们会在周五前退款。",
    "我来处理。",
    "款项将于3个工作日内退回。",
    "我负责写接口文档",
    "我立刻加脱敏。",
    "我保证不会再发生。",
]
APPROVALS = [
    "I approve.",
    "Yes, go ahead.",
    "Yes, please proceed with the refund.",
    "Confirmed.",
    "Yes.",
    "I agree to the new terms.",
    "Alice approved the budget.",
    "That works for me.",
    "Yes, that all sounds correct.",
    "Yes, that combination will work.",
    "LGTM, ship it",
    "我同意。",
    "请按此执行。",
    "批准。",
    "就这么定。",
    "张总已经同意了",
    "可以上线。",
    "方案评审通过。",
]
NEITHER = [
    "I do not approve.",
    "We haven't approved it.",
    "It must be approved first.",
    "Will you confirm?",
    "Do you agree?",
    "Shall I go ahead?",
    "Would you like to proceed with this option?",
    "Please let me know if I should go ahead.",
    "I'll need your user ID.",
    "I think so.",
    "I can refund it.",
    "Sure, I can help.",
    "我不同意。",
    "你同意吗？",
    "等你批准后再说",
    "未经批准不得使用",
    "是否批准？",
    "好的，谢谢。",
    "我会不会迟到呢？",
    "请在周五前提交",
    "他有机会完成",
    "### Insurance:\n- Yes\n- Bags",
    "Tell me the amount that will be charged to your card.",
    "Of course.",
    "I'll get a refund tomorrow, right?",
    "我们会在周五前退款吗？",
    "审批通过后再付款",
    "接下来我们的计划要尽快给我",
    "Yes, that includes Canadians.",
    "Yes, it is a lot of money.",
    "Test kits that are approved by Health Canada are rare.",
    "We'll now go back to the chair.",
    "我通常会听音乐。",
    "我们可能会住下。",
    "我想溜达一会，谢谢",
    "没问题，周边有酒店。",
    "我有空一定得去看看",
    "我们已将您的建议转达给董事会",
]


@pytest.mark.parametrize("text", COMMITMENTS)
def test_a_commitment_is_found_as_its_sentence(text: str) -> None:
    [fact] = [fact for fact in facts_in(f"Hello. {text}\nBye") if fact.kind is Kind.COMMITMENT]
    assert fact.text == text
    assert values(text, Kind.APPROVAL) == []


@pytest.mark.parametrize("text", APPROVALS)
def test_an_approval_is_found_as_its_sentence(text: str) -> None:
    [fact] = [fact for fact in facts_in(f"你好。{text}\n再见") if fact.kind is Kind.APPROVAL]
    assert fact.text == text


@pytest.mark.parametrize("text", NEITHER)
def test_refusals_conditions_and_questions_promise_nothing(text: str) -> None:
    assert [fact for fact in facts_in(text) if fact.kind in {Kind.APPROVAL, Kind.COMMITMENT}] == []


def test_facts_inside_a_wording_are_listed_as_well() -> None:
    kinds = [fact.kind for fact in facts_in('He wrote: "We will refund $50 by May 5, ok".')]
    assert {Kind.QUOTE, Kind.COMMITMENT, Kind.AMOUNT, Kind.DATE} <= set(kinds)


# --- lookalikes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "and/or", "he/she", "24/7", "km/h", "yes/no/maybe", "价格/数量/日期",
        "an hour ago we met", "one of the two", "一个人一起去看一下", "万一下雨", "十分感谢", "三里屯和五道口", "百度和千岛湖",
        "you may go", "march on", "第一次见面", "统一思想", "汽车零部件", "告诉我一下周边有什么", "以下周期",
        "node.js is fine", "UTF-8", "B2B", "the boys' toys and the girls' hats", "don't can't won't",
        '{"name": "Mia", "tags": ["a", "b"], "deep": {"x": "y"}}', "{'a': 'b', 'c': ['d']}",
        "1. First\n2. Second\n3) Third", "反馈：1）很好；2）很快",
    ],
)  # fmt: skip
def test_lookalikes_are_no_protected_facts(text: str) -> None:
    assert [fact for fact in facts_in(text) if fact.protected] == []


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("it was 42 or 7.5", ["42", "7.5"]),
        ("-5 below", ["-5"]),
        ("1. First 3", ["3"]),
        ("二十五还是三百五", ["25", "350"]),
        ("A12 B2B", []),
    ],
)
def test_bare_numbers_are_found_and_not_protected(text: str, bare: list[str]) -> None:
    assert values(text, Kind.NUMBER) == bare
    assert not any(fact.protected for fact in facts_in(text) if fact.kind is Kind.NUMBER)


def test_the_longest_reading_wins() -> None:
    assert only("/reports/2024-05-15/a1.csv").kind is Kind.PATH
    assert only("https://a.com/2024-05-15?n=42").kind is Kind.URL
    assert only("mia_li_3668@mail.com").kind is Kind.EMAIL
    assert [fact.kind for fact in facts_in("2024-05-15T13:45:00Z")] == [Kind.DATE, Kind.TIME]


# --- offsets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "😀😀 ５万元 ok",
        "e\u0301e\u0301 $50 a\u0301",
        "İİ May 15 İ",
        "👨‍👩‍👧 明天下午３：３０见",
        "ﬁ ﬁ 12.5％ ½ ㎏",
        "\u200b$5\u200b",
        "𝟓𝟎 dollars",
        "٥٠ kg",
    ],
)
def test_offsets_are_those_of_the_original_text(text: str) -> None:
    facts = facts_in(text)
    assert facts
    assert all(text[fact.start : fact.end] == fact.text for fact in facts)


def test_a_quote_of_nothing_but_an_atom_is_the_atom() -> None:
    assert [fact.kind for fact in facts_in('see "M05KNL" and `src/app.py`')] == [Kind.ID, Kind.PATH]


@pytest.mark.parametrize(
    "text",
    ["2024-05-45", "2024-13-01", "May 40", "5月45日", "13月1日", "99/99/2024", "25:61", "13:75 PM", "下午三十点"],
)
def test_what_no_calendar_or_clock_has_is_no_date_and_no_time(text: str) -> None:
    assert not any(fact.kind in {Kind.DATE, Kind.TIME} and fact.text == text for fact in facts_in(text))


def test_a_full_stop_is_no_part_of_a_month() -> None:
    assert [fact.text for fact in facts_in("We met in June. Then on Dec. 5.")] == ["June", "Dec. 5"]


def test_years_in_a_list_are_years_after_one_that_is_dated() -> None:
    assert values("in fiscal 2019, 2018, and 2017, respectively", Kind.DATE) == ["2019", "2018", "2017"]
    assert values("2018, 2017 of them", Kind.DATE) == []


def test_a_small_number_after_a_noun_only_counts() -> None:
    assert values("Flight 1 and Option 2", Kind.ID) == []
    assert values("Section 4 and page 12", Kind.ID) == ["4", "12"]


def test_digits_on_both_sides_of_a_magnitude_are_one_number() -> None:
    assert values("付3万5元", Kind.AMOUNT) == ["CNY 35000"]
    assert values("预算3万5，12万5000", Kind.AMOUNT) == ["35000"]


def test_nothing_is_found_in_nothing() -> None:
    assert facts_in("") == facts_in(" \n") == facts_in("plain words only") == ()
