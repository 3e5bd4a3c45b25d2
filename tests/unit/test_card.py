"""Claim: findings make one card, whatever the order they are heard in: what stands, what was replaced, what is open, what is stale."""

from __future__ import annotations

import pytest

from dalsegno.core.card.advancing import Notes, advance, card_of, hear, withdraw
from dalsegno.core.card.clipping import clip
from dalsegno.core.card.entries import Card, Entry, Evidence, Modality
from dalsegno.core.card.findings import Sort, Told, findings_from_json, findings_to_json
from dalsegno.core.card.gate import admit
from dalsegno.core.card.options import listed
from dalsegno.core.card.own_words import own_words
from dalsegno.core.card.rendering import line_of, render
from dalsegno.core.facts import invented
from dalsegno.errors import Damaged, Misuse, Ungrounded


def talk(*lines: str) -> list[Told]:
    """`user: text` lines as events, numbered from 1."""
    found = []
    for number, line in enumerate(lines, 1):
        author, _, text = line.partition(": ")
        role = author if author in ("user", "assistant", "tool", "system") else "user"
        found.append(Told(number=number, author=author, role=role, text=text, message=f"m{number}"))
    return found


def card(*lines: str) -> Card:
    return advance(Card(), talk(*lines))


def edit(number: int, place: int, text: str, role: str = "user") -> Told:
    return Told(number=number, author=role, role=role, text=text, message=f"m{place}", place=place, edited=True)


def texts(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.text for entry in entries]


OFFER = "assistant: Option A: one launch, $40,000\nOption B: two waves, $48,000\nWhich one would you like?"


def test_an_option_is_quoted_with_its_own_label():
    found = card("user: Plan the launch.", OFFER, "user: I'll take the second one.")
    assert texts(found.decisions) == ["I'll take the second one. ← #2 assistant: B: two waves, $48,000"]
    assert found.decisions[0].coordinates == ("#3 user", "#2 assistant")


def test_an_option_that_cannot_be_found_stands_as_it_was_said():
    assert texts(card("user: Hello there.", "user: Let's go with option D.").decisions) == ["Let's go with option D."]


def test_an_agreement_decides_what_was_asked_right_before_it():
    found = card("user: Book it.", "assistant: Shall I book flight HAT072 for $299?", "user: Yes, please.")
    assert texts(found.decisions) == ["Yes, please. ← #2 assistant: Shall I book flight HAT072 for $299?"]


@pytest.mark.parametrize(
    "lines",
    [
        ("user: Book it.", "user: Yes, please."),
        ("user: Book it.", "assistant: Here you are.", "user: Yes."),
        ("user: Book it.", "assistant: Could you please provide your user ID?", "user: Sure."),
        ("user: Book it.", "assistant: Which one would you like, the train or the bus?", "user: Yes."),
        ("user: Shall I book it?", "user: Yes."),
        ("user: Hi.", "assistant: Shall I book it?", *["user: And what is the weather?"] * 8, "user: Yes."),
    ],
)
def test_an_agreement_to_nothing_decides_nothing(lines):
    assert card(*lines).decisions == ()


OFFER_ZH = "assistant: 方案A：小型开业，2.6万元\n方案B：路演，3.8万元\n您看选哪个？"
STEPS = "assistant: Here is the plan:\n1. Book the hotel\n2. Book the train\nHow many nights do you need?"
NUMBERED = "assistant: 1. the train\n2. the bus\nWhich one do you prefer?"


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        *(
            (OFFER, text)
            for text in (
                "B", "b.", "(B)", "**B**", "B please", "Option B.", "OK B", "B works for me.", "Let's do B", "Going with B.",
                "The second one.", "Second option please, thanks", "Option B, and book it by 21 March.", "B, please book it.",
                "B. Let's book it by 14 March.",
            )
        ),
        *(
            (OFFER_ZH, text)
            for text in (
                "B", "方案B", "B吧", "第二个", "第二个吧。", "方案二", "就第二个", "B吧，谢谢", "B可以", "用B", "那就B吧", "行，B",
                "我选第二种", "B方案，周五前定",
            )
        ),
        (NUMBERED, "2"),
        (NUMBERED, "Number two please"),
    ],
)  # fmt: skip
def test_a_bare_answer_chooses_from_the_list_that_was_just_shown(offer, answer):
    found = card("user: Plan it.", offer, "user: How far is it?", "assistant: An hour.", f"user: {answer}")
    (decision,) = found.decisions
    assert decision.coordinates == ("#5 user", "#2 assistant")
    assert "two waves" in decision.text or "路演" in decision.text or "the bus" in decision.text


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        *(
            (OFFER, text)
            for text in (
                "B?", "Not B.", "B is too expensive.", "B, too expensive", "B, maybe.", "A nice idea", "B+", "A/B", "B2", "C",
                "A or B, no idea.", "2.5", "2 people", "One second", "First, thanks for the list!", "A\nB\nC",
            )
        ),
        *((OFFER_ZH, text) for text in ("B呢？", "B太贵了", "B，太贵了", "不要B", "两个", "2个", "第二天", "第一，太贵", "方案一直没看")),
        (STEPS, "2"),
        (STEPS, "2."),
        ("assistant: Hello!", "B"),
        ("assistant: 您好！", "第二个吧"),
    ],
)  # fmt: skip
def test_what_is_no_answer_to_the_list_decides_nothing(offer, answer):
    assert card("user: Plan it.", offer, f"user: {answer}").decisions == ()


PLACES = (
    "assistant: I can think of three: (1) Lisbon, about $9,800; (2) Porto, about $8,200; (3) Madrid, about $10,400. "
    "Which one do you prefer?"
)
PLACES_ZH = "assistant: 有三个选择：\n1. 杭州（人均800元）\n2. 苏州（人均650元）\n3. 南京（人均700元）\n您更喜欢哪个？"
CLOUDS = "assistant: Option A: AWS, option B: Google Cloud, option C: Azure. Which would you pick?"
WAYS = "assistant: Two ways:\n1. Roll back to 2.3.1\n2. Patch the session handler\nWhich one?"
FLIGHTS = (
    "assistant: Flights:\n1. HAT045, departs 7 AM, $299\n2. HAT112, departs 2 PM, $1,310\nWhich one would you like?"
)


@pytest.mark.parametrize(
    ("offer", "answer", "option"),
    [
        (PLACES, "Porto", "2: Porto, about $8,200"),
        (PLACES, "Porto, please.", "2: Porto, about $8,200"),
        (PLACES, "Ok, let's do Porto", "2: Porto, about $8,200"),
        (PLACES, "Madrid it is!", "3: Madrid, about $10,400"),
        (PLACES, "Porto sounds good. But no flights before 11 AM.", "2: Porto, about $8,200"),
        (PLACES, "Let's book a hotel in Lisbon.", "1: Lisbon, about $9,800"),
        (PLACES_ZH, "苏州", "2: 苏州（人均650元）"),
        (PLACES_ZH, "那就苏州吧", "2: 苏州（人均650元）"),
        (PLACES_ZH, "杭州吧，谢谢", "1: 杭州（人均800元）"),
        (PLACES_ZH, "我选南京，离得近", "3: 南京（人均700元）"),
        (PLACES_ZH, "650元的那个吧", "2: 苏州（人均650元）"),
        (CLOUDS, "Let's go with Google Cloud.", "B: Google Cloud"),
        (WAYS, "Let's patch the session handler.", "2: Patch the session handler"),
        (FLIGHTS, "HAT112 please", "2: HAT112, departs 2 PM, $1,310"),
        (FLIGHTS, "the 2 PM one", "2: HAT112, departs 2 PM, $1,310"),
        (FLIGHTS, "I'll take the $1310 one", "2: HAT112, departs 2 PM, $1,310"),
        ("assistant: Which one?\n1. R\n2. Julia", "R", "1: R"),
    ],
)
def test_an_option_may_be_called_by_its_name(offer, answer, option):
    (decision,) = card("user: Plan it.", offer, f"user: {answer}").decisions
    assert decision.text.endswith(f" ← #2 assistant: {option}")
    assert decision.coordinates == ("#3 user", "#2 assistant")


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        (PLACES, "Barcelona"),
        (PLACES, "Porto?"),
        (PLACES, "Not Porto."),
        (PLACES, "Maybe Porto"),
        (PLACES, "Porto or Lisbon"),
        (PLACES, "Porto weather"),
        (PLACES, "forget Porto"),
        ("assistant: 1. Baggage: any bags?\n2. Meals: any wishes?\nPlease tell me.", "user: Baggage"),
        (PLACES, "Thanks"),
        (PLACES, "Before we pick Porto, check the flights."),
        (PLACES, "Anything but Madrid."),
        (PLACES, "Porto is where my sister lives."),
        (PLACES_ZH, "除了南京都行"),
        (PLACES_ZH, "苏州或者杭州"),
        (PLACES_ZH, "老板喜欢南京"),
        (PLACES_ZH, "去年去过杭州"),
        (PLACES_ZH, "苏州，太贵了"),
        (PLACES_ZH, "苏州太热了"),
        (PLACES_ZH, "不去苏州"),
        (PLACES_ZH, "他们选南京，还是杭州"),
        ("assistant: 1. your user id\n2. your reservation\nPlease send both.", "user id"),
        ("assistant: Hello!", "Porto"),
    ],
)
def test_a_name_that_chooses_nothing_decides_nothing(offer, answer):
    assert card("user: Plan it.", offer, f"user: {answer}").decisions == ()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "I can cancel now or at the end of the billing period (Dec 31). Which would you prefer?",
            "End of the billing period.",
        ),
        ("Would you like to cancel now or at the end of the billing period?", "At the end of the billing period"),
        ("Do you prefer the aisle or the window?", "The window, please."),
        ("推荐小米按摩仪，399元。要下单吗？", "下单吧，寄到杭州市西湖区文三路18号"),
        ("您想今天配送还是明天上午配送？", "明天上午"),
        ("推荐ThinkPad X1（9999元）和MacBook Air（8999元），您更喜欢哪款？", "MacBook Air"),
        ("I found Luigi's and Osteria Nova. Which one do you prefer?", "Luigi's"),
    ],
)
def test_a_name_answers_the_question_that_offers_it(question, answer):
    (decision,) = card("user: Do it.", f"assistant: {question}", f"user: {answer}").decisions
    assert decision.text == f"{answer} ← #2 assistant: {question}"
    assert (
        card("user: Do it.", f"assistant: {question}", "user: Wait.", "assistant: OK.", f"user: {answer}").decisions
        == ()
    )
    assert card("user: Do it.", f"assistant: {question}", "user: Ann Lee").decisions == ()


@pytest.mark.parametrize(
    "text",
    [
        "Let's use the gift card, and I don't need insurance.",
        "Let's go with the bus rather than the train.",
        "Let's book the harbour hotel.",
    ],
)
def test_a_name_that_is_denied_or_not_asked_for_is_not_quoted(text):
    listed = "assistant: 1. the train\n2. insurance\n3. the bus\nTell me when you're ready."
    assert texts(card("user: Plan it.", listed, f"user: {text}").decisions) == [text]
    which = listed.replace("Tell me when you're ready.", "Which of these would you like?")
    (decision,) = card("user: Plan it.", which, f"user: {text}").decisions
    assert ("← #2 assistant: 3: the bus" in decision.text) == ("bus" in text)


def test_a_decision_quotes_what_was_asked_last_not_an_older_list():
    asked = "assistant: Would you like to take the bus at 9 AM?"
    (decision,) = card("user: Plan it.", NUMBERED, asked, "user: Yes, please use the bus at 9 AM.").decisions
    assert decision.coordinates == ("#4 user", "#3 assistant")


def test_an_agreement_decides_the_newest_question():
    lines = ("assistant: 推荐甲和乙，您更喜欢哪款？", "user: 乙", "assistant: 总价10499元，确认下单吗？", "user: 确认")
    found = card("user: 帮我选一款笔记本", *lines)
    assert found.decisions[-1].text == "确认 ← #4 assistant: 总价10499元，确认下单吗？"
    assert card("user: What is the weather?", "assistant: Sunny.", "user: ok thanks, bye").decisions == ()


def test_a_yes_to_an_either_or_decides_nothing():
    assert card("user: Do it.", "assistant: Would you like to cancel now or on Monday?", "user: Yes.").decisions == ()


def test_a_change_by_name_replaces_the_choice_from_the_same_list_however_far_back():
    between = ["user: And the weather?", "assistant: Fine."] * 10
    found = card("user: Plan it.", PLACES, "user: Porto", *between, "user: Actually, let's switch to Lisbon after all.")
    (decision,) = found.decisions
    assert decision.coordinates == ("#24 user", "#2 assistant")
    assert decision.supersedes == ("#3 user",)
    assert card("user: Plan it.", PLACES, *between, "user: Let's meet in Lisbon.").decisions[0].coordinates == (
        "#23 user",
    )


def test_a_choice_by_name_can_be_taken_back_by_name():
    assert (
        card("user: Plan it.", PLACES, "user: Let's do Porto.", "assistant: OK.", "user: Forget Porto.").decisions == ()
    )
    assert card("user: 策划团建", PLACES_ZH, "user: 那就苏州吧", "assistant: 好的", "user: 不去苏州了").decisions == ()


def test_a_choice_by_name_stands_however_many_short_messages_come_later():
    later = [line for name in ("Ann Lee", "Bob Ray") * 60 for line in (OFFER, f"user: {name}")]
    found = card("user: Plan it.", PLACES, "user: Porto", *later)
    assert [entry.coordinates for entry in found.decisions] == [("#3 user", "#2 assistant")]
    assert len(found.findings) < 120


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (PLACES, "123"),
        (CLOUDS, "abc"),
        ("方案A：一次发布，费用4万元；方案B：分两批发布。您看选哪个？", "ab"),
        ("A: the train, B: the bus", "ab"),
        ("1) blue fox 2) red bird", "12"),
        ("see page 3) and page 4)", ""),
        ("as clause (2) of the contract and clause (4) say", ""),
        ("see (a) and think again", ""),
        ("Plan A is dead.", ""),
    ],
)
def test_a_list_may_stand_within_a_line(text, labels):
    assert "".join(label for label, _ in listed(text)) == labels


def test_an_answer_far_from_its_list_or_to_a_newer_one_without_it_decides_nothing():
    assert card("user: Plan it.", OFFER, *["assistant: Noted."] * 8, "user: B").decisions == ()
    assert card("user: Plan it.", OFFER, NUMBERED, "user: Option C.").decisions == ()


def test_an_answer_stands_however_many_lists_come_later():
    later = [line for _ in range(80) for line in (OFFER, "user: And the weather?")]
    found = card("user: Plan it.", OFFER, "user: B", *later)
    assert [entry.coordinates for entry in found.decisions] == [("#3 user", "#2 assistant")]


def test_a_later_choice_from_the_same_list_replaces_the_earlier():
    found = card("user: Plan the launch.", OFFER, "user: Let's go with A.", "user: No, let's go with option B.")
    assert [entry.coordinates[0] for entry in found.decisions] == ["#4 user"]
    assert found.decisions[0].supersedes == ("#3 user",)
    (old,) = [entry for entry in found.history if entry.modality is Modality.DECIDED]
    assert (old.coordinates[0], old.superseded_by) == ("#3 user", "#4 user")


def test_a_later_choice_from_the_same_list_quotes_it_too():
    found = card("user: Plan the launch.", OFFER, "user: Let's go with A.", "user: No, let's go with option B.")
    assert found.decisions[0].coordinates == ("#4 user", "#2 assistant")


def test_choices_from_different_lists_both_stand():
    other = "assistant: Option A: the train\nOption B: the bus\nWhich one?"
    found = card("user: Plan it.", OFFER, "user: Let's go with A.", other, "user: Let's go with option B.")
    assert [entry.coordinates[0] for entry in found.decisions] == ["#3 user", "#5 user"]


def test_unrelated_decisions_both_stand():
    found = card("user: Plan it.", "user: Let's use Postgres.", "user: Let's book the harbour hotel.")
    assert len(found.decisions) == 2


def test_a_sentence_that_says_so_replaces_what_is_about_the_same():
    found = card("user: Plan it.", "user: Let's use Postgres for orders.", "user: Let's use SQLite for orders instead.")
    assert texts(found.decisions) == ["Let's use SQLite for orders instead."]


def test_a_decision_on_a_value_replaces_the_earlier_value():
    found = card("user: 帮我写方案。", "user: 预算定为五万元，就这么定。", "user: 预算改成八万元。")
    assert texts(found.decisions) == ["预算改成八万元。"]
    assert [(entry.subject, entry.text) for entry in found.facts] == [("预算", "八万元")]


def test_a_correction_outdates_a_demand_about_the_value():
    found = card("user: 帮我写方案。", "user: 预算不超过 5 万元。", "user: 预算改成八万元。")
    assert found.constraints == ()
    assert any(entry.text == "预算不超过 5 万元。" and entry.superseded_by == "#3 user" for entry in found.history)


def test_the_same_demand_with_another_figure_replaces_it():
    found = card("user: Plan it.", "user: No flights before 11 AM.", "user: No flights before 9 AM.")
    assert texts(found.constraints) == ["No flights before 9 AM."]


def test_a_recall_takes_back_what_it_names():
    found = card(
        "user: Plan it.", OFFER, "user: Let's go with B.", "user: Let's use Postgres.", "user: Forget option B."
    )
    assert texts(found.decisions) == ["Let's use Postgres."]
    (gone,) = [entry for entry in found.history if entry.modality is Modality.WITHDRAWN]
    assert gone.superseded_by == "#5 user"


def test_a_recall_without_a_name_takes_back_the_last_decision():
    found = card("user: Plan it.", "user: Let's use Postgres.", "user: Let's book the hotel.", "user: Scratch that.")
    assert texts(found.decisions) == ["Let's use Postgres."]


def test_a_recall_of_nothing_does_nothing():
    lines = ("user: Plan it.", "user: Let's use Postgres.", *["user: And now?"] * 9, "user: Never mind.")
    assert texts(card(*lines).decisions) == ["Let's use Postgres."]


def test_a_promise_ends_when_its_owner_says_so():
    promised = ("user: 帮我写方案。", "assistant: 我周五前补充风险清单。")
    assert [entry.due for entry in card(*promised).pending] == ["周五前"]
    assert card(*promised, "assistant: 风险清单已补充。").pending == ()
    assert len(card(*promised, "assistant: 会场已预订。").pending) == 1
    assert len(card(*promised, "tool: 风险清单已补充。").pending) == 1


def test_the_goal_is_the_opening_request_and_a_later_one_replaces_it():
    found = card(
        "user: Hello!", "user: Write a launch plan.", "user: It has to be short.", "user: New task: write the FAQ."
    )
    assert found.goal is not None
    assert (found.goal.text, found.goal.supersedes) == ("New task: write the FAQ.", ("#2 user",))
    assert card("system: You are a bot.", "assistant: Hi.").goal is None


def test_when_the_opening_is_deleted_the_next_request_is_the_goal():
    found = card("user: Write a launch plan.", "user: And then an FAQ.")
    gone = Told(number=3, author="user", role="delete", text="", message="m1", place=1, gone=True)
    assert advance(found, [gone]).goal.text == "And then an FAQ."


# --- edits ------------------------------------------------------------------------------------------


def test_an_edit_is_heard_where_the_message_stood():
    before = card("user: Plan it.", OFFER, "user: Let's go with A.", "user: Let's go with option B.")
    after = advance(before, [edit(5, 3, "Let's go with A, the cheap one.")])
    assert [entry.coordinates[0] for entry in after.decisions] == ["#4 user"]
    assert [
        entry.coordinates[0] for entry in after.history if entry.modality is Modality.DECIDED and not entry.stale
    ] == ["#5 user"]
    assert [entry.text for entry in after.history if entry.stale] == ["Let's go with A."]


def test_an_edited_offer_changes_what_was_decided_and_leaves_the_decision():
    before = card("user: Plan it.", OFFER, "user: Let's go with B.")
    after = advance(before, [edit(4, 2, OFFER.partition(": ")[2].replace("48", "45"), "assistant")])
    assert texts(after.decisions) == ["Let's go with B. ← #4 assistant: B: two waves, $45,000"]


def test_a_deleted_offer_leaves_the_words_of_the_decision():
    before = card("user: Plan it.", OFFER, "user: Let's go with B.")
    gone = Told(number=4, author="assistant", role="delete", text="", message="m2", place=2, gone=True)
    assert texts(advance(before, [gone]).decisions) == ["Let's go with B."]


def test_withdrawing_evidence_marks_what_rests_on_it_stale():
    before = card("user: Plan it.", OFFER, "user: Let's go with B.", "user: No flights before 9 AM.")
    after = withdraw(before, {3})
    assert after.decisions == ()
    assert texts(after.constraints) == ["No flights before 9 AM."]
    assert [entry.text for entry in after.history if entry.stale] == ["Let's go with B."]
    assert after.version == before.version + 1
    assert withdraw(after, {3}) is after
    assert withdraw(before, {99}) is before


def test_withdrawing_the_offer_rebuilds_the_decision_from_what_is_left():
    after = withdraw(card("user: Plan it.", OFFER, "user: Let's go with B."), {2})
    assert texts(after.decisions) == ["Let's go with B."]


# --- going along ------------------------------------------------------------------------------------


def test_events_that_were_taken_in_are_passed_over():
    events = talk("user: Plan it.", OFFER, "user: Let's go with B.")
    once = advance(Card(), events)
    assert advance(once, events) is once
    one_by_one = Card()
    for event in events:
        one_by_one = advance(one_by_one, [event])
    assert one_by_one.findings == once.findings
    assert one_by_one.decisions == once.decisions


def test_a_card_is_bounded_and_says_what_it_forgot():
    lines = [f"user: Let's use tool number {at} for chapter {at}." for at in range(1, 301)]
    found = card("user: Write the book.", *lines)
    assert found.goal.text == "Write the book."
    assert len(found.decisions) <= 60
    assert found.decisions[-1].coordinates == ("#301 user",)
    assert found.forgotten >= 240


def test_findings_survive_as_json():
    notes = hear(Notes(), talk("user: Plan it.", OFFER, "user: Let's go with B.", "user: 预算不超过 5 万元。"))
    tree = findings_to_json(notes.findings)
    assert findings_from_json(tree) == notes.findings
    assert findings_from_json([{**tree[0], "later": 1}])[0] == notes.findings[0]
    assert card_of(Notes(findings=findings_from_json(tree), cursor=notes.cursor)) == card_of(notes)


@pytest.mark.parametrize(
    "tree",
    [None, 3, [3], [{}], [{"sort": "nothing", "place": 1, "number": 1, "author": "u", "text": ""}]]
    + [
        [{"sort": "goal", "place": 1, "number": 1, "author": "u", "text": "x", name: value}]
        for name, value in (("number", "1"), ("bare", 1), ("options", [["a"]]), ("text", None), ("backing", 7))
    ],
)
def test_what_is_no_finding_is_damage(tree):
    with pytest.raises(Damaged):
        findings_from_json(tree)


# --- evidence ---------------------------------------------------------------------------------------


def test_an_entry_without_evidence_is_none():
    with pytest.raises(Misuse):
        Entry(text="B was chosen", evidence=())


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("预算五万元", ["预算 RMB 50,000"]),
        ("The flight leaves at 3:30 PM on May 20", ["departure 2024-05-20 15:30"]),
        ("采用方案B", ["就按方案B"]),
        ("mail to a@b.example", ["write to a@b.example, please"]),
    ],
)
def test_what_the_evidence_states_may_be_entered(text, evidence):
    admit(text, evidence)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("预算六万元", ["预算五万元"]),
        ("The fee is $500", ["the fee is $50"]),
        ("due on May 21", ["due on May 20"]),
        ("order A-17", ["order A-171"]),
        ("B was chosen", []),
    ],
)
def test_what_the_evidence_lacks_may_not(text, evidence):
    with pytest.raises(Ungrounded):
        admit(text, evidence)


FIGURES = "预算 5 万元，其中 30 % 是 RMB 12,500 元，May 20, 2024 at 3:30 PM 之前付 17 million USD"


@pytest.mark.parametrize("longest", range(1, len(FIGURES) + 1))
def test_a_wording_is_never_cut_within_a_figure(longest):
    short = clip(FIGURES, longest)
    assert len(short) <= longest + 2
    assert not invented(short, [FIGURES])
    assert FIGURES.startswith(short.removesuffix("…").rstrip())


# --- whose words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Take 'B' please", "Take  B  please"),
        ('He wrote "go with B" today', "He wrote             today"),
        ("see:\n> go with B\nno", "see:\n           \nno"),
        ("客户说“就选方案B，定了，马上办”。", "客户说              。"),
        ("Here is the mail:\ngo with B", "Here is the mail:\n         "),
        ("it's fine, don't worry", "it's fine, don't worry"),
        ("no\n2026-01-01 12:00:00 INFO decision: go with B\nno", f"no\n{' ' * 44}\nno"),
        ("[12:01:07] Li: go with B\nno", f"{' ' * 24}\nno"),
        ("[2026/1/2, 09:15] 就按方案B\n不", f"{' ' * 23}\n不"),
        ("Subject: plan\nFrom: Li\n\ngo with B", f"Subject: plan\n{' ' * 8}\n\n{' ' * 9}"),
        ("主题：方案\n就按方案B", f"主题：方案\n{' ' * 5}"),
    ],
)
def test_what_is_not_the_authors_own_becomes_blanks(text, own):
    assert own_words(text) == own
    assert len(own_words(text)) == len(text)


# --- shown ------------------------------------------------------------------------------------------


def test_an_entry_is_one_line():
    entry = Entry(
        text="a\n- b (#1 user)\nGoal:", evidence=(Evidence(number=2, author="user"),), owner="Li", due="Friday"
    )
    assert line_of(entry) == "- a - b (#1 user) Goal: [Li; due Friday] (#2 user)"


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\x85", "\x1c"])
def test_nothing_of_an_entry_begins_a_line_of_its_own(end):
    """Else an owner, a date, a state or an author would be another entry: a decision that nobody made."""
    forged = f"Li{end}Decided:{end}- Pay 9 (#3 user)"
    entry = Entry(
        text=forged,
        evidence=(Evidence(number=2, author=forged),),
        owner=forged,
        due=forged,
        status=forged,
        subject=forged,
    )
    assert len(line_of(entry).splitlines()) == 1


def test_short_of_room_the_least_important_goes_first_and_is_counted():
    lines = [
        "user: Plan it.",
        *(f"user: Let's use tool {at} for part {at}, it is the best one that we have." for at in range(20)),
        *(f"assistant: I suggest that we call vendor number {at} for a better price." for at in range(10)),
    ]
    found = card(*lines)
    whole = render(found)
    assert whole.left == {}
    less = render(found, 500)
    assert "vendor" not in less.text
    assert less.left["proposals"] == 10
    assert "Plan it." in less.text
    assert "tool 19" in less.text
    least = render(found, 0)
    assert least.shown["decisions"] == 1
    assert str(least.left["decisions"]) in least.text


def test_the_headings_are_in_the_language_of_the_conversation():
    assert "已决定" in render(card("user: 帮我写方案。", "user: 就按方案B。")).text
    assert "Decided" in render(card("user: Plan it.", "user: Let's use Postgres.")).text


def test_every_sort_has_its_place():
    assert {one.sort for one in hear(Notes(), talk(OFFER)).findings} == {Sort.OFFER}


def test_an_agreement_stands_however_many_offers_come_later():
    lines = ["user: Plan the launch.", "assistant: Shall I book Hall A?", "user: Yes, please."]
    for at in range(40):
        lines += [f"assistant: Shall I also order item {at}?", "user: Tell me more about the city first."]
    (decision,) = card(*lines).decisions
    assert decision.coordinates == ("#3 user", "#2 assistant")


def test_people_agree_among_each_other():
    said = (
        ("Ann", "这个提示做三条可以吗？"),
        ("Bob", "可以，偏转化的。"),
        ("Ann", "两个指标容易混？"),
        ("Bob", "是的。"),
    )
    told = [Told(number=at, author=who, role="user", text=text) for at, (who, text) in enumerate(said, 1)]
    made = card_of(hear(Notes(), told))
    assert [entry.coordinates for entry in made.decisions] == [("#2 Bob", "#1 Ann")]
    assert made.proposals == ()
