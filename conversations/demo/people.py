"""The demo's customers. Numbers come from the ranges that regulators reserve for fiction, addresses from example domains."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from random import Random


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    "Olivia Amelia Isla Ava Mia Ivy Lily Freya Grace Sophie Chloe Niamh Siobhan Priya Anika Aaliyah Zara Fatima Chidinma "
    "Blessing Ngozi Eilidh Rhiannon Carys Megan Hannah Joanna Deborah Maureen Patricia George Oliver Noah Arthur Harry "
    "Leo Jack Charlie Oscar Theo Callum Rory Ewan Rhys Gareth Imran Bilal Arjun Rohan Kwame Kofi Emeka Marcus Dwayne "
    "Stephen Martin Keith Graham Trevor Wesley"
)
_LAST = _words(
    "Smith Jones Taylor Brown Williams Wilson Johnson Davies Patel Wright Walker Robinson Thompson White Hughes Edwards "
    "Green Hall Lewis Harris Clarke Begum Khan Ali Hussain Okafor Adeyemi Mensah Owusu Campbell MacDonald Stewart Reid "
    "Murphy O'Connor Kelly Byrne Doyle Evans Morgan Griffiths Pritchard Sharma Kaur Singh Gill Chowdhury Fletcher Barker "
    "Holloway Whitmore Ashworth Pemberton Sykes Bradshaw Entwistle Nuttall Cartwright Lockwood Fairclough"
)

# first name, last name, and how both are written in an address
_OTHERS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ar": (
        ("ليلى", "منصور", "layla.mansour"),
        ("عمر", "الخطيب", "omar.khatib"),
        ("سارة", "حداد", "sara.h"),
        ("يوسف", "العلي", "yousef.ali"),
        ("نور", "درويش", "nour.darwish"),
        ("خالد", "شاهين", "k.shaheen"),
        ("هبة", "سالم", "heba.salem"),
        ("طارق", "نجار", "tariq.najjar"),
    ),
    "he": (
        ("נועה", "לוי", "noa.levi"),
        ("איתי", "כהן", "itay.cohen"),
        ("תמר", "ברק", "tamar.barak"),
        ("יונתן", "שפירא", "yonatan.s"),
        ("מיכל", "פרידמן", "michal.f"),
        ("עומר", "גולן", "omer.golan"),
    ),
    "es": (
        ("Lucía", "Fernández", "lucia.fernandez"),
        ("Javier", "Muñoz", "javi.munoz"),
        ("María José", "Núñez", "mjose.nunez"),
        ("Álvaro", "Ibáñez", "alvaro.ibanez"),
        ("Inés", "Peña", "ines.pena"),
        ("Andrés", "Castaño", "andres.castano"),
        ("Ximena", "Quiroga", "xime.quiroga"),
        ("Rubén", "Ortiz", "ruben.ortiz"),
    ),
    "fr": (
        ("Chloé", "Lefèvre", "chloe.lefevre"),
        ("Hugo", "Bénard", "hugo.benard"),
        ("Aïcha", "Diallo", "aicha.diallo"),
        ("François", "Garçon", "f.garcon"),
        ("Maëlys", "Roux", "maelys.roux"),
        ("Jérôme", "Côté", "jerome.cote"),
        ("Zoé", "N'Guyen", "zoe.nguyen"),
    ),
    "de": (
        ("Jürgen", "Müller", "j.mueller"),
        ("Lena", "Schäfer", "lena.schaefer"),
        ("Björn", "Weiß", "bjoern.weiss"),
        ("Annegret", "Köhler", "a.koehler"),
        ("Sören", "Groß", "soeren.gross"),
        ("Mia", "Vogt", "mia.vogt"),
        ("Uwe", "Jäger", "uwe.jaeger"),
    ),
    "pl": (
        ("Małgorzata", "Wiśniewska", "m.wisniewska"),
        ("Paweł", "Dąbrowski", "pawel.dabrowski"),
        ("Agnieszka", "Wójcik", "aga.wojcik"),
        ("Łukasz", "Zieliński", "lukasz.z"),
        ("Zofia", "Król", "zofia.krol"),
        ("Krzysztof", "Pająk", "krzys.pajak"),
        ("Bożena", "Świątek", "bozena.s"),
        ("Michał", "Gołąb", "michal.golab"),
    ),
    "pt": (
        ("Beatriz", "Gonçalves", "bia.goncalves"),
        ("João", "Magalhães", "joao.magalhaes"),
        ("Inês", "Simões", "ines.simoes"),
        ("Thiago", "Araújo", "thiago.araujo"),
        ("Conceição", "Brandão", "c.brandao"),
        ("Caio", "Falcão", "caio.falcao"),
    ),
    "hi": (
        ("प्रिया", "शर्मा", "priya.sharma"),
        ("अर्जुन", "वर्मा", "arjun.verma"),
        ("सुनीता", "यादव", "sunita.y"),
        ("रोहित", "मिश्रा", "rohit.mishra"),
        ("नेहा", "गुप्ता", "neha.gupta"),
        ("विकास", "चौहान", "v.chauhan"),
    ),
    "zh": (
        ("伟", "陈", "wei.chen"),
        ("静怡", "林", "jingyi.lin"),
        ("浩然", "王", "haoran.wang"),
        ("美玲", "黄", "meiling.h"),
        ("子轩", "刘", "zixuan.liu"),
        ("雪", "赵", "xue.zhao"),
    ),
    "ja": (
        ("さくら", "佐藤", "sakura.sato"),
        ("健太", "鈴木", "kenta.suzuki"),
        ("美咲", "高橋", "misaki.t"),
        ("翔", "渡辺", "sho.watanabe"),
        ("由美子", "小林", "yumiko.k"),
    ),
    "ur": (
        ("عائشہ", "صدیقی", "ayesha.siddiqui"),
        ("حمزہ", "قریشی", "hamza.qureshi"),
        ("زینب", "ملک", "zainab.malik"),
        ("بلال", "چوہدری", "bilal.chaudhry"),
        ("ثنا", "راجپوت", "sana.rajput"),
    ),
    "tr": (
        ("Ayşe", "Yılmaz", "ayse.yilmaz"),
        ("Mehmet", "Öztürk", "mehmet.ozturk"),
        ("Çağla", "Şahin", "cagla.sahin"),
        ("Uğur", "Güneş", "ugur.gunes"),
        ("Işıl", "Doğan", "isil.dogan"),
    ),
}
_DOMAINS = ("example.com", "example.org", "example.net", "mail.example", "post.example", "uni.example")
# How many conversations the first people of a language have; all others have one.
_REPEATS = (2, 3, 4, 6, 2, 5, 3)
_ENGLISH_REPEATERS = 28
_ENGLISH_PEOPLE = 215
_OTHER_REPEATERS = 2


@dataclass(frozen=True, slots=True)
class Person:
    """A customer. `tel` is in international form with a plus sign."""

    first: str
    last: str
    tel: str
    email: str
    email2: str
    language: str


class Population:
    """All customers: each language hands out its people in turn, some of them several times."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._numbers = _numbers(rng)
        self._turns = {language: self._turn(language) for language in ("en", *_OTHERS)}

    def next(self, language: str) -> Person:
        """Whose conversation the next one of that language is."""
        return next(self._turns[language])

    def _turn(self, language: str) -> Iterator[Person]:
        names = _english_names(self._rng) if language == "en" else list(_OTHERS[language])
        people = [self._person(name, language) for name in names]
        repeaters = _ENGLISH_REPEATERS if language == "en" else _OTHER_REPEATERS
        line = [
            person
            for place, person in enumerate(people)
            for _ in range(_REPEATS[place % len(_REPEATS)] if place < repeaters else 1)
        ]
        self._rng.shuffle(line)
        return cycle(line)

    def _person(self, name: tuple[str, str, str], language: str) -> Person:
        first, last, local = name
        one, two = self._rng.sample(_DOMAINS, 2)
        return Person(
            first, last, next(self._numbers), f"{local}@{one}", f"{local}{self._rng.randint(1, 99)}@{two}", language
        )


def _english_names(rng: Random) -> list[tuple[str, str, str]]:
    pairs = [(first, last) for first in _FIRST for last in _LAST]
    return [
        (first, last, f"{first}.{last}".lower().replace("'", "") + rng.choice(("", "", str(rng.randint(1, 99)))))
        for first, last in rng.sample(pairs, _ENGLISH_PEOPLE)
    ]


def _numbers(rng: Random) -> Iterator[str]:
    """Distinct numbers of the drama ranges: mostly British mobiles, some French, German, Irish, Swedish and American.

    +44 7700 9008xx is left to the companies.
    """
    british = [f"+447700900{number:03}" for number in range(1000) if number // 100 != 8]
    rng.shuffle(british)
    abroad = [f"+3363998{number:04}" for number in rng.sample(range(10_000), 60)]
    abroad += [f"+4917139200{number:02}" for number in range(10, 60)]
    abroad += [f"+35320910{number:04}" for number in rng.sample(range(10_000), 40)]
    abroad += [f"+4670174{number:04}" for number in rng.sample(range(600, 700), 20)]
    abroad += [f"+120255501{number:02}" for number in rng.sample(range(100), 30)]
    rng.shuffle(abroad)
    while british:
        yield abroad.pop() if abroad and rng.random() < 0.16 else british.pop()
