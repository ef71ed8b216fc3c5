"""The words by which a user asks to remember, or asks not to: English, Chinese, mixed (SPEC §9).

Patterns only; how a prompt is cut up and judged by them is :mod:`pony_memory.writes.grant_words`. All of them meet
lower-case text in simplified characters in which code and quotations are :data:`CUT`. Compiled on first use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

#: Stands for a quotation or code that was taken out, so that "remember `make test`" still has something to remember.
CUT: Final = "\ufffc"

#: What may stand in front of a request without changing that it is one.
_FILLERS: Final = "|".join(
    (
        # links and starters
        r"also|and|then|but|so|or|plus|ok(?:ay)?|right|hey|hi|hello|well|now|oh|ah|first(?:ly)?|second(?:ly)?"
        r"|third(?:ly)?",
        r"finally|lastly|last|next|additionally|furthermore|meanwhile|afterwards|instead|rather|btw|fyi|ps"
        r"|p\.s\.|by the way",
        r"just|kindly|always|definitely|absolutely|actually|again|thanks|thank you|cool|great|perfect|good|nice"
        r"|yes|yeah|yep",
        r"sure|please|pls|plz|claude|pony|assistant|agent|codex|gemini|from now on|going forward"
        r"|(?:in )?(?:the )?future",
        r"for (?:the )?(?:future|next time|later|the record|future reference|future sessions)|one (?:more"
        r"|last) thing",
        r"another thing|last thing|(?:when|once|after) (?:you(?:'re| are) )?(?:done|finished|that)|after that",
        r"before (?:that|you start)|no",
        # asking
        r"you (?:should|must|need to|have to|can|may)|i(?:'d| would) (?:like|love) (?:for )?you to|i (?:want"
        r"|need) you to",
        r"make sure (?:you|to|that you)|be sure to|(?:do not|don't) forget (?:to|and)|do|let(?:'s| us)"
        r"|would you mind",
        r"(?:can|could|would|will) you(?: please| kindly| also| just)*",
        # Chinese
        r"请你?您?|麻烦你?您?|帮我|帮忙|给我|替我|拜托你?|务必|一定要?|千万要?|你?要|你(?:得|需要|应该|必须"
        r"|可以|能)|您能?|希望[你您]",
        r"你(?=\s*(?:帮我|给我|替我|把|先|也|再|记住\s*[:：,，这我]))|我(?:要|想|希望|需要)?让?你|我(?:想让"
        r"|希望|需要)你",
        r"顺便|另外|还有|还要|然后|并且|并|同时|最后|首先|其次|接着|再|也|都|先|以后|今后|从现在(?:起|开始)"
        r"|从今以后|对了|好的?|嗯|行",
        r"那就?|那么|所以|但是?|不过|而且|永远|永久|长期|都要|别忘[了记]?|不要忘[了记]?|能不能|可不可以"
        r"|可以不可以|能否|可否|可以|能",
    )
)

#: Fillers that make a question a request.
_POLITE: Final = (
    r"please|pls|plz|kindly|(?:can|could|would) you|i (?:want|need)|i'd"
    r"|请|麻烦|帮我|帮忙|给我|替我|拜托|能不能|可不可以"
)

_BE_ABOUT: Final = (
    r"(?:is|isn't|was|wasn't|are|means?|meant|refers?|sounds?|looks?|does|doesn't|did|would|should|could|can"
    r"|will|vs|versus"
    r"|as a)\b"
)
_FEATURE: Final = (
    r"(?:check ?box|button|toggle|option|feature|function(?:ality)?|flag|field|setting|dialog|screen|flow"
    r"|cookie|token|api"
    r"|endpoint|method|class|component|widget|prompt|phrase|word|command|page|form|switch|bug|issue|test|milk)\b"
)
_WH: Final = r"(?:what|when|where|why|who|whom|whose|which|how|if|whether|anything|something|things|stuff|everything)\b"
_EARLIER: Final = (
    r"\b(?:yesterday|last (?:week|time|month|session)|earlier|i told you"
    r"|we (?:talked|discussed|spoke|did|fixed|broke))\b"
)

#: Things a user points at.
_THIS: Final = (
    r"(?:this|that|these|those|it|them|all (?:of )?(?:this|that|these|it)|everything (?:above|i (?:just )?said)"
    r"|what i(?:'ve)? (?:just )?(?:said|told you|wrote)|(?:my|our) [^,;:.!?]{1,80}?"
    r"|the (?:fact|rule|preference|decision|convention)[^,;:.!?]{1,80}?|the (?:following|above)[^,;:.!?]{0,30}?"
    rf"|{CUT})"
)
#: Things in general: only with a memory that cannot be a computer's.
_ANYTHING: Final = rf"(?:{_THIS}|(?:the|a|an|both|one) [^,;:.!?]{{1,80}}?)"

_WHOSE: Final = r"(?:your|long[- ]?term|durable|persistent|permanent|agent|project|user|workspace|pony)[ -]*"
_MEMORY: Final = (
    rf"(?:{_WHOSE}|the |its |my |our )*"
    r"(?:memory(?: file| notes?| store)?|memories|memory\.md|agent[ _]notes?|记忆|备忘)"
)
_OWN_MEMORY: Final = (
    rf"(?:(?:{_WHOSE})+(?:memory(?: file| notes?| store)?|memories|memory\.md)|(?:your |the "
    rf"|my )?agent[ _]notes?|your notes"
    r"|memories|memory\.md|记忆)"
)
_NOT_RAM: Final = r"(?!.*\b(?:instead of|rather than|not (?:to|on|in))\b.*\b(?:disk|file|database|db|redis|cache)\b)"
_END: Final = (
    r"(?=\s*(?:$|[:：,，.!;；—–()-]|一下|吧|中|里|吗"
    r"|(?:that|so|for|please|because|as|and|too|now|with|under|in case|before|after|then|first|since)\b))"
)

_MEMORY_ZH: Final = (
    r"(?:你的|长期|永久|项目|用户|工作区|agent|pony)*\s*"
    r"(?:记忆(?:库|文件|体)?|memory(?:\.md)?|memories|agent[ _]notes?|备忘录?)"
)
_OBJECT_ZH: Final = (
    r"(?:这|那|以下|下面|上面|以上|如下|刚才|刚刚|我|咱|俺|它|他|她|你|本|该|每|所有|凡|以后|今后|不|别|要"
    r"|用(?!户)|在|一|两|几|关于|部署|项目"
    rf"|端口|周|[:,，：]|{CUT}|[0-9a-z])"
)


def english() -> tuple[str, ...]:
    remember = r"(?:remember|memori[sz]e)(?![\w-])"
    save = r"(?:save|store|add|write|put|record|keep|commit|log|note|stash|persist)(?: down)?"
    here = rf"(?:this|that|it|these|those|{CUT})"
    follows = r"[:：,，.!]|that\b|about\b|of (?:this|that|the|my|our)\b|for (?:this|me|that)\b|$"
    return (
        # remember …, with something to remember, and not "remember is …", "remember when …", "remember what I told you"
        rf"{remember}\s*(?:[:：—–(（-]|[,，]\s*\S|一下|住|,?\s*that\b(?!\s+(?:bug|time|day|one|thing"
        rf"|conversation|guy|pr)\s*$)"
        rf"|,?\s*(?:this|these|those)\b(?!\s*{_BE_ABOUT})|(?:it|to|not to|never|always|every|all|both|for)\b"
        rf"|as\b(?! a)"
        r"|(?:my|our|your|the|a|an|i|we|i'm|we're|there|in|on|at|which|where|what|who|how (?:to|we|i)"
        rf"|when(?:ever)? (?:i|we|you|deploying|running|building|writing))\b(?!\s*{_FEATURE})|{CUT}|[0-9\"]"
        rf"|(?![和与跟是的有怎吗])[\u3400-\u9fff])"
        rf"(?!\s*me\b)(?!.*{_EARLIER}[^:]*$)(?!\s*the time we\b)",
        rf"{remember}\s+(?![和与跟]|{_BE_ABOUT}|{_WH}|(?:me|us|him|her|them|and|or|by|from|last|back|password"
        rf"|login|users?|sessions?"
        rf"|devices?|choices?|selection|yesterday)\b)(?:[\w./-]+\s+){{0,3}}?[\w./-]+(?!.*\b{_FEATURE})(?!\s*$|\?)",
        rf"{remember}\s+(?:port|alias|name|path|branch|url|host|version)\b",
        rf"{remember}\s+(?:something|one thing|two things|a few things|some things)\s*(?:for (?:me|us|later)\b"
        rf"|[:：])",
        # save this to memory; save to memory: …
        rf"{save}\s+{_THIS}\s+(?:down\s+)?(?:to|into|as (?:a )?)\s*{_MEMORY}{_END}{_NOT_RAM}",
        rf"{save}\s+{_ANYTHING}\s+(?:down\s+)?(?:in|into|to|with|under)\s+{_OWN_MEMORY}{_END}{_NOT_RAM}",
        rf"{save}\s+(?:this|that|these|those|the following|{CUT})\s+(?:in"
        rf"|into)\s+memory{_END}{_NOT_RAM}(?!.*\bwhile\b)",
        rf"{save}\s+(?:to|in|into)\s+(?:{_OWN_MEMORY}|memory)\s*(?:[:：,，]|(?:that|the fact|this|my|our)\b|{CUT})",
        rf"{save}\s+{here}\s+for\s+(?:all\s+)?(?:the\s+)?(?:next|future|later|other)\s+(?:sessions?"
        rf"|conversations?|chats?)\b",
        # a memory of it
        r"(?:add|create|make|save|store|write|record)\s+(?:this\s+as\s+)?an?\s+(?:new\s+)?(?:permanent\s+"
        r"|durable\s+)?memory"
        rf"\s*(?:{follows})",
        r"update\s+(?:your|the)\s+(?:long[- ]term\s+)?memor(?:y|ies)\s*(?:[:：,，]|(?:to|with|that|so"
        r"|accordingly)\b|$)",
        # I'd like this saved to memory
        rf"(?:i(?:'d| would)? (?:like|want|need)|have)\s+{_THIS}\s+(?:to be\s+)?(?:remembered\b|(?:saved|stored"
        rf"|added|recorded"
        rf"|written|put|committed)\s+(?:to|in|into)\s+{_MEMORY}){_END}",
        # mixed
        rf"(?:save|store|add|remember|commit)\s*(?:一下|下)?\s*(?:到|进|入|至)\s*{_MEMORY_ZH}",
    )


def chinese() -> tuple[str, ...]:
    feature = (
        r"(?!.{0,12}(?:功能|按钮|选项|复选框|勾选|开关|接口|组件|函数|模块|逻辑|页面|弹窗"
        r"|这个词|这两个字|是什么意思|怎么))"
    )
    remember = r"(?:记住|牢记|谨记|记牢|记好)"
    note = r"(?:记下来|记下|记一下|记一笔|记着|记录一下|记录下来|remember ?一下|remember下)"
    into = (
        r"(?:存|保存|储存|写|记|记录|加|添加|放|录|收|save|add|store|commit|写入|存入|加入)\s*(?:下来)?\s*(?:一下)?"
        r"\s*(?:到|进|入|至|在|to|into|in)?"
    )
    return (
        rf"{remember}(?!了(?:吗|没|么)?\s*$|的|我\s*$|我的?(?:登录|选择|设备)){feature}\s*了?\s*(?:[:：,，]|\S)",
        rf"{remember}\s*(?:吧|啊|哦|喔|呀|它|这个|这点|这些|这条|了哦)?\s*$",
        rf"{note}\s*(?:吧|啊|哦|[:：,，])?\s*(?:{_OBJECT_ZH}|$)",
        # 记得 is "remember to": it asks to save only what is to last, not the next step of the task
        r"记得\s*[:：]|记得(?!.*(?:吗|么|没)\s*$).{0,30}?(?:以后|每次|总是|永远|从不|下次|今后|一直|都要|都用"
        r"|凡是|所有|长期)",
        r"记得(?:我|我们|咱们?|本项目|这个项目)(?!.{0,10}(?:上次|昨天|之前|刚才|说过|聊过))(?!.*(?:吗|么|没)\s*$)",
        # 把这个记住; 把…保存到记忆里
        rf"(?:把|将)[^,，。]{{1,80}}?(?:{remember}|{into}\s*{_MEMORY_ZH}|remember\b)",
        rf"(?:把|将)(?:这|那|它|以下|下面|上面|以上|刚才|刚刚|我|{CUT})[^,，。]{{0,60}}?{note}",
        # 这个决定请记住
        rf"(?:这|那|以上|以下|上面|下面)[^,，。:：不别勿没无]{{0,12}}?(?:请你?|务必|一定要|帮我|给我){remember}",
        # 保存到记忆：…; 更新记忆：…
        rf"{into}\s*{_MEMORY_ZH}\s*(?:里面?|中|里头)?\s*(?:[:：,，]|吧|一下|$|。)",
        rf"(?:在|往|向|到)\s*{_MEMORY_ZH}\s*(?:里面?|中)?\s*(?:记下|记|加|写|存|添加|保存|放)",
        r"(?:更新|添加|新增|增加|加|写|存|建|创建|保存|储存)一?[下条个]?(?:新的?)?(?:长期)?(?:记忆"
        r"|memory)\s*(?:[:：,，]|$)",
    )


_NOT_EN: Final = (
    r"(?:do not|don't|dont|never|no need to|needn't|need not|not to|won't|will not|must not|mustn't|should not"
    r"|shouldn't"
    r"|can't|cannot|please no|stop|avoid|refrain from|without|rather not|rather you didn't|wouldn't|not|no"
    r"|doesn't need to be|don't have to|do not have to)"
    r"(?:\s+(?:ever|you|try to|need to|have to|want (?:you )?to|please|just|bother to|bother|to|go and|even|actually"
    r"|think you should))*"
)
_NOT_ZH: Final = (
    r"(?:不要|别|勿|不用|不必|无需|无须|不需要|不许|不准|没必要|没有必要|不想|不希望"
    r"|禁止|不应该|不该|不能|不可以|避免)(?!忘)"
)

#: A clause that says not to remember or save.
NEGATION: Final = (
    rf"(?:.{{0,40}}?\b)?{_NOT_EN}\s+(?:remember|memori[sz]|记|(?:sav|stor|add|writ|put|record|keep|commit"
    rf"|not)(?:e|ing|ting)?\b"
    r"[^.!?]{0,60}?(?:\b(?:memory|memories|agent notes?)|记忆))"
    rf"|.{{0,30}}?{_NOT_ZH}[^,，。!?！？]{{0,20}}?(?:记(?!得忘)|存[到进入下]|(?:保存|写|加|放"
    rf"|储存)[^,，。]{{0,12}}?(?:记忆|memory|备忘)"
    r"|remember|(?:save|store|add)[^,，。]{0,20}memory)"
)
#: …and means what was asked before, by having no object of its own.
NO_OBJECT: Final = (
    r"(?:remember(?:ing)?|memori[sz](?:e|ing)|sav(?:e|ing)|stor(?:e|ing)|add(?:ing)?|记住|记下来?|记录|记|存|保存)\s*"
    r"(?:it|this|that|these|those|them|any(?:thing|\b)|any of (?:it|this|that)|the above|all (?:of )?(?:it|this|that)"
    r"|了|吧|啦|它|这个?|那个?|这些|这条|任何|这件事)?"
    r"\s*(?:to|in|into|到|进|入)?\s*(?:your |the )?(?:memory|memories|agent notes?|记忆|memory)?\s*[里中]?"
    r"\s*(?:了|吧|啦|please|yet|now|anymore|any more|either|after all|though|at all)*\s*$"
)
TAKE_BACK: Final = (
    r"(?:do not|don't|dont|不要|别|不用)\s*(?:save|store|keep|add|write|保存|存|写)\s*(?:it|that|this|them|了"
    r"|它|这个)?\s*$"
    r"|never ?mind|scratch that|forget (?:it|that|about it|what i said)|on second thought"
    r"|算了|当我没说|不用了|还是别记|忘掉(?:它|这个|吧)"
)

#: What may lead by a colon to the user's own request.
INTRODUCTION: Final = (
    r"(?:(?:one|two|three|four|a few|some|several|\d+|the|my|a|quick|last|another|few|more|new|big|small"
    r"|important|other)\s+)*"
    r"(?:things?|requests?|tasks?|items?|points?|asks?|steps?|favou?rs?|notes?|reminders?|ps|p\.s\.|fyi|btw"
    r"|also|important"
    r"|preferences?|remember|and|then|please|finally|next|after that|when done|once done|plan|two|three)"
    r"|(?:i|i've|i'd|no|yes|note|reminder|correction|decision|new rule|rule)\b[^:：]{0,60}"
    r"|(?:几|两|三|一|\d+)?(?:件事|点|个请求|个要求|个任务|步)|重要|注意|提醒|另外|还有|最后|对了|请|补充"
)
#: Talk about words: what follows the colon is somebody's text, not a request.
TALK: Final = (
    r"\b(?:say|says|said|saying|tell|tells|told|ask|asks|asked|write|writes|wrote|written|read|reads|translate"
    r"|translation"
    r"|rewrite|rephrase|paraphrase|proofread|summari[sz]e|summary|explain|review|fix the grammar|quote|type"
    r"|print|echo|output"
    r"|log|display|respond|reply|phrase|sentence|word|string|text|article|email|message|comment|example|title"
    r"|titled|called"
    r"|named|means?|transcript|paste|pasted|excerpt|document)\b"
    r"|翻译|改写|润色|总结|概括|这句|那句|词|短语|说|写着|例如|比如|解释|提示|文案|按钮|标题|题目|原文|邮件|文章|全文"
)

#: Who else than the agent is to remember, in the clause of a request that was joined by "and" or 并.
SUBJECT: Final = (
    r"\b(?:can|could|should|will|would|must|might|may|which|who|whose|that|users?|people|i|we|they|he|she|it"
    r"|to (?:parse|read|load|learn|store|save|fetch|stop|try))\b|让|用户|能|可以"
)
MACHINE: Final = (
    r"\b(?:app|application|program|script|class|function|method|component|widget|form|parser|service)\b"
    r"|函数|程序|脚本|功能|系统|接口|组件|类"
)
#: What a request joined by "and" must begin with to be one.
JOINED: Final = (
    rf"(?:remember|memori[sz]e)\s*(?:that|this|these|those|:|my|our|we|i\b|to always|to never|the|how|{CUT})"
    r"|(?:save|store|add|write|put|record|keep|commit|make|create)\b"
    rf"|(?:记住|记下来?|记一下|记得|把|牢记)\s*{_OBJECT_ZH}|(?:存|保存|写|加|记)[到进入]|把"
)

#: A question that asks for it: "Could you remember that …?", 能把这个记住吗
ASKING_FAVOUR: Final = r"请|麻烦|帮我|帮忙|please|for me\b|for (?:next|future|later)|next time"
ASKING_THIS: Final = (
    rf"(?:remember|memori[sz]e)\s*(?:(?:that|this|these|it)\b|[:：]|to\b|{CUT})"
    r"|(?:save|store|add|write|put|record|keep|commit)\s+"
    rf"(?:(?:this|that|it|these|those|the (?:following|above)|my|our)\b|{CUT})"
    r"|(?:记住|记下来?|记一下|把)?\s*(?:这|以下|下面|上面|刚才|它|[:：]|我们|我的|我喜|我是|我用)|把.*[记存写加]"
)


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@lru_cache(maxsize=1)
def requests() -> tuple[re.Pattern[str], ...]:
    """What the beginning of a clause must match to ask."""
    return tuple(re.compile(pattern) for pattern in (*english(), *chinese()))


@lru_cache(maxsize=1)
def filler() -> re.Pattern[str]:
    # A filler ends at a word's end, so that "do" is none in "document"; Chinese needs none.
    return re.compile(rf"(?:{_FILLERS})(?:(?<![a-z.])|(?![a-z0-9'_-]))")


def is_polite(words: str) -> bool:
    return compiled(_POLITE).search(words) is not None
