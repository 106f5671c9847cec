"""Identifiers recognised by their format: email addresses, WhatsApp message ids, conversation ids."""

import re

from console.redaction import words
from console.redaction.masks import EMAIL_MASK, FULL_MASK, Claim, mask_phone, word_set

# `wamid.` and base64 of a phone number; some systems drop the prefix.
_WAMID = re.compile(r"wamid\.[\w+/=\-.]*|HBg[A-Z](?<![A-Za-z0-9]....)[A-Za-z0-9+/_\-]{16,}={0,2}")
# Letters of every script, with the vowel signs and accents that `\w` leaves out.
_WORD = r"\w\u0300-\u036f\u0590-\u05c7\u0610-\u065f\u0900-\u0dff\u0e31-\u0eff\u1000-\u109f"
_ATOM = rf"[{_WORD}.+\-]"
# Allowed in a local part, but rare.
_ODD = "~{|}`*^!$%&#?"
_DOMAIN = re.compile(rf"(?:@{{1,3}}(?:[{_WORD}\-]++(?:\.[{_WORD}\-]++)*|\[[^\]\s@\0]{{1,64}}(?:\]|(?=\s)|\Z)|\Z))+")
# Read backwards from the @, so that text without one costs nothing.
_LOCAL_BACKWARDS = re.compile(
    # user+mailbox/department=shipping: a slash or an equals sign only before a plus
    rf"(?:{_ATOM}{{1,64}}[/=]){{1,3}}{_ATOM}{{0,64}}\+{_ATOM}{{1,64}}"
    # james.smith, o'brien, jo!sales: rare but allowed characters between words
    rf"|{_ATOM}{{1,256}}(?:['’!$^`~*]{_ATOM}{{1,64}}){{0,3}}"
    # "james smith"
    r"|\"{1,3}(?! )[^\"@\n\0]{1,64}(?<! )\""
    # {jo~}, or a quote opened before the text was cut: a local part only if a host follows
    rf"|(?P<odd>[{_ODD}](?=[{_ODD}='.+\-]*+\w)[{_WORD}{_ODD}='.+\-]{{1,64}}|\"{{1,3}})"
)
_LONGEST_LOCAL = 256
# The rest of a phone number whose last group is before the @.
_GROUPS_BACKWARDS = re.compile(r"(?:[ .\-/()]{1,3}[0-9]{1,5}){1,5}\+")
# Regardless of what follows: a digit there can be another word, separated only by invisible characters.
_IPV4_DOMAIN = re.compile(r"@[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_NOT_HOSTS = word_set(words.NOT_A_HOST)
_VERSION = re.compile(r"v?[0-9]{1,4}")
# The platform's own prefixes, or three named segments, and then a number.
_CONVERSATION = re.compile(
    r"[A-Za-z](?<![\w\-].)"
    r"(?:(?<=c)i-[\w\-]{1,64}#pi-[\w\-]{1,64}(?:#[A-Za-z][\w\-]{0,64})?|[\w\-]{0,64}(?:#[A-Za-z][\w\-]{0,64}){2})"
    r"(?=[#\s\0\"',;)\]}]|\Z)(?:#(?P<phone>\+?[0-9]{7,15})(?![0-9A-Za-z]))?"
)
# Most are a whole value and in one form: ci-aaa-001#pi-aaa-001#req123#447123456789
is_conversation_id = re.compile(
    r"ci-[0-9a-z]{1,12}-[0-9]{1,6}#pi-[0-9a-z]{1,12}-[0-9]{1,6}#req[0-9]{1,9}#(?P<phone>[0-9]{7,15})"
).fullmatch


def whatsapp_ids(text: str) -> list[Claim]:
    """Mask WhatsApp message ids, which contain the phone number in base64."""
    return [(*found.span(), FULL_MASK) for found in _WAMID.finditer(text)]


def emails(text: str) -> list[Claim]:
    """Mask email addresses, chat ids (`447…@c.us`) and addresses whose domain was cut off."""
    claims: list[Claim] = []
    floor = ended = 0
    while (at := text.find("@", floor)) >= 0:
        domain = _DOMAIN.match(text, at)
        if domain is None:
            floor = at + 1
            continue
        local = _LOCAL_BACKWARDS.match(text[max(floor, at - _LONGEST_LOCAL) : at][::-1])
        if local and local["odd"] and "." not in domain.group():
            local = None
        floor = domain.end()
        # Somebody can be mentioned by an address: @jo@example.com
        is_address = local or "@" in domain.group().lstrip("@")
        start = at - local.end() if local else at
        if is_address and _is_host(domain.group(), at - start):
            if text[start:at].isdigit():
                groups = _GROUPS_BACKWARDS.match(text[max(ended, start - _LONGEST_LOCAL) : start][::-1])
                start -= groups.end() if groups else 0
            claims.append((start, floor, EMAIL_MASK))
            ended = floor
    return claims


def _is_host(domain: str, local_length: int) -> bool:
    """Return whether text after an @ is a host or was cut off, rather than a version, an amount or a sign."""
    name = domain.strip("@")
    if not name or "[" in name:
        return True
    if "." not in name and (name.lower() in _NOT_HOSTS or _VERSION.fullmatch(name) or len(name) == local_length == 1):
        return False
    return any(map(str.isalpha, name)) or bool(_IPV4_DOMAIN.search(domain))


def conversation_ids(text: str) -> list[Claim]:
    """Mask the phone number in a conversation id, and keep the segments before it."""
    if text.count("#") < 2:
        return []
    claims: list[Claim] = []
    for found in _CONVERSATION.finditer(text):
        phone = found["phone"]
        if phone is None:
            claims.append((*found.span(), None))
        else:
            claims.append((found.start(), found.start("phone"), None))
            claims.append((*found.span("phone"), mask_phone(phone)))
    return claims
