"""The facts of one conversation: what its texts mention, and the `project_data` that fits them."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from conversations.demo.companies import Company
from conversations.demo.people import Person

Facts = dict[str, str]

LANGUAGES = {
    "en": "English",
    "ar": "Arabic",
    "he": "Hebrew",
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "pl": "Polish",
    "pt": "Portuguese",
    "hi": "Hindi",
    "zh": "Chinese",
    "ja": "Japanese",
    "ur": "Urdu",
    "tr": "Turkish",
}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_DOCUMENTS = (
    "passport or share code",
    "proof of address",
    "P45 or starter checklist",
    "DBS certificate",
    "bank details form",
    "signed contract",
    "vaccination record",
)


def project_data(project_id: str, facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    """The `project_data` map of a conversation of that project, out of its facts."""
    return _PROJECT_DATA[project_id](facts, rng)


def facts_of(company: Company, person: Person, request_id: str, now: datetime, rng: Random) -> Facts:
    """Everything a text of this conversation may mention, as text."""
    bill = rng.randint(4200, 23_900)
    count = rng.choice((3, 6, 10, 12))
    plan = rng.randrange(240, 3600, 60)
    started = now + timedelta(days=rng.randint(3, 20))
    facts = {
        "first": person.first,
        "last": person.last,
        "email": person.email,
        "email2": person.email2,
        "tel_spoken": spoken(person.tel),
        "language_name": LANGUAGES[person.language],
        "request_id": request_id,
        "company": company.name,
        "rep": rng.choice(company.representatives).split()[0],
        "office_tel": company.office_tel,
        "tel_other": f"01632 960{rng.randint(100, 999)}",
        "email_other": rng.choice(("d.falk@harland.example", "office@finchandco.example", "m.reyes@borough.example")),
        "order": f"{rng.choice('ABKN')}{rng.randint(100, 999)}-{rng.randint(10_000, 99_999)}",
        "tracking": rng.choice(
            (
                f"JD01460{rng.randint(10**9, 10**10 - 1)}",
                f"1Z999AA1{rng.randint(10**9, 10**10 - 1)}",
                f"RM{rng.randint(10**8, 10**9 - 1)}GB",
            )
        ),
        "date": f"{started.day} {started:%B}",
        "pay_day": f"the {rng.choice(('1st', '3rd', '15th', '28th'))}",
        "time": f"{rng.randint(6, 11)}:{rng.choice(('05', '20', '40', '55'))}",
        "time2": f"{rng.randint(13, 18)}:{rng.choice(('00', '15', '30', '45'))}",
        "bank4": f"{rng.randint(1000, 9999)}",
        "amount": f"£{bill / 100:.2f}",
        "monthly": f"£{(plan / count if company.company_id == 'ci-lum-003' else bill / 160):.2f}",
        "plan_total": f"£{plan:,}.00",
        "instalments": str(count),
    }
    return facts | _work(rng, started) | _energy(rng, now) | _dental(rng)


def spoken(tel: str) -> str:
    """A number as people type it: British ones in the national form, in one of two spacings."""
    if tel.startswith("+447"):
        return f"0{tel[3:7]} {tel[7:]}" if int(tel[-1]) % 2 else f"0{tel[3:7]} {tel[7:10]} {tel[10:]}"
    return f"{tel[:3]} {tel[3:6]} {tel[6:]}"


def _work(rng: Random, started: datetime) -> Facts:
    title, salary = rng.choice(
        (
            ("Warehouse Team Leader", "£29,500 to £32,000"),
            ("Payroll Assistant", "£26,000 to £28,500"),
            ("Care Coordinator", "£27,800"),
            ("Junior Data Analyst", "£31,000 to £35,000"),
            ("Site Electrician", "£24 an hour"),
            ("Receptionist", "£23,900"),
            ("Night Shift Picker", "£13.85 an hour"),
            ("Office Manager", "£36,000 to £40,000"),
        )
    )
    return {
        "job_title": title,
        "salary": salary,
        "job_ref": f"JR-{rng.randint(1000, 9999)}",
        "gap": rng.choice(("March 2021 to January 2022", "June to December 2019", "September 2022 to May 2023")),
        "client": rng.choice(
            ("Harland Logistics", "Finch & Co", "Borough Care", "Meridian Foods", "Tallis Engineering")
        ),
        "interviewer": rng.choice(("Denise Fallow", "Mr Abiola", "Joanne Pike", "Dr Stein", "Raj Malhotra")),
        "interview_day": rng.choice(_DAYS),
        "interview_time": rng.choice(("9:15", "10:00", "11:30", "14:00", "15:45")),
        "location": rng.choice(("Unit 4, Canal Road", "12 Mill Street, 2nd floor", "Tallis House, Station Road")),
        "start_date": f"{started.day} {started:%B}",
        "documents": ", ".join(rng.sample(_DOCUMENTS, rng.choice((2, 3)))),
    }


def _energy(rng: Random, now: datetime) -> Facts:
    last = rng.randint(8000, 61_000)
    used = rng.randint(140, 420)
    move = now + timedelta(days=rng.randint(1, 30))
    return {
        "account_number": f"NW-{rng.randint(1000, 9999)}-{rng.randint(1000, 9999)}",
        "tariff": rng.choice(("Northwind Fix 12", "Northwind Flex", "Night Saver", "Green Fix 24")),
        "meter_serial": f"{rng.randint(17, 24)}E{rng.randint(1_000_000, 9_999_999)}",
        "last_reading": f"{last:05}",
        "new_reading": f"{last + used:05}",
        "used": str(used),
        "old_postcode": f"LS{rng.randint(90, 99)} {rng.randint(1, 9)}XQ",
        "new_postcode": f"BD{rng.randint(90, 97)} {rng.randint(1, 9)}ZW",
        "move_date": f"{move.day} {move:%B}",
        "postcode": f"HX{rng.randint(90, 99)} {rng.randint(1, 9)}VK",
        "incident_ref": f"INC-{rng.randint(10_000, 99_999)}",
        "homes": str(rng.choice((38, 120, 240, 610, 1900))),
    }


def _dental(rng: Random) -> Facts:
    return {
        "patient_ref": f"LP-{rng.randint(10_000, 99_999)}",
        "clinic": rng.choice(("Headingley", "Roundhay", "City Square", "Harrogate Road")),
        "clinician": rng.choice(("Dr Rao", "Dr Lindqvist", "Dr Okoye", "Ms Petrova")),
        "appt_day": rng.choice(_DAYS),
        "appt_time": rng.choice(("8:40", "9:20", "11:00", "13:10", "16:30")),
        "procedure": rng.choice(("wisdom tooth extraction", "root canal treatment", "dental implant", "crown fitting")),
        "hygiene_price": f"£{rng.choice((55, 62, 70))}",
    }


def _money(text: str) -> Decimal:
    return Decimal(text.replace("£", "").replace(",", ""))


def _cv(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "job_ref": facts["job_ref"],
        "job_title": facts["job_title"],
        "clarification_points": [
            {"point": f"Employment gap {facts['gap']}", "required": True},
            {"point": "Notice period", "required": False},
        ],
        "cv_score": Decimal(rng.randint(52, 97)) / 100,
    }


def _interview(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "job_ref": facts["job_ref"],
        "client": facts["client"],
        "interview": {
            "day": facts["interview_day"],
            "time": facts["interview_time"],
            "location": facts["location"],
            "round": rng.randint(1, 3),
        },
    }


def _onboarding(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "job_title": facts["job_title"],
        "start_date": facts["start_date"],
        "documents_missing": facts["documents"].split(", "),
        "right_to_work_checked": rng.random() < 0.6,
    }


def _billing(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "account_number": facts["account_number"],
        "tariff": facts["tariff"],
        "balance": _money(facts["amount"]),
        "direct_debit": rng.random() < 0.7,
        "invoice_link": f"https://my.northwind.example/invoices/{facts['request_id']}",
    }


def _meter(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "account_number": facts["account_number"],
        "meter_serial": facts["meter_serial"],
        "last_reading_kwh": int(facts["last_reading"]),
        "smart": rng.random() < 0.4,
    }


def _moving(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "account_number": facts["account_number"],
        "from": {"postcode": facts["old_postcode"]},
        "to": {"postcode": facts["new_postcode"], "meter_type": rng.choice(("credit", "prepayment", None))},
        "move_date": facts["move_date"],
    }


def _outage(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "incident_ref": facts["incident_ref"],
        "postcode": facts["postcode"],
        "homes_affected": int(facts["homes"]),
        "priority_register": rng.random() < 0.15,
    }


def _appointment(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "patient_ref": facts["patient_ref"],
        "clinic": facts["clinic"],
        "clinician": facts["clinician"],
        "slot": {"day": facts["appt_day"], "time": facts["appt_time"], "minutes": rng.choice((15, 30, 45))},
    }


def _aftercare(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "patient_ref": facts["patient_ref"],
        "procedure": facts["procedure"],
        "clinician": facts["clinician"],
        "allergies": rng.sample(("penicillin", "latex", "ibuprofen"), rng.choice((0, 0, 1))),
    }


def _plan(facts: Mapping[str, str], rng: Random) -> dict[str, Any]:
    return {
        "patient_ref": facts["patient_ref"],
        "total": _money(facts["plan_total"]),
        "instalments": int(facts["instalments"]),
        "monthly": _money(facts["monthly"]),
        "partner": rng.choice(("Alder Finance", "in-house")),
    }


_PROJECT_DATA: dict[str, Callable[[Mapping[str, str], Random], dict[str, Any]]] = {
    "pi-cuc-cv": _cv,
    "pi-cuc-int": _interview,
    "pi-cuc-onb": _onboarding,
    "pi-nwe-bil": _billing,
    "pi-nwe-mtr": _meter,
    "pi-nwe-mov": _moving,
    "pi-nwe-out": _outage,
    "pi-lum-apt": _appointment,
    "pi-lum-aft": _aftercare,
    "pi-lum-pay": _plan,
}
