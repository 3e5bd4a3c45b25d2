"""What of a message its author says himself: without what is quoted, pasted, fenced or merely reported.

Rules of this module:

* Every character keeps its place: what is not the author's own becomes blanks of the same length, so offsets into the
  text stay right.
* Not the author's own: lines of an earlier mail (`>`), lines of a log or a chat with date and time, blocks of code,
  tagged blocks (`<document>…</document>`), wording between quotation marks, and everything after a line that announces
  a text (`here is the e-mail:`, `原文如下：`, `---- Forwarded message`) or after the head of a mail.
* A name between quotation marks (up to two words, twelve characters) stays: it is how people name a plan.
"""

from __future__ import annotations

import re

__all__ = ["own_words"]

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAGGED = re.compile(
    r"<(document|doc|file|email|mail|page|article|transcript|attachment|quote|context|result|record|text"
    r"|content)\b[^>]{0,200}>.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_CITED = re.compile(r"^[ \t]*[>|｜][^\n]*", re.MULTILINE)
_LOGGED = re.compile(
    r"^[ \t]*\[?\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?[T ,]{1,2}\d{1,2}:\d\d[^\n]*"
    r"|^[ \t]*\[\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?\][^\n]*",
    re.MULTILINE,
)
_PASTED = re.compile(
    r"(?:^|(?<=[\n.!。！]))[^\n]{0,80}?(?:"
    r"\b(?:here(?:'s|\sis|\sare)|below\s(?:is|are)|see|read|attached\s(?:is|are)|pasting|forwarding)\b[^\n.:]{0,60}"
    r"\b(?:e-?mail|mail|message|document|doc|minutes|transcript|article|text|log|thread|note|notes|contract"
    r"|policy|page|"
    r"draft|chat|conversation)s?\b[^\n:]{0,30}:"
    r"|(?:以下|下面|如下)(?:是|为)[^\n：:]{0,20}(?:邮件|文件|文档|原文|纪要|记录|聊天|内容|合同|条款|文章|消息"
    r"|通知|全文)[^\n：:]{0,12}[：:]"
    r"|(?:原文|全文|邮件|纪要|内容|聊天记录|转发内容)(?:内容)?(?:如下|是)[：:]"
    r"|(?:转发|【转发】|fwd?)\s?[：:]"
    r"|-{2,}\s?(?:forwarded|original)\smessage[^\n]*"
    r"|\bon\s[^\n]{4,80}\swrote:"
    r"|^(?:from|to|cc|date|sent|subject):\s[^\n]{1,120}\n(?:from|to|cc|date|sent|subject):"
    r"|^(?:发件人|收件人|抄送|主题|日期|发送时间|发送日期)[：:][^\n]{0,80}\n"
    r").*\Z",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(
    "“[^“”]{1,600}”|「[^「」]{1,600}」|『[^『』]{1,600}』|(?<![A-Za-z0-9])\"[^\"\n]{1,600}\"|(?<![A-Za-z0-9])'[^'\n]{1,300}'(?![A-Za-z0-9])"
)
_NAME = re.compile(r"\w+(?:[ -]\w+)?")
_LONGEST_NAME = 12
_REST = re.compile(r"[^\n]")


def own_words(text: str) -> str:
    """The text with blanks for what is not its author's own; the same length."""
    text = _FENCE.sub(_blank, text) if "```" in text or "~~~" in text else text
    text = _TAGGED.sub(_blank, text) if "<" in text else text
    text = _LOGGED.sub(_blank, _CITED.sub(_blank, text))
    text = _PASTED.sub(_after_announcing, text)
    return _QUOTED.sub(_unless_name, text)


def _blank(found: re.Match[str]) -> str:
    return _REST.sub(" ", found[0])


def _after_announcing(found: re.Match[str]) -> str:
    """The announcing line stays; what it announces goes."""
    whole = found[0]
    cut = max(whole.find(":"), whole.find("：")) if whole.find("\n") < 0 else whole.find("\n")
    head = whole[: cut + 1] if cut >= 0 else ""
    return head + _REST.sub(" ", whole[len(head) :])


def _unless_name(found: re.Match[str]) -> str:
    inner = found[0][1:-1].strip()
    if len(inner) <= _LONGEST_NAME and _NAME.fullmatch(inner):
        return f" {found[0][1:-1]} "
    return _blank(found)
