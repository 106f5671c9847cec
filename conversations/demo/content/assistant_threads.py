"""What the staff of the demo's companies ask their assistant, and what it answers: one list of messages for each thread.

A message is (USER or ASSISTANT, content, more attributes). Names, numbers and addresses are of the ranges for fiction.
"""

from typing import Any

USER, ASSISTANT = "user", "assistant"
Said = tuple[str, Any, dict[str, Any]]


def user(content: Any, **more: Any) -> Said:
    """What a person asks."""
    return USER, content, more


def answer(content: Any, **more: Any) -> Said:
    """What the assistant says."""
    return ASSISTANT, content, {"stop_reason": "end_turn", **more}


def model(tokens: int, answered: int, **more: Any) -> dict[str, Any]:
    """The metadata of a response."""
    return {
        "model": "claude-sonnet-4-5-20250929",
        "usage": {"input_tokens": tokens, "output_tokens": answered, "cache_read_input_tokens": tokens // 2},
        "latency_ms": 900 + 11 * answered,
        **more,
    }


def text(words: str) -> dict[str, Any]:
    """A part of text."""
    return {"type": "text", "text": words}


def tool(name: str, **asked: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": asked}


RECALL_POLICY = {
    "title": "Recall policy 2025, section 3",
    "url": "https://intranet.lumendental.example/policies/recall#3",
    "snippet": "Adults without active disease are recalled after 12 months; smokers and people with diabetes after 6.",
}
TARIFF = {
    "name": "Tariff sheet, winter",
    "link": "https://docs.northwind.example/tariffs/winter.pdf",
    "text": "Standing charge 53.4 p a day. Unit rate 24.1 p from 7:00 to 23:00, 11.9 p by night.",
}


def recall() -> list[Said]:
    """An answer from the handbook that was good, and one that was not."""
    return [
        user("How soon do we recall adults without problems?"),
        answer(
            "After 12 months. After 6 months where somebody smokes or has diabetes.",
            sources=[RECALL_POLICY],
            verso="up",
            response_metadata=model(1204, 31),
        ),
        user("and children?"),
        answer(
            "Every 12 months, the same as adults.",
            sources=[RECALL_POLICY, "https://intranet.lumendental.example/policies/children"],
            verso="down",
            feedback="Children are every 6 months, the second source says so. It quoted the adults' section.",
            response_metadata=model(1260, 12),
        ),
        user("The page on children says 6."),
        answer(
            "You are right, and I misread it: children are recalled every 6 months. I looked at the adults' section.",
            sources=["https://intranet.lumendental.example/policies/children"],
            response_metadata=model(1311, 34),
        ),
    ]


def cancellations() -> list[Said]:
    """A tool that is asked, what it answers, and a table made of it."""
    found = {"week": 47, "cancelled": 14, "filled": 9, "by_clinic": {"Leeds": 8, "York": 4, "Harrogate": 2}}
    return [
        user("how many cancellations did we have last week, by clinic"),
        answer([text("I look at the diary."), tool("diary_cancellations", week=47)], stop_reason="tool_use"),
        user([{"type": "tool_result", "tool_use_id": "toolu_diary_cancellations", "content": [{"json": found}]}]),
        answer(
            "Last week there were 14 cancellations, and 9 of these times were filled again:\n\n"
            "• Leeds 8\n• York 4\n• Harrogate 2",
            verso="up",
            feedback="Exactly what I needed for Monday's meeting",
            response_metadata=model(980, 58, tools=["diary_cancellations"]),
        ),
        user("which ones in Leeds were not filled?"),
        answer(
            "Three: Tuesday 9:20 (Dr Rao), Thursday 16:40 (Greta Holm) and Friday 11:00 (Dr Rao). The Thursday one was "
            "cancelled by 07700 900 714 half an hour before.",
            response_metadata=model(1090, 47),
        ),
    ]


def letter() -> list[Said]:
    """A draft, shortened twice."""
    return [
        user("Write to patients that York is closed for building works from the 8th to the 12th"),
        answer(
            "Dear patient,\n\nour clinic in York is closed for building works from Monday 8 to Friday 12 December. "
            "If you have an appointment in that week, we call you to find another time, or another clinic.\n\n"
            "In an emergency please ring the desk in Leeds.\n\nYour team at Lumen Dental"
        ),
        user("shorter, for SMS"),
        answer("Lumen Dental: York is closed 8–12 Dec for building works. We call you about your appointment."),
        user("and in Polish please"),
        answer("Lumen Dental: klinika w Yorku jest zamknięta 8–12 grudnia. Zadzwonimy w sprawie wizyty.", verso="up"),
    ]


def bill() -> list[Said]:
    """A calculation with code, from the tariff sheet."""
    code = (
        "days, day_kwh, night_kwh = 31, 212, 96\n"
        "standing = days * 0.534\n"
        "energy = day_kwh * 0.241 + night_kwh * 0.119\n"
        "print(round((standing + energy) * 1.05, 2))  # 83.01"
    )
    return [
        user("customer disputes 91.40 for October. 212 kWh by day, 96 by night, winter tariff. what should it be?"),
        answer(
            [
                text("By the winter tariff, with VAT of 5 %:"),
                {"type": "code", "language": "python", "code": code},
                text("It should be £83.01. The bill is £8.39 too high: it took all units at the day rate."),
            ],
            sources=[TARIFF],
            verso="up",
            response_metadata=model(1480, 122),
        ),
        user("Is that a refund or a credit?"),
        answer(
            "A credit on the next bill, unless the customer asks for the money back.",
            sources=[{"title": "Complaints handbook", "uri": "s3://northwind-handbooks/complaints.pdf"}],
            verso="down",
            feedback="Overcharges above £5 are always refunded since June.",
        ),
    ]


def outage() -> list[Said]:
    """An urgent question at night."""
    return [
        user("power cut in HG3, somebody on oxygen at home. what do i say??"),
        answer(
            "Hand over to the emergency desk now: 0808 157 0999, option 1. While you wait: ask how long the battery or the "
            "bottle lasts, and whether somebody is with them. If it is less than an hour, they should ring 999."
        ),
        user("2 hours, her son is there. desk is on it. thanks"),
        answer("Good. I put the address on the list of priority services if you give me the account number."),
        user("acct 60011847, Mrs Entwistle"),
        answer("Done: the crew sees it as priority, and the desk calls her every 30 minutes."),
    ]


def meter() -> list[Said]:
    """A photograph that is named and never loaded."""
    photo = {"type": "image_url", "image_url": {"url": "https://uploads.northwind.example/meters/2291-a.jpg"}}
    return [
        user([text("what does this meter say? customer sent it"), photo]),
        answer("It reads 48213.7 kWh. The last digit, behind the red frame, is tenths and is not billed."),
        user("plausible? last was 47790 in august"),
        answer(
            "Yes: 423 kWh in eleven weeks is 5.5 a day. In the same weeks of last year it was 5.1.",
            verso="up",
            response_metadata=model(1730, 40),
        ),
    ]


def advert() -> list[Said]:
    """Something that is only for now."""
    return [
        user("three titles for a warehouse job ad, nights, Doncaster"),
        answer(
            "1. Night Warehouse Operative – Doncaster\n2. Work Nights, Keep Your Days\n3. Doncaster: Nights at £14.20"
        ),
        user("2 but less cheesy"),
        answer("“Night shifts in Doncaster: four on, four off”", feedback="took it"),
    ]


def candidate() -> list[Said]:
    """A summary that was too free with what it knows."""
    return [
        user("summarise Marcus Fletcher for the client, 5 lines"),
        answer(
            "Marcus Fletcher, forklift driver (counterbalance and reach), 9 years.\n"
            "• Two long contracts, both ended with the site\n• Licences valid until 2027\n"
            "• Nights and weekends\n• Lives 20 minutes away\n• Reach him on 07700 900 388 or m.fletcher@mail.example",
            sources=["cv-2231.pdf", {"title": "Call notes, 3 November", "text": "Wants nights. Father of two."}],
            verso="down",
            feedback="Never put a candidate's number and address into what goes to the client!",
            response_metadata=model(2210, 84),
        ),
        user("without his contact details. ever"),
        answer(
            "Marcus Fletcher, forklift driver (counterbalance and reach), 9 years.\n"
            "• Two long contracts, both ended with the site\n• Licences valid until 2027\n"
            "• Nights and weekends\n• Lives 20 minutes away",
            verso="up",
        ),
    ]


def references() -> list[Said]:
    """Sources in several shapes, some of which are no links."""
    return [
        user("What may a reference say about sick days?"),
        answer(
            "Only their number, and only where the candidate agreed in writing. Never the reasons.",
            sources=[
                {"title": "References, guidance for agencies", "href": "https://www.gov.example/references"},
                {"document": {"name": "Our template, v7", "url": "https://intranet.cucumber.example/templates/ref-v7"}},
                {"title": "Legal's answer of May", "url": "file:///srv/legal/2025-05-ref.msg"},
                "Employment practices code, 2.13",
            ],
            response_metadata=model(1640, 37),
        ),
    ]


def interview() -> list[Said]:
    """One question, in two languages."""
    return [
        user("Czy kandydat może mieć rozmowę po polsku z tym klientem?"),
        answer("Tak. Kierownik zmiany mówi po polsku. Dokumenty muszą być po angielsku."),
        user("ok in English: what do I tell the client's HR"),
        answer(
            "That the interview is in Polish, led by the shift manager, and that notes follow in English the same day."
        ),
    ]


def standup() -> list[Said]:
    """A team that works on locks."""
    return [
        user("what did we say about OUT-1190 in the last stand-up?"),
        answer(
            [tool("standup_search", query="OUT-1190", last=1)],
            stop_reason="tool_use",
            response_metadata=model(640, 22, api_key="sk-demo-3f9a71c2d8e04b56"),
        ),
        user(
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_standup_search",
                    "content": "Robin: waits for the certificate.",
                }
            ]
        ),
        answer("That it waits for the new certificate, which Robin ordered on Tuesday."),
    ]


def cut_off() -> list[Said]:
    """An answer that ended before its end."""
    return [
        user("list every clinic with its opening hours, phone, parking, bus lines and step-free access"),
        answer(
            "Leeds: Mon–Fri 8:00–18:00, Sat 9:00–13:00. 0113 496 0831. Parking behind the house, 12 places. Buses 1, 6 and",
            stop_reason="max_tokens",
            verso="down",
            response_metadata=model(720, 600),
        ),
        user("go on"),
        answer("28. Step-free from the yard.\n\nYork: Mon–Thu 8:30–17:30 …", stop_reason="refusal"),
    ]


def audit_of_leases(rounds: int) -> list[Said]:
    """One long thread: a list of flats that is gone through, one after the other."""
    streets = ("Mill Lane", "Cardigan Road", "The Crescent", "Station Parade", "Otley Road", "Kirkgate")
    states = (
        "smart meter since {year}, reads every half hour. Nothing to do.",
        "old meter, last read by us in {year}. A visit is due.",
        "two meters on one account: the second is the stairwell's. The landlord pays it.",
        "the meter's serial is not the one on the bill. I put it on the list for the field team.",
        "let empty since {year}; the standing charge goes to the owner.",
    )
    said = [
        user("We go through the flats of the portfolio one by one. I give you the address, you tell me what is open.")
    ]
    said.append(answer("Ready. Give me the first one."))
    for number in range(rounds):
        street = streets[number % len(streets)]
        said.append(user(f"{number + 1}: {17 + number * 3 % 88} {street}"))
        state = states[number * 7 % len(states)].format(year=2019 + number % 6)
        given: dict[str, Any] = {}
        if number % 19 == 4:
            given = {"verso": "down", "feedback": f"Number {number + 1} has had a smart meter since spring."}
        elif number % 11 == 3:
            given = {"verso": "up"}
        said.append(answer(f"{street}: {state}", **given))
    said.append(user("that's all, thanks. how many visits?"))
    said.append(answer(f"{rounds // 5} visits, and {rounds // 5} meters whose serials have to be checked."))
    return said
