"""Words that stand beside a number and say what it counts.

Rules of this module:

* A unit has one canonical name in whatever language it was written: `公斤`, `kilograms` and `kg` are `kg`. Measure
  words that have no counterpart (`件`, `台`) are their own names.
* `$` is the US dollar and `¥` the yuan unless a code says otherwise (`HK$`, `¥3000 JPY`); `pounds` may be a weight,
  so only `£` and `GBP` are money.
* In English any plural noun directly after a number is a unit (`3 tokens`), with one modifying word in between (`3
  checked bags`); a verb in the third person is told apart by a list. A singular noun is one only when listed.
* `一` before a mere measure word is an article (`一个`), as `a` is in English; before a unit of measure it counts.
"""

from __future__ import annotations

from dalsegno.core.facts.words import words

__all__ = [
    "ARTICLE_UNITS",
    "ATTACHED",
    "CURRENCY_AFTER",
    "CURRENCY_BEFORE",
    "HAN_UNITS",
    "MAGNITUDES",
    "MODIFIERS",
    "NO_NOUNS",
    "UNITS",
    "singular",
]

_CODES = words(
    "USD CNY EUR GBP JPY HKD TWD KRW AUD CAD SGD INR CHF RUB THB MYR BRL MXN NZD PLN SEK NOK DKK VND IDR ZAR AED"
)


def _table(**names: str) -> dict[str, str]:
    return {name: unit.replace("_", " ") for unit, several in names.items() for name in several.split()}


CURRENCY_BEFORE = {
    **{code.lower(): code for code in _CODES},
    **_table(
        USD="$ us$ 美元 美金",
        CNY="¥ rmb cn¥ 人民币 人民幣",
        EUR="€ 欧元",
        GBP="£ 英镑",
        JPY="jp¥ 日元",
        HKD="hk$ 港币 港元",
        TWD="nt$ 新台币",
        KRW="₩ 韩元",
        AUD="a$ au$",
        CAD="c$ ca$",
        SGD="s$ sg$",
        INR="₹ rs 卢比",
        BRL="r$",
        MXN="mx$",
        NZD="nz$",
        THB="฿ 泰铢",
        VND="₫",
        RUB="₽",
        TRY="₺",
        ILS="₪",
        PHP="₱",
        UAH="₴",
    ),
}
"""What may stand before an amount, in lower case, and its currency."""

CURRENCY_AFTER = {
    **{code.lower(): code for code in _CODES},
    **_table(
        USD="$ dollar dollars buck bucks 美元 美金 美刀 刀",
        CNY="¥ 元 圆 圓 块钱 塊錢 块 塊 元人民币 人民币 rmb yuan renminbi",
        EUR="€ euro euros 欧元 歐元",
        GBP="£ 英镑 英鎊",
        JPY="yen 日元 日圆",
        HKD="港币 港元 港幣",
        TWD="新台币 台币 新台幣",
        KRW="₩ 韩元 won",
        INR="rupee rupees ₹ 卢比",
        RUB="卢布 руб ₽",
        AUD="澳元 澳币",
        CAD="加元 加币",
        SGD="新加坡元",
        CHF="瑞士法郎",
        NZD="新西兰元",
        THB="泰铢 ฿ baht",
        VND="越南盾 ₫",
        PLN="zł",
        TRY="₺",
        ILS="₪",
        PHP="₱",
        UAH="₴",
    ),
}
"""What may stand after an amount, in lower case, and its currency."""

MAGNITUDES = {
    "hundred": 10**2,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
    "hundred thousand": 10**5,
    "hundred million": 10**8,
    "hundred billion": 10**11,
    "hundred trillion": 10**14,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 10**3,
    "mn": 10**6,
    "mm": 10**6,
    "m": 10**6,
    "mln": 10**6,
    "mio": 10**6,
    "mil": 10**6,
    "w": 10**4,
    "bn": 10**9,
    "bln": 10**9,
    "tn": 10**12,
    "tln": 10**12,
    "b": 10**9,
}
"""Words and letters that multiply an amount of money; alone, only the words and `k` do."""

_MEASURES = _table(
    kg="kg kgs kilogram kilograms kilo kilos 公斤 千克 ㎏",
    g="gram grams 克",
    mg="mg milligram milligrams 毫克",
    t="ton tons tonne tonnes 吨 噸",
    jin="斤",
    lb="lb lbs",
    pound="pound pounds 磅",
    oz="oz ounce ounces 盎司",
    km="km kms kilometer kilometers kilometre kilometres 公里 千米",
    m="meter meters metre metres 米",
    cm="cm centimeter centimeters 厘米 公分",
    mm="mm millimeter millimeters 毫米",
    mile="mile miles 英里",
    ft="ft foot feet 英尺",
    inch="inch inches 英寸 寸",
    m2="㎡ m² 平方米 平米 平",
    km2="平方公里 km²",
    mu="亩 畝",
    hectare="hectare hectares 公顷",
    m3="立方米 m³",
    L="liter liters litre litres 升",
    ml="ml 毫升",
    gallon="gallon gallons 加仑",
    B="byte bytes 字节",
    KB="kb kib",
    MB="mb mib 兆",
    GB="gb gib",
    TB="tb tib",
    Hz="hz 赫兹",
    MHz="mhz",
    GHz="ghz",
    W="watt watts 瓦",
    kW="kw 千瓦",
    kWh="kwh 千瓦时 度电",
    MWh="mwh 兆瓦时",
    MW="mw 兆瓦",
    GW="gw 吉瓦",
    Mbps="mbps",
    Gbps="gbps",
    V="volt volts 伏",
    kV="kv 千伏",
    kcal="kcal 千卡 大卡",
    mAh="mah 毫安",
    px="px pixel pixels 像素",
    rpm="rpm",
    mph="mph",
    km_h="km/h kmh 公里/小时",
    degree="° degree degrees 度",
    degC="°c ℃ 摄氏度",
    degF="°f ℉",
    ms="ms millisecond milliseconds 毫秒",
    second="second seconds sec secs 秒 秒钟",
    minute="minute minutes min mins 分钟 分鐘",
    hour="hour hours hr hrs 小时 个小时 小時 個小時 钟头 个钟头 个钟",
    day="day days 天 日 天内",
    business_day="个工作日 工作日 個工作日",
    night="night nights 晚",
    week="week weeks wk wks 周 个星期 星期 个礼拜 週",
    month="month months mo mos 个月 個月",
    quarter="个季度",
    year="year years yr yrs 年",
    decade="decade decades",
    century="century centuries 世纪",
    age="岁 歲 周岁",
    star="star stars 星 星级 颗星",
    x="倍",
    off="折",
)
_COUNTS = _table(
    person="people person persons 人 位 名 個人 个人",
    time="次 回 遍",
)
_MEASURE_WORDS = (
    "个個件份台臺辆套张条條本间层層篇首部盒箱包袋瓶杯碗支枝把只头匹株棵颗粒块片座栋幢户家所门种项項款页頁章节字步期批轮场届班趟列艘架枚封"
    "笔筆单股手桶罐双对對组組行席桌站圈卷册级級档例则样"
)
HAN_UNITS: dict[str, str] = {name: unit for name, unit in (_MEASURES | _COUNTS).items() if not name.isascii()}
HAN_UNITS |= {name: name for name in (*_MEASURE_WORDS, "分", "道题", "道菜")}
"""Units in Chinese characters and their canonical names."""

ARTICLE_UNITS = frozenset(
    (*_MEASURE_WORDS, "分", "度", "晚", "星", "平", "寸", "位", "名", "人", "次", "回", "遍", "日", "升")
)
"""Measure words before which `一` is an article, or a part of another word."""

UNITS: dict[str, str] = {
    name: unit for name, unit in (_MEASURES | _COUNTS).items() if name[0] in "°abcdefghijklmnopqrstuvwxyz"
}
"""Units in Latin letters, lower case, and their canonical names."""

ATTACHED = UNITS | _table(
    m="m", g="g", L="l", hour="h", second="s", day="d", W="w", V="v", t="t", x="x", B="b", year="y"
)
"""What may follow a digit without a blank, lower case, and its canonical name."""

MODIFIERS = frozenset(
    words(
        "more additional extra total free checked new old different separate economy business first-class basic "
        "adult other small medium large full half whole square cubic working calendar consecutive active open "
        "remaining available unread recent distinct unique individual single double minor major main key carry-on "
        "metric test unit training input output gift travel credit round-trip one-way nonstop non-stop direct "
        "pending hotel flight team sales support user customer software senior junior percentage frequent regular "
        "standard"
    )
)
"""Words that may stand between a number and its noun."""

NO_NOUNS = frozenset(
    words(
        "is was has does as its his this thus us yes less plus minus versus vs goes says gives makes takes gets "
        "needs wants looks seems works costs runs starts ends begins comes means shows helps lets keeps tells "
        "uses becomes remains contains includes covers equals exceeds applies allows requires provides returns "
        "refers sounds feels always perhaps besides unless across towards afterwards sometimes otherwise nowadays "
        "others ours yours hers theirs thanks congratulations rises falls grows wins loses leaves arrives departs "
        "belongs lives stands sits happens depends appears supports"
    )
)
"""Words in `s` that are no plural nouns, or are verbs oftener than nouns after a number."""

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot", "lives": "life"}


def singular(noun: str) -> str:
    """The singular of a lower-case English plural, near enough to compare two spellings."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:  # noqa: PLR2004 - ties, pies
        return noun[:-3] + "y"
    if noun.endswith(("ches", "shes", "xes", "sses", "zes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
