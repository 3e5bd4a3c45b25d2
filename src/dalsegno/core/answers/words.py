"""Words that the answer cache knows, in English and Chinese.

Rules of this module:

* What is said to be harmless here may differ between two questions that share an answer. So a word stands in these
  tables only when leaving it out, or taking the other one, can change no answer. In doubt it is left out: the price
  is a miss.
* Other tables only name a difference, or refuse an answer; they may err on the side of saying too much.
"""

from __future__ import annotations

import re

__all__ = [
    "ABBREVIATIONS",
    "ATTRIBUTED",
    "BEGINNINGS",
    "BESIDE",
    "BINDING",
    "CALENDAR",
    "CAPITALS",
    "CONTEXTUAL",
    "CONTRACTIONS",
    "DATED",
    "DIRECTIONS",
    "DURING",
    "EDGES",
    "EMPTY",
    "EXPLETIVE",
    "FILLING",
    "FORWARD",
    "FRAMES",
    "GENERAL",
    "GENERIC",
    "INDIRECT",
    "LEADING",
    "LETTERS",
    "METRICS",
    "MOVING",
    "NEGATIONS",
    "NO_ANSWER",
    "NO_ARTICLES",
    "ORDERS",
    "PERSONAL",
    "PLACES",
    "POSSESSIVE",
    "PRONOUNS",
    "REFERRING",
    "SYNONYMS",
    "UNCITED",
    "UNFINISHED",
    "UNITS",
    "UNNAMED",
    "WARNINGS",
    "WH",
    "YES_OR_NO",
]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- harmless -------------------------------------------------------------------------------------

EDGES = _any(
    r"^(?:hi|hello|hey|excuse me|ok|okay)(?: there)?[,.!]+ *",
    r"^(?:please|kindly|pls)[, ]+",
    r"[,.?!] *(?:please|pls|thank you|thanks|thx)[.! ]*$",
    r"^(?:您好|你好)[,.。:! ]+",
    r"^(?:请问一下|请问|请教一下|麻烦问一下|我?想问一下|我?想请问)[,。:! ]*",
    r"^(?:麻烦|劳驾|请)(?:你|您)?(?:帮忙|帮我|给我|替我)?(?:查询一下|查询下|查询出|查询|查一下|查下|算一下|计算一下"
    r"|计算(?!机)|告诉我)[,: ]*",
    r"^(?:你|您)?帮我(?:查询一下|查询下|查询出|查询|查一下|查下|算一下|计算一下|计算(?!机))[,: ]*",
    r"^我想要?(?:知道|了解一下|了解|查询一下|查询|查一下)[,: ]*",
    r"^(?:你|您)?(?:能否|能不能|可以|可否)(?:告诉我|帮我查一下|帮我算一下)[,: ]*",
    r"[,。?? ]+(?:谢谢|多谢)(?:你|您|了|啦)?[.。!]*$",
)
"""Courtesy at either end."""

LETTERS = re.compile(r"(?<=[A-Za-z0-9,&)] )An?(?![A-Za-z0-9_])(?!\.)|(?<![A-Za-z0-9_])A(?=[-+/&\u3400-\u9fff])")
"""`A` and `An` in capitals inside a sentence: a letter or a part of a name."""

_LETTERED = _words(
    "company class series vitamin hepatitis influenza type grade group plan section schedule tier level "
    "annex appendix exhibit "
    "part note option product model team share shares stock tranche category unit phase zone"
)

NO_ARTICLES = re.compile(
    r"(?<![a-z0-9_'-])(?:a(?= (?:shares?|stocks?|and|or|vs|is|was|are|were|has|have|in|of|for|on|at|from"
    r"|by|than|to|with)\b"
    r"|[^\sa-z0-9_]|$)"
    r"|an(?=[^\sa-z0-9_]|$| [b-df-gj-np-tv-z])"
    r"|(?<=\bping )an\b"
    r"|(?:" + "|".join(rf"(?<=\b{word} )" for word in sorted(_LETTERED)) + r")a\b)"
)
"""`a` and `an` that may be a letter or a part of a name, in small letters."""

INDIRECT = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please |kindly )?(?:tell me|let me know)"
    r"|(?:do you|does anyone|does anybody|do any of you) know|tell me|let me know"
    r"|i (?:want|would like|need|wish) to know|i'd like to know)[, ]+"
    "(?=(?:(?:in|during|for|on) [\ue000-\ue7ff] ?,? ?)?(?:what|who|where|when|which|how|why)\\b)"
)
"""Courtesy after which a question stands in the order of a statement: `tell me what it is`."""

CONTRACTIONS = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"\b(is|are|was|were|do|does|did|has|have|had|would|could|should|must|need)n't\b", r"\1 not"),
        (r"\b(what|who|where|when|how|why|that|there|it)'s\b", r"\1 is"),
        (r"\b(what|who|where|when|how|why|you|we|they)'re\b", r"\1 are"),
        (r"\bi'm\b", "i am"),
        (r"\b(i|you|we|they)'ve\b", r"\1 have"),
        (r"\b(i|you|we|they|it|he|she)'ll\b", r"\1 will"),
    )
)

_STATES = "look|feel|sound|seem|appear|smell|compare|do|differ|rank|score|come|fit|weigh"

FRAMES = tuple(
    (re.compile(pattern), one)
    for pattern, one in (
        (rf"^how (?:do i (?!(?:{_STATES})\b)|does one |can (?:i|one) |to )(?=[a-z])", "how to "),
        (r"^what (?:is|are) the best ways? (?:to|of) (?=[a-z])", "best way to "),
        (r"\b(?:what|which) (?=(?:years?|months?|quarters?|compan(?:y|ies)|countr(?:y|ies)|cit(?:y|ies))\b)", "which "),
    )
)
"""Beginnings that ask the same of whatever follows."""

LEADING = re.compile("^(?:(?:in|during|for|on) |[在于])?([\ue000-\ue7ff])(?: ?[,，] ?| )?")
"""A time at the head of a question; it moves to its end in English, behind a name in Chinese."""

MOVING = re.compile("\\b(?:for|during|in) (?=[\ue000-\ue7ff])")
"""Prepositions that say the same before a period."""

POSSESSIVE = re.compile(
    "^((?:what|who|where|when|how much) (?:is|are|was"
    "|were) )([a-z0-9][a-z0-9_ &.-]*)'s ([a-z][a-z -]*?)( in [\ue000-\ue7ff])?$"
)
"""`what is a's b`, which asks for `b of a` where there is one name and one thing."""

BINDING = frozenset(
    ("of", "for", "in", "on", "at", "to", "from", "with", "by", "and", "or", "than", "vs", "that", "who")
)
"""Words that bind phrases, so that a possessive before or after them may reach further than one can see."""

ABBREVIATIONS = re.compile(r"\b(inc|co|corp|ltd|plc|vs|no|mr|mrs|ms|dr|st|jr|sr|etc|approx|dept)\.")

DURING = re.compile("\\b(?:during|in) (?=[\ue000-\ue7ff])")
"""Those of them that say when, and not for when."""

FORWARD = re.compile(
    r"\b(?:guid(?:ance|ed)|forecasts?|forecasted|budget(?:s|ed)?|targets?|targeted|outlook|plan(?:s|ned)?|goals?"
    r"|estimate[sd]?|expect(?:s|ed|ations?)?|project(?:ed|ions?)|predict(?:s|ed|ions?)?|consensus|promised?)\b"
)
"""What is said of a later time: when it was said, and of when, are two things."""

ATTRIBUTED = re.compile(
    rf"{FORWARD.pattern}|\b(?:dividends?|pay(?:s|ment|ments|able|out)?|paid|bonus(?:es)?|declared?|due"
    rf"|owed?|provisions?"
    r"|provided|approved|set aside|ordered|orders|received|booked|reported|published|restated)\b"
)
"""What happens at one time for another."""

SYNONYMS = tuple(
    (re.compile(pattern), one)
    for pattern, one in (
        (r"\b(?:u\.s\.a\.|u\.s\.|usa|united states of america|united states)(?![a-z])", "usa"),
        (r"\b(?:u\.k\.|united kingdom)(?![a-z])", "uk"),
        (r"\bearnings per share\b", "eps"),
        (r"\bresearch and development\b|\br ?& ?d\b", "rnd"),
        (r"\bchief executive officer\b", "ceo"),
        (r"\bchief financial officer\b", "cfo"),
        (r"\bchief technology officer\b", "cto"),
        (r"\bper cent\b", "percent"),
        (r"\bversus\b", "vs"),
        (r"\be-?mails?\b(?= address)", "email"),
        (r"\borganisation", "organization"),
        (r"\bcolour", "color"),
        (r"\bamortisation\b", "amortization"),
        (r" ?& ?", " and "),
        ("归属于?(?:上市公司|母公司)(?:所有者|股东)的净利润|归母净利润?", "归母净利润"),
        ("(?<![经运])营收", "营业收入"),
        ("净利(?=$|[是为多同增的,?和])", "净利润"),
        ("截止(?=[\ue000-\ue7ff])", "截至"),
        ("每股盈利", "每股收益"),
        ("(?<=[\ue000-\ue7ff])度报告", "年度报告"),
        ("是多少|(?<![加少升降涨跌高低变改调减增至到])为多少", "多少"),
        ("(?<=[\u4e00-\u9fff])是$", "是什么"),
        ("是啥", "是什么"),
        ("[啊呀哦呢]+$", ""),
        ("^(?=.*(?:多少|什么|哪|谁|几|怎|如何|为何|是否|是不是|有没有|能否|可否))(.*)吗$", r"\1"),
    )
)
"""Spellings and names of one thing, each by one of them."""

FILLING = frozenset(("a", "an", "the"))
"""Words that are left out wherever they stand."""

METRICS = (
    "营业总收入|营业收入|营业成本|营业利润|利润总额|净利润|归母净利润|毛利率|净利率|毛利|总资产|净资产|总负债"
    "|负债总额|资产总额"
    "|资产负债率|股东权益|现金流量净额|现金流|每股收益|每股净资产|市盈率|市净率|市值|股价|收盘价|开盘价|最高价"
    "|最低价|成交量|成交金额"
    "|成交额|涨跌幅|换手率|总股本|注册资本|法定代表人|董事长|总经理|股票代码|股票简称|员工总数|研发费用|研发投入"
    "|管理费用|销售费用"
    "|财务费用|分红|股息"
)
"""What companies are asked about; a name and 的 before one of these may do without the 的."""

# --- read by the guards ---------------------------------------------------------------------------

CAPITALS = _words(
    "us it who or am in me an as at be by do he if is my no of on so to up we and all any are can for has her his "
    "how may not off one out our see she the was why you aids it's next now go let"
)
"""Words that are another thing in capitals."""

NEGATIONS = _words(
    "not no never without none neither nor nothing nobody non except excluding excluded exclude excludes unless "
    "lack lacks lacking fail fails failed 不 未 无 非 没 否 勿 莫 除"
)

DIRECTIONS = _words(
    "up down more less fewer greater larger smaller higher lower highest lowest largest smallest most least best "
    "worst increase decrease increased decreased rise fall rose fell gain loss before after above below over "
    "under maximum minimum first last buy sell bought sold import export debit credit from to by than earlier "
    "later older newer start end begin open close gross net long short "
    "涨 跌 升 降 增 减 高 低 大 小 多 少 前 后 上 下 买 卖 进 出 始 末 起 止"
)

UNITS = _words(
    "thousand thousands million millions billion billions trillion percent percentage points dollar dollars usd "
    "yuan rmb cny eur euro euros pound pounds gbp yen jpy hkd shares share kg kilograms tons tonnes ton km miles "
    "meters metres feet celsius fahrenheit hours minutes seconds days weeks months quarterly annual annually "
    "monthly daily weekly basis $ € £ ¥ % ‰ 元 万元 亿元 千元 百万元 美元 "
    "港元 欧元 日元 英镑 股 万股 亿股 吨 万吨 公斤 千克 公里 米 平方米 亩 公顷 小时 分钟 "
    "天 个月 手 户 人民币"
)

BEGINNINGS = _words(
    "what who whom whose where when which why how is are was were do does did can could will would should may "
    "might must has have had in on at for from of to by with if as since the a an and or but i my our your his "
    "her their its it this that these those there please tell give show list find calculate compute compare name "
    "describe explain state define suggest any some all not no yes please during between among according after "
    "before under over about i'm let hi hello"
)
"""Words that are written large at the head of a question without being names."""

CALENDAR = _words(
    "january february march april may june july august september october november december monday tuesday "
    "wednesday thursday friday saturday sunday"
)
"""Words that are written large and name a time."""

GENERAL = _words(
    "ebitda ebit ebt eps roe roa roi roic roce roace capex opex fcf cfo npat pbt pat cogs sga sg a r d rnd "
    "m yoy qoq mom "
    "gaap non-gaap non ifrs us-gaap nav aum nim cet1 cet ltv dso wacc irr npv kpi esg gmv arr mrr arpu asp "
    "ltm ttm ytd "
    "cagr pe pb ps ev dcf gdp cpi ppi ipo vat ceo coo cto cio cmo chair chairman chairwoman president founder "
    "director board executive officer chief auditor secretary treasurer management audit committee "
    "usd eur gbp cny rmb hkd jpy aud cad chf sgd dollar euro pound yen yuan million billion "
    "revenue sale income profit loss earning margin cost expense asset liability equity debt cash flow "
    "dividend capital expenditure tax rate growth share price stock turnover interest operating gross net "
    "total adjusted "
    "underlying diluted basic statutory free working ratio return on per before after and of the to for in an "
    "depreciation amortization amortisation goodwill inventory inventories receivable payable provision "
    "employee headcount staff customer segment market scope emission guidance outlook backlog "
    "risk factor business annual quarterly report statement sheet balance note item section table page part "
    "appendix exhibit schedule chapter figure chart form company group firm issuer registrant subsidiary "
    "parent fiscal "
    "financial year quarter half period q fy 10-k 10-q 20-f k class series type current non-current long short term"
)
"""Words that may be written large and name nobody: metrics, titles, currencies, parts of a report."""

PLACES = _words(
    "us usa uk eu u.s u.k u.s.a emea apac latam america american americas europe european asia asian "
    "africa african pacific "
    "china chinese japan japanese india indian germany german france french britain british australia "
    "australian canada "
    "canadian brazil brazilian mexico mexican korea korean russia russian hong kong taiwan singapore north "
    "south east west "
    "northern southern eastern western latin middle greater international global domestic world"
)
"""Places, which are where something was, and seldom whom a question is about."""

BESIDE = re.compile(
    r"\b(?:in|at|within|outside|under|through|via|from|to|by|with|into|across|as|per|between)(?: the"
    r"| both)? $|[在于向从对按]$"
)
"""What stands before a name that is not whom a question is about."""

# --- leaning on what was said before -------------------------------------------------------------

PRONOUNS = _any(
    r"\b(?:they|them|their|theirs|he|him|his|she|her|hers|it|its)\b",
    r"\b(?:this|these|those)\b(?! who\b)|^that(?:'s|\b)|\bthat(?=[?.!]*$|,)|\b(?:like|about|of|with"
    r"|for) that\b(?! [a-z]+)",
    "他们|她们|它们|他家|她家|它家|其(?!他|它|中|实|余|间|次|一|二|三)|它|(?<!其)他(?!人|国|乡|山)|她"
    "|[这那]家(?:公司|企业|银行|店)?|这(?:个|只|些|支|款|种|项|笔|份|里|几|两|三)|那(?:个|只|些|支|款|种|项|笔|份"
    "|里|几)|该(?!死)|此(?!外|次|时)",
)
"""Words that stand for something named elsewhere."""

REFERRING = _any(
    r"\b(?:this|that) (?:company|firm|group|bank|fund)\b|\b(?:they|them|he|him|she|it)\b(?!')",
    r"(?P<whose>\b(?:their|its|his|her)\b)",
    "他们|她们|它们|他家|她家|它家|[这那]家(?:公司|企业|银行)|该(?:公司|企业|银行|集团|基金)|其(?!他|它|中|实|余|间"
    "|次|一|二|三)|它|他|她",
)
"""Those of them that a name may take the place of."""

EXPLETIVE = re.compile(
    r"\b(?:is|was|will|would|can|could|does|did|do|has|makes?|take|takes|took|find) (?:it|that|this) (?:be |been )?"
    r"(?:possible|impossible|safe|legal|illegal|true|good|bad|better|worth|necessary|normal|ok|okay|hard|difficult"
    r"|easy|"
    r"important|wrong|right|take|cost|mean|feel|rain|snow|matter|help|like)\b"
)
"""`it` that stands for nothing."""

CONTEXTUAL = _any(
    r"^(?:and|but|so|then|also|or|plus)\b",
    r"^(?:what|how) about\b",
    r"\b(?:the (?:above|former|latter|aforementioned|previous|following)|as (?:above|mentioned|before)"
    r"|the same (?:year|"
    r"period|company|question|one|thing|for)|the other (?:one|year|company)|as well\?*$|go on|continue|tell me more"
    r"|why not)\b",
    r"^(?:why|how|when|who|where|what|really|more|else|which one|how so|how come|how much|how many)[?. !]*$",
    r"^(?:那么?|还有|另外|以及|而|然后|再|换成|如果是)(?![\u4e00-\u9fff]{0,3}(?:斯|些人))",
    "上述|前述|前者|后者|以上|刚才|刚刚|同期|上一[个题年季期]|前一[个题年季期]|同一年|同年|同样|继续|接着|再说说"
    "|详细说说|展开说",
    r"^[^?？]{1,14}呢[?？。!！ ]*$",
)
"""Wordings that go on with what was said before."""

_SHOWING = (
    "show|give|list|tell|explain|summari[sz]e|translate|convert|describe|elaborate|repeat|rephrase|plot|draw|chart"
)
_ASKING = "what|how much|how big|how large|why|who|when|where"

UNNAMED = _any(
    r"\b(?:the two|the (?:first|second|third|last|other|latter) one|each other|the others)$",
    r"\b(?:which|who|what) (?:(?:one|of (?:the )?(?:two|three|both|these|those)) )?(?:is|was|are|were|has"
    r"|had|did|does|grew|fell)"
    r"(?: the)? (?:more|less|most|least|better|best|worse|worst|cheaper|faster|slower|[a-z]+er|[a-z]+est)$",
    r"\bof the (?:two|three|four)\b(?! [a-z]+ (?:of|in|at)\b)|\bboth\b(?!.*\band\b)|\bthe other$",
    rf"^(?:{_ASKING})(?: (?:is|was|are|were|caused|drove|explains|made|did|about))?"
    r" the (?:difference|increase|decrease|change|total|sum|rise|fall|growth|decline|reason|result|answer"
    r"|figure|number|average"
    r"|ratio|gap|drop|cause|others?)(?: (?:happen|come about|be))?$",
    r"\b(?:the )?(?:(?:year|quarter|month|period) (?:before|after|earlier|later)|(?:one|a) (?:year|quarter|month) "
    r"(?:before|after|earlier|later)|(?:prior|previous|preceding|next|following|subsequent) (?:fiscal |financial )?"
    r"(?:year|quarter|month|period))\b(?! (?:to |of )?[\d#a-z]*\d)",
    rf"^(?:please )?(?:{_SHOWING})(?: (?:me|us|in|to|into|as|more|it|again|briefly|details?|usd|eur|cny"
    rf"|rmb|english|chinese|(?:us )?"
    r"dollars|euros|yuan|(?:the |a )?(?:chart|table|list|figures?|numbers?|sources?|graph|answer)))*$",
    r"^(?:in|as|to|into) (?:a |the )?(?:us |hong kong |australian )?(?:dollars?|euros?|usd|eur|gbp|cny|rmb"
    r"|yuan|yen|pounds|english"
    r"|chinese|table|chart|percent|percentage|short|detail|millions?|billions?|thousands?|general)$",
    r"^(?:another|one more|more|same|again|really|sure|are you (?:sure|certain)|is (?:this|that) (?:right"
    r"|true|so))\b.{0,24}$",
    "两者|二者|两家(?!公司的)|双方|它俩|这两|那两|这三|前一[年月日]|[上次翌]一?年(?!度?报)(?<!\\d年)"
    "|上一?(?:季|个月)|次[季月]|环比上期|上期|上年",
    "^(?:哪(?:个|家|一个|一家|年)?(?:更|最|比较)?(?:高|低|大|小|多|少|好|差|快|慢|便宜|贵)(?:一些|一点)?)$",
    "^(?:差额|差值|差距|差异|总计|合计|总共|一共|总和|增幅|降幅|增长率|涨幅|跌幅|比例|占比|平均"
    "|均值)?(?:是|为|有)?(?:多少|多大|什么)$",
    "^(?:为什么|为何|怎么)(?:会|不|没)?(?:这样|如此|增长|增加|下降|减少|上升|下跌|上涨|变化|变|涨|跌|是|说"
    "|呢)*(?:这么(?:多|少|快|大))?$",
    "^(?:请)?(?:换算|折算|转换|换|折合|翻译|翻|改)(?:成|为|到)",
    "^(?:请)?(?:用|以|按)(?:美元|人民币|欧元|港元|英文|中文|英语|万元|亿元|百分比|表格|图表|图)(?:表示"
    "|回答|计|计算|说|列出|展示|来说)?(?:是多少|多少)?$",
    "^(?:请)?(?:再|更)?(?:详细|具体|简单|简要)?(?:总结|概括|解释|说明|列出|列举|展示|画|举|说|讲)?(?:一下"
    "|一点|一些|点|个图|例子|一个例子)$",
    "^(?:你)?(?:确定|真的|是真的|对|是|一样|相同|同样|不同)吗?$|^第[一二三四五六七八九十\\d]+[个家种项]",
)
"""Wordings that compare, convert or repeat something that stands elsewhere."""

EMPTY = _words(
    "what which how who when where why is are was were be do did does has have had will would can much "
    "many in of for on at to by "
    "the a an and it that this there as per from be about please ? ' s , . : "
    "多 少 是 什 么 几 为 的 呢 在 于 有 吗 怎 样 如 何 ， 和 与 个 请 问 那 这"
)
"""Words with which alone nothing is asked."""

GENERIC = _any(
    r"\b(?:the|our|this|their) (?:company|firm|group|bank|fund|issuer|registrant|corporation)\b",
    "(?:^|[，,。；;])(?:公司|本公司|发行人|报告期)|该公司|本公司|发行人",
)
"""Names for whoever the documents are about."""

PERSONAL = _any(
    r"\b(?:my|mine|me|myself)\b",
    r"(?:^|\b)(?:am|do|did|can|should|will|may|have|was) i\b(?<!how do i)(?<!how can i)",
    "我的|咱们?的|我(?:司|家|们)|本人|俺的|我(?=[有该能可会要是买卖欠付交])",
)

# --- what no answer may hold ----------------------------------------------------------------------

DATED = _any(
    r"\b(?:currently|right now|as of now|at present|nowadays|latest|most recent|up to date|so far|to date"
    r"|these days|now)\b",
    r"\bcurrent (?:year|quarter|month|price|ceo|president|rate|version|status|value|date)\b",
    "最新|目前|当前|现在|如今|现任|至今|眼下|截至今|迄今|本[年月季周日]|今[年天日]|实时",
)
"""Questions that have another answer another day."""

ORDERS = _any(
    r"(?:^|\n)\s*(?:system|assistant|user|developer|human|ai)\s*[:：]",
    r"</?(?:system|assistant|user|tool|instructions?)\b[^>]{0,40}>|\[/?inst\]|###\s*(?:system|instruction)",
    r"<[|｜][^\n]{1,40}?[|｜]>|</?(?:start|end)_of_(?:turn|text)>|</?s>|<<\/?sys>>",
    r"\b(?:always|from now on|(?:whenever|when|if|each time|every time) (?:you are |you're )?(?:asked"
    r"|someone|anyone|anybody|somebody"
    r"|people|users?|(?:a|the|any) user|they|he|she)(?: asks?)?)\b[^.\n]{0,60}\b(?:answer|reply|respond|say"
    r"|recommend)\b",
    r"\bdo not (?:tell|inform|reveal|mention)\b[^.\n]{0,40}\b(?:user|anyone|them)\b|\bnew instructions?\b\s*[:：]",
    "(?:以后|今后|始终|总是|一律|凡是|每次)[^。\n]{0,20}(?:回答|回复|推荐|输出)|不要(?:告诉|向)[^。\n]{0,10}(?:用户"
    "|任何人)|新(?:的)?指令[:：]",
)
"""Text that orders a model about, beside what long-term memory knows for such."""

WARNINGS = _any(
    r"\b(?:low|limited|medium|moderate) confidence\b|\bconfidence\b ?(?:level|score)?(?: is|:|：)? ?(?:low"
    r"|limited|medium|moderate)\b",
    "(?:置信度|可信度|把握)(?:较|为|[:：])?(?:低|不高|有限|中等?)|可能不(?:够)?(?:准确|完整|正确|可靠)|^注意[:：]",
    r"⚠|\[?(?:warning|disclaimer|caution|caveat)\]?\s*[:：]",
    r"\b(?:not|n't|no) (?:be (?:construed|taken|considered) as |constitute |intended as |a substitute for |provide )?"
    r"(?:any |an |a )?(?:financial|investment|legal|medical|tax|professional)(?: or (?:financial|investment|legal"
    r"|tax))? advice\b",
    r"\b(?:may|might|could) (?:not be|be) (?:accurate|inaccurate|outdated|out of date|up to date|incomplete|wrong)\b",
    r"\bfor (?:reference|informational purposes|information) only\b",
    r"\b(?:ai[- ]generated|generated by (?:an? )?ai)\b|\bcould not be verified\b|\b(?:un|not )verified\b",
    r"\b(?:please )?(?:consult|check with|speak to) (?:a|an|your) (?:qualified|financial|licensed|professional"
    r"|doctor|lawyer|advisor|adviser)",
    "免责声明|风险提示|温馨提示|仅供参考|不构成(?:任何)?(?:投资|法律|医疗|财务)?(?:建议|意见)|投资有风险"
    "|谨慎(?:决策|投资)"
    "|(?:内容|回答|答案)?由(?:ai|人工智能|模型)生成|未(?:经|能)?(?:核实|验证)|可能(?:存在|有)(?:误差|错误|偏差)"
    "|以(?:官方|实际|公告)(?:公布|信息|情况|披露)?为准"
    "|警告[:：]|提醒[:：]",
)

_TEXTS = (
    "reports?|documents?|sources?|passages?|contexts?|texts?|filings?|pages?|statements?|materials?"
    "|excerpts?|articles?|files?"
    "|records?|data|information|evidence|notes?|tables?"
)
_SAYS = (
    "says?|states?|mentions?|discloses?|contains?|includes?|provides?|gives?|specif(?:y|ies)|answers?|shows?|covers?"
    "|address(?:es)?|indicates?|tells?|lists?|reports?|have|has|support"
)

NO_ANSWER = _any(
    rf"\b(?:{_TEXTS})(?: (?:here|provided|given|above|supplied|available))? (?:do|does|did|can"
    rf"|could)(?: not|n't) (?:\w+ )?(?:{_SAYS})\b",
    r"(?:\bnot|n't)(?: been| be| explicitly| clearly| specifically| directly| publicly)* (?:disclosed"
    r"|stated|mentioned|specified"
    r"|available|found|determined|answered|inferred|clear|known|given|provided|shown)\b",
    rf"(?:\bno|(?:\bnot|n't) (?:have |contain )?(?:any|enough|sufficient)|\binsufficient"
    rf"|\bwithout) (?:\w+ )?(?:{_TEXTS}|answers?|figures?|mention)"
    r"\b(?= (?:on|about|for|of|to|was|were|is|are|given|here|regarding|available)\b| ?[.,;!]|$)",
    r"\b(?:unable to|unclear|unfortunately|rather not (?:say|answer)|(?:cannot|can't|could not"
    r"|couldn't) be (?:determined|found|answered"
    r"|verified|calculated|established|identified)|to ?do|tbd|tba|to be (?:determined|announced|added|confirmed))\b",
    "未(?:曾|予)?(?:披露|提及|提到|说明|列示|公布|给出|涉及|包含|注明|记载|明确|提供)"
    "|没有?(?:明确)?(?:提到|提及|披露|说明|涉及|给出|包含|公布"
    "|记载|列出|答案)|(?:信息|资料|数据|材料|证据|依据)(?:不足|不够|缺失)|无法(?:判断|得知|得出|计算|确认"
    "|确认|推断|查询|知道|判定)|不得而知"
    "|(?:尚|并)?不(?:清楚|明确|详)|无相关|不便(?:回答|透露)",
    r"^(?:i'?m |i am )?(?:sorry|afraid)\b|\bi(?:'m| am) (?:sorry|unable|not able|afraid)\b",
    r"\bi (?:do not|don't|cannot|can't|could not|couldn't|am unable to) (?:know|find|answer|help|access|determine"
    r"|provide|see)\b",
    r"\bas an ai\b|\bas a language model\b|\bno (?:relevant |such )?(?:information|data|results?"
    r"|documents?) (?:was |were |is |are )?(?:found|available|provided)\b",
    r"^(?:error|exception|traceback|null|none|n/?a|undefined|unknown|timeout)\b|\btraceback \(most recent\b"
    r"|\b(?:rate limit|internal server error|service unavailable|bad gateway|connection (?:refused|reset))\b",
    "(?:很)?抱歉|对不起|无法(?:回答|提供|确定|获取|找到|查到|给出)|不知道|没有找到|未找到|未能(?:找到|查到|获取)"
    "|未查到|查不到|暂无(?:相关)?(?:数据|信息)"
    "|没有(?:相关|足够)?的?(?:信息|数据|资料)|作为(?:一个|一名)?(?:ai|人工智能|语言模型)|请稍后(?:再试|重试)"
    "|系统(?:繁忙|错误)|请求(?:超时|失败)",
    r"\b(?:let me|i(?:'ll| will)|allow me to) (?:just |first |quickly )?"
    r"(?:check|look|search|find|see|verify|calculate|retrieve|get back)\b"
    r"|\b(?:please )?(?:hold on|one moment|just a moment|bear with me|stand by)\b",
    "请(?:您)?(?:稍等|稍候|等一下)|(?:让|容)我(?:先)?(?:查|看|找|算|确认)|我(?:来|先|去)(?:查|看|找|算)(?:一下|一查|查)?",
    r"^(?:please )?(?:see|refer to|check) (?:the )?(?:\w+ )?(?:table|figure|chart|above|below|attached|attachment"
    r"|document|report|page|link|appendix"
    r"|note)s?\b[^.]{0,30}\.?$",
    "^(?:详?见|请?参[见阅考]|请看)(?:上|下|附|前|后)?[^，。,]{1,16}[。.]?$",
    r"(?:^|\n)\s*(?:thought|action|action input|observation|final answer)\s*:"
    r"|\"(?:tool_calls?|function_call)\" ?:|\bto=functions\b",
    r"\bi(?:'m| am) not (?:entirely |quite |completely |100% )?(?:sure|certain|confident)\b"
    r"|我(?:不|不太|也不)(?:能)?(?:确定|肯定)",
)

WH = re.compile(
    r"^(?:(?:in|on|at|for|during|by) [^,?]{1,40},? )?(?:what|which|who|whom|whose|when|where|why|how)\b"
    r"|.*(?:多少|什么|哪|谁|几|何时|怎么|为何)"
)
"""Questions that a yes does not answer."""

YES_OR_NO = re.compile(r"(?:yes|no|yep|nope|true|false|ok(?:ay)?|sure|是的?|否|不是|对|不对|有|没有|好的)[.!。！ ]*$")

UNFINISHED = re.compile(
    r"(?:[,，、;；:：(（\[【“‘—-]|\.\.\.|…|\b(?:and|or|the|of|to|a|an|with|for|in|because|that|is|are|was|were|its|their|his"
    r"|her|our|which|than|from|by|per|approximately|about|around|roughly|nearly|versus|compared)"
    r"|\d ?(?:bi|bil|bill|billi|billio|mi|mil|mill|milli|millio|tri|tril|trill|trilli|trillio|thou|thous|thousa|thousan"
    r"|perc|perce|percen)"
    r"|[和与及或的是为在达约占较]|以及|包括|其中|分别为?|由于|因此|[，,](?:同比|环比)?(?:增长|下降|增加|减少|上升|提高))\s*$"
    r"|\n[ \t]*(?:\d{1,2}[.)、]|[-*•])[ \t]*$"
    r"|(?:^|\n)[ \t]*\|[^\n]*\|[ \t]*\n[ \t]*\|[ \t:|-]+\|?[ \t]*$"
    r"|^(?:(?:based|depending) on|according to|as (?:of|per|stated|shown|reported) |in (?:fy|fiscal|the)|from the)"
    r"[^,\n]{1,80}, [a-z' ]{1,40}$",
    re.IGNORECASE,
)
"""Ends at which no sentence ends, a list or a table without its next line, an opening clause without a statement."""

UNCITED = re.compile(
    r"(?<!\bit )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bthere )"
    r"\b(?:is|was|are|were|the|of|to|in|and|for)\s*[.。]?\s*$|[是为在][。.]?\s*$"
)
"""Ends at which an answer said nothing once its citation is taken away: `The answer is [1].`"""
