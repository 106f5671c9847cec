"""The demo's long conversations: months of check-ins, a storm night, a move, a hiring round. Each yields (gap, role, text)."""

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from conversations.demo.script import ASSISTANT, USER

Line = tuple[timedelta, str, str]


def aligner_diary(name: str, days: int, rng: Random) -> Iterator[Line]:
    """Three short messages a day while aligners are worn: question, answer, reaction. Some 390 in 130 days."""
    hours = ("22 h", "21 h", "22 h 👍", "20ish", "23", "all day", "22", "21.5", "forgot at lunch, 19", "22 hours")
    moods = ("", " 😊", " bit sore", " fine", " no pain", " all good", " itchy gums", "")
    praise = ("Great.", "Well done!", "Good.", "Keep going 💪", "Perfect.", "Thanks!", "Noted.", "Lovely.")
    for day in range(days):
        tray = 1 + day // 10
        new = " New tray tonight." if day % 10 == 9 else ""
        yield (
            timedelta(hours=24 if day else 0, minutes=rng.uniform(-20, 20)),
            ASSISTANT,
            f"Day {day + 1}, tray {tray}, {name}: hours worn?",
        )
        yield timedelta(minutes=rng.uniform(1, 200)), USER, f"{rng.choice(hours)}{rng.choice(moods)}"
        yield timedelta(seconds=rng.uniform(3, 9)), ASSISTANT, f"{rng.choice(praise)}{new}"


def storm_night(name: str, postcode: str, rng: Random) -> Iterator[Line]:
    """A night without power, an update every quarter of an hour and an anxious customer. Some 220 messages."""
    where = (
        "the substation",
        "the pole by the church",
        "the line over the river",
        "the junction box",
        "Mill Lane",
        "the ring feeder",
    )
    what = (
        "A crew is at {}.",
        "The fault is between us and {}.",
        "Tree surgeons are clearing {}.",
        "A generator is on its way to {}.",
        "We are testing {} now.",
        "The repair at {} has to wait for the wind.",
    )
    asks = (
        "any news",
        "ok",
        "still dark here",
        "how many crews do you have out",
        "kids are asleep at least",
        "phone on 20% now",
        "its 9 degrees inside",
        "candle no 4 🕯️",
        "neighbour has a gas stove, we had tea ☕",
        "thanks for staying with me",
        "is it the whole village",
        "wind is getting worse",
        "saw a van go past with lights!",
        "is the school going to be open",
        "ok thank you",
        "what about the freezer",
        "dog is not impressed 🐶",
        "we're all in one bed",
    )
    answers = (
        "I'll write as soon as that changes.",
        "Thank you, I've passed it on.",
        "Keep warm, and one torch near the stairs.",
        "About {} homes are still off.",
        "Leave one lamp switched on, so that you see when it's back.",
        "Please stay away from any line on the ground, and ring 105 if you see one.",
    )
    yield (
        timedelta(0),
        ASSISTANT,
        f"Hi {name}, the storm has cut the power in {postcode}. I'll write every 15 minutes until it's back.",
    )
    for turn in range(54):
        clock = 19 * 60 + 15 * turn
        place = rng.choice(where)
        yield (
            timedelta(minutes=9, seconds=rng.uniform(0, 200)),
            ASSISTANT,
            f"{clock // 60 % 24:02}:{clock % 60:02} {rng.choice(what).format(place)}",
        )
        yield timedelta(seconds=rng.uniform(20, 200)), USER, rng.choice(asks)
        yield timedelta(seconds=rng.uniform(3, 8)), ASSISTANT, rng.choice(answers).format(1900 - 34 * turn)
        if turn % 2:
            yield (
                timedelta(seconds=rng.uniform(10, 90)),
                USER,
                rng.choice(("👍", "ok", "ta", "🙏", "right", "fingers crossed 🤞")),
            )
    yield timedelta(minutes=11), USER, "LIGHTS!!!! 💡💡💡"
    yield (
        timedelta(seconds=6),
        ASSISTANT,
        f"Wonderful, {name}. All of {postcode} is back. Sleep well, and thank you for your patience.",
    )


def weekly_readings(name: str, serial: str, weeks: int, rng: Random) -> Iterator[Line]:
    """Weekly meter readings of somebody who watches every kWh, four messages a week."""
    reading = rng.randint(21_000, 29_000)
    remarks = (
        "heat pump was on all week",
        "we were away",
        "tumble dryer broke, yay",
        "new LED bulbs",
        "mother in law visiting 😅",
        "christmas lights",
        "kids home from uni",
        "nothing special",
        "I turned the fridge down to 2",
        "worked from home",
    )
    hints = (
        "That fits the weather.",
        "That's 8 % less than the week before.",
        "A little more than usual.",
        "Your lowest week this season!",
        "About the same as last week.",
        "Most of it was between 17:00 and 21:00.",
    )
    for week in range(weeks):
        used = rng.randint(38, 96)
        reading += used
        yield (
            timedelta(days=7 if week else 0, minutes=rng.uniform(-40, 40)),
            ASSISTANT,
            f"Good morning {name}, week {week + 1}: what does meter {serial} say?",
        )
        yield timedelta(minutes=rng.uniform(3, 300)), USER, f"{reading:05}"
        yield timedelta(seconds=rng.uniform(3, 9)), ASSISTANT, f"Saved: {used} kWh this week. {rng.choice(hints)}"
        yield timedelta(minutes=rng.uniform(1, 20)), USER, rng.choice(remarks)


def hiring_round(name: str, rng: Random) -> Iterator[Line]:
    """A client's contact books one interview after another in the same thread. Some 200 messages."""
    people = (
        "Aaron",
        "Beata",
        "Chioma",
        "Dev",
        "Elsie",
        "Farid",
        "Greta",
        "Hamish",
        "Ines",
        "Jakub",
        "Kezia",
        "Liam",
        "Mina",
        "Nadia",
        "Owen",
        "Petra",
        "Quentin",
        "Rosa",
        "Sunil",
        "Tara",
        "Usman",
        "Vera",
        "Will",
        "Xenia",
        "Yara",
        "Zack",
        "Abby",
        "Ben",
        "Carla",
        "Dino",
        "Esther",
        "Finn",
    )
    verdicts = (
        "yes, second round please",
        "not this time, very nice though",
        "strong maybe",
        "YES 🙌",
        "no show :(",
        "great on paper, shy in person, yes",
        "no, wanted fully remote",
        "can you ask for a reference first",
        "yes but needs the forklift ticket",
    )
    for number, person in enumerate(people):
        day = rng.choice(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"))
        yield (
            timedelta(hours=rng.uniform(20, 50) if number else 0),
            ASSISTANT,
            f"Hi {name}, candidate {number + 1}: {person}. {day} {rng.choice(('9:00', '10:30', '13:00', '15:15'))}, room 2?",
        )
        yield (
            timedelta(minutes=rng.uniform(1, 90)),
            USER,
            rng.choice(("ok", "yes", "room 3 please, 2 is being painted", "can we do it an hour later", "👍", "fine")),
        )
        yield timedelta(seconds=rng.uniform(3, 9)), ASSISTANT, f"Booked. {person} will ask for you at reception."
        yield timedelta(hours=rng.uniform(3, 20)), ASSISTANT, f"How was {person}?"
        yield timedelta(minutes=rng.uniform(2, 120)), USER, f"{person}: {rng.choice(verdicts)}"
        yield (
            timedelta(seconds=rng.uniform(3, 9)),
            ASSISTANT,
            rng.choice(
                (
                    "Thank you, I'll let them know today.",
                    "Noted, and passed on.",
                    "Understood. I'll tell them kindly.",
                    "Got it.",
                )
            ),
        )
