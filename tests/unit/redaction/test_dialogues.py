"""What people say: phone numbers are masked, the rest of a turn stays readable to the letter."""

import pytest

from console.redaction import redact

NUMBERS = ["415-555-0137", "(0)20 7946 0123", "+44 20 7946 0123", "020 7946 0123", "628.555.0142", "+351 912 345 678"]
TURNS = [
    "Sure, their number is {}. Anything else?",
    "You can call them at {} until 10 pm.",
    "It is at 1420 Harbour Street, phone {}, and has 4.5 stars.",
    "the phone number is {} and the address is 57 Mill Lane #210",
    "They are on {}, a table for 2 at 7:30 pm costs $45.50",
    "{}",
    "ok so {} or should i mail them?",
]
HARMLESS = [
    "I want a table for 2 at half past 11 in the morning, on March 4th.",
    "The flight leaves at 6:55 am and comes back on the 12th at 18:40, 329 dollars per person.",
    "It is 24 degrees with a 15 percent chance of rain, wind 7 miles per hour.",
    "Your balance is $10,342.58, and 1,250 went to savings on 2024-03-04.",
    "The house has 3 bedrooms, 2.5 baths, was built in 1987 and costs $1,250,000.",
    "Bus 42 leaves from 5th Avenue at 10:15, seat 17B, 12 stops.",
    "Alarm named Gym set for 5:45, the other one for 06:30.",
    "It was released in 2013, runs 127 minutes and has 8.1 of 10.",
    "I need 3 tickets for the 49ers, section 115, row 20.",
    "Play track 7 of the album, then the 2019 remix.",
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("turn", TURNS)
def test_a_number_that_is_said_is_masked_and_the_turn_stays(turn, number):
    mask = "***-***-" + "".join(filter(str.isdigit, number))[-4:]
    assert redact(turn.format(number)) == turn.format(mask)


@pytest.mark.parametrize("turn", HARMLESS)
def test_a_turn_without_a_number_is_not_touched(turn):
    assert redact(turn) == turn
