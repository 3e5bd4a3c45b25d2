r"""Wordings by which the gate of long-term memory tells what is not to be kept, in English and Chinese.

Rules of this module:

* Each pattern is one wording that decides; none needs another to be right. They are matched on folded text (NFKC, case
  folded, one blank for white space), secrets on the text as it stands, since case tells a key from a word.
* Every pattern is bounded or cannot go back, so that no text makes it slow.
"""

from __future__ import annotations

import re

__all__ = [
    "ACKNOWLEDGING",
    "CARD",
    "DRAFTING",
    "DRAFT_ATTRIBUTES",
    "INSTRUCTING",
    "KEYS",
    "OPAQUE",
    "PASSING",
    "QUESTIONS",
    "RELATIVE",
    "SECRET_ATTRIBUTES",
    "TEMPORARY",
]


def _any(*patterns: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), flags)


TEMPORARY = _any(
    r"(?<![\w/])/(?:private/)?(?:tmp|var/tmp|var/folders|dev/shm|run/user|mnt/data)(?:/|\b)",
    r"(?:\\|/)(?:appdata\\local\\temp|windows\\temp|temp)\\",
    r"%te?mp%|\$\{?tmpdir\}?|~/\.cache/|sandbox:/|\bblob:https?:",
    r"[?&](?:x-amz-signature|x-goog-signature|sig(?:nature)?|token|expires|access_token)=",
    r"(?<![\w-])tmp[\w-]*\.[a-z]{2,5}\b|//te?mp[\w.-]*/|^data:[\w/+.-]{1,40};base64,",
    r"\btemp(?:orary)? (?:files?|folders?|director(?:y|ies)|paths?|links?|urls?)\b",
    r"临时(?:文件夹?|目录|路径|链接|网址|下载)",
)

_GREETING_EN = (
    r"hi+|hello|hey|yo|greetings|good (?:morning|afternoon|evening|night|day)|morning|howdy|welcome|"
    r"thank(?:s|you| you)?(?: (?:so|very) much| a lot)?|thx|ty|cheers|goodbye|good bye|bye(?: ?bye)?|"
    r"see you(?: later| soon)?|how are you(?: doing)?(?: today)?|nice to meet you|you'?re welcome|no problem|"
    r"okay|ok|got it|sure(?: thing)?|great|perfect|sounds good|understood|will do|noted|"
    r"there|everyone|all|again|and|so|please|my friend"
)
_GREETING_ZH = (
    r"你好[呀啊吗]?|您好|大家好|早上好|上午好|中午好|下午好|晚上好|早安|晚安|嗨|哈喽|哈罗|"
    r"(?:非常|十分|多)?感?谢谢?(?:你|您|大家)?[啦了啊]?|不客气|辛苦[了啦]|再见|拜拜|回头见|"
    r"好的?[呀吧啊]?|嗯|收到|明白[了啦]?|了解[了啦]?|知道了|没问题|可以的?|行的?|很高兴认识你"
)
ACKNOWLEDGING = re.compile(rf"(?>(?>(?:{_GREETING_EN})(?![a-z'])|{_GREETING_ZH})[\s,.!?~。，！？～、…]*+)++")
"""A whole text that only greets, thanks or nods."""

DRAFT_ATTRIBUTES = frozenset(
    {
        *(
            "draft",
            "drafts",
            "todo",
            "to-do",
            "task",
            "current task",
            "current_task",
            "next step",
            "next_step",
            "plan step",
        ),
        *("scratchpad", "reply", "response", "answer", "output", "work in progress"),
        *("草稿", "初稿", "待办", "当前任务", "下一步", "回复", "输出"),
    }
)

DRAFTING = _any(
    r"\bdrafts? (?:of|for|v\d|version|reply|e-?mail|letter|response|answer|message)\b",
    r"\b(?:first|second|rough|working|current|latest|this|revised|new) draft\b|\bhere(?: i|')s (?:a|the|my) draft\b",
    r"^draft\s*[:\-–—]|\bdraft\s*:",
    r"\bwork in progress\b|\b(?:todo|fixme)\s*:|\bstep \d+ (?:of|/) ?\d+\b",
    r"\b(?:this|the current) (?:session|conversation|chat)\b",
    r"\b(?:let me|i'?ll|i will) (?:now |first |just )?(?:try|rewrite|redraft|check|think|look|draft|"
    r"summari[sz]e|write)\b",
    r"```|\bdef \w{1,60}\([^)]{0,200}\)\s*:|\bfunction \w{0,60}\s?\([^)]{0,200}\)\s?\{"
    r"|\)\s?=>\s?[{(]|^from [\w.]{1,60} import\b",
    r"\b(?:see|as) (?:above|below|attached|(?:the )?(?:attachment|attached file))\b"
    r"|^the (?:above|following|attached)\b.{0,12}$",
    r"\byou (?:just|have just|'ve just) (?:uploaded|sent|shared|gave|given|pasted)\b",
    r"如上(?:所述|文)?$|^(?:如上|上述|同上|见附件|详见附件)|见附件|刚(?:才|刚)?(?:上传|发来?|贴)的",
    r"初稿|草稿|修改稿|第[一二三四五六七八九十\d]+稿|这一?版(?:草?稿|文案|邮件|回复)|待完善|未完成的",
    r"(?:本次|这次|当前|本轮)(?:会话|对话|聊天|任务)|(?:此|该|这段|本)(?:会话|对话|聊天)|我(?:先|再)(?:试|改|看|写|查)(?:一下|下|一遍)",
)

_UNITS_EN = r"(?:second|minute|hour|day|week|fortnight|month|quarter|year)s?"
_COUNT_EN = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|few|a couple of|several|some)"
_DAYS_EN = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?"
_COUNT_ZH = r"(?:\d+|[一二两三四五六七八九十几半数多]+)"
RELATIVE = _any(
    r"\b(?:(?<!usa )today(?! show)|tonight|tomorrow|yesterday)\b",
    rf"\b(?:this|next|last|past|coming|previous) (?:morning|afternoon|evening|night|weekend|{_UNITS_EN}|{_DAYS_EN})\b",
    rf"\bin {_COUNT_EN} {_UNITS_EN}\b(?! (?:of|per|a|each|or less))",
    rf"\b{_COUNT_EN} {_UNITS_EN} (?:ago|from now|later)\b",
    r"\b(?:recently|lately|just now|right now|at the moment|the other day|later today|(?:very )?soon)\b",
    r"今[天日晚早晨]|明[天日晚早晨]|后天|昨[天日晚]|前天|大(?:前|后)天|刚才|刚刚|待会儿?|等会儿?|一会儿|稍后|过会儿",
    r"(?:这|本|上|下)+(?:个?(?:星期|礼拜|月|季度|学期|周末|周)|一?年度)",
    r"(?<!一)今年|明年|去年|前年|后年|最近|近期|近来|不久(?:前|后|之)|前(?:几|两|些)天|过(?:几|两)天|过些日子|改天",
    r"(?<!每天)(?<!每日)(?:[\d一二三四五六七八九十]{1,3}点(?:半|钟)?)(?:见|开会|出发|集合|碰头)"
    r"|\bsee (?:you|me|him|her|them) at \d",
    rf"{_COUNT_ZH}(?:秒钟?|分钟|个?小时|天|周|个?星期|个?月|年)(?:以|之)?[前后](?!的?合同|付款)",
)

PASSING = _any(
    r"\bi(?:'m| am)(?: (?:a bit|so|very|really|quite|feeling))? (?:hungry|tired|busy|bored|sleepy|running late|"
    r"on my way)\b",
    r"\bi(?:'m| am) (?:in|on) (?:a|the|another) (?:meeting|call|train|bus|taxi)\b|\bbe right back\b|\bbrb\b",
    r"\bcurrently (?:in|on|at) (?:a|an|the|another) \w+|\bcurrently (?:away|driving|eating|travell?ing|asleep|out)\b",
    r"^(?:in|on) (?:a|another) (?:meeting|call)\b|\b(?:session|request|trace|correlation) ?id\b"
    r"|(?:会话|请求)(?:id|编号|号)",
    r"正在(?:开会|路上|忙|吃饭|等|打电话|开车)|(?:我|现在)在?(?:开会|路上)|(?:有点|好|很|太)?(?:饿|困|累)(?:了|"
    r"死)|马上(?:到|回)",
)

INSTRUCTING = _any(
    r"\b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b"
    r"[^.!?\n]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|messages?)\b",
    r"\bfrom now on,? you (?:are|must|will|should)\b|\byou are now (?:an?|the|in)\b|\bsystem prompt\b|<\|"
    r"?(?:im_start|system)|^(?:system|assistant|developer) ?:|<(?:start|end)_of_turn>|\[/?inst\]",
    r"(?:忽略|无视|忘记|不要理会)[^。！？\n]{0,12}(?:指令|指示|规则|提示词|要求|设定)",
    r"从现在(?:开始|起),?你(?:是|就是|必须|要|将)|你现在(?:是一|就是|扮演)|系统提示词",
)

QUESTIONS = _any(
    r"[?？]\s*$",
    r"^(?:so |and |but |well,? )?(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|am|was|were|"
    r"can|could|"
    r"would|will|should|may|might|shall|have|has)(?:n'?t)? (?:i|you|we|they|he|she|it|the|my|your|this|that|"
    r"there|to|many|"
    r"much|is|are|was|do|does|did|can|should|would)\b",
    r"(?:吗|么|呢)[。.!！\s]*$",
    r"^(?:请问|为什么|怎么|如何|什么|谁|哪|几点|多少)|(?:是不是|有没有|能不能|会不会|要不要|可不可以|对不对)",
)

SECRET_ATTRIBUTES = _any(
    r"\b(?:password|passwd|passphrase|passcode|api[ _-]?key|secret[ _-]?key|private[ _-]?key|access[ _-]?token|"
    r"refresh[ _-]?token|bearer[ _-]?token|auth[ _-]?token|client[ _-]?secret|credentials?|cvv2?|cvc|seed[ _-]?phrase|"
    r"pin(?:[ _-]?(?:code|number))?|otp|credit[ _-]?card(?:[ _-]?number)?|card[ _-]?number)\b",
    r"密码|口令|密钥|私钥|验证码|助记词|令牌|信用卡号|银行卡号|卡号",
)

_STRONG = r"(?:password|passwd|pwd|passphrase|passcode)"
_WEAK = (
    r"(?:api[ _-]?key|secret[ _-]?key|access[ _-]?key|"
    r"private[ _-]?key|access[ _-]?token|auth[ _-]?token|token|client[ _-]?secret)"
)
KEYS = _any(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bnpm_[A-Za-z0-9]{30,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}",
    r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}",
    r"://[^\s/:@]{1,64}:[^\s/@]{1,128}@",
    rf"(?i:\b{_STRONG}\b(?: (?:is|was|to|for \S{{1,40}} is)|"
    rf"\s*[:=])\s*[\"'“”‘’`]?)(?=\S*[\d!@#$%^&*_+=?])[^\s\"'“”‘’`]{{4,}}",
    rf"(?i:\b{_STRONG}\b(?: is|\s*[:=])\s*)[\"'“”‘’`]?[^\s\"'“”‘’`]{{4,64}}[\"'“”‘’`]?[.!]?\s*$",
    rf"(?i:\b{_WEAK}\b(?: is|\s*[:=])\s*)[\"'“”‘’`]?[A-Za-z0-9_\-./+=]{{12,}}",
    r"(?i:\b(?:pin|cvv2?|cvc|otp|passcode)\b(?: (?:code|number))?(?: is|\s*[:=])?\s*)\d{3,8}\b",
    r"(?:密码|口令|密钥|私钥|令牌|助记词)\s*(?:是|为|设成|改成|[:：=])\s*[^\s，。,]{3,}|验证码\s*(?:是|为|"
    r"[:：=])?\s*\d{4,8}",
    r"(?i:\bbearer )[A-Za-z0-9_\-./+=]{16,}",
)

OPAQUE = re.compile(r"(?<![\w/.-])(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])(?=[\w+=-]*\d)[A-Za-z0-9+_=-]{28,200}(?![\w/.-])")
"""A long token of small letters, capitals and digits: nobody's words."""

CARD = re.compile(
    r"(?<!\d)\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?!\d)|(?i:card|visa|mastercard|卡号?)\D{0,12}(?<!\d)(\d{13,19})(?!\d)"
)
