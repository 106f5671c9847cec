"""Dialogues in Hindi, Chinese and Japanese."""

TEXT = """
=== pi-nwe-mtr hi chat
A: नमस्ते {first} जी, मैं Northwind Energy से Nora हूँ। कृपया मीटर {meter_serial} की रीडिंग भेजें। पिछली रीडिंग {last_reading} थी।
U: नमस्ते, रीडिंग {new_reading} है
A: धन्यवाद! पिछली बार से {used} यूनिट हुई हैं, जो सामान्य है।
!call submit_meter_reading
U: ठीक है, बिल whatsapp पर मिल सकता है?
A: बिल {email} पर आएगा; यहाँ मैं उसकी सूचना भेज दूँगी।
U: धन्यवाद 🙏

=== pi-cuc-int hi chat
A: नमस्ते {first} जी, {client} आपसे {job_title} के लिए मिलना चाहते हैं। क्या गुरुवार {interview_time} बजे ठीक रहेगा?
U: हाँ जी बिल्कुल। ऑनलाइन है या ऑफिस में?
A: ऑफिस में: {location}। {interviewer} आपसे मिलेंगे।
U: मेरा नया नंबर नोट कर लीजिए {tel_spoken}
!call book_interview
A: नंबर बदल दिया है और निमंत्रण {email} पर भेज दिया है। शुभकामनाएँ!
U: शुक्रिया 😊

=== pi-lum-aft hi chat
A: नमस्ते {first} जी, इलाज के बाद अब कैसा लग रहा है?
U: थोड़ा दर्द है, खाना कब खा सकते हैं
A: सुन्नपन जाने के बाद, आज केवल नरम और ठंडा खाना। दर्द 0 से 10 में कितना है?
U: 3
!call record_pain_score
A: यह सामान्य है। कल फिर पूछूँगी।
U: ठीक है 👍

=== pi-lum-apt zh chat
A: {first}您好，我是 Lumen Dental 的智能助理 Lumi。您和 {clinician} 的预约是明天 {appt_time}，地点 {clinic}，请问可以来吗？
U: 明天临时要出差，能改到周六吗
A: 周六 {time2} 有空位，需要我帮您改吗？
U: 好的，谢谢！
!call reschedule_appointment
A: 已改好。周五晚上会再提醒您一次 😊
U: 👌

=== pi-nwe-bil zh chat
A: {first}您好，您账户 {account_number} 本月账单为 {amount}。
U: 我上个月不是已经付过了吗？订单号 {order}
A: 我查到了，上个月那笔 {monthly} 已到账。这是本月的新账单。
U: 明白了，那可以自动扣款吗
A: 可以，请在安全页面设置，不要在聊天里发送银行卡号：https://pay.northwind.example/dd/{request_id}
U: 设好了
!call update_direct_debit
A: 收到，以后每月自动扣款。

=== pi-cuc-onb zh email
A: {first}您好：

欢迎加入！入职前还需要您提供：{documents}。

请在周五前上传：
https://forms.cucumber.example/documents/{request_id}

Cleo
Cucumber Recruitment 智能助理
U: 您好，

护照和地址证明已上传。无犯罪记录证明正在邮寄，单号 {tracking}，预计下周一到。

如需联系请打 {tel_spoken}。

{first}
!call store_document
A: {first}您好：

前两项已收到，清晰可用。第三项的期限已延到下周三，请放心。

Cleo
U: 非常感谢！

=== pi-lum-apt ja chat
A: {first}様、Lumen Dental のAIアシスタント Lumi です。明日 {appt_time} に {clinician} の定期検診のご予約があります。ご来院いただけますか？
U: すみません、仕事が入ってしまいました。来週に変更できますか？
A: かしこまりました。来週木曜日の {time2} はいかがでしょうか。
U: 大丈夫です。よろしくお願いします
!call reschedule_appointment
A: 変更いたしました。前日に改めてご連絡いたします 🦷
U: ありがとうございます🙇

=== pi-nwe-mov ja chat
A: {first}様、お引っ越しのご連絡ありがとうございます。鍵のお受け取りはいつになりますか？
U: 来週の土曜日です
A: 承知しました。当日、両方のメーターの写真をお送りください。あとはこちらで手続きいたします。
U: 引き落とし口座はそのままで大丈夫ですか
A: はい、そのまま引き継がれます。最終請求書は {email} にお送りします。
!call start_home_move
U: 助かります。電話番号が変わったので {tel_spoken} にお願いします
A: 更新いたしました。良いお引っ越しを！

=== pi-cuc-cv ja email
A: {first} {last} 様

{job_title}（{job_ref}）へのご応募ありがとうございます。

履歴書について一点確認させてください。資格欄の「簿記」は何級でしょうか。

Cucumber Recruitment
AIアシスタント Cleo
U: Cleo 様

日商簿記2級です。昨年11月に合格しました。
メールは {email2} の方が早く確認できます。

{last}
!call update_cv_field
A: {first} {last} 様

「日商簿記2級」と追記し、連絡先も変更いたしました。担当の {rep} より今週中にご連絡いたします。

Cleo
"""
