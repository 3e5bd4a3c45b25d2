"""Claim: a decision is heard where someone who may decide decides, and nowhere else, in English and in Chinese."""

from __future__ import annotations

import pytest

from dalsegno.core.card.findings import Finding, Sort, Told
from dalsegno.core.card.listening import listen, stirs


def heard(text: str, role: str = "user", **more: object) -> tuple[Finding, ...]:
    return listen(Told(number=7, author=role, role=role, text=text, **more))


def sorts(text: str, role: str = "user") -> set[Sort]:
    return {one.sort for one in heard(text, role)}


DECIDES = [
    "Let's meet again on Friday.",
    "Let's use the time slot at noon.",
    "Let's use Kidding, the puppet theatre.",
    "Let's go with B.",
    "Let's go with option B, the two-wave launch.",
    "Yes, please proceed.",
    "Go ahead.",
    "Please go ahead with the cancellation.",
    "Confirmed.",
    "Sounds good, let's do that.",
    "I'll take the second one.",
    "We've decided to launch in June.",
    "We have agreed on the vendor: Northwind.",
    "OK, use the gift card.",
    "Great! That works for me. Let's proceed with this option.",
    "Yes, let's use the gift card for the payment, please.",
    "Yes, I'd like to proceed with the change and receive the refund.",
    "I choose plan 2.",
    "Decision: we ship on Friday.",
    "Option C it is.",
    "B as you proposed, go ahead.",
    "Change the date to May 20 instead.",
    "Make it 9 chairs.",
    "I approve the budget.",
    "Alright, let's stick with the original plan.",
    "we're going with Postgres",
    "Switch to the direct flight.",
    "That's settled: Hamburg it is, we're going with the harbour venue.",
    "Yes, that combination will work. Please proceed with those payment methods.",
    "就按方案B来。",
    "就选方案B",
    "定了，用第二个方案。",
    "同意。",
    "好的，就这么办。",
    "行，就按你说的做。",
    "我们决定采用 B 方案。",
    "确认，按这个方案执行。",
    "没问题，就这样。",
    "预算改成八万元。",
    "把会议改到周四下午。",
    "最终选定供应商是北方物流。",
    "拍板了，六月上线。",
    "就它了。",
    "第一期不接外部系统。",
    "文案走保守版。",
    "评审通过，可以上线。",
    "检索准确率优先。",
    "报价口径先定：含税。",
    "可以，就按第三套方案推进。",
    "选B",
    "那就走B方案吧。",
    "还是用原来的版本吧。",
    "批准。",
    "统一用 FastAPI。",
    "OK，就这个。",
    "对了，改寄到上海浦东世纪大道100号",
    "方案里先不写价格预测",
    "Looks good, but change the headline to something shorter.",
]


@pytest.mark.parametrize("text", DECIDES)
def test_a_user_decides(text: str):
    assert Sort.DECISION in sorts(text)


@pytest.mark.parametrize("text", DECIDES)
@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_the_same_words_of_others_do_not(text: str, role: str):
    assert Sort.DECISION not in sorts(text, role)


@pytest.mark.parametrize("text", DECIDES)
def test_deciding_words_bring_the_card_on_at_once(text: str):
    assert stirs(text)


def test_the_host_of_an_address_is_given_no_task():
    assert Sort.PROMISE not in sorts("邮件已经发给 li.na@example.com，编号 L-1，没有再发。", "assistant")
    assert Sort.PROMISE not in sorts("Sent to ana@example.com, please check.", "assistant")
    assert Sort.PROMISE in sorts("@李四 请周五前发一下清单")


GOES_ON = [
    "按上次定的方案继续。",
    "就按之前说好的来。",
    "好的，按我们商量好的办。",
    "照当时的约定执行。",
    "就按既定方案推进。",
    "Please go ahead as agreed.",
    "Yes, proceed with what we decided last time.",
    "Let's go ahead as planned.",
    "Ok, stick with the agreed plan.",
    "Use the previously chosen one.",
]


@pytest.mark.parametrize("text", GOES_ON)
def test_who_points_to_an_earlier_decision_makes_no_new_one(text: str):
    """Nor is it a suggestion. Taken as a decision, it would decide whatever was suggested last."""
    assert not sorts(text) & {Sort.DECISION, Sort.PROPOSAL, Sort.WITHDRAWAL}


@pytest.mark.parametrize(
    "text",
    [
        "按之前说好的方案B继续。",
        "按上次定的来，预算改成三万元。",
        "As agreed, let's go with option B.",
        "Go ahead as decided, but make it Friday instead.",
        "我们昨天决定了用北方物流。",
        "We agreed on the harbour venue.",
    ],
)
def test_who_says_what_was_decided_or_changes_it_decides(text: str):
    assert Sort.DECISION in sorts(text)


DOES_NOT_DECIDE = [
    "Let's go with B, said nobody ever.",
    "Let's go with B, said no one ever!",
    "Let's go with B, just kidding.",
    "就按方案B吧，开玩笑的。",
    "就按方案B，才怪！",
    "Let's use the time to talk.",
    "Let's use this chance to catch up.",
    "Let's meet again sometime.",
    "Let's meet soon.",
    "We agreed to disagree.",
    "We have decided nothing.",
    "I decided that I need more time.",
    "Decision: pending",
    "The decision is still open.",
    "Let's pick up where we left off.",
    "Let's do what we talked about.",
    "They have already decided to go with B.",
    "We almost settled on B.",
    "他们就按B做了。",
    "竞争对手就选了B。",
    "老板已经定了方案B。",
    "本来就按B的，后来没做。",
    "等老板回来就定了",
    "决定：待定",
    "I suggest we go with B.",
    "Maybe we should go with B.",
    "How about option B?",
    "Should we go with B?",
    "Let's not go with B.",
    "I don't want to go ahead with B.",
    "Don't go ahead yet.",
    "If the price is right, let's go with B.",
    "Go with B if it's under $500.",
    "Let's go with B unless the client objects.",
    "I'm thinking about going with B.",
    "I'm leaning towards option B.",
    "We could use Postgres.",
    "Perhaps let's take the train.",
    "My boss said let's go with B.",
    "The vendor wants us to go with B.",
    'She wrote "let\'s go with B" in her note.',
    "According to the memo, we use plan A.",
    "What would happen if we go with B?",
    "Can you tell me more about option B?",
    "Which option do you recommend?",
    "Yes, but I'm not sure about the price.",
    "Yes, it's omar_rossi_1241.",
    "Sure, my user ID is mia_li_3668.",
    "I have not decided yet.",
    "We haven't agreed on anything.",
    "I might choose plan 2.",
    "Once you confirm, we go ahead.",
    "Thanks!",
    "Okay, thanks for the explanation, I'll think about it.",
    "I would like to know the total balance of my gift cards.",
    "> Let's go with B.\nI read this above.",
    "Here is the e-mail:\nLet's go with B. Confirmed.",
    "<document>We decided to use plan A. Go ahead.</document>",
    "```\nlet's go with B\n```\nThat was in the log.",
    "-----Original Message-----\nFrom: x\nLet's go with B.",
    "我建议用方案B。",
    "可以考虑方案B。",
    "要不就按方案B？",
    "是不是就选B方案？",
    "如果价格合适，就选方案B。",
    "价格合适的话就按方案B来。",
    "先不按方案B执行。",
    "不同意。",
    "我不同意方案B。",
    "还没定，再想想。",
    "还没决定。",
    "我觉得方案B可能更好。",
    "老板说就选方案B。",
    "客户要求按方案A执行，你怎么看？",
    "邮件里写着“就选方案B”。",
    "原文如下：\n就按方案B执行，定了。",
    "转发：\n同意，就这么办。",
    "等评审通过之后再按方案B推进。",
    "方案B怎么样？",
    "选哪个好呢？",
    "别按方案B做。",
    "倾向于方案B，明天再看看。",
    "谢谢，我再考虑一下。",
    "好的，但是价格我还不确定。",
    "我的订单号是 12345。",
    "该怎么做决定呢？",
    "最终决定权在客户那里。",
    "暂定方案B，等法务确认。",
    "对了，明天几点开会来着",
    "对了，我的电话换了。",
    "then change the subject",
]


@pytest.mark.parametrize("text", DOES_NOT_DECIDE)
def test_a_user_who_does_not_decide(text: str):
    assert Sort.DECISION not in sorts(text)


SUGGESTS = [
    ("I suggest we go with B.", "user", "b"),
    ("How about option B?", "user", "b"),
    ("We could use Postgres instead.", "user", ""),
    ("I'd recommend option A for the launch.", "assistant", "a"),
    ("Let's go with B.", "assistant", "b"),
    ("If the price is right, let's go with B.", "user", "b"),
    ("建议采用方案B。", "assistant", "b"),
    ("可以考虑方案二。", "user", "2"),
    ("我觉得用方案B吧，不如先试试。", "user", "b"),
]


@pytest.mark.parametrize(("text", "role", "option"), SUGGESTS)
def test_what_is_suggested_is_a_proposal(text: str, role: str, option: str):
    found = [one for one in heard(text, role) if one.sort is Sort.PROPOSAL]
    assert [one.option for one in found] == [option]


OPTIONS = [
    ("Let's go with option B.", "b"),
    ("Plan 2, please. Go ahead with plan 2.", "2"),
    ("I'll take the second one.", "2"),
    ("Let's go with the first option.", "1"),
    ("B as you proposed, go ahead.", "b"),
    ("就按第二个方案来。", "2"),
    ("就选方案三。", "3"),
    ("采用B方案。", "b"),
    ("选C", "c"),
    ("就按方案甲执行。", "1"),
    ("Let's go with a cheaper hotel.", ""),
    ("Let's go with option A or option B.", ""),
]


@pytest.mark.parametrize(("text", "option"), OPTIONS)
def test_the_option_that_is_named(text: str, option: str):
    assert [one.option for one in heard(text) if one.sort is Sort.DECISION][:1] in ([option], [])
    assert option == "" or any(one.option == option for one in heard(text) if one.sort is Sort.DECISION)


WITHDRAWS = [
    "Just kidding.",
    "I was only joking.",
    "我开玩笑的。",
    "Forget that.",
    "Scratch that, please.",
    "Never mind.",
    "I changed my mind.",
    "Let's not go with B.",
    "Forget about option B.",
    "Please don't go ahead with the booking.",
    "Please don't send it.",
    "Hold off on the release.",
    "算了。",
    "取消吧。",
    "先不发邮件了。",
    "方案B作废。",
    "先不按方案B执行。",
    "刚才的不算。",
    "Forget Porto.",
    "Drop the landing page.",
    "不去苏州了",
]


@pytest.mark.parametrize("text", WITHDRAWS)
def test_a_user_takes_back(text: str):
    assert Sort.WITHDRAWAL in sorts(text)
    assert Sort.DECISION not in sorts(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'd like to cancel my reservation EHGLP3.",
        "Should we forget about option B?",
        "取消订单号 12345 的费用是多少？",
        "不要紧。",
        "I never fly on Mondays.",
        "Drop me a line.",
        "Skip to the end.",
        "不要太大了",
    ],
)
def test_what_takes_nothing_back(text: str):
    assert Sort.WITHDRAWAL not in sorts(text)


CONSTRAINTS = [
    "预算不超过 5 万元。",
    "不要在上午十一点前安排航班。",
    "必须用国产服务器。",
    "至少留两天测试时间。",
    "报告里不能出现客户姓名。",
    "只能周末发布。",
    "费用控制在3万元以内。",
    "No flights before 11 AM.",
    "The budget is $500 at most.",
    "It must not cost more than $1,000.",
    "Please don't share the draft with the vendor.",
    "I only want direct flights.",
    "At least two reviewers have to sign.",
    "Never deploy on Fridays.",
    "Keep it under $300.",
    "Keep it under 400 words.",
    "Keep the whole report within 12 pages, please.",
    "I need it by Thursday noon.",
    "We want the draft ready by Monday.",
    "We can't spend more than 20k.",
    "It has to run on Python 3.11.",
    "Only vegetarian food for the team dinner.",
    "Don't book anything on Sundays.",
    "I'm allergic to peanuts.",
    "我对花生过敏。",
    "尽量避开早高峰。",
    "截止日期是12月15日。",
]


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_a_user_demands(text: str):
    assert [one.text for one in heard(text) if one.sort is Sort.CONSTRAINT] == [text]


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_what_an_assistant_demands_binds_nobody(text: str):
    assert Sort.CONSTRAINT not in sorts(text, "assistant")


@pytest.mark.parametrize(
    "text",
    [
        "I must have lost my reservation number.",
        "I don't have my ID with me.",
        "Never mind the cost.",
        "Don't worry about it.",
        "Must I pay a fee?",
        "我不能登录系统。",
        "能不能便宜一点？",
        "不要紧。",
        "预算最多是多少？",
        "客户说预算不能超过5万。",
        "差别不大。",
        "Only joking.",
        "Only one more question.",
        "Only the brave survive.",
        "You have to be kidding.",
        "别提了",
        "别忘了关灯",
        "It has to do with my last order.",
        "I can't wait any longer, bye!",
        "最后我想问一下天气。",
    ],
)
def test_what_is_no_demand(text: str):
    assert Sort.CONSTRAINT not in sorts(text)


PROMISES = [
    ("I'll send it by Friday.", "assistant", "assistant", "Friday"),
    ("We will deliver the report by May 5.", "assistant", "assistant", "May 5"),
    ("I'll update the list within 3 business days.", "assistant", "assistant", "within 3 business days"),
    ("Bob, please send the draft by Friday.", "user", "Bob", "Friday"),
    ("Alice will send the contract by Monday.", "user", "Alice", "Monday"),
    ("I'll upload the documents tomorrow.", "user", "user", "tomorrow"),
    ("周五前发给您。", "assistant", "assistant", "周五前"),
    ("我下周三之前把风险清单补上。", "assistant", "assistant", "下周三之前"),
    ("@李四 周三前出报告", "user", "李四", "周三前"),
    ("由张三负责风险清单，月底前完成。", "user", "张三", "月底前"),
    ("我们会在3个工作日内退款。", "assistant", "assistant", "3个工作日内"),
    ("这块报价单我来整理。", "user", "user", ""),
    ("我补两条边界用例。", "user", "user", ""),
    ("我先把报表权限加上。", "user", "user", ""),
    ("I'm going to talk to Sarah about the budget tomorrow.", "user", "user", "tomorrow"),
    ("We'll have the contract reviewed by legal before Friday.", "user", "user", "Friday"),
    ("TODO: update the README", "user", "user", ""),
    ("待办：更新接口文档", "user", "user", ""),
    ("Action item: Kevin to update the roadmap by EOD Friday.", "user", "Kevin", "EOD Friday"),
    ("Could you send me the invoice by Monday?", "user", "assistant", "Monday"),
    ("Please send the invoice to Bob by Monday.", "user", "assistant", "Monday"),
    ("Remind me to call the vendor next week.", "user", "assistant", "next week"),
    ("下周三之前把合同初稿给我", "user", "assistant", "下周三之前"),
    ("记得给王总打电话。", "user", "assistant", ""),
    ("Send it to legal@acme.com once Dana signs off.", "user", "assistant", ""),
    ("Please book the hotel after Bob confirms.", "user", "assistant", ""),
    ("等财务批了再下单", "user", "assistant", ""),
    ("先等法务确认后再发给客户。", "user", "assistant", ""),
    ("请李雷明天上午联系客户。", "user", "李雷", "明天上午"),
]


@pytest.mark.parametrize(("text", "role", "owner", "due"), PROMISES)
def test_who_promises_what_until_when(text: str, role: str, owner: str, due: str):
    found = [(one.owner, one.due) for one in heard(text, role) if one.sort is Sort.PROMISE]
    assert found == [(owner, due)]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("I'll need your user ID.", "assistant"),
        ("I will check that for you now.", "assistant"),
        ("Would you like me to send it by Friday?", "assistant"),
        ("如果您同意，我周五前发给您。", "assistant"),
        ("我马上帮您查一下。", "assistant"),
        ('{"note": "I will send it by Friday."}', "tool"),
        ("我补两条边界用例。", "assistant"),  # done by the time that anyone reads it
        ("我补了两条边界用例。", "user"),
        ("我平时做表格比较多。", "user"),
        ("我来自杭州。", "user"),
        ("谢谢你的建议，我会去试试的。", "user"),
        ("最近我去了一场展览，非常开心。", "user"),
        ("请在西湖周边推荐一家酒店。", "user"),
        ("请给我推荐一个景点，游玩时间要在3小时内。", "user"),
        ("Please cancel my flight.", "user"),
        ("Please let me know by Friday.", "assistant"),
        ("I'm going to be honest with you.", "user"),
        ("I'm going to need a bigger room.", "user"),
        ("I remember that he told me to send it.", "user"),
        ("我记得他说过。", "user"),
        ("你记得吗", "user"),
        ("Send it as soon as you can.", "user"),
        ("Call me when that happens again?", "user"),
        ("等我想想再说", "user"),
        ("等等再看", "user"),
        ("等会儿再聊", "user"),
        ("Please call me once in a while.", "user"),
        ("记得按时吃饭哦", "user"),
        ("If you can, please send it by Monday or cancel.", "user"),
    ],
)
def test_what_is_no_promise(text: str, role: str):
    assert Sort.PROMISE not in sorts(text, role)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("I've sent the risk list.", "assistant"),
        ("The report has been submitted.", "assistant"),
        ("风险清单已发送。", "assistant"),
        ("报告写完了。", "user"),
        ("搞定", "user"),
    ],
)
def test_what_is_finished(text: str, role: str):
    assert Sort.DONE in sorts(text, role)


@pytest.mark.parametrize("text", ["I haven't sent the list.", "还没发送风险清单。", "Has the report been sent?"])
def test_what_is_not_finished(text: str):
    assert Sort.DONE not in sorts(text)


@pytest.mark.parametrize("text", ["请问缺的是哪一件？外箱有没有破损？", "Could you tell me your order number?"])
def test_who_asks_for_something_to_know_offers_nothing(text: str):
    assert Sort.OFFER not in sorts(text, "assistant")


def test_an_offer_has_its_options():
    found = heard("Option A: at once, $40,000\nOption B: two waves, $50,000\nWhich one would you like?", "assistant")
    (offer,) = [one for one in found if one.sort is Sort.OFFER]
    assert offer.options == (("a", "at once, $40,000"), ("b", "two waves, $50,000"))


def test_an_option_whose_heading_stands_alone_has_the_lines_below():
    text = "1. **Option 1:**\n   - Flight HAT072, $110\n2. **Option 2:**\n   - Flight HAT205, $160\nWhich one?"
    (offer,) = [one for one in heard(text, "assistant") if one.sort is Sort.OFFER]
    assert dict(offer.options)["1"].startswith("- Flight HAT072, $110")
    assert "HAT205" not in dict(offer.options)["1"]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Take care, and feel free to reach out.", "assistant"),
        ("You might want to provide your user ID.", "assistant"),
        ("Take care!", "user"),
    ],
)
def test_what_is_neither_suggested_nor_decided(text: str, role: str):
    assert sorts(text, role) & {Sort.PROPOSAL, Sort.DECISION} == set()


def test_a_name_may_be_among_those_who_decide():
    told = Told(number=1, author="planner", role="assistant", text="Let's go with B.")
    assert Sort.DECISION not in {one.sort for one in listen(told)}
    assert Sort.DECISION in {one.sort for one in listen(told, {"planner"})}


def test_the_goal_is_the_opening_request_and_no_greeting():
    assert Sort.GOAL not in {
        one.sort for one in listen(Told(number=1, author="user", role="user", text="你好！"), opening=True)
    }
    (goal,) = [
        one
        for one in listen(Told(number=2, author="user", role="user", text="帮我写一份产品发布方案。"), opening=True)
        if one.sort is Sort.GOAL
    ]
    assert goal.text == "帮我写一份产品发布方案。"


@pytest.mark.parametrize(
    "text",
    [
        "The goal is now a launch in Berlin.",
        "目标改成六月前上线。",
        "New task: write the FAQ.",
        "Let's now focus on the email campaign instead.",
    ],
)
def test_the_goal_is_stated_again(text: str):
    assert Sort.GOAL in sorts(text)


def test_a_correction_is_heard_as_the_latest_value():
    (fact,) = [one for one in heard("预算改成八万元。") if one.sort is Sort.FACT]
    assert (fact.subject, fact.value, fact.instead) == ("预算", "CNY 80000", True)


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("餐桌的颜色是深蓝色。", "餐桌的颜色", "深蓝色"),
        ("好的，光照强度是中等，材料是树皮。", "光照强度", "中等"),
        ("收货方式：自提", "收货方式", "自提"),
        ("My seat preference is an aisle seat.", "seat preference", "an aisle seat"),
    ],
)
def test_a_value_in_words_is_heard(text: str, subject: str, value: str):
    found = [(one.subject, one.text) for one in heard(text) if one.sort is Sort.FACT]
    assert found[0] == (subject, value)


@pytest.mark.parametrize(
    "text",
    [
        "这是好主意。",
        "餐桌的颜色是什么？",
        "如果颜色是蓝色，就算了。",
        "问题是时间不够。",
        "客户说颜色是蓝色。",
        "The problem is my budget.",
        "颜色不是蓝色。",
        "应该是漏装了。",
        "可能是颜色错了。",
    ],
)
def test_what_states_no_value(text: str):
    assert Sort.FACT not in sorts(text)


def test_an_assistant_states_no_value_in_words():
    assert Sort.FACT not in sorts("餐桌的颜色是深蓝色。", "assistant")
