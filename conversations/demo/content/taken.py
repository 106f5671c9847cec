"""Dialogues that a colleague holds, or has handed back.

``!human`` marks the request, ``!taken`` the take-over, ``!back`` the return to the assistant.
"""

HELD = """
=== pi-nwe-bil en chat
A: Hi {first}, your Direct Debit for account {account_number} changed to {amount}.
U: you took it twice this month and now my rent bounced
A: I'm sorry. I can see two payments on the 2nd.
U: my bank charged me £25 for that. I want someone to sort it today
!human Double Direct Debit caused a bank charge
A: I've asked a colleague to take over.
!taken
U: thank you, the receipt for the £25 is in my email from {email}
U: account ends {bank4}

=== pi-lum-aft en chat
A: Hi {first}, how's the pain after your {procedure}?
U: still 8 of 10 and the stitches came out
!human Stitches came out, pain 8 of 10
A: Somebody from the clinical team will be with you in a moment.
!taken
U: yes I can come in at 4
U: is parking ok at {clinic}?
U: great see you then 🙏

=== pi-cuc-onb en chat
A: Hi {first}, we still need your proof of address.
U: I'm living in a refuge, I can't give the address to anyone
!human Confidential address: needs a person
A: Thank you for trusting me with that. A colleague will find a safe way with you.
!taken
U: ok yes a letter from the support worker would work
U: her email is {email_other}

=== pi-nwe-mov en chat
A: Hello {first}, your new account at {new_postcode} is open.
U: the previous tenants left a debt on the meter, £212, it takes 40 % of each top up
A: That shouldn't be yours to pay.
U: can someone remove it please
!human Debt of previous occupier on prepayment meter
A: I've asked a colleague with access to the meter.
!taken
U: tenancy agreement is attached
A: Hi {first}, it's time to top up! Your balance is below £5.
U: is that you or the robot again?? you said the debt would be gone first

=== pi-cuc-int fr chat
A: Bonjour {first}, êtes-vous disponible jeudi à {interview_time} pour {client} ?
U: Je préfère parler à quelqu'un, c'est au sujet d'un aménagement de poste
!human Souhaite parler d'un aménagement de poste
A: Bien sûr, une collègue prend le relais.
!taken
U: Merci Amira. Oui, un écran plus grand suffirait
U: je vous envoie le certificat lundi

=== pi-lum-pay en email
A: Dear {first},

The payment plan {patient_ref} was declined by our finance partner.

Lumi
AI assistant, Lumen Dental Group
U: Dear Lumen,

declined, why? I have never missed a payment in my life. I believe they mixed me up with somebody of the same name at my old address.

Please have a person look at it, I need the treatment before my wedding on the 14th.

{first} {last}
{tel_spoken}
!human Finance declined, customer suspects mistaken identity
A: Dear {first},

I have asked a colleague to look at it with the finance partner.

Lumi
!taken
U: Dear Tom,

thank you for ringing. The letter from the credit agency is attached, you can see that the other person was born in 1961.

{first}

=== pi-nwe-out en chat
A: Hi {first}, your claim under {incident_ref} has been received.
U: it says domestic. we're a care home with 22 residents
A: Thank you, that changes the rules that apply.
!human Care home registered as a domestic customer
A: I've asked for a person to correct the registration and look at the claim.
!taken
U: 22 residents, 6 with pressure mattresses. The manager is on {tel_other}
U: generator bill is order {order}

=== pi-cuc-cv en chat
A: Hi {first}, I've sent your CV for {job_title} to {rep}.
U: I asked you NOT to send it to that client, my ex works there
!human Customer asked not to be put forward to this client
A: I'm sorry. I've asked a colleague to withdraw it right away.
!taken
U: is it withdrawn now?
"""

HANDED_BACK = """
=== pi-nwe-bil en chat
A: Hi {first}, your bill of {amount} for account {account_number} is overdue.
U: I've paid it at the post office, barcode slip, order {order}
A: I can't see that payment yet.
U: person please
!human Payment by barcode not visible to me
A: I've asked a colleague.
!taken
U: here's the photo of the slip
U: ok great, thank you Amira!
!back
A: Hi {first}, Nora again. Amira found the payment and your account is clear. Anything else I can do?
U: no thats all 😊

=== pi-lum-apt en chat
A: Hi {first}, would {appt_day} at {appt_time} with {clinician} suit you?
U: depends, is there a lift? i have a broken hip
A: I'm not certain for this practice, let me ask.
!human Needs to know whether the practice has a lift
!taken
U: ah ok ground floor room, perfect
!back
A: Then I've booked the ground-floor room for {appt_day} at {appt_time}.
!call book_appointment
U: thanks to you both

=== pi-cuc-int en chat
A: Hi {first}, {client} would like to move your interview to {interview_day}, {interview_time}.
U: third time they've moved it. are they serious about this
A: I understand. Would you like to talk about it with {rep}?
U: yes
!human Candidate frustrated by third reschedule
!taken
U: fair enough, thanks for being honest Tom
!back
A: I've confirmed {interview_day} at {interview_time}. {rep} has asked {client} not to move it again.
U: 👍

=== pi-nwe-mtr en chat
A: Hi {first}, the reading you sent is 10 times higher than usual.
U: it really says that. {new_reading}
!human Reading out of range, cannot accept it
A: I'll ask a colleague to look at the photo.
!taken
U: [photo]
!back
A: Thank you, {first}. My colleague saw that the last digit comes after the point; I've saved the corrected reading.
!call correct_meter_reading
U: ah! thanks

=== pi-lum-pay pl chat
A: Dzień dobry {first}, plan {patient_ref} czeka na podpis.
U: nie rozumiem umowy po angielsku, czy ktoś mówi po polsku?
!human Prosi o rozmowę po polsku w sprawie umowy
!taken
U: dziękuję, teraz jasne
!back
A: Umowa po polsku jest już na {email}. Proszę ją podpisać przed wizytą.
U: podpisane ✅
!call create_payment_plan

=== pi-cuc-onb en email
A: Dear {first},

Please upload your certificate for {job_title}.

Cleo
AI assistant, Cucumber Recruitment
U: Hi, the awarding body closed in 2019 and the certificate was in a house fire. Who can I talk to?

{first}, {tel_spoken}
!human Certificate cannot be replaced: awarding body closed
!taken
U: Thanks for the call, the statutory declaration is on its way, tracking {tracking}.
!back
A: Dear {first},

The declaration has arrived and was accepted in place of the certificate. Your file is complete.

Cleo
U: Wonderful news, thank you both.

=== pi-nwe-out he chat
A: שלום {first}, החשמל ב-{postcode} אמור לחזור עד {time2}.
U: יש לי עסק, המקפיאים נמסים. מישהו אנושי?
!human בעל עסק מבקש לדבר עם נציג
!taken
U: תודה, הגנרטור הגיע
!back
A: שמחה לשמוע! החשמל חזר לפני כמה דקות. טופס הפיצוי נשלח ל-{email}.
U: תודה רבה לכולכם
"""
