"""What a key says about its value.

A key is split into words (`customerOrderId` → customer, order, id), and the words are looked up in the sets below.
To recognise a new key, add its word here; words for credentials are in credentials.py.
"""

import re
from enum import Enum

from console.redaction import words as lists
from console.redaction.credentials import is_secret
from console.redaction.lexicon import Lexicon, key_words
from console.redaction.masks import (
    EMAIL_MASK,
    FULL_MASK,
    MARKS,
    digits_of,
    is_mask,
    mask_order,
    mask_phone_digits,
    word_set,
)


class KeyKind(Enum):
    """How the value of a key is treated: (name, is_sensitive, is_inherited).

    The whole value of a sensitive key is masked. An inherited kind applies to everything inside a container.
    """

    PHONE = ("phone", True, True)
    EMAIL = ("email", True, True)
    PERSONAL = ("personal", True, True)  # names, addresses, secrets: nothing survives
    NAME = ("name", False, False)  # masked where it looks like a person's name, else scanned
    TRACKING = ("tracking", True, False)
    ORDER = ("order", True, False)
    SAFE = ("safe", False, False)  # plain numbers stay, text is scanned
    ID = ("id", False, False)  # integers stay, text is scanned
    OTHER = ("other", False, False)  # everything is scanned

    # Members are singletons; Enum would hash the name at every look-up.
    __hash__ = object.__hash__

    def __init__(self, _name: str, is_sensitive: bool, is_inherited: bool) -> None:
        self.is_sensitive = is_sensitive
        self.is_inherited = is_inherited


# Beside one of these, `name` is a person's name, however it is written.
CONTACT = (KeyKind.PHONE, KeyKind.EMAIL)


_PHONE = word_set(
    "phone phones telephone telephones tel tels telefon telefono teléfono telefone telephonenumber mobile mobiles "
    "móvil movil msisdn waid fax handy mobilephone cellphone cellular cellnumber mobilenumber mobileno mobiel "
    "telnumber telno telnr whatsappnumber celular"
)
# Words with these beginnings are phones in many languages: phoneNumber, Telefonnummer, téléphone, Handynummer, mobilnr.
_PHONE_BEGINNINGS = ("phonen", "telefo", "téléph", "handyn", "mobiln")
_EMAIL = word_set("email emails mail mailto emailaddress mailaddress correo courriel")
_TRACKING = word_set(
    "tracking trackings trackingnumber trackingnumbers trackingno trackingid trackingcode trackingurl trackinglink "
    "tracknumber tracknumbers trackno trknbr trknum awb awbs airwaybill waybill waybills piececode sendungsnummer "
    "sendungsnr paketnummer"
) | key_words(lists.TRACKING_KEYS)
_ORDER = word_set("order orders")
_ORDER_GLUED = word_set(
    "orderid orderids ordernumber ordernumbers orderno ordernr orderref purchaseorder bestellnummer bestellnr "
    "auftragsnummer auftragsnr pedido pedidos commande commandes encomenda"
) | key_words(lists.ORDER_KEYS)
# With a word for a number only: purchase_id.
_LIKE_ORDERS = word_set("purchase booking reservation orden reserva compra")
_LIKE_ORDERS_BUT_ID = word_set("invoice receipt factura facture fattura")
_ADDRESS = word_set(
    "address addresses street postcode postalcode zip zipcode dob birthdate birthday birth ssn passport iban "
    "adresse anschrift strasse straße hausnummer plz direccion dirección endereco endereço indirizzo adres"
)
_BIRTH = word_set("birth birthday birthdate dob") | key_words(lists.BIRTH_KEYS)
_ADDRESS |= _BIRTH | key_words(lists.ADDRESS_KEYS) | key_words(lists.PAPER_KEYS)
# In scripts without spaces a key is one word, such as 客户姓名.
_DESCRIBES_JOINED = Lexicon(lists.JOINED_DESCRIPTORS).holds_piece
_JOINED_KINDS = (
    (KeyKind.PERSONAL, Lexicon(lists.NAME_KEYS, lists.ADDRESS_KEYS, lists.BIRTH_KEYS, lists.PAPER_KEYS).holds_piece),
    (KeyKind.PERSONAL, Lexicon(lists.LOG_IN, lists.PIN, lists.ONE_TIME_CODE).holds_piece),
    (KeyKind.PHONE, Lexicon(lists.PHONE_KEYS).holds_piece),
    (KeyKind.EMAIL, Lexicon(lists.EMAIL_KEYS).holds_piece),
    (KeyKind.TRACKING, Lexicon(lists.JOINED_TRACKING_KEYS).holds_piece),
    (KeyKind.ORDER, Lexicon(lists.JOINED_ORDER_KEYS).holds_piece),
)
_PASSWORDS = key_words(lists.LOG_IN) | key_words(lists.PIN)
_NAMES = word_set(
    "firstname lastname fullname surname forename givenname familyname middlename nickname customername maidenname "
    "username pushname vorname nachname prenom prénom apellido apellidos cognome sobrenome voornaam achternaam "
    "displayname realname"
) | key_words(lists.NAME_KEYS)
_NAME_PARTS = word_set("first last full given family middle maiden sur fore nick real display")
_PERSON = word_set(
    "customer customers contact contacts person persons people user users recipient recipients sender senders client "
    "clients buyer buyers shopper guest guests patient subscriber subscribers caller owner member members employee "
    "billing shipping delivery profile lead leads consumer receiver payer cardholder attendee passenger candidate "
    "candidates applicant applicants patients tenantuser"
)
# Keys whose value may be a person's name, without more words: {"patient": "Ann Lee"}.
_HOLDS_NAME = word_set(
    "customer contact person user recipient sender client buyer shopper guest patient subscriber caller owner member "
    "employee lead consumer receiver payer cardholder attendee passenger candidate applicant agent assignee"
) | key_words(lists.HOLDER_KEYS)
_NAME = key_words(lists.NAME_LIKE_KEYS)
# Things whose name is not a person's: {"product": {"name": "Blue Shirt"}}.
_THINGS = word_set(
    "product item tool function model template project company tenant organisation organization org queue table file "
    "event skill intent tag category plan feature channel service provider city country region store shop brand "
    "variant step workflow node bot metric alarm role group department status stage language locale currency carrier "
    "method option property param parameter field column index resource bucket host server cluster container image "
    "module package library class test suite job task run thread session campaign app application environment action "
    "practice collection label attribute header schema database document page section site"
)
_NUMBER = word_set(
    "number numbers no nr num nbr id ids ref reference references code codes name key confirmation numero número nummer"
)
# DynamoDB's type of a value, and of a container: {"order_id": {"S": "48213"}}.
_TYPES = word_set("s n b ss ns bs")
_CONTAINER_TYPES = frozenset({"M", "L"})
_LINKS = word_set("url urls link links href uri page")

# Last words that describe an attribute of the thing rather than the thing itself.
_DESCRIPTORS = word_set(
    "status state verified type types count counts sort enabled disabled format valid validated carrier company "
    "provider template channel event events locale updated created sent at date time total currency required hint "
    "placeholder optin opt consent country length size supported available subject body text content html message "
    "messages by items history confirmed updates mode source reason preference version category kind app"
)
_ASIDE = word_set("is has sort can allow allows num count requires should show hide use enable")
# `display_order` is the position in a list.
_SORTING = word_set("display render tab z")
_NOT_PERSONAL_ADDRESS = word_set("ip mac server bind host listen memory")
_SAFE = word_set(
    "ts timestamp timestamps time at date created updated expires expiry exp iat nbf ttl epoch epochms tokens amount "
    "amounts price prices total subtotal cost costs minor cents size sizes bytes length count counts offset latency "
    "ms millis us ns elapsed duration seconds seq sequence version status index limit page attempt attempts retries "
    "width height seed quantity qty rate score percent weight balance capacity units rows lines chars characters "
    "commit rev revision build pid after delay timeout interval port color colour priority position rank "
    "sku ean upc gtin asin isbn depth vat"
)

PARTICLES = word_set("van von der den de del della di da dos das la le bin ibn al el y e af av zu ten ter")
_has_inner_capital = re.compile(r"(?:Mc|Mac|De|Di|Du|La|Le|Van|O['’]|D['’]|L['’]|\w+-)\w")
# Letters of every script but Latin capitals, with their vowel signs, which are no letters: nothing matches both.
_SMALL = rf"(?:[^\W\d_A-ZÀ-Þ]|(?!\w)[{MARKS}])"
_SPLIT = re.compile(rf"[A-Z]+(?!{_SMALL})|[A-ZÀ-Þ]?{_SMALL}+")
# A name has at most two digits in a row, or three after a letter: address2, items[0].phone, phoneE164.
_NAMEABLE = re.compile(
    rf"(?:{_SMALL}|[A-ZÀ-Þ_$])(?:{_SMALL}|[A-ZÀ-Þ_ .\-/\[\]]|(?<![0-9])[0-9]{{1,2}}(?![0-9])"
    r"|(?<=[A-Za-z])[0-9]{3}(?![0-9])){0,63}"
)
# These caches are cleared when they are full.
_MAX_KNOWN = 512


def words_of(key: str) -> tuple[str, ...]:
    """Split a key into lower-case words; a key that is not a name (but a number, an address) has none."""
    return tuple(word.lower() for word in _SPLIT.findall(key)) if _NAMEABLE.fullmatch(key) else ()


class KeyKinds(dict[object, KeyKind]):
    """A cache of key → kind, for containers under one parent key that pass on one kind; filled as keys are met.

    A key can be personal data itself. Only keys that look like names are cached, so a cached key needs no masking.
    `harmless` are the cached keys that do not cause their value to be masked.
    """

    def __init__(self, parent: str, kind: KeyKind) -> None:
        super().__init__()
        self.parent = parent
        self._around = words_of(parent)
        self._kind = kind
        self.inherited = kind if kind.is_inherited else KeyKind.OTHER
        self.harmless: set[str] = set()
        self.inside: dict[object, KeyKinds] = {}  # the kinds of objects under cached keys

    def classify(self, key: str) -> KeyKind:
        """Return the kind of a key, cached or not."""
        known = self.get(key)
        if known is not None:
            return known
        words = words_of(key)
        if self._around and key.isupper() and (key in _CONTAINER_TYPES or (words[:1] and words[0] in _TYPES)):
            return self._kind
        kind = _kind_of_words(words, self._around)
        if self.inherited.is_inherited and kind in (KeyKind.OTHER, KeyKind.ID) and not self._describes(words):
            kind = self.inherited
        return kind

    def remember(self, key: str, kind: KeyKind) -> None:
        """Cache the kind of a key without personal data, if it looks like a name."""
        if _NAMEABLE.fullmatch(key):
            if len(self) >= _MAX_KNOWN:
                self.clear()
                self.harmless.clear()
                self.inside.clear()
            self[key] = kind
            if not kind.is_sensitive and kind is not KeyKind.NAME:
                self.harmless.add(key)

    def kinds_inside(self, key: object, kind: KeyKind) -> "KeyKinds":
        """Return the kinds of keys in an object under a key of this kind."""
        # `name` beside a phone has another kind than usual, which is not cached.
        is_usual = kind is self.get(key)
        found = self.inside.get(key) if is_usual else None
        if found is None:
            found = key_kinds(self.under(key) if isinstance(key, str) else "", kind)
            if is_usual:
                self.inside[key] = found
        return found

    def under(self, key: str) -> str:
        """Return the key that classifies an object under this one: for one of DynamoDB's types, the key above it."""
        return self.parent if key in _CONTAINER_TYPES and self.parent else key

    def _describes(self, words: tuple[str, ...]) -> bool:
        """Return whether the key only describes a phone or an email: {"phone": {"number": …, "country": …}}."""
        return bool(words) and words[-1] in _DESCRIPTORS and self.inherited is not KeyKind.PERSONAL


_kinds: dict[tuple[str, KeyKind], KeyKinds] = {}


def key_kinds(parent: str = "", kind: KeyKind = KeyKind.OTHER) -> KeyKinds:
    """Return the kinds of keys in a container under the key `parent`; `kind` is the parent's and may be inherited."""
    found = _kinds.get((parent, kind))
    if found is None:
        found = KeyKinds(parent, kind)
        if not parent or _NAMEABLE.fullmatch(parent):
            if len(_kinds) >= _MAX_KNOWN:
                _kinds.clear()
            _kinds[parent, kind] = found
    return found


def _kind_of_words(words: tuple[str, ...], around: tuple[str, ...]) -> KeyKind:
    if not words:
        return KeyKind.OTHER
    found = _sensitive_kind(words, around)
    if found is not None:
        return found
    if _may_be_name(words, around):
        return KeyKind.NAME
    if words[-1] in _SAFE or words[0] in _SAFE:
        return KeyKind.SAFE
    if words[-1] in ("id", "ids", "pk"):
        return KeyKind.OTHER if _is_person(words[:-1] or around) else KeyKind.ID
    return KeyKind.OTHER


def _sensitive_kind(words: tuple[str, ...], around: tuple[str, ...]) -> KeyKind | None:
    present = frozenset(words)
    if words[-1] in _DESCRIPTORS or words[0] in _ASIDE:
        return KeyKind.PERSONAL if present & _BIRTH and words[0] not in _ASIDE else None
    if _is_phone(words, present):
        return KeyKind.PHONE
    if present & _EMAIL:
        return KeyKind.EMAIL
    if _is_tracking(words, around):
        return KeyKind.TRACKING
    if _is_order(words, around):
        return KeyKind.ORDER
    if _is_personal(words, present, around):
        return KeyKind.PERSONAL
    joined = "".join(words)
    if joined.isascii() or _DESCRIBES_JOINED(joined):
        return None
    return next((kind for kind, is_in in _JOINED_KINDS if is_in(joined)), None)


def _is_phone(words: tuple[str, ...], present: frozenset[str]) -> bool:
    if present & _PHONE or words[-2:] in (("wa", "id"), ("whatsapp", "id"), ("caller", "id")):
        return True
    if any(word.startswith(_PHONE_BEGINNINGS) for word in words):
        return True
    named = {"number", "numbers", "no", "msisdn"}
    return words[-1] in named and bool(
        present & {"contact", "caller", "cell", "sms", "wa", "whatsapp", "recipient", "sender", "from", "to", "dialed"}
    )


def _is_tracking(words: tuple[str, ...], around: tuple[str, ...]) -> bool:
    if not _TRACKING.isdisjoint(words):
        return True
    last = words[-1]
    shipped = not {"shipment", "parcel", "consignment", "package", "track"}.isdisjoint(words[:-1])
    if shipped and (last in _NUMBER - {"name", "key"} or last in _LINKS):
        return True
    return bool(around) and around[-1] in _TRACKING and (last in _NUMBER or last in _LINKS)


def _is_order(words: tuple[str, ...], around: tuple[str, ...]) -> bool:
    if not _ORDER_GLUED.isdisjoint(words):
        return True
    if words[-1] in _ORDER:
        return words[0] not in _SORTING
    if not _ORDER.isdisjoint(words[:-1]) and words[-1] in _NUMBER | {"gid"}:
        return True
    if not _LIKE_ORDERS.isdisjoint(words) and not _NUMBER.isdisjoint(words):
        return True
    if not _LIKE_ORDERS_BUT_ID.isdisjoint(words) and not (_NUMBER - {"id", "ids", "key", "name"}).isdisjoint(words):
        return True
    if words[-2:] in (("po", "number"), ("po", "no")):
        return True
    return len(words) == 1 and words[0] in _NUMBER and bool(around) and around[-1] in _ORDER | _ORDER_GLUED


def _is_personal(words: tuple[str, ...], present: frozenset[str], around: tuple[str, ...]) -> bool:
    joined = "_".join(words)
    if present & _NAMES or joined in _NAMES or is_secret(words) or present & _PASSWORDS or joined in _PASSWORDS:
        return True
    if (
        present & _ADDRESS
        or joined in _ADDRESS
        or words[-2:] in (("postal", "code"), ("post", "code"), ("code", "postal"))
    ):
        return not present & _NOT_PERSONAL_ADDRESS
    if words[-1] in ("name", "names"):
        return not _NAME_PARTS.isdisjoint(words[:-1]) or _is_person(words[:-1]) or _is_person(around)
    if words[-1] == "city":
        return _is_person(words[:-1])
    # name_first, {"name": {"first": …, "last": …}}
    return words[-1] in _NAME_PARTS and (words[:-1] or around)[-1:] in (("name",), ("names",))


def _may_be_name(words: tuple[str, ...], around: tuple[str, ...]) -> bool:
    """Return whether the value may be a person's name: `name`, unless of a thing, and words for people."""
    if len(words) == 1 and words[0] in _NAME:
        return not any(word in _THINGS or word.removesuffix("s") in _THINGS for word in around)
    return len(words) == 1 and words[0] in _HOLDS_NAME


def looks_like_name(text: str) -> bool:
    """Return whether text looks like a person's name: up to five words, each capitalised but for particles."""
    words = text.split()
    if not 0 < len(words) <= 5 or len(text) > 80:
        return False
    capitals = 0
    for word in words:
        letters = word.strip(".,").replace("-", "").replace("'", "").replace("’", "")
        if not letters.isalpha():
            return False
        if letters.islower():
            if word not in PARTICLES:
                return False
        elif letters.isupper() and len(letters) > 1:
            # A single word in capitals is a constant; scripts without capitals do not get here.
            capitals += len(words) > 1
        else:
            # An inner capital means an identifier in code (but McCoy, DeVito, D'Angelo).
            inner = sum(char.isupper() for char in letters[1:])
            if inner > 1 or (inner and not _has_inner_capital.match(word)):
                return False
            capitals += 1
    return capitals > 0


def _is_person(words: tuple[str, ...]) -> bool:
    return not _PERSON.isdisjoint(words)


# --- Masks ------------------------------------------------------------------------------------------------------------

_LONGEST_PHONE, _LONGEST_ORDER = 40, 64
# Python 3.11 is slow to reach the members of an Enum by name.
_ORDER_KIND = KeyKind.ORDER
# `order` can also be the direction of sorting.
_NOT_ORDERS = frozenset({"asc", "desc", "ascending", "descending"})


def mask_value(kind: KeyKind, value: str) -> str:
    """Return the mask of a value whose key is sensitive; masks and empty values stay."""
    plain = value.strip()
    # The first character rules out most masks cheaply.
    if not plain or (plain[0] == "*" and is_mask(plain)) or (kind is _ORDER_KIND and plain.lower() in _NOT_ORDERS):
        return value
    mask = _MASKS.get(kind)
    return mask(plain) if mask else FULL_MASK


def _phone_mask(plain: str) -> str:
    if "@" in plain:
        return EMAIL_MASK
    return mask_phone_digits(digits_of(plain)) if len(plain) <= _LONGEST_PHONE else FULL_MASK


def _order_mask(plain: str) -> str:
    return mask_order(plain) if len(plain) <= _LONGEST_ORDER else FULL_MASK


# Masks that keep a part of the value, by the kind of its key; other kinds are masked in full.
_MASKS = {KeyKind.PHONE: _phone_mask, KeyKind.EMAIL: lambda _: EMAIL_MASK, KeyKind.ORDER: _order_mask}
