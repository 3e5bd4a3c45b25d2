"""The label before a value: what the text says that the value is of.

Rules of this module:

* A label stands in the same clause, right before the value or before a connecting word: `budget: 50k`, `the arrival
  date is May 20`, `change the budget to 80,000`, `预算改成八万元`, `"departure_date": "2024-05-20"`.
* A colon, `=`, `is` or `为` makes any noun phrase a label. A weaker bond (`of`, `to`, `on`, nothing at all) does so
  only for nouns that name a value, so that `from New York to Seattle on May 20` has no label.
* A label is in lower case without articles, possessives and pronouns; at most four words, or eight characters of
  Chinese. No label is the empty string: unknown is better than wrong, since a correction goes by it.
"""

from __future__ import annotations

import re

from dalsegno.core.facts.words import words

__all__ = ["ID_WORDS", "MONEY_WORDS", "NUMBERED_WORDS", "VERSION_WORDS", "label_before"]

_WINDOW = 64

ID_WORDS = frozenset(
    words(
        "id ids uid uuid number numbers num no code ref reference order orders invoice ticket case reservation "
        "booking confirmation contract flight tracking serial account sku isbn issn doi pin passport license "
        "licence plate gate room seat suite apt apartment box terminal locker platform section article "
        "clause chapter appendix exhibit figure table zip zipcode "
        "postcode extension ext hash key commit sha issue pr bug task record file certificate card token username "
        "login pnr vin imei iban swift four 编号 单号 订单 订单号 合同号 合同编号 证号 号码 卡号 账号 帐号 账户 "
        "工号 学号 票号 航班 航班号 车次 车牌 车牌号 房号 房间号 门牌 邮编 尾号 密码 验证码 代码 流水号 序列号 "
        "型号 文号 案号 身份证 身份证号 护照 护照号 号 快递单号 运单号 用户名 账户名 预订号 确认号 批号 条码 工单 "
        "发票 股票代码"
    )
)
"""Last words of a label whose value is an id, even when it is all digits."""

NUMBERED_WORDS = frozenset(
    words(
        "number numbers num no id ids section article clause chapter appendix exhibit figure table room gate code "
        "page line issue pr ticket 号 编号 号码"
    )
)
"""Those of them after which even one or two digits are an id; `Flight 1` only counts flights."""

MONEY_WORDS = frozenset(
    words(
        "budget price prices cost costs fee fees fare total subtotal amount salary deposit refund payment balance "
        "rent income revenue expense expenses wage tax tip credit debit quote discount premium bill charge value "
        "worth funding paid pay pays charged spent spend earn earned owe owes refunded 预算 股息 分红 股价 市值 "
        "净资产 价格 价钱 费用 金额 总价 单价 票价 房价 门票 工资 月薪 年薪 押金 定金 订金 尾款 租金 房租 余额 "
        "总额 总计 合计 报价 成本 收入 营收 利润 奖金 补贴 人均消费 人均 消费 花费 支出 罚款 税款 货款 退款 赔偿 "
        "预付款 首付 贷款 薪资 薪水 票款 运费 服务费 手续费"
    )
)
"""Last words of a label whose bare number is an amount of money."""

VERSION_WORDS = frozenset(
    words(
        "version ver v release python node nodejs java jdk php ruby go golang rust django flask react vue angular "
        "postgres postgresql mysql sqlite redis mongodb ubuntu debian centos windows macos ios android kubernetes "
        "docker numpy pandas pytorch tensorflow cuda langgraph langchain chrome firefox typescript kotlin swift "
        "spring dotnet 版本 版本号"
    )
)
"""Words after which digits with points are a version."""

_NOUNS = (
    ID_WORDS
    | NUMBERED_WORDS
    | MONEY_WORDS
    | VERSION_WORDS
    | frozenset(
        words(
            "date day time deadline start end departure arrival check-in check-out checkin checkout pickup "
            "meeting duration address phone telephone mobile email mail url link website path name title birthday "
            "dob quantity count weight size age seat seats limit rate ratio percentage score rating interest "
            "capacity speed temperature height width length distance threshold target goal delivery due expiry "
            "expiration interval timeout port 日期 时间 截止 截止日期 截止时间 期限 开始 结束 出发 到达 入住 退房 "
            "交付 交期 会议 时长 地址 电话 手机 手机号 联系电话 邮箱 邮件 网址 链接 路径 姓名 名称 生日 数量 人数 "
            "重量 尺寸 年龄 座位 上限 下限 比例 比率 占比 利率 税率 折扣 评分 分数 得分 得率 准确率 温度 身高 "
            "面积 距离 阈值 目标 周期 频率 出生日期 发货日期 入住日期 离店日期 出发日期 到达时间 出发时间 "
            "营业时间 游玩时间 参观时间 开放时间 库存 营业额"
        )
    )
)
_FREE = frozenset(("is", "are", "was", "were", "be", "equals", "becomes", "became", "remains", "reads", "say", "says"))
_WEAK = frozenset(
    words(
        "of to at on by for as from in until till with about around approximately roughly exactly only now just "
        "actually currently still already instead up down within under over below above nearly almost set changed "
        "moved updated raised lowered cut scheduled postponed named called ending starting due usd rmb cny eur eg "
        "i.e. e.g. #"
    )
)
_STARTS = frozenset(
    words(
        "the a an my our your his her their its this that these those and or but so if then when while whose "
        "which what who where change changed set update updated move moved make raise lower reduce increase "
        "correct use with for has have had need want please let also because since i we you he she they it there "
        "here not yes ok sorry actually new current now i'd i'll we'll says said say think believe sure confirm "
        "confirmed in on at of from to by"
    )
)
_CLAUSE_END = re.compile(r"[.!?;](?=\s)|[,\n{}()\[\]|，。；！？、（）【】「」《》“”]")
_STRIPPED = " \t\"'*_`~#>-•"
_LATIN_END = re.compile(r"[a-z0-9][a-z0-9'./&-]*\Z|[a-z]\Z")
_HAN_END = re.compile(r"[\u4e00-\u9fffA-Za-z0-9]{1,24}\Z")
_HAN_BOND = re.compile(
    r"(?:(?:改|换|變|变|调整|調整|更新|修改|更正|纠正|设置|設置|设|設|定|提高|提升|增加|降低|降|减少|减|延期|延后|推迟|提前|顺延)(?:成|为|為|到|至|在|于)|[是为為]|等于|约为|(?:已|会|将)?达到?|不超过|不低于|不少于|控制在|在)"
    r"(?:了|只|就|大概|大约|约|不|应该|现在|一共|总共|共)?\Z"
)
_HAN_FILL = re.compile(r"(?:了|只有|只|就|大概|大约|约|应该|现在|目前|一共|总共|共计|共|合计|不是|不|其实|实际)+\Z")
_HAN_START = re.compile(
    r"^.*(?:把|将|請|请|您的|你的|我的|我们的|他的|她的|它的|咱们的|那个|这个|這個|但是|所以|因为|如果|不过|而且|以及|其中|帮我|需要|就是|还有|希望)"
)
_HAN_PRONOUN = re.compile(r"^(?:我们|咱们|你们|他们|我|你|您|他|她|它|那|这|這|的|和|与|或|但|则|也|都|又|再|还)+")
_HAN_FROM = re.compile(r"[从由從].*$")
_HAS_DIGIT = re.compile("[0-9]").search
_MAX_HAN = 10


def label_before(text: str, start: int) -> str:
    """The label of the value that starts at `start`, or the empty string.

    Args:
        text: the folded text in lower case.
        start: offset of the value.
    """
    window = text[max(0, start - _WINDOW) : start].rstrip(" \"'([$¥€£*_`\t")
    if window.endswith("no."):
        window = window[:-1]
    if not window or window[-1] in ",;.!?\n，。；！？、)]}0123456789":
        return ""
    free = window[-1] in ":：="
    if free:
        window = window.rstrip(" \":：=*_`'\t")
    ends = [found.end() for found in _CLAUSE_END.finditer(window)]
    clause = window[ends[-1] :] if ends else window
    clause = clause.strip(_STRIPPED)
    if not clause:
        return ""
    return _latin(clause, free=free) if clause[-1].isascii() and not clause[-1].isdigit() else _han(clause, free=free)


def _latin(clause: str, free: bool) -> str:  # noqa: FBT001 - said by name
    words = clause.replace("_", " ").split()
    while words and (words[-1] in _WEAK or words[-1] in _FREE):
        free = words.pop() in _FREE or free
    while words and words[-1] in {
        "will",
        "should",
        "would",
        "must",
        "can",
        "not",
        "has",
        "have",
        "been",
        "isn't",
        "wasn't",
    }:
        words.pop()
    kept: list[str] = []
    for word in reversed(words):
        if len(kept) == 4 or word in _STARTS or not _LATIN_END.match(word):  # noqa: PLR2004 - words of a label
            break
        kept.append(word.strip("'\"*`").removesuffix("'s"))
    label = " ".join(reversed(kept)).strip(" -#.")
    if not label or (not free and label.rsplit(" ", 1)[-1].strip("#.:") not in _NOUNS):
        return ""
    return label


def _han(clause: str, free: bool) -> str:  # noqa: FBT001 - said by name
    run = _HAN_END.search(clause.replace(" ", ""))
    if run is None:
        return ""
    label = _HAN_FILL.sub("", run[0])
    while bond := _HAN_BOND.search(label):
        free, label = True, _HAN_FILL.sub("", label[: bond.start()])
    label = _HAN_PRONOUN.sub("", _HAN_START.sub("", label))
    label = _HAN_FROM.sub("", label)
    if not label or "不是" in label or _HAS_DIGIT(label):
        return ""
    if free and len(label) <= _MAX_HAN and not label.isdigit():
        return label
    for size in range(min(6, len(label)), 0, -1):
        if label[-size:] in _NOUNS:
            return label[-size:]
    return ""
