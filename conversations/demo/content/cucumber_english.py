"""English dialogues of Cucumber Recruitment. The format is described in ``conversations.demo.script``."""

TEXT = """
=== pi-cuc-cv en chat
A: Hi {first}, this is Cleo, the assistant at Cucumber Recruitment 🥒 Thanks for applying for {job_title} ({job_ref}). Your CV looks strong. Could I check one thing before it goes to the hiring manager?
U: <<hi yes sure|Hi Cleo, yes go ahead|Sure, what do you need?>>
A: Your CV has a gap from {gap}. Could you tell me in a sentence or two what you were doing then?
U: I was looking after my mum, she had a stroke. I did some online courses at the same time, the Google project management one
A: I'm sorry to hear that, and thank you for telling me. Would you like me to put it as "Full-time carer; completed Google Project Management Certificate"?
U: Yes thats perfect thank you
!call update_cv_field
A: Done. I've added that line and sent the CV to {rep}, who will be in touch by Friday. Is there anything else you'd like to change?
U: no all good, thanks 😊
A: You're welcome, {first}. Good luck!

=== pi-cuc-cv en chat
A: Hello {first}, Cleo from Cucumber Recruitment here. On your CV for {job_title} you list "SAP" under skills. Which modules have you worked with?
U: Mostly MM and a bit of SD. About 3 years
A: Thanks. And was that S/4HANA or an earlier version?
U: ECC 6 for two years then we migrated to S4
U: I was part of the migration test team actually
A: That's worth having on the page. I'd suggest: "SAP MM and SD, 3 years (ECC 6, then S/4HANA; member of the migration test team)". Happy with that?
U: 👍
!call update_cv_field
A: Saved under reference {job_ref}. {rep} will read it today.

=== pi-cuc-cv en chat
A: Hi {first}, Cleo here about your application for {job_title}. The phone number on your CV seems to be one digit short. Which number is best for you?
U: oh sorry. its {tel_spoken}
A: Thank you. And is {email} still the right email address?
U: that one is my old uni one, please use {email2}
!call update_contact_details
A: Updated both. One last thing: do you have the right to work in the UK without sponsorship?
U: Yes, settled status
A: Perfect. Your CV is complete and with {rep} now. You'll hear from us within two working days.
U: brilliant thank you

=== pi-cuc-cv en chat
A: Hello {first}, it's Cleo at Cucumber Recruitment. Your CV says you managed "a team" at your last job. Roughly how many people, and did you do their reviews?
U: Is this a real person?
A: I'm an AI assistant working with {rep} and the recruitment team. If you'd rather talk to one of them, just say so and I'll arrange it.
U: no its fine just wondering. 7 people, and yes did their reviews and rotas
A: Great: "Line manager of 7, including reviews and rotas." Shall I add it?
U: yes pls
!call update_cv_field
A: Added. Anything you would like to ask about the role?
U: what's the salary range
A: The advert gives {salary}. {rep} can tell you about benefits when you speak.
U: ok ta

=== pi-cuc-cv en email
A: Dear {first},

Thank you for applying for {job_title} (reference {job_ref}).

Before we send your CV to the client, may I check three points?

1. The dates of your last two jobs overlap by four months. Were you working both part-time?
2. You mention a "Level 3" qualification. In which subject?
3. Are you able to start within four weeks?

You can simply reply to this email.

Kind regards,
Cleo
AI assistant, Cucumber Recruitment
U: Hi Cleo,

Happy to clarify:

1. Yes, I was 3 days a week at the first and evenings at the second while I trained my replacement.
2. Business Administration (City & Guilds).
3. My notice is one month, so four weeks exactly if I hand it in this Friday.

My number has changed by the way, it is now {tel_spoken}.

Thanks
{first} {last}

Sent from my iPhone
!call update_cv_field
A: Dear {first},

That answers everything, thank you. I have:

- noted that the two posts ran in parallel, both part-time,
- added "Level 3 Diploma in Business Administration (City & Guilds)",
- recorded a notice period of one month,
- changed your phone number.

{rep} will send your CV to the client this afternoon and ring you on the new number afterwards.

Kind regards,
Cleo
U: Lovely, thanks very much for the quick turnaround.

{first}
A: You're very welcome, {first}. Good luck with the application.

=== pi-cuc-cv en chat
A: Hi {first}, Cleo from Cucumber Recruitment. For {job_title} the client asks for a full driving licence. I can't see one on your CV. Do you have one?
U: Yes had it since 2009
U: clean
A: Thank you! Any categories beyond B (for example C1 or forklift)?
U: C1 and counterbalance forklift, the forklift ticket runs out in November tho
A: I'll note the expiry so the client can plan a refresher. Adding: "Full UK licence (B, C1), clean; counterbalance forklift, renewal due November".
!call update_cv_field
U: great. how many people applied?
A: I'm not able to share numbers, but {rep} is shortlisting this week and everyone gets an answer either way.
U: fair enough 😄

=== pi-cuc-int en chat
A: Hello {first}, good news! {client} would like to meet you for {job_title}. Could you do {interview_day} at {interview_time}, at {location}?
U: <<Yes!! that works|That works for me, thank you|Yes that's fine>>
A: Lovely. I've booked you in with {interviewer}. Shall I send a calendar invitation to {email}?
U: yes please
!call book_interview
A: Sent. Bring photo ID. The nearest car park is behind the building, and it's a ten-minute walk from the station.
U: is it smart or smart casual
A: Smart casual is fine, they said no ties needed 🙂
U: phew. thanks

=== pi-cuc-int en chat
A: Hi {first}, Cleo here. Your interview for {job_title} is tomorrow at {interview_time}. Are you still able to come?
U: I am so sorry, my little one is poorly and nursery won't have him. Can we move it?
A: Of course, I hope he feels better soon. {interviewer} also has Thursday at {time2} or Friday morning at 9:30. Would either help?
U: Friday 9.30 would be amazing
!call reschedule_interview
A: Done: Friday, 9:30, same place. {interviewer} has been told and there is no problem at all.
U: thank you so much, I was really worried 😅
A: No need to worry. See you on Friday, and get well soon to the little one.

=== pi-cuc-int en chat
A: Hi {first}, how did the interview with {client} go?
U: Really well I think!! They showed me round and I met the team
A: That's great to hear. On a scale of 1 to 5, how interested are you now?
U: 5 definitely
U: they asked about notice, i said 4 weeks
A: Thanks, I'll pass both on to {rep}. {client} usually decides within three working days.
!call record_interview_feedback
U: fingers crossed 🤞

=== pi-cuc-int en chat
A: Hi {first}, Cleo from Cucumber Recruitment about your video interview for {job_title} on {interview_day} at {interview_time}. Here is the link: https://meet.cucumber.example/i/{request_id}
U: do i need to install something
A: No, it runs in the browser. Chrome or Edge work best. You can test your camera with the same link at any time.
U: ok just tried, mic works camera doesnt
A: Please check the small camera symbol next to the address bar: it may be blocked. Choose "Always allow" and reload the page.
U: that was it! thanks
A: Great. If anything fails on the day, ring {rep} on {office_tel} and they'll do it by phone instead.

=== pi-cuc-int en email
A: Dear {first},

{client} would like to invite you to a second interview for {job_title}.

When: {interview_day}, {interview_time} (about 90 minutes)
Where: {location}
Who: {interviewer} and the head of the department

They ask you to prepare a ten-minute presentation: "My first 90 days". A laptop and a screen will be there.

Could you confirm by replying to this email?

Kind regards,
Cleo
AI assistant, Cucumber Recruitment
U: Dear Cleo,

Thank you, I confirm. Two questions:

- May I bring the slides on a USB stick, or is email safer?
- I use a wheelchair. Is the room step-free?

Best wishes,
{first} {last}
{tel_spoken}
!call book_interview
A: Dear {first},

Thank you for confirming, and for asking.

- Please email the slides to {rep} the evening before; USB sticks are blocked at {client}.
- Reception and the meeting room are step-free, and there is an accessible parking bay by the main door. I have told {interviewer} so that the bay is kept for you.

Is there anything else that would make the day easier for you?

Kind regards,
Cleo
U: That is really helpful, nothing else. See you then!

=== pi-cuc-int en chat
A: Hi {first}, {client} can offer you an interview for {job_title} on {interview_day} at {interview_time}. Does that suit you?
U: sorry i took another job last week
A: Congratulations! I'll withdraw your application for {job_ref}, unless you'd like to keep it open.
U: withdraw please. thanks for everything
!call withdraw_application
A: Done. All the best in the new job, {first}!

=== pi-cuc-onb en chat
A: Hi {first}, welcome to the team! To get you ready for {start_date} we still need: {documents}. You can send photos here.
U: [photo] here's the passport
A: Thank you, that's clear and readable. ✅ Passport received. Next: proof of address, for example a bill or bank statement from the last three months.
U: would a council tax letter be ok? its from april
A: Council tax letters count for the whole tax year, so yes.
U: [photo]
!call store_document
A: ✅ Proof of address received. Only your bank details are missing now; please enter them in the secure form and not here: https://forms.cucumber.example/bank/{request_id}
U: done
A: All complete! {rep} will send your contract to {email} today.
U: 🎉🎉

=== pi-cuc-onb en chat
A: Hello {first}, Cleo from Cucumber Recruitment. Your DBS check came back clear. The certificate was posted to you with tracking number {tracking}.
U: great do i need to bring it on day one
A: Yes please, the original. {rep} will take a copy on {start_date}.
U: it says delivered but nothing here 😬
A: Let me look. The carrier shows it at the local depot since this morning, so it may be with you by {time2}. If it hasn't arrived by tomorrow I'll ask for a second copy.
U: ok i'll let you know
U: got it!! neighbour had it
A: Wonderful, thank you for telling me.

=== pi-cuc-onb en chat
A: Hi {first}, your uniform for {job_title} has been ordered (order {order}). Which size of safety shoes do you need?
U: 8, wide if they have it
A: UK 8 wide is in stock. Adding it to the same order.
!call update_uniform_order
A: It will come in one parcel, tracking {tracking}.
U: cheers. whats the rota for first week
A: {rep} sends rotas on Thursdays by email to {email}. Your first day is {start_date}, 8:00 at the main gate.
U: 👌

=== pi-cuc-onb en email
A: Dear {first},

We are looking forward to your first day on {start_date}. Three things are still open:

{documents}

Please upload them before Friday:
https://forms.cucumber.example/documents/{request_id}

If one of them is hard to get hold of, tell me and I will suggest an alternative.

Kind regards,
Cleo
AI assistant, Cucumber Recruitment
U: Hello,

I don't have a P45, my last job was abroad. What should I do?

Also my bank sent the statement to the wrong address so I attach a letter from my landlord instead. His number, if you want to check: {tel_other}, and his email {email_other}.

{first}
A: Dear {first},

Without a P45 please fill in the HMRC starter checklist instead; it takes five minutes and I have added it to your upload page.

For proof of address I'm afraid a landlord's letter is not accepted, but any of these is: a utility bill, a council tax letter, or a bank statement printed and stamped at a branch.

Kind regards,
Cleo
U: The bank will stamp one on Wednesday, I'll upload it then. Checklist done just now.
!call store_document
A: Dear {first},

The checklist has arrived, thank you. I have moved the deadline for the proof of address to Thursday, so there is no hurry.

Kind regards,
Cleo

=== pi-cuc-onb en chat
A: Good morning {first}! Today is your first day as {job_title} 🎉 Anything you need before you set off?
U: who do i ask for at reception
A: Ask for {interviewer}. They know you're coming at 8:00.
U: thanks. bit nervous
A: Completely normal. They told us they're glad you said yes. Have a great first day!
U: 🙏

=== pi-cuc-onb en chat
A: Hi {first}, for the reference check we need one more contact: a manager from the last three years. Name and work email are enough.
U: Deborah Falk, {email_other}, she was my supervisor at the warehouse. mobile {tel_other}
A: Thank you. I'll email her today and only ring if there's no answer by Monday.
!call request_reference
U: she's on holiday till wednesday btw
A: Good to know, I'll wait until Thursday then.
"""
