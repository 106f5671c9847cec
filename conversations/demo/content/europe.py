"""Dialogues in Spanish, French, German, Polish, Portuguese and Turkish."""

TEXT = """
=== pi-cuc-cv es chat
A: Hola, {first}. Soy Cleo, la asistente de Cucumber Recruitment. Gracias por tu candidatura para {job_title} ({job_ref}). ¿Puedo hacerte una pregunta sobre tu CV?
U: Hola! claro, dime
A: En tu CV no aparece el nivel de inglés. ¿Cómo lo describirías: B1, B2 o C1?
U: B2 hablado, escrito un poco menos. Estoy haciendo un curso por las tardes
A: Perfecto. Añado «Inglés B2 (curso en marcha)». ¿Te parece bien?
U: Sí, genial 😊 mi número nuevo es {tel_spoken} por si llaman
!call update_cv_field
A: Anotado todo. {rep} te llamará esta semana. ¡Mucha suerte!
U: Muchas gracias!!

=== pi-nwe-bil es chat
A: Hola, {first}: tu factura de este mes es de {amount} (cuenta {account_number}). ¿Tienes alguna duda?
U: sí, por qué es tan alta? no hemos estado en casa
A: La anterior fue estimada y se quedó corta. Con la lectura real se ha regularizado. Si me mandas una foto del contador lo compruebo ahora mismo.
U: [foto]
A: Gracias. La foto marca {new_reading}, así que la factura es correcta, pero puedo dividirla en tres pagos sin coste.
U: vale, en tres por favor
!call create_payment_arrangement
A: Hecho. Recibirás la confirmación en {email}.

=== pi-lum-apt es email
A: Hola, {first}:

Le recordamos su cita con {clinician} en {clinic}, a las {appt_time}.

Si no puede venir, responda a este correo y buscaremos otra hora.

Un saludo,
Lumi
Asistente de IA, Lumen Dental Group
U: Buenos días:

ese día tengo una reunión en el colegio de mi hija. ¿Podría ser el jueves por la tarde? Mi teléfono: {tel_spoken}.

Gracias,
{first} {last}
!call reschedule_appointment
A: Buenos días, {first}:

El jueves a las {time2} está libre y ya se lo he reservado. No hace falta que haga nada más.

Un saludo,
Lumi
U: Perfecto, muchas gracias.

=== pi-nwe-mov fr chat
A: Bonjour {first}, ici Nora de Northwind Energy. Vous emménagez bientôt : quel jour recevez-vous les clés ?
U: Bonjour, samedi matin normalement 🔑
A: Très bien. Ce jour-là, envoyez-moi simplement une photo du compteur, et je m'occupe du reste.
U: et pour l'ancien logement ?
A: Pareil : une photo le jour du départ. La facture de clôture arrivera sous six semaines à {email}.
!call start_home_move
U: super merci, bonne journée !
A: Bon déménagement, {first} !

=== pi-cuc-int fr chat
A: Bonjour {first}, bonne nouvelle : {client} souhaite vous rencontrer pour le poste {job_title}. Jeudi à {interview_time}, cela vous conviendrait ?
U: Jeudi je travaille jusqu'à 17h… c'est possible plus tard ?
A: {interviewer} peut aussi à {time2}, en visio.
U: Parfait pour moi
!call book_interview
A: C'est noté. Le lien : https://meet.cucumber.example/i/{request_id}
U: Merci, j'ai le trac 😅
A: C'est bon signe ! Une bonne soirée, {first}.

=== pi-lum-pay fr email
A: Bonjour {first},

Votre plan de paiement : {instalments} mensualités de {monthly}, sans intérêts. La première sera prélevée début du mois prochain.

Cordialement,
Lumi
Assistante IA, Lumen Dental Group
U: Bonjour,

serait-il possible de prélever plutôt le 10 ? Je suis payée le 5.
Vous pouvez me joindre au {tel_spoken}.

Bien à vous,
{first} {last}
!call change_payment_day
A: Bonjour {first},

C'est fait : le 10 de chaque mois, à partir de maintenant.

Cordialement,
Lumi

=== pi-nwe-mtr de chat
A: Guten Tag {first}, hier ist Nora von Northwind Energy. Zeit für Ihren Zählerstand ⚡ Zähler {meter_serial}, zuletzt {last_reading}.
U: {new_reading}
A: Vielen Dank. Das sind {used} kWh seit dem letzten Mal, ganz im üblichen Rahmen.
!call submit_meter_reading
U: Kann ich das künftig auch per Foto schicken? Meine Brille liegt nie da wo der Zähler ist 😄
A: Jederzeit gern, ein Foto genügt.
U: Prima, danke

=== pi-lum-aft de chat
A: Guten Abend {first}, wie geht es Ihnen nach der Behandlung ({procedure}) heute?
U: Noch taub, aber ok. Darf ich Kaffee trinken?
A: Bitte erst, wenn die Betäubung ganz weg ist, und heute höchstens lauwarm.
U: Schade ☕ und Sport?
A: Lieber erst in zwei Tagen. Wenn es stärker blutet oder die Schmerzen nach dem dritten Tag zunehmen, schreiben Sie mir bitte sofort.
U: Mach ich, danke!
A: Guten Morgen, wie war die Nacht?
U: Gut geschlafen, keine Schmerzen

=== pi-cuc-onb de email
A: Guten Tag {first},

für Ihren ersten Arbeitstag fehlen uns noch: {documents}.

Bitte laden Sie alles bis Freitag hier hoch:
https://forms.cucumber.example/documents/{request_id}

Freundliche Grüße
Cleo
KI-Assistentin, Cucumber Recruitment
U: Guten Tag,

den Ausweis habe ich hochgeladen. Der Adressnachweis kommt per Post, Sendungsnummer {tracking}, laut DHL morgen.

Mit freundlichen Grüßen
{first} {last}
Mobil {tel_spoken}
!call store_document
A: Guten Tag {first},

der Ausweis ist da und gut lesbar. Für den Adressnachweis habe ich die Frist auf nächsten Mittwoch gesetzt.

Freundliche Grüße
Cleo

=== pi-cuc-onb pl chat
A: Dzień dobry {first}, tu Cleo z Cucumber Recruitment. Do umowy brakuje jeszcze dokumentów: {documents}. Można wysłać zdjęcia tutaj.
U: Dzień dobry, paszport wysyłam [zdjęcie]
A: Dziękuję, zdjęcie jest czytelne ✅ Jeszcze potwierdzenie adresu, na przykład rachunek za prąd.
U: rachunki są na żonę, czy może być wyciąg z banku?
A: Tak, z ostatnich trzech miesięcy.
U: ok wyślę wieczorem po pracy
!call store_document
A: Wszystko mamy, dziękuję! Umowa przyjdzie na {email}.
U: 👍 super

=== pi-nwe-out pl chat
A: Dzień dobry {first}, wiemy o awarii prądu w okolicy {postcode} od {time}. Ekipa jest na miejscu, numer zgłoszenia {incident_ref}.
U: długo jeszcze? mam małe dziecko, muszę podgrzać mleko
A: Przewidujemy {time2}. Jeśli potrzeba, w domu kultury przy tej samej ulicy jest punkt z ciepłą wodą.
U: dziękuję, pójdziemy tam
A: Prąd wrócił. Czy wszystko działa?
U: tak, wszystko ok, dziękuję bardzo ❤️

=== pi-lum-pay pl chat
A: Dzień dobry {first}, płatność {monthly} za plan {patient_ref} nie przeszła. Spróbować ponownie {pay_day}?
U: przepraszam, zmieniłem kartę. jak podać nową?
A: Proszę tylko przez bezpieczną stronę: https://pay.lumendental.example/card/{request_id}
U: zrobione
!call update_card
A: Dziękuję, widzę nową kartę z końcówką {bank4}.

=== pi-lum-apt pt chat
A: Olá {first}, aqui é a Lumi, da Lumen Dental. A sua consulta com {clinician} é amanhã às {appt_time}. Confirma?
U: Oi! confirmo sim. Posso levar meu filho junto? Não tenho com quem deixar
A: Claro que sim. Temos um cantinho com brinquedos na recepção de {clinic} 🧸
U: que ótimo, obrigada!!
!call confirm_appointment
A: Até amanhã, {first}!

=== pi-cuc-cv pt chat
A: Olá {first}, sou a Cleo, da Cucumber Recruitment. No seu currículo para {job_title} falta a data de término do curso técnico. Já concluiu?
U: Terminei em junho do ano passado, só falta o diploma chegar
A: Ótimo, coloco «concluído, diploma em emissão». O e-mail {email} ainda é o melhor contato?
U: Pode usar {email2}, por favor. Telefone {tel_spoken}
!call update_contact_details
A: Atualizado. {rep} responde até sexta-feira. Boa sorte!

=== pi-nwe-bil pt email
A: Olá {first},

A fatura da conta {account_number} está disponível: {amount}.

Qualquer dúvida, é só responder a este e-mail.

Nora
Assistente de IA, Northwind Energy
U: Bom dia,

paguei esta fatura duas vezes sem querer (dia 3 e dia 5, encomenda {order}). Como faço para receber de volta?

Obrigado,
{first} {last}
!call refund_payment
A: Bom dia {first},

Vi os dois pagamentos. O segundo volta para a mesma conta em até três dias úteis.

Nora
U: Muito obrigado pela rapidez!

=== pi-nwe-out tr chat
A: Merhaba {first}, ben Northwind Energy'den Nora. {postcode} bölgesinde saat {time}'den beri elektrik kesintisi var. Ekip yolda, tahmini bitiş {time2}. Kayıt no: {incident_ref}
U: Bizim sokakta komşularda var bizde yok
A: Anladım. Sigorta kutusuna bakabilir misiniz, inmiş bir şalter var mı?
U: evet en soldaki inmiş
A: Fişleri çekip o şalteri sertçe yukarı itin lütfen.
U: oldu, geldi 👏 çok teşekkürler
A: Rica ederim, iyi akşamlar!

=== pi-lum-apt tr chat
A: Merhaba {first}, Lumen Dental'dan Lumi. {clinician} ile kontrol randevunuz için Perşembe {appt_time} uygun mu?
U: Perşembe çalışıyorum, cumartesi olur mu?
A: Cumartesi {time2} boş, {clinic} şubesinde.
U: süper olur. Numaram değişti bu arada: {tel_spoken}
!call book_appointment
A: Randevunuzu aldım ve numaranızı güncelledim 🦷
U: teşekkürler 🙏

=== pi-cuc-int tr chat
A: Merhaba {first}, {client} sizinle {job_title} için görüşmek istiyor. Salı {interview_time} uygun mu?
U: Evet uygun! Görüşme İngilizce mi olacak?
A: Evet, {interviewer} ile, yaklaşık 45 dakika.
U: Tamam hazırlanırım 💪
!call book_interview
A: Davet {email} adresine gönderildi. Başarılar!
"""
