"""English dialogues of Lumen Dental Group. The format is described in ``conversations.demo.script``."""

TEXT = """
=== pi-lum-apt en chat
A: Hi {first}, it's Lumi from Lumen Dental, {clinic}. Your check-up with {clinician} is due. Would {appt_day} at {appt_time} suit you?
U: <<Yes that's good|works for me|ok perfect>>
!call book_appointment
A: Booked 🦷 {appt_day}, {appt_time}, with {clinician}. Reply "change" at any time if something comes up.
U: thanks

=== pi-lum-apt en chat
A: Hello {first}, a reminder of your appointment with {clinician} tomorrow at {appt_time}, {clinic}. Reply YES to confirm.
U: can't make it sorry, stuck at work till 6
A: Thanks for letting us know. We have late appointments on Tuesdays and Thursdays until 19:30. Shall I look?
U: thursday 7?
A: Thursday 19:00 with {clinician} is free.
!call reschedule_appointment
U: 👍
A: Moved. No charge, as you told us a day before.

=== pi-lum-apt en chat
A: Hi {first}, thanks for writing to Lumen Dental. How can I help?
U: need to register my two kids, 6 and 9
A: Happy to. Are they already seen by a dentist elsewhere?
U: not since we moved here
A: Then I'll book a first visit for both, half an hour together. Saturday at {appt_time} at {clinic}?
U: saturday is great, they have school
A: Could I have their first names?
U: Ella and Noah
!call book_appointment
A: Booked for Ella and Noah, Saturday {appt_time}. Please bring their red books if you have them. The form goes to {email}.
U: thank you 😊

=== pi-lum-apt en chat
A: Hi {first}, you asked about a hygienist appointment. The first free one is {appt_day} at {appt_time}, {hygiene_price}.
U: anything sooner? someone cancelled maybe
A: I can put you on the short-notice list: we text you when someone cancels, usually for the same day.
U: yes pls, best on {tel_spoken}
!call join_short_notice_list
A: You're on the list, and the {appt_day} appointment stays booked until then.
A: {first}, a place came free today at {time2} with {clinician}. Would you like it?
U: YES
!call reschedule_appointment
A: It's yours. See you at {time2}!

=== pi-lum-apt en email
A: Dear {first},

Your consultation about aligners with {clinician} is booked:

{appt_day}, {appt_time}
Lumen Dental, {clinic}

It takes 45 minutes and includes a 3D scan. Please eat beforehand and bring a list of your medicines.

Kind regards,
Lumi
AI assistant, Lumen Dental Group
U: Hello Lumi,

I take warfarin, does that matter for the scan? My GP surgery is on {tel_other} if you need anything from them.

I also have a bad gag reflex...

{first}
A: Dear {first},

The scan is only a small camera, so warfarin makes no difference to it. I have added it to your record, because it matters for any later treatment.

The scanner has no paste or tray, and {clinician} can pause at any moment. I have noted the gag reflex so that you get the first slot after a break, with more time.

Kind regards,
Lumi
U: That's a relief. See you then.

=== pi-lum-apt en chat
A: Hi {first}, we missed you today at {appt_time}. Is everything all right?
U: oh no I had it down for tomorrow!! so sorry
A: It happens. {clinician} has {appt_day} at {time2}. Shall I book it? There's no fee the first time.
U: yes please and sorry again
!call book_appointment
A: Booked. I'll send a reminder the evening before 🙂

=== pi-lum-aft en chat
A: Hi {first}, Lumi from Lumen Dental. How are you feeling after your {procedure} with {clinician} today?
U: numb and dribbling 😂
A: That's normal and should pass in two to four hours. Please don't eat until it has, and nothing hot today.
U: when can i brush
A: Tonight, but gently and not at the treated spot. From tomorrow evening rinse with warm salt water after meals.
U: ok thank you
A: How is it this morning, {first}? Any swelling or bleeding?
U: little bit sore no bleeding
A: Then all is as it should be. I'll check once more in two days.

=== pi-lum-aft en chat
A: Good morning {first}, day 2 after your {procedure}. On a scale of 0 to 10, how is the pain?
U: 4. paracetamol helps
A: Good. Up to four doses in 24 hours, with at least four hours between them. Is the pain getting better or worse since yesterday?
U: better
!call record_pain_score
A: Then carry on as you are. If it gets worse after day 3, tell me at once.
U: will do
A: Day 4: how is it?
U: 1! had toast 🍞
A: Toast is a good sign. I'll close your aftercare; the practice is on {office_tel} if you need us.

=== pi-lum-aft en chat
A: Hi {first}, how are the new aligners?
U: tight!! and i lisp lol
A: Both fade within a week. Wear them 22 hours a day; the lisp goes faster if you read aloud.
U: my 5 year old is my audience
A: The best kind. Put in the new tray in the evening, so that you sleep through the tight part.
U: smart. one edge is sharp though
A: You can smooth it with a clean nail file. If it still rubs tomorrow I'll book you in for five minutes.
U: filed it, better already
A: 👏

=== pi-lum-aft en chat
A: Hello {first}, {clinician} asked me to see how your gums are after the deep cleaning.
U: bleeding a bit when i floss
A: For the first week that's expected. Carry on flossing, it's what makes it stop. Are the teeth sensitive to cold?
U: yes very, ice cream is off the menu
A: Use a sensitive toothpaste and leave it on overnight without rinsing. I've ordered the one {clinician} recommends to your address: order {order}, tracking {tracking}.
!call order_product
U: oh nice is that free?
A: It's part of your plan, yes.
U: it came, thanks! much better after 3 days
A: Wonderful.

=== pi-lum-aft en email
A: Dear {first},

Thank you for coming in for your {procedure} today. For the next days:

- take it easy, no sport for 48 hours
- soft food, nothing hot today
- no smoking and no straws for a week
- ibuprofen or paracetamol as the leaflet says

Reply to this email if anything worries you. In an emergency, out of hours: {office_tel}.

Get well soon,
Lumi
AI assistant, Lumen Dental Group
U: Hi, is it ok to fly on Saturday? It's only to Dublin (booking ref {order}).

Also, I forgot my glasses in room 2! Navy blue case. You can reach me on {tel_spoken}.

{first}
A: Dear {first},

Flying from the third day is fine; drink plenty of water on the way.

Your glasses are at reception in {clinic}. They will keep them for you, or send them to you: just tell me which.

Lumi
U: Please send them! Same address as on file. Thank you.
!call send_lost_property
A: On their way, {first}: tracking {tracking}. Enjoy Dublin!

=== pi-lum-aft en chat
A: Hi {first}, has the sensitivity after your filling gone?
U: yep all fine now. ⭐⭐⭐⭐⭐
A: Thank you! I'll tell {clinician}.

=== pi-lum-pay en chat
A: Hi {first}, your treatment plan comes to {plan_total}. You can pay it in {instalments} monthly payments of {monthly}, without interest. Would you like that?
U: is there a credit check
A: Yes, a soft one that doesn't show on your file.
U: ok lets do it
A: Please fill in the form here, so that no bank details are in this chat: https://pay.lumendental.example/plan/{request_id}
U: filled in
!call create_payment_plan
A: Approved ✅ The first {monthly} will be taken on {pay_day}, from the account ending {bank4}.
U: that was quick!

=== pi-lum-pay en chat
A: Hello {first}, your payment of {monthly} didn't go through yesterday. Shall we try again on {pay_day}?
U: yes i get paid on the 28th can it be after that always
A: Of course. I've moved your payment day to the 1st of each month; this month's will be taken then too.
!call change_payment_day
U: life saver

=== pi-lum-pay en chat
A: Hi {first}, one payment left on your plan: {monthly} on {pay_day} 🎉
U: can i pay it now and be done
A: Yes: https://pay.lumendental.example/settle/{request_id}
U: done
!call settle_payment_plan
A: Received. Your plan {patient_ref} is paid in full. Thank you!
U: 🥳

=== pi-lum-pay en chat
A: Hi {first}, how can I help with your payment plan {patient_ref}?
U: I've been charged twice!!! {monthly} on monday and again today
A: I'm sorry, let me look. I can see one payment on Monday, and a second with the same reference today. The second one is our mistake.
U: i need that money for rent
A: I've sent it back with the fast route: it will be in your account by tomorrow noon.
!call refund_payment
U: ok
U: its there. thank you
A: Thank you for checking, and sorry again for the worry.

=== pi-lum-pay en email
A: Dear {first},

Here is your plan:

Treatment: {procedure}
Total: {plan_total}
{instalments} payments of {monthly}, the first on {pay_day}

The agreement is attached. Please sign it before your appointment.

Kind regards,
Lumi
AI assistant, Lumen Dental Group
U: Dear Lumi,

My insurance covers 30 % (policy {order}, Alder Mutual). Can you bill them directly so that only the rest goes on the plan? Their claims desk is {email_other}.

Regards,
{first} {last}
A: Dear {first},

We can't bill Alder Mutual directly, but I have prepared the itemised invoice that they ask for and sent it to {email}. Once they have paid you, you may put any amount into the plan early without a fee.

Kind regards,
Lumi
U: That works as well. Signed copy attached.
!call create_payment_plan
A: Thank you, {first}. The plan is active.

=== pi-lum-pay en chat
A: Hi {first}, a friendly reminder that {monthly} for plan {patient_ref} is due on {pay_day}.
U: I've lost my job. i cant
A: I'm very sorry, {first}. We can pause your plan for up to three months without any fee. Would that help?
U: yes. really
!call pause_payment_plan
A: It's paused until {date}. Your treatment carries on as planned. If you need longer, write to me a week before.
U: thank you for not making it harder 🙏
"""
