"""English dialogues of Northwind Energy. The format is described in ``conversations.demo.script``."""

TEXT = """
=== pi-nwe-bil en chat
A: Hi {first}, Nora from Northwind Energy here. Your bill for last month is ready: {amount} on {tariff}, account {account_number}.
U: thats nearly double what i paid last month??
A: I understand that's a surprise. Last month's bill was estimated at 180 kWh; the meter reading from Tuesday shows 341 kWh, so this bill catches up.
U: so i wont be paying this every month
A: No. With your actual use I'd expect about {monthly} a month. If you send a reading each month there won't be another catch-up.
U: ok. can i split this one
A: Yes, over up to three months at no cost. Shall I set up three equal payments from {pay_day}?
U: <<yes please|go on then, yes|that would really help, yes>>
!call create_payment_arrangement
A: Done. You'll get a confirmation at {email}.
U: thanks for explaining 👍

=== pi-nwe-bil en chat
A: Hello {first}, your Direct Debit of {monthly} for account {account_number} was returned by your bank today. No charge has been added. Would you like us to try again on Friday?
U: I changed banks, forgot to tell you
A: No problem. Please don't send bank details here; use the secure page: https://pay.northwind.example/dd/{request_id}
U: done it just now
A: I can see it. The payment of {monthly} will be taken on {pay_day} from the account ending {bank4}.
!call update_direct_debit
U: perfect

=== pi-nwe-bil en chat
A: Hi {first}, your fixed tariff ends on {date}. If you do nothing you'll move to our standard variable tariff. Would you like to see today's fixed offers?
U: what's cheapest
A: For your use, "Northwind Fix 12" at about {monthly} a month. The variable tariff would be around {amount} a month. There's no exit fee on either.
U: is it green
A: Yes, the electricity on both is matched 100 % with renewable certificates.
U: ok fix 12 it is
!call switch_tariff
A: You're all set. "Northwind Fix 12" starts the day after your current one ends. You have 14 days to change your mind.
U: 🌱 thx

=== pi-nwe-bil en chat
A: Hello {first}, Nora from Northwind Energy. We've refunded your credit of {amount}. It should arrive in three to five working days.
U: I was told that 2 weeks ago. Order {order} on the letter. still nothing
A: I'm sorry. I can see the refund was sent to an account ending {bank4}. Is that still yours?
U: No!! closed that one in january
A: Then the bank will have returned it. I've asked for it to be sent again to your new account; please enter the details here: https://pay.northwind.example/refund/{request_id}
!call reissue_refund
U: entered. how long now
A: Three working days. I'll message you when it leaves us.
A: Good news, {first}: the refund of {amount} left us this morning.
U: got it, thank you

=== pi-nwe-bil en email
A: Dear {first} {last},

Your statement for account {account_number} is ready.

Balance brought forward: £0.00
Electricity, {tariff}: {amount}
Payment received: {monthly}

You can see every half-hour of use in your online account. If anything looks wrong, reply to this email.

Kind regards,
Nora
AI assistant, Northwind Energy
U: Dear Nora,

there is a "warm home adjustment" line on page 2 that I do not understand. I am on a pension and was told I would GET a discount, this looks like you are taking one away.

Please ring me on {tel_spoken} after 5pm or write back.

{last}
A: Dear {first} {last},

I can see why that line is confusing. The £150 discount was paid to your account in December; the line on page 2 only moves it from "pending" to "applied". Nothing has been taken away, and the amount you pay is unchanged.

I have asked for the wording to be made clearer on the next statement, and I have noted that you prefer to be rung after 5 pm.

Kind regards,
Nora
U: Thank you, that is a relief. No need to ring then.

=== pi-nwe-bil en chat
A: Hi {first}, thanks for contacting Northwind Energy. How can I help with account {account_number}?
U: need a copy of my bill for a mortgage application, last 3 months, as PDF
A: Of course. I'll send the last three bills to {email}. Is that address right?
U: can you send to {email2} instead, thats my broker
A: I can only send bills to the address on the account, for your privacy. You could forward them from there.
U: fine, send to mine
!call send_documents
A: Sent. The mail has three PDF files with the account number ending {bank4} in the name.
U: got em

=== pi-nwe-mtr en chat
A: Hi {first}, it's time for your meter reading ⚡ Meter {meter_serial}, last reading {last_reading}. What does it show today?
U: {new_reading}
A: Thank you. That's {used} kWh since last time, about what we'd expect at this time of year.
!call submit_meter_reading
A: Saved. Your next bill will use it.
U: 👍

=== pi-nwe-mtr en chat
A: Hello {first}, could you send this month's reading for meter {meter_serial}?
U: where do i find it, there's three numbers going round
A: Press the blue button until you see "IMP R1" or "TOTAL kWh". The number next to it, without what comes after the point, is the reading.
U: [photo]
A: Thanks, the photo shows {new_reading}. Is that right?
U: yep
!call submit_meter_reading
A: Saved. For next time: a photo is always fine 📷

=== pi-nwe-mtr en chat
A: Hi {first}, the reading you sent ({last_reading}) is lower than the one before. Could you check it once more?
U: oh i typed the gas one 🤦
U: electric is {new_reading}
A: No harm done. I've replaced it with {new_reading}.
!call correct_meter_reading
A: Shall I take the gas reading as well while you're there?
U: go on then. 04417
A: Both saved, thank you.

=== pi-nwe-mtr en chat
A: Hi {first}, we haven't had a reading from your smart meter for 12 days. Has your router or in-home display been moved recently?
U: we had the kitchen done, display is in a box somewhere
A: That shouldn't stop the meter itself. Could you look at the meter's small lights? A green one labelled WAN should blink.
U: its red
A: Thank you. Then the meter has lost its signal. I've started a remote restart, which can take up to 24 hours.
!call restart_smart_meter
U: ok will it affect my power
A: Not at all.
A: Good news, the meter is sending again since 06:14. Nothing more to do.
U: magic ✨

=== pi-nwe-mtr en email
A: Dear {first},

Please send a reading for meter {meter_serial} by {date}, so that we don't have to estimate your bill.

Last reading: {last_reading}

Just reply with the number.

Nora
AI assistant, Northwind Energy
U: {new_reading}

Regards
{first}

--
{first} {last}
Tel: {tel_spoken}
This email and any attachments are confidential.
!call submit_meter_reading
A: Thank you, {first}. {new_reading} has been saved; that is {used} kWh since the last one.

Nora

=== pi-nwe-mtr en chat
A: Hi {first}, an engineer will change meter {meter_serial} on {date} between 8:00 and 12:00. Will someone over 18 be at home?
U: can it be afternoon, i'm a nurse on nights
A: Yes: 13:00 to 17:00 the same day is free. Shall I move it?
U: pls
!call reschedule_engineer
A: Moved. The engineer will ring {tel_spoken} half an hour before. Sleep well!

=== pi-nwe-mov en chat
A: Hi {first}, thanks for telling us you're moving 🏠📦 When do you get the keys to {new_postcode}?
U: <<{move_date} hopefully|{move_date}, if the solicitor gets a move on|on {move_date}>>
A: Great. On that day please read the meters in both homes, and send them here. We'll close {old_postcode} and open {new_postcode} with the same tariff.
U: do I need to do anything with the old supplier there
A: If it's not us, no: we'll arrange the switch from the first day.
U: and my direct debit
A: It moves with you. The amount may change once we know the size of the new home.
!call start_home_move
A: All noted under account {account_number}. Good luck with the move!
U: thanks, knackered already 😂

=== pi-nwe-mov en chat
A: Good morning {first}, today's the big day! When you have a minute, please send the closing reading for {old_postcode}.
U: {last_reading}
A: Thank you. And the opening reading at {new_postcode}?
U: not there yet, van is late
A: No rush, today or tomorrow is fine.
U: {new_reading} 🔑
!call complete_home_move
A: Welcome home! Your final bill for {old_postcode} will come to {email} within six weeks.
U: 🥂

=== pi-nwe-mov en chat
A: Hello {first}, we sent your final bill for {old_postcode}: {amount}.
U: I moved out on the 3rd, bill goes to the 19th
A: You're right, the landlord told us the 19th. Do you have something that shows the date, like an inventory or a photo of the meter?
U: [photo] checkout inventory signed by the agent
A: Thank you, that's clear. I've set the end date to the 3rd; the new final bill is {monthly}.
!call correct_move_out_date
U: much better, thank you

=== pi-nwe-mov en email
A: Dear {first},

Your move from {old_postcode} to {new_postcode} on {move_date} is registered.

What happens now:

1. On the day, read both meters and send us the numbers.
2. We close the old account and send a final bill within six weeks.
3. Your new account starts on the same tariff.

Kind regards,
Nora
AI assistant, Northwind Energy
U: Hi Nora,

our completion has slipped by two weeks!! Can you push everything back? Also the new owners' solicitor asked for our supplier details, can I give them your address? They are {email_other}, phone {tel_other}.

Best,
{first}
!call reschedule_home_move
A: Dear {first},

I have moved everything by two weeks. You don't need to give the solicitor anything but our name: the new owners can register from their first day with their own reading.

I have not stored the solicitor's contact details.

Kind regards,
Nora
U: Perfect, thank you.

=== pi-nwe-mov en chat
A: Hi {first}, before your move on {move_date}: the new home has a prepayment meter. Would you like to keep it, or change to a credit meter?
U: whats the difference
A: With prepayment you top up before you use it; with credit you get a bill. A credit meter needs a short credit check, and the change is free.
U: credit please, had enough of the corner shop top ups
A: I'll start the check now, it takes about a minute.
!call request_credit_meter
A: That went through. An engineer comes on the morning of {date}. You'll get a text the day before.
U: ace

=== pi-nwe-out en chat
A: Hi {first}, we know about a power cut in {postcode} since {time}. About {homes} homes are affected. Engineers are on site, and we expect power back by {time2}. Reference {incident_ref}.
U: ok. freezer?
A: A closed freezer stays cold for about 18 hours, so try to keep the door shut.
U: 👍 thanks
A: Power is back in {postcode}. If yours isn't, check the trip switch first and then tell me.
U: its back 💡

=== pi-nwe-out en chat
A: Hello {first}, this is Nora from Northwind Energy about the power cut in {postcode} (reference {incident_ref}). Is anybody at home dependent on electric medical equipment?
U: My dad has an oxygen machine!
A: Thank you for telling me. How long do his cylinders or batteries last?
U: cylinder about 5 hours
A: I've put you on the priority list, and the network operator will bring a battery pack within two hours. If he has trouble breathing please call 999 at once.
!call register_priority_customer
U: thank you
U: they're here already, wow
A: I'm glad. Power is expected by {time2}; I'll stay in touch.
U: lights back on, he's fine. thank you so much ❤️

=== pi-nwe-out en chat
A: Hi {first}, we're planning work on the network in {postcode} on {date}, {time} to {time2}. Your power will be off for part of that time.
U: I work from home!! thats a whole day
A: I'm sorry for the trouble. The work can't be moved, but the outage itself should be at most three hours, and I'll text you 30 minutes before.
U: do i get compensation
A: For planned work with this much notice there isn't any, I'm afraid. If it lasts longer than announced there is, and it's paid automatically.
U: hm ok

=== pi-nwe-out en chat
A: Hi {first}, do you have power again? Our system says {postcode} was restored at {time2}.
U: no!! whole street is on but us
A: Thank you, that helps. Please look at your fuse box: is one switch down?
U: the big one on the left
A: That's the main switch. Unplug what was running, then push it up firmly.
U: ok its on
U: was the kettle 🙈
!call close_incident
A: Kettles do that. Glad you're back on; I've closed your case under {incident_ref}.

=== pi-nwe-out en email
A: Dear {first},

The power cut on your street (reference {incident_ref}) lasted 13 hours and 20 minutes. You are entitled to {amount}, which we will credit to account {account_number} within ten working days. You don't need to do anything.

Kind regards,
Nora
AI assistant, Northwind Energy
U: Hi,

appreciated, but we lost everything in our freezer and our shop was shut for the day. We have a café. Losses about £640. Receipts attached (orders {order} and others).

How do I claim?

{first} {last}
Corner Café
!call open_claim
A: Dear {first},

I am sorry about the day you had. I have opened a claim for your business with the network operator and attached your receipts. They answer within 20 working days, to {email}.

The {amount} comes in any case and is not counted against the claim.

Kind regards,
Nora
U: Thank you for being straightforward.

=== pi-nwe-out en chat
A: Hi {first}, storm update ⛈️: {incident_ref} in {postcode}. A tree is on the line; the crew is cutting it free. New estimate: {time2}.
U: that's the third estimate today
A: You're right, and I'm sorry. The second tree wasn't visible from the road. I'll only write again when there's real news.
U: ok appreciate the honesty
A: The line is up and power is back. Thank you for your patience.
"""
