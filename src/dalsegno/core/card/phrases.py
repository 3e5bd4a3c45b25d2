"""Words that decide, suggest, withdraw, demand and set a goal, in English and Chinese.

Rules of this module:

* Patterns look at a sentence in lower case, folded, with foreign words already taken out (`own_words`).
* Deciding needs the speaker's own will, here and now: `let's go with B`, `就按方案B`. A wish, a guess, a question, a
  condition, a report of what others want decide nothing, whatever words they use.
* Of two readings the weaker is taken: who goes on may ask once more, but must not act on what nobody decided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = [
    "ACCEPTS",
    "ASKED",
    "ASKS",
    "CHOOSES",
    "CHOOSE_ONE",
    "CONDITIONS",
    "DEMANDS",
    "DENIES",
    "FINISHES",
    "GOALS",
    "GREETING",
    "HEDGES",
    "INQUIRES",
    "INSTEAD",
    "NOT_DEMANDS",
    "OTHERS",
    "OWN_REPORT",
    "REFERS",
    "REPORTS",
    "SETTLED",
    "SUGGESTS",
    "UNDECIDED",
    "WHICH",
    "WILLING",
    "WITHDRAWS",
    "WITHDRAWS_BARE",
    "Phrase",
]


class Phrase:
    """A pattern whose Chinese alternatives are tried only on texts that have more than ASCII in them."""

    __slots__ = ("_all", "_ascii", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._all = re.compile(pattern)
        self._ascii = re.compile("|".join(part for part in _alternatives(pattern) if part.isascii()) or "(?!)")

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first place where it stands."""
        return (self._ascii if text.isascii() else self._all).search(text, start)

    def match(self, text: str) -> re.Match[str] | None:
        """Whether a text begins with it."""
        return (self._ascii if text.isascii() else self._all).match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every place where it stands."""
        return (self._ascii if text.isascii() else self._all).finditer(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with something else in its places."""
        return (self._ascii if text.isascii() else self._all).sub(by, text)


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern that stand in no group and no set."""
    depth, start, at = 0, 0, 0
    in_set = False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 1
        elif in_set:
            in_set = character != "]"
        elif character == "[":
            in_set = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "|" and depth == 0:
            yield pattern[start:at]
            start = at + 1
        at += 1
    yield pattern[start:]


# --- deciding ---------------------------------------------------------------------------------------

CHOOSES = Phrase(
    r"\blet's\s(?:just\s|then\s|please\s)?(?:go\s(?:with|for|ahead)|do|take(?!\scare|\syour|\sa\slook)"
    r"|stick\s(?:with|to)|keep|proceed"
    r"|book|make\sit|choose|pick|"
    r"adopt|launch|ship|stay\swith|settle\son|switch\sto|move\s(?:it\s)?to|change|start\swith|schedule"
    r"|use(?!\s(?:the|this|that|our)\s(?:[a-z]+\s)?(?:time|moment|chance|opportunity|occasion)\sto\b)"
    r"|meet(?!\s(?:again\s?)?(?:some\s?(?:time|day)|soon|again|up)[\s.!]*$))\b"
    r"|\b(?:i|we)(?:'ll|\swill|'d\slike\sto|\swould\slike\sto|\swant\sto|'re\sgoing\sto|'m\sgoing\sto"
    r"|\sare\sgoing\sto|\sam\sgoing\sto)\s(?:just\s|rather\s)?"
    r"(?:go\s(?:with|for|ahead)|take(?!\scare|\syour|\sa\slook)|choose|pick|opt\sfor|stick\swith|proceed"
    r"|settle\son|use|adopt)\b"
    r"|\b(?:please|just|then|ok(?:ay)?,?|yes,?|so|and)\s(?:go\s(?:with|ahead|for\sit)|proceed|use|choose|pick"
    r"|take(?!\scare|\syour|\sa\slook)|stick\swith|opt\sfor)\b"
    r"|[,;:]\s(?:go\s(?:with|ahead|for\sit)|proceed|use|choose|pick|take(?!\scare|\syour|\sa\slook)|stick\swith"
    r"|opt\sfor)\b"
    r"|\b(?:but|and|then|please)\schange\s(?:it|that|the(?!\s(?:subject|topic)\b(?!\sline))|my|our)\b"
    r"|^[\s\"'*-]*(?:go\s(?:with|ahead)|proceed|choose|pick|use|take(?!\scare|\syour|\sa\slook)|stick\swith"
    r"|switch\sto|make\sit"
    r"|change\s(?:it|that|the)|move\sit)\b"
    r"|\b(?:i|we)(?:'ve|\shave)?\s(?:now\s|finally\s|already\s)?(?:decided|chosen|chose|settled|picked|selected"
    r"|agreed)\b"
    r"|\b(?:i|we)\s(?:choose|pick|select|approve|confirm|accept|hereby\sdecide)\b"
    r"|\bit's\s(?:decided|settled|final|a\sdeal)\b|\bthat's\s(?:decided|settled|final|my\sdecision|our\sdecision)\b"
    r"|\b(?:final\s)?decision\s?(?::|is\s)|^decided\s?:|\bfinal\sanswer\b"
    r"|\b(?:we're|we\sare|i'm|i\sam)\s(?:going|sticking|proceeding)\s(?:with|ahead)\b"
    r"|\b(?:option|plan)\s[a-h1-9]\s(?:it\sis|then|please)\b|\b[a-h]\sit\sis\b"
    r"|\bi\s(?:prefer|want)\s(?:option|plan|proposal)\s[a-h1-9]\b"
    r"|(?<!怎么)(?<!如何)(?:就|那就|还是)(?:先)?(?:按照?|选择?|采?用|定|走|照|换成?|改成?|这么|这样|以)(?!是|说"
    r"|像|看|算|能|会|不|了吗)"
    r"|(?:定了|定下来|敲定|拍板|说好了|一言为定|成交|就它了|就这个了?|就这些了?)"
    r"|(?:我们?|咱们?|最终|最后|已经?|正式|会议)?(?<!未)(?<!没)决定(?!权|性|因素|书|于|是否|不了)"
    r"|(?:最终|统一|正式|确定)(?:采?用|选择?|定(?:为|在)|为|按)"
    r"|(?<!不)(?<!先别)(?:采用|选定|选择)(?=方案|第|[a-h1-9一二三甲乙丙])"
    r"|(?:^|[，,。；;：:\s])(?:请)?(?:按照?|照)(?:你|您|上次|刚才|之前|第|方案|这个|原|这份|昨天"
    r"|[a-h])[^，。！？；\n]{0,16}(?:来|做|办|执行|走|推进|继续|定|实施|落实|安排|发布)"
    r"|(?:^|[，,。；;：:\s])(?:请|把[^，。！？；\n]{1,14}|[^，。！？；\n]{0,8})(?:改成|改为|改到|改用|改[寄送发订约买坐乘住投](?![过了的])|换成|换为"
    r"|调整为|调整到|调整成|推迟到|提前到)(?=\S)"
    r"|(?:^|[，,。；;\s])(?:我)?(?:选|要)\s?[a-h1-9](?![a-z0-9])"
    r"|(?<![我你您他她])先(?:定(?!一|个)|用(?!户)|走(?!了|吧)|保守|保证|守住|不(?:做|接|上|动|碰|管|写|提|放|加|讲|谈)|事件|静态|折叠|观察|灰度)"
    r"|(?:^|[，,。；;：:\s])先[a-z0-9]{2,}(?=[，,。；;]|$)"
    r"|优先(?=[，,。；;！!\s]*$|[，,；;])|(?:验收|评审|审核|审批|回归)通过(?!率|后|之后|以后|了?吗|才|再|的)"
    r"|(?<![要想])走(?=[^，。！？；\n了]{1,8}(?:版|方案|路线|流程|通道)(?:[，,。；;]|$))"
    r"|(?:口径|范围|指标|目标|版本|接口|需求)(?:先)?(?:定|锁定|冻结)(?![义位制性向期])"
    r"|(?:第一期|一期|本期|这期|首期|这版|本版)(?:先)?不(?:接|做|上|含|支持)"
)
"""An own choice, with or without what is chosen."""

ACCEPTS = Phrase(
    r"^[\s\"'*@-]*(?:yes|yeah|yep|yup|sure|ok|okay|fine|agreed|approved|confirmed|deal|absolutely"
    r"|sounds\s(?:good|great|perfect|fine)|"
    r"that\sworks|works\sfor\sme|looks\sgood|lgtm|correct|exactly|please\sdo|do\s(?:it|both)|that's\s(?:fine|good|right"
    r"|correct|perfect|great|ok))\b"
    r"|^[\s*]*(?:好的?|行|可以|没问题|没意见|同意|赞同|赞成|支持|通过|批准|确认|对(?!了[，,：:\s])|是的|没错|ok|就这样|就这么办"
    r"|成|中|要得)(?=[，,。.！!\s啊呀吧了的]|$|，|，?就)"
)
"""An assent at the start of a sentence; it decides what was asked."""

DENIES = Phrase(
    r"\b(?:not|n't|never|cannot|no\slonger|haven't|hasn't|without)\b|n't\b"
    r"|(?<![要么])(?:不(?!超|低|高|少于|多于|得不|错|然|过(?=[，,])|仅|用说|好意思)|没(?!问题|意见|错|关系)|未"
    r"|别(?!的|人|名)|无法|尚|拒绝|反对|暂缓|勿)"
)
"""A denial somewhere before the deciding words."""

CONDITIONS = Phrase(
    r"\b(?:if|unless|once|when|until|as\slong\sas|assuming|provided|in\scase|whether|depending|otherwise"
    r"|subject\sto|suppose|supposing|(?:before|after)\s(?:we|i|you))\b"
    r"|如果|假如|假设|要是|若(?!干)|倘若|万一|一旦|除非|的话|(?:等|待)[^，。]{1,14}(?:后|再|之后|了再)|取决于"
    r"|看情况|前提是|只要|视[^，。]{1,8}而定"
)
HEDGES = Phrase(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|would|may|i\sthink|i\sguess|i\sfeel|i\sbelieve"
    r"|i'm\s(?:not\ssure|thinking|leaning|considering|inclined)|i\sam\s(?:not\ssure|thinking|leaning|considering"
    r"|inclined)|"
    r"leaning|tempted|considering|wondering|not\ssure|unsure|in\stheory|ideally|hypothetically|for\sexample|e\.g"
    r"|let\sme\sthink|what\sif|or\sshould|thinking\s(?:about|of)|almost|nearly)\b"
    r"|也许|或许|可能|大概|似乎|好像|估计|应该是|倾向|不确定|没想好|考虑|想想|再看|看看|感觉|觉得|比如|例如|假设"
    r"|理论上|暂定|初步|是不是|要不|不如|或者|本来|原本|差点|险些"
)
WILLING = Phrase(
    r"\b(?:i'd|i\swould|we'd|we\swould)\s(?:like|love|prefer)\b|\bif\syou\s(?:can|could|please|don't\smind)\b"
)
"""`I would like to …` has a hedge's word and is none."""
REPORTS = Phrase(
    r"\b(?:he|she|they|it|someone|the\s(?:email|mail|document|doc|report|article|policy|contract|memo|minutes"
    r"|note|vendor|supplier|client|customer|boss|manager|website|agent)|"
    r"(?!(?:i|we|you|only|just|really|also|do|don't|not|to|would|still|and|or)\b)[a-z]+)\s(?:says?|said|states?"
    r"|stated|thinks?|thought|wants?|wanted|suggests?|suggested|proposes?|proposed|told|writes?|wrote|asks?"
    r"|asked|mentions?|mentioned|claims?|claimed)\b"
    r"|\baccording\sto\b|\bquote\b"
    r"|(?:他|她|他们|对方|客户|老板|领导|经理|同事|供应商|甲方|乙方|邮件|文档|文件|纪要|报告|文章|合同|网上|有人"
    r"|别人|官网)[^，。！？；\n]{0,8}?(?:说|写|提到|要求|认为|觉得|想|建议|希望|表示|问)"
    r"|(?:据|听)[^，。]{0,6}(?:说|称)|上面写|里面写|写着|提到"
)
OTHERS = Phrase(
    r"(?:他|她|它)们?|(?:对方|(?:竞争)?对手|客户|别人|人家|老板|领导|上司|经理|同事|供应商|甲方|乙方|财务|隔壁|友商|别的公司)们?"
    r"|\b(?:he|she|they|(?:the|our|my|their)\s(?:competitors?|vendor|supplier|client|customer|boss|manager|rivals?))\b"
)
"""Somebody else, who may have decided what he likes."""
OWN_REPORT = Phrase(
    r"\b(?:i|we|you)\s(?:says?|said|thinks?|thought|wants?|wanted|suggests?|suggested|proposes?|proposed|told"
    r"|mentions?|mentioned|asked)\b"
)
"""`as you suggested`, `like I said` report nobody else."""
ASKED = Phrase(
    r"\?[\"')*_\s]*$|[?？][\"'”」』）)*_\s]*$|(?:吗|呢|么|没有|不)[。.!！\s]*$"
    r"|^[\s\"'*-]*(?:should|shall|must|can|could|would|do|does|did|is|are|was|what|which|who|why|how|when|where"
    r"|may|have\syou|will\syou)\b[^.!]*$"
    r"|(?:是否|是不是|要不要|能不能|可不可以|行不行|好不好|该不该|哪个|哪一|什么|怎么|多少|为什么|谁)(?!都)"
)
INSTEAD = Phrase(
    r"\binstead\b|\brather\sthan\b|\bno\slonger\b|\bchange\b|\bchanged\b|\bswitch\b|\bactually\b"
    r"|\bon\ssecond\sthought\b|\bafter\sall\b|\bscratch\sthat\b|\bmake\sit\b"
    r"|改[成为用到选寄送发订约买坐乘住投]|换成|换为|还是(?:用|选|按|走|定|要)|不[用要选按走][^，。]{1,12}[，,]|更正|调整[为到成]"
    r"|推翻|重新(?:定|选)"
)
REFERS = Phrase(
    r"\bas\s(?:you|we|i)\s(?:proposed|suggested|said|described|discussed|agreed|outlined|recommended|planned)\b"
    r"|\b(?:this|that|these|those)\s[a-z]|\b(?:your|that|this)\s(?:plan|proposal|suggestion|option"
    r"|recommendation|approach|one|idea)\b|\b(?:do"
    r"|go\swith|go\sfor|use|take(?!\scare|\syour|\sa\slook)|proceed\swith)\s(?:that|it|this)\b"
    r"|(?:你|您)(?:刚才|上面|前面|之前)?(?:说|提|建议|推荐)的|(?:上次|刚才|前面|之前|上面)(?:说|定|提|讨论)的"
    r"|这个方案|该方案|这么定|这么办|这样(?:定|办|做)|就它|就这个|此方案"
)
"""A decision that says where to find what it decides."""

SETTLED = Phrase(
    r"\b(?:as|like|what|whatever|per)\s(?:was\s|(?:has|had)\sbeen\s|(?:we|i|you\sand\si)(?:'d|'ve|\shad|\shave)?\s)?"
    r"(?:(?:already|previously|originally|earlier|last\stime|both|all)\s){0,2}(?:agreed|decided|settled|chosen|arranged"
    r"|planned)\b"
    r"|\bwhere\s(?:we|i)\s(?:had\s)?(?:left\soff|stopped|were|paused)\b"
    r"|\bwhat\s(?:we|we've|we\shave)\s(?:just\s)?(?:said|talked\sabout|discussed)\b"
    r"|\b(?:previously|already|earlier|formerly)\s(?:agreed|decided|settled|chosen)\b"
    r"|\b(?:our|the|my)\s(?:earlier|previous|last|existing|original)\s(?:decision|agreement|choice)\b"
    r"|\bthe\s(?:agreed|chosen|settled)\s(?:plan|option|approach|one)\b"
    r"|(?:上次|上回|之前|此前|以前|先前|早先|前面|刚才|当时|原先|原来|那天|昨天|前天|上周|早就|已经?|我们|咱们?|大家)"
    r"[^，。！？；\n]{0,6}(?:定|定好|定下|定下来|决定|决定好|说好|讲好|谈好|约好|约定|敲定|商定|商量好|确定|选定|选好|选)(?:了)?的"
    r"|(?:说|讲|谈|约|商量|定)好(?:了)?的|(?:商|约|既|拟|议)定的?(?=方案|计划|安排|办法)|(?:上次|之前|此前|先前|当时)的?(?:决定|约定|结论|共识)"
)
"""Words that point to what was decided before; they decide nothing anew."""

UNDECIDED = Phrase(
    r"\b(?:decided|chosen|chose|settled|picked|selected|agreed)\s(?:on\s)?(?:nothing|neither|none|poorly|badly|wrong(?:ly)?"
    r"|to\s(?:disagree|wait|think|sleep|decide|discuss|talk|see)|(?:that\s)?(?:i|we)\s(?:need|want|have\sto\s(?:think|talk|wait)))\b"
    r"|\bdecision\s?(?::|is)\s?(?:still\s|yet\s)?(?:pending|open|tbd|none|unclear|unknown|outstanding|postponed|deferred"
    r"|delayed|due|up\sto|yours|hers|his|theirs|made\sby|n/a)\b"
    r"|\bsaid\s(?:nobody|no\sone|no-one|none)(?:\s(?:of\sus\s)?ever)?[\s.!\"']*$"
    r"|[^\w\s]\s?(?:just\s|only\s|i'm\s|i\sam\s|i\swas\s)*(?:kidding|joking|jk)[\s.!\"']*$"
    r"|(?:说笑|开(?:个)?玩笑)(?:的|呢|而已|罢了)?[\s。.!！~～]*$|才怪[\s。.!！~～]*$"
    r"|(?:决定|定|结论)(?:先)?(?:是)?[:：\s]*(?:待定|未定|没定|暂无|无(?!$|[^\W\d])|再议|另议|以后再)"
)
"""Words of deciding, for what decides nothing: `we agreed to disagree`, `Decision: pending`, `…, said nobody ever.`"""

# --- suggesting and asking --------------------------------------------------------------------------

SUGGESTS = Phrase(
    r"\b(?:i(?:'d|\swould)?\s(?:suggest|recommend|propose|advise)|we\s(?:suggest|recommend|propose)"
    r"|my\s(?:suggestion|recommendation|proposal)\sis|how\sabout|what\sabout|why\sdon't\swe|"
    r"we\scould|you\scould|we\smight|you\smight|we\sshould|you\sshould|i\sthink\swe|perhaps\swe|maybe\swe"
    r"|consider\s(?:using|going|option|plan)|"
    r"one\soption|another\soption|it\smight\sbe|it\swould\sbe\sbetter|i'm\sleaning|i\sam\sleaning|i\slean"
    r"|should\swe|shall\swe|could\swe|what\sif\swe)\b"
    r"|建议|提议|推荐|可以考虑|不妨|要不(?!要)|不如|我觉得(?:可以|应该|还是|用|选|方案)|倾向于?|考虑一下"
    r"|是否可以|能不能|可不可以|最好(?:是|用|选|能)?"
)
ASKS = Phrase(
    r"\b(?:would\syou\slike|shall\si|shall\swe|should\si|should\swe|do\syou\swant|may\si|can\si\s(?:go|proceed"
    r"|book)|please\sconfirm|could\syou\s(?:please\s)?confirm|"
    r"is\s(?:that|this)\s(?:ok|okay|correct|right|fine|acceptable|alright)|does\s(?:that|this)\s(?:work|sound"
    r"|look)|do\si\shave\syour|are\syou\s(?:ok|okay|happy|fine)|"
    r"which\s(?:one|option|of|plan)|(?:which|what|when|where)\s(?:would|do)\syou\s(?:like|prefer|want|choose)|would\syou\s(?:prefer|rather)"
    r"|do\syou\sprefer|let\sme\sknow\s(?:which|if\syou|whether)|would\sthat\s(?:work|be)"
    r"|do\syou\s(?:agree|approve|confirm|wish)|reply\syes|\(yes/no\)|\"yes\"|if\syou(?:'d"
    r"|\swould)\slike\sto\sproceed)\b"
    r"|是否|要不要|可以吗|好吗|行吗|对吗|确认(?:一下|[^，。！？；\n]{0,8}吗|后)|请确认|需要我|您看|你看|哪[个一款种家套项版条位]|怎么样"
    r"|(?:下单|预订|订|发送?|寄|开始|执行|继续|提交|取消|退款?|购买|买|付款|支付|办理|修改|删除|安排|预约|保存|发布|上线)[^，。！？；\n]{0,6}吗[？?]|如何[？?]"
    r"|同意吗|可行吗|选哪|是不是|要[^，。！？；\n]{1,14}吗[？?]|还是[^，。！？；\n]{1,16}[？?]"
)

INQUIRES = Phrase(
    r"\b(?:provide|your\s(?:user|reservation|order|account|booking|customer|phone|full|first|last"
    r"|e-?mail)\s?(?:id|number|name|address|details)?|when\syou(?:'re|\sare|\shave)|take\syour\stime"
    r"|could\syou\stell\sme)\b"
    r"|请提供|提供一下|请告诉|请问您的|请输入|(?<![想要定])是哪[一个款种家项条位件]"
)
"""Questions for something to know, which no assent answers."""
CHOOSE_ONE = Phrase(
    r"\bwhich\s(?:one|of|options?|plans?|proposals?|approach|version|would|do)\b|\b(?:choose|pick|prefer|your\schoice)\b"
    r"|哪(?:个|种|套|项|款|版)|哪一(?!天|年|月|周|日)|选"
)
"""A question for one of several things."""
WHICH = Phrase(r"\b(?:which|what|who|when|where|how)\b|哪|什么|多少|怎么|如何|几")

# --- withdrawing ------------------------------------------------------------------------------------

WITHDRAWS = Phrase(
    r"\b(?:forget|drop|scrap|scratch|undo|revert|abandon|withdraw|retract)\s(?:about\s)?(?:that|it|this|the|my"
    r"|our|option|plan|what|all)\b"
    r"|\b(?:cancel|skip)\s(?:that|it|this|option|plan|the\s(?:plan|idea|decision|option))\b"
    r"|\blet's\s(?:not|no\slonger|hold\soff|drop|scrap|abandon|cancel|pause|postpone|put\s(?:that|it)\son\shold)\b"
    r"|\b(?:we|i)(?:'ll|\swill|'d\slike\sto|\swould\slike\sto|\swant\sto|\sshould)?\s(?:rather\s)?(?:not\s(?:go"
    r"|do|proceed|use|take(?!\scare|\syour|\sa\slook)|book|send)|no\slonger\swant|hold\soff|drop\s(?:that|it)"
    r"|put\s(?:that|it)\son\shold)\b"
    r"|\b(?:don't|do\snot)\s(?:go\s(?:with|ahead)|proceed|do\s(?:that|it)|use\s(?:option|plan|that)"
    r"|(?:book|send)(?!\s(?:any|anything|anyone|more)\b|[^.!?]{0,60}\b(?:before|after|on|over|above|without|until|unless|outside)\b))\b"
    r"|\bnever\s?mind\b|\b(?:hold|wait)\s(?:off|on)\b|\bi(?:'ve|\shave)?\schanged?\smy\smind\b"
    r"|^[\s\"'*-]*(?:(?:no|actually|wait|sorry|hmm)[,.]?\s)*(?:forget|drop|scrap|skip)\s(?:about\s)?"
    r"(?!to\b|me\b|us\b|by\b|in\b|off\b|you\b)[a-z0-9][\w-]*(?:\s[\w-]+){0,2}[\s.!]*$"
    r"|^[\s\"'*-]*(?:(?:no|actually|wait|sorry|hmm)[,.]?\s)*(?:(?:just|only|i'm|i\sam|i\swas)\s)*(?:kidding|joking)[\s.!]*$"
    r"|^[\s*]*(?:那|那就|还是)?不(?:要|去|用|选)(?![太再紧急说管谢客担])[^，。！？；\n]{1,8}了[\s。！!]*$"
    r"|^[\s*]*(?:我)?(?:刚才)?(?:是)?(?:跟你)?(?:说笑|开(?:个)?玩笑)(?:的|呢|而已|罢了)?[\s。.!！]*$"
    r"|\bon\ssecond\sthought\b|\bno\slonger\s(?:want|need)\b|\bnot\sgoing\s(?:with|ahead)\b"
    r"|先(?:不|别)[^，。！？；\n]{1,8}了|(?:先)?(?:不|别)(?:做|发|用|要|按|选|走|采用|执行|推进|继续|考虑|订|定"
    r"|搞|买|弄|改|换|上)(?:了|这个|那个|方案|[a-h]|第|$|[，。！,.!])"
    r"|取消(?=方案|这个|那个|该|刚才|上次|之前|计划|会议|[a-h]|吧|了|$|[，。！,.!])|作废|撤回|撤销|收回|算了"
    r"|不算数|(?:刚才|上次|之前)(?:说|定)?的?不算|推翻|暂停|暂缓|搁置|放弃|当我没说|不作数|叫停"
)
WITHDRAWS_BARE = Phrase(
    r"^[\s\"'*-]*(?:(?:no|actually|wait|sorry|hmm|ok|okay)[,.]?\s)*(?:forget\s(?:about\s)?(?:that|it|this"
    r"|what\si\ssaid)|never\s?mind(?:\s(?:that|it))?|scratch\sthat|cancel\sthat|hold\soff|i(?:'ve"
    r"|\shave)?\schanged?\smy\smind|on\ssecond\sthought"
    r"|(?:(?:just|only|i'm|i\sam|i\swas)\s)*(?:kidding|joking)(?=[\s.!]*$))"
    r"|^[\s*]*(?:(?:等等|等一下|不对|哦)[，,])?(?:算了|取消吧?|当我没说|(?:我)?(?:刚才)?(?:是)?(?:跟你)?(?:说笑|开(?:个)?玩笑)(?:的|呢|而已|罢了)?(?=[\s。.!！]*$)|作废|撤回|先不(?:做|弄|搞|要|用|办)?了"
    r"|不算数|刚才(?:说)?的?不算)"
)

# --- demanding --------------------------------------------------------------------------------------

DEMANDS = Phrase(
    r"\b(?:must(?:n't)?|(?:it|this|they|we|you|he|she|budget|price|total|cost|flight|meeting|report"
    r"|delivery)?\s?(?:has|have)\sto\sbe|only\s(?:want|use|if|on|after|before|in|direct|non)|needs?\sto\sbe|"
    r"no\smore\sthan|no\sless\sthan|no\slater\sthan|no\searlier\sthan|not\smore\sthan|not\sless\sthan|at\smost"
    r"|at\sleast|at\sthe\slatest|up\sto\s[$\u20ac\u00a3\u00a5]?[0-9]+|maximum|minimum"
    r"|max\.?\s[$\u20ac\u00a3\u00a5]?[0-9]+|"
    r"(?:can't|cannot|can\snot|won't|don't\swant\sto)\s(?:spend|pay|go|use|have|take|afford|wait|stay|do)\s(?:[a-z]+\s){0,2}"
    r"(?:more|less|fewer|over|above|beyond|below|longer|later|earlier)|"
    r"(?:it|this|that|they|everything|the\s[a-z]+(?:\s[a-z]+)?)\s(?:has|have|needs?)\sto\s(?!say\b|admit\b|do\swith\b|go\b)[a-z]+|"
    r"(?:i'm|i\sam|we're|we\sare|she's|he's|she\sis|he\sis)\s(?:allergic\sto|vegan|vegetarian|(?:lactose|gluten)[\s-]intolerant)|"
    r"cannot\sexceed|can't\sexceed|must\snot|may\snot|should\snot\sexceed|never|under\sno\scircumstances"
    r"|without\sexception|strictly|"
    r"(?:budget|limit|cap|deadline|ceiling)\s(?:is|of|:|are|=)|(?:under|below|within"
    r"|less\sthan)\s[$\u20ac\u00a3\u00a5]\s?[0-9]+|make\ssure|be\ssure\sto|"
    r"(?:don't|do\snot)\s(?:want|use|send|book|share|include|call|email|contact|change|touch|delete|deploy"
    r"|publish|release|tell|mention|spend|exceed|go\sover|charge|cancel|schedule|add|remove|put|ask)|"
    r"keep\s(?:it|that|this|them|everything|the\s[a-z]+(?:\s[a-z]+)?)\s(?:under|below|within|to|at|above|over)(?=\s[^.!?]{0,24}[0-9])|"
    r"(?:under|below|within|less\sthan|fewer\sthan)\s[0-9][0-9,.]*\s?(?:words|pages|minutes|hours|characters|slides|lines|people"
    r"|percent|kb|mb|gb)|"
    r"(?:i|we)\s(?:need|want|must\shave)\s(?:it|this|that|them|everything|the\s[a-z]+(?:\s[a-z]+)?)\s(?:done\s|back\s|ready\s)?(?:by|before)|"
    r"no\s[a-z-]+(?:\s[a-z-]+){0,2}\s(?:before|after|on|over|above|below|under|longer|later|earlier|without|with"
    r"|during)|avoid|nothing\s(?:before|after|over|above))\b"
    r"|^[\s\"'*-]*(?:and\s|but\s|also\s)?only\s(?!if\b|then\b|because\b|joking\b|kidding\b|when\b|one\s(?:more|question|thing)\b|the\b)[a-z]+\s[a-z]"
    r"|对[^，。！？；\n]{1,10}过敏|(?:我|他|她|们)(?:是)?(?:素食|吃素|不吃|忌口)"
    r"|不(?:要|能|得|可|许|准|超过?|低于|高于|少于|多于|早于|晚于|允许|可以)|别(?!的|人|名|墅|处|说了|提了|忘|担心|客气"
    r"|急|着急)|必须|务必|一定要|至少|至多|最多|最少|最晚|最迟|最早|只能|只要(?!你)|仅限|严禁|禁止|以内|以下"
    r"|以上(?=的|，|。|$)|之内|控制在|(?:上限|下限)(?:为|是|：|:|不)|封顶|优先(?:考虑|选|用|安排)|绝不|决不"
    r"|(?:请|要|尽量|必须)?避开|(?:请|要|尽量|必须)避免|^避免|不接受|(?:截止|交付|上线|最后)(?:日期|时间|期限)?(?:是|为|：|:)|(?:截止|最后)期限"
)
NOT_DEMANDS = Phrase(
    r"\b(?:(?:have|has|got)\sto\sbe\s(?:kidding|joking|honest|fair|said)|i'll|i\swill|we'll|we\swill|never\s?mind|don't\sworry|do\snot\sworry|i\smust\s(?:have|be|say|admit)"
    r"|must\shave\sbeen|at\sleast\si|i\s(?:don't|do\snot|can't|cannot|haven't|have\snot|never|didn't)\b(?!\swant)|"
    r"i've\snever|i\sonly\s(?:have|had|know|see|need\shelp)|is\sthere|are\sthere|not\sat\sall|no\sproblem"
    r"|no\sworries|at\sleast\sthat's|make\ssure\s(?:i|that\si)|it\s(?:doesn't|does\snot|won't|can't)|the\smost)\b"
    r"|不要紧|不能(?:登录|用|打开|访问|显示|支付|理解)|我不能|不得不|不得已|我不要求|不可思议|能不能|可不可以"
    r"|要不要|不可以吗|不能吗|不要了|差别|特别|分别|区别|级别|性别|告别|识别|个别|类别"
)
GOALS = Phrase(
    r"\b(?:(?:my|our|the)\s(?:main\s|overall\s|new\s)?(?:goal|aim|objective|task)\s(?:is|now\sis)|what\s(?:i"
    r"|we)\s(?:want|need)\s(?:now\s)?is|(?:i|we)\s(?:now\s)?want\s(?:you\s)?to\s(?:help\s)?(?:instead)|"
    r"let's\s(?:now\s|instead\s|rather\s|first\s)?(?:work\son|focus\son|turn\sto|switch\sto\s(?:the\stask|working))"
    r"|instead\s(?:of\sthat,?\s)?(?:please\s)?(?:help|write|work))\b"
    r"|\b(?:new\s)?(?:task|goal|topic|objective)\s?:"
    r"|(?:目标|任务|需求|目的)(?:是|为|改[成为]|：|:)|(?:现在|接下来)(?:要做的?是|我们?要|需要你|请你)|(?:换"
    r"|新)(?:个|一个)?(?:话题|任务|目标)(?:[：:，,]|是)"
)
GREETING = Phrase(
    r"^\W*(?:(?:hi|hello|hey|good\s(?:morning|afternoon|evening)|dear\s\w+|greetings|thanks?(?:\syou)?|ok|okay"
    r"|yes|no)"
    r"\b(?:\s(?:there|all|team|everyone)\b)?\W*)+$"
    r"|^\W*(?:(?:hi|hello|ok|你好|您好|嗨|哈喽|在吗|在么|早上好|早|下午好|晚上好|大家好|各位好|大家早|谢谢"
    r"|好的)\W*)+$",
)

# --- promising --------------------------------------------------------------------------------------

FINISHES = Phrase(
    r"\b(?:i|we)(?:'ve|\shave)?\s(?:just\s|already\s|now\s|successfully\s)?(?:sent|finished|completed|submitted"
    r"|delivered|uploaded|fixed|updated|booked|cancelled|canceled|refunded|shared|published|released|deployed"
    r"|prepared|written|wrote|added|done|processed|issued|scheduled|created)\b"
    r"|\b(?:has|have)\s(?:now\s|just\s|already\s|been\ssuccessfully\s"
    r"|successfully\sbeen\s)?been\s(?:successfully\s)?(?:sent|finished|completed|submitted|delivered|uploaded"
    r"|fixed|updated|booked|cancelled|canceled|refunded|shared|published|released|deployed|added|processed"
    r"|issued|created|scheduled)\b"
    r"|\b(?:is|are|it's|all)\s(?:done|finished|complete|completed|ready|live|sent)\b|^[\s*]*(?:done|finished"
    r"|sent|completed)\b"
    r"|已(?:经)?(?:发送?|完成|提交|上传|处理|更新|补充?|交付|修复|上线|发布|给到|搞定|做完|写完|整理|同步|预订"
    r"|退款|取消|寄出|办理|通知)|(?:做|写|发|弄|搞|整理|提交|修|跑|改|补|更新|完成|上传|部署)(?:完|好|定"
    r"|了)(?:了|$|[，。！,.!])|搞定"
)
