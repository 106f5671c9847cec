"""Dialogues in which the customer waits for a human. ``!human`` marks the request, with the assistant's reason or none."""

TEXT = """
=== pi-nwe-bil en chat
A: Hi {first}, your balance on account {account_number} is {amount} overdue. Can I help you to set up a payment plan?
U: I have told you people 3 times the meter is in the flat NEXT DOOR. I'm paying someone else's electric
A: I'm sorry that this keeps happening. I can see two earlier notes about crossed meters on your account.
U: then why am I getting this. I want to talk to a person
!human Customer asks for a person: crossed meters reported three times, still billed for the neighbour's use
A: I've asked a colleague to take this over. They'll have the full story, so you won't need to repeat it.
U: ok how long
U: you can also ring me {tel_spoken}

=== pi-nwe-out en chat
A: Hi {first}, there is a power cut in {postcode} since {time} (reference {incident_ref}). We expect it to be fixed by {time2}.
U: my husband is on home dialysis, the machine has stopped
A: Thank you for telling me. Is he safe right now? If he feels unwell please call 999 at once.
U: he's ok for now but he needs to finish it tonight
!human Medical dependency: home dialysis stopped during a power cut
A: I've passed this to a person with top priority. Please stay near your phone.
U: thank you. please hurry

=== pi-lum-aft en chat
A: Hi {first}, day 3 after your {procedure}. How are you feeling?
U: worse. whole side of my face is swollen and i've got a temperature
A: That needs to be looked at. Can you breathe and swallow normally?
U: yes but can't open my mouth properly
!human Possible infection after extraction: swelling, fever, limited opening
A: I'm getting the clinical team to contact you now. If breathing or swallowing gets difficult, go to A&E straight away.
U: ok
U: temp is 38.9 now

=== pi-cuc-int en chat
A: Hi {first}, how did your interview with {client} go?
U: Honestly? The interviewer asked if I plan to have children
A: I'm very sorry. That question should never be asked. May I pass this on to {rep}?
U: I'd rather talk to someone about it, not write it down
!human Candidate reports a discriminatory interview question and wants to speak with a person
A: Of course. I've asked a colleague to contact you personally, and I won't pass on anything else until then.

=== pi-cuc-onb en chat
A: Hi {first}, your right-to-work check could not be completed: the share code was not accepted.
U: I've generated a new one three times, your site says expired every time
A: Could you send the newest one? It has nine characters.
U: W4X 9TT 2KL
A: The government service refuses this one too. I can't see why.
U: I start on monday!!! can a human please look at this
!human
A: Yes. A colleague will look at it today.
U: hello?
U: I've also emailed from {email}

=== pi-nwe-mov en chat
A: Hello {first}, your final bill for {old_postcode} is {amount}.
U: this is for my late father's house. I wrote to you in March with the death certificate
A: I'm so sorry for your loss, {first}, and that you received this message.
!human Bereavement: account of a deceased customer, certificate sent earlier
A: I've stopped all messages about this bill and asked a colleague from our bereavement team to take care of it.
U: Thank you. I am the executor, my number is {tel_spoken}

=== pi-lum-pay en chat
A: Hi {first}, your payment of {monthly} for plan {patient_ref} is due on {pay_day}.
U: I cancelled the treatment, nothing was ever done. I want the {plan_total} agreement ended
A: I can see that the appointment was cancelled, but the agreement is still active.
U: exactly. and the finance company says only you can end it
!human Wants finance agreement cancelled: treatment never started, outside my permissions
A: That's right, it needs a person with access to the agreement. I've asked one to contact you.
U: I'll be disputing the payment with my bank on friday if nobody calls
U: just so you know
U: ????

=== pi-lum-apt en chat
A: Hi {first}, a reminder of your appointment with {clinician} on {appt_day} at {appt_time}.
U: I don't want to see {clinician} again. last time was really rough and i was crying
A: I'm sorry to hear that. Would you like another dentist, or to talk to the practice manager as well?
U: both please
!human Complaint about a clinician; asks for the practice manager
A: I've kept your place and asked the practice manager to ring you.

=== pi-nwe-bil en chat
A: Hi {first}, how can I help with account {account_number}?
U: someone rang saying they are from Northwind and wanted my card number. I gave it 😭
A: Please ring your bank right now and ask them to stop the card. We never ask for card numbers by phone.
U: done, they stopped it. the number was {tel_other}. and they had my account number, how??
!human Suspected fraud: caller had the customer's account number
A: Thank you for the number. Our security team has to look into this; a colleague will write to you here.
U: ok. I am really shaken

=== pi-cuc-cv en chat
A: Hi {first}, could you tell me the end date of your last job?
U: I'd rather not, it's with lawyers
A: I understand. You don't have to give a reason. Shall I leave the date open?
U: can I speak to {rep} directly? it's {tel_spoken}
!human User requested agent
A: I've let {rep} know and asked for a call back.

=== pi-nwe-mtr en chat
A: Hi {first}, please send the reading of meter {meter_serial}.
U: there's a burning smell from the meter
A: Please don't touch it. Is there smoke, or does it feel warm from a distance?
U: no smoke but its buzzing
!human Safety: burning smell and buzzing at the meter
A: Please switch off the main switch if you can reach it safely, and call 105, the free emergency number. I've alerted a person here as well.
U: 105 are sending someone
U: they ask for a reference from you?

=== pi-lum-aft en email
A: Dear {first},

How are you one week after your {procedure}?

Lumi
AI assistant, Lumen Dental Group
U: Dear Lumi,

not well. The temporary crown came off on Sunday, I swallowed it, and the stump is now so sensitive that I can't drink anything.

I have rung {office_tel} four times, nobody answers!!

I need somebody to:
1. ring me back today on {tel_spoken}
2. tell me if swallowing it is dangerous
3. give me an appointment this week, not "the next free one on the 24th"

{first} {last}
!human Lost temporary crown, in pain, four unanswered calls
A: Dear {first},

I am sorry. I have asked the practice to ring you today and marked it urgent. Until then, lukewarm drinks and a sensitive toothpaste on the stump will help a little.

Lumi
U: It is now 6pm. No call.

=== pi-nwe-bil en email
A: Dear {first} {last},

Your complaint about account {account_number} has been registered.

Nora
AI assistant, Northwind Energy
U: To whom it may concern

This is my final letter before I go to the Ombudsman. Your reference {order}.

On the 2nd I was promised a call from a manager. On the 9th I was promised the same. I am 81 years old and I do not wish to "chat".

Telephone: {tel_spoken}

{first} {last} (Mrs)
!human Final complaint before Ombudsman; wants a call, not a chat
A: Dear {first} {last},

You are right, and I am sorry. I am an AI assistant and can't ring you myself; I have handed your letter to a manager.

Nora

=== pi-cuc-onb en email
A: Dear {first},

Your contract for {job_title} is attached. Please sign it by Friday.

Cleo
AI assistant, Cucumber Recruitment
U: Hi,

the salary in clause 4 isn't what was agreed. {rep} offered me £2,400 more on the phone, and I've already resigned from my current job on that basis.

Please get somebody to confirm in writing.

{first}
!human Salary in the contract differs from the verbal offer
U: Following up on this, I can't sign anything until it's sorted.

=== pi-lum-apt en chat
U: hi, i found you on google. do you do sedation for people who are really scared
A: Hello {first}, yes we do, and you're not alone: one in four people feels that way. Would you like to know how it works?
U: not really i just want someone kind to talk to first
!human
A: Of course. One of our nurses will write to you here, no rush and no needles 💙

=== pi-nwe-mov en chat
A: Hi {first}, did you get the keys to {new_postcode} today?
U: yes but no power at all and the meter says "call supplier"
A: That's a locked prepayment meter. Normally I can unlock it with the reading.
U: screen is blank. its 4 degrees in here and i have a 3 month old
!human Family with a baby, no power, prepayment meter locked
A: I've asked a colleague to unlock it from here at once.
U: please its freezing
U: is anyone there
U: we're going to my sister's now. call {tel_other}

=== pi-cuc-int en chat
A: Hi {first}, shall I book {interview_day} at {interview_time} with {client}?
U: I am deaf, i need a BSL interpreter for the interview. who pays for it
A: You won't pay anything. Access to Work or {client} covers it, and it shouldn't affect your application at all.
U: ok good. can someone arrange it then? your bot keeps asking me to ring
!human Needs a BSL interpreter arranged; phone is not an option
A: Sorry about the calls, I've switched them off for you. A person is arranging the interpreter and will write here.

=== pi-lum-pay en chat
A: Hi {first}, your plan {patient_ref} is paid in full 🎉
U: it cant be?? there should be 4 left. did someone else pay
A: I can see a payment of {plan_total} yesterday from an account that isn't yours.
U: thats weird. please ask somebody to check i dont want trouble later
!human Payment from an unknown account settled the plan
A: I've asked our payments team to check. You don't have to do anything.

=== pi-nwe-out en chat
A: Hi {first}, power in {postcode} should be back.
U: my fridge, tv and boiler are all dead since it came back on. sparks from the socket
!human Damage to appliances after restoration, sparks at a socket
A: Please switch off the main switch now and don't use that socket. I've asked a colleague to arrange an electrician.
U: main switch is off
U: its getting dark

=== pi-nwe-mtr es chat
A: Hola, {first}. ¿Puede enviarnos la lectura del contador {meter_serial}?
U: ya la mandé dos veces!! y me sigue llegando la factura estimada
A: Lo siento. Veo las dos lecturas, pero el sistema las rechazó porque el contador figura como retirado.
U: quiero hablar con una persona por favor. {tel_spoken}
!human Solicita hablar con una persona: contador dado de baja por error
A: Se lo he pasado a un compañero. Le escribirá por aquí.
U: gracias, espero

=== pi-lum-aft ar chat
A: مرحبًا {first}، كيف الحال اليوم بعد العلاج؟
U: الألم شديد جدًا ولم أنم طول الليل
A: آسفة لسماع ذلك. هل يوجد تورم أو حرارة؟
U: نعم الخد متورم. أريد التحدث مع الطبيب الآن
!human المريض يطلب التحدث مع الطبيب: ألم شديد وتورم
A: طلبت من الفريق الطبي الاتصال بك حالًا. إذا صعب عليك التنفس أو البلع فاذهب إلى الطوارئ فورًا.
U: رقمي {tel_spoken}
U: أنتظر اتصالكم

=== pi-cuc-onb he chat
A: שלום {first}, חסר עוד מסמך אחד לפני החתימה: אישור כתובת.
U: שלחתי כבר שלוש פעמים!
A: אני רואה שלושה קבצים, אבל כולם ריקים. אולי הקובץ נפגם בהעלאה.
U: אפשר לדבר עם בן אדם? אני מתחיל ביום ראשון
!human
A: כמובן, העברתי לנציג. הוא יחזור אליך כאן.
U: תודה, ממתין

=== pi-nwe-bil de chat
A: Guten Tag {first}, Ihre Abschlagszahlung wurde auf {monthly} angepasst.
U: Verdoppelt?! Ohne mich zu fragen? Ich bin Rentner
A: Ich verstehe Ihren Ärger. Die Anpassung folgt dem Verbrauch vom letzten Winter.
U: Im letzten Winter war ich drei Monate im Krankenhaus, die Wohnung stand leer. Bitte einen Menschen.
!human Kunde widerspricht der Abschlagserhöhung, Wohnung stand leer
A: Ich habe eine Kollegin gebeten, das zu übernehmen.
U: Danke. Erreichbar unter {tel_spoken}

=== pi-lum-apt fr chat
A: Bonjour {first}, votre rendez-vous avec {clinician} est confirmé pour {appt_time}.
U: je suis enceinte de 7 mois, est-ce que la radio est sans danger ??
A: Félicitations ! Les radios peuvent souvent attendre. Je préfère qu'un dentiste vous réponde lui-même.
!human Question médicale : grossesse et radiographie
A: Un dentiste vous écrira ici avant le rendez-vous.
U: merci, je ne viens pas sans réponse

=== pi-nwe-out pl chat
A: Dzień dobry {first}, prąd w {postcode} powinien już działać.
U: nie działa, czwarta godzina. w lodówce mam insulinę
A: Rozumiem, to pilne. Insulina w zamkniętej lodówce zwykle wytrzymuje kilka godzin.
U: proszę kogoś kto naprawdę może coś zrobić
!human Klient z insuliną w lodówce, czwarta godzina bez prądu
A: Przekazałam sprawę osobie dyżurnej.

=== pi-cuc-cv zh chat
A: {first}您好，请问您的签证类型是什么？
U: 毕业生签证，不过我的情况比较特殊，想和人工客服说
!human 候选人希望与人工沟通签证情况
A: 好的，已为您转接同事，请稍候。
U: 好，我在线
U: 还在吗？
"""
