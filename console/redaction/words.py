"""The words of many languages that say what stands beside them; data only.

Words are in lower case and separated by spaces; lines hold a language or a few. `_` stands for a space or a hyphen,
and a `*` at the end for any ending. Scripts that are written without spaces match inside a run of letters.
"""

PHONE = """
 phone phones telephone tel telephone_number mob cell cellphone landline wapp msisdn waid fax sms callback call_me
 ring_me reach_me text_me call_us call_them call_back my_number my_nr my_num my_no teléfono telefono móvil movil
 celular celu wasap whats fono mi_número mi_numero telemóvel telefone zap meu_número fone telefon* handy* handynr
 mobilnr festnetz rückruf* meine_nummer meine_nr mobiel mijn_nummer bel_me gsm téléphone portable mon_numéro mon_num
 rappel* cellulare mio_numero numer_telefonu kom mój_numer komórk* zadzwoń dzwonić cep numaram numarası_ara*
 телефон* тел мобильн* номер_телефона мой_номер позвон* моб هاتف* جوال* موبايل رقمي واتساب 电话 電話 手机 手機 携帯
 号码是 联系方式 連絡先 전화 휴대폰 핸드폰 फोन फ़ोन मोबाइल मेरा_नंबर
"""

ORDER = """
 order orders orderid orderno ordernr ordernumber ordered ordr odrer orer oredr folio vorgangsnummer kaufnummer
 kassenbon auftr. best.nr best_nr oder_number oder_no oder_nr oder_id ord po_# po# po_number po_no po_nr po_num
 purchase purchases purchase_order booking booking_ref reservation invoice receipt confirmation_number orden ordenes
 pedido pedidos pedí compra compras factura reserva recibo encomenda encomendas nota_fiscal fatura* comanda comanzi
 comandă comenzi bestell* bestel* bestil* beställ* best.-nr best.-no auftrag* auftragsnr auftragsbestätigung
 rechnung* buchung* reservierung* ordre ordrer ordrenummer ordernummer boeking* aankoop* factuur* faktur* tilau*
 objedn* rendel* boknings* commande commandes achat achats facture réservation réf_commande ordine ordini acquisto
 fattura prenotazione zamówieni* zamowieni* zam zakup* rezerwacj* sipariş* siparis* заказ* замовлен* покупк* бронь
 бронировани* счёт طلب طلبي طلبية الطلب طلبك فاتورة حجز اوردر أوردر 订单 訂單 单号 單號 预订 发票 注文 受注 発注
 予約 購入 オーダー 주문 예약 구매 오더 ऑर्डर आर्डर बुकिंग คำสั่งซื้อ ออเดอร์ đơn đơn_hàng đặt_hàng pesanan
 παραγγελ* הזמנ*
"""

TRACKING = """
 track tracking traking trackin tracking_number trackingnummer trackingnumber trackingcode trackingid trackingno
 trackingnr trk trknbr track_and_trace track_&_trace track_en_trace waybill awb parcel parcels shipment consignment
 consignment_note package sendung* sendungs_id paket* zending* pakket* kolli* forsendelse* sporing* colis suivi
 envío envio paquete seguimiento rastreo rastreio rastreamento guía localizador_de_envío objeto pacco spedizione
 tracciamento przesyłk* paczk* list_przewozowy kargo takip* трек трек_номер посылк* отправлени* شحنة* الشحنة التتبع
 تتبع 运单 快递 物流 顺丰 追跡 伝票 お問い合わせ 운송장 송장 배송 ट्रैकिंग resi
"""

# Between a word and its number; the number may follow at once: nr48213.
NUMBER_SIGN = """
 number numbers numbr nubmer nmber no nr num n nbr id ids ref reference code codes confirmation nummer número numéro
 numero núm n.o kod código номер 号码 号 編號 编号 番号 番號 號碼 號 رقم 번호 नंबर नम्बर संख्या số mã หมายเลข เลขที่
 αριθμός מספר
"""
# The same, with something between.
FILLER = """
 is was are my the it its s i_placed ist lautet lautete mein meine die der das es mi el la est mon ma le c'est é é_o
 é_a o meu minha è è_il è_la il mio mia mijn de het jest to numer mój moje nolu numaralı numaram numarası это мой
 моя هو là 是 为 は が の 는 은 이 가 है हो
"""
# Only between a number and its word: 48213 is my order number
BEFORE_WORD = """
 번 号 號 thats that's that as ref of de des di do da del von für nolu numaralı no'lu номер моего моей mojego मेरा
 मेरे 我的 ist
"""

# After a number: then it is an amount, not an order number.
UNIT = """
 unit units pcs pieces piece items item of copies boxes pairs people customers orders users days weeks hours minutes
 tickets seats times km kg g lb lbs ml l cm mm litres liters gb mb bottles bags packs euro euros eur dollar dollars
 usd pound pounds gbp quid bucks rupees rupaye rupee inr yen jpy cents percent stück stk teile teilen kunden tage
 pièces piezas unidades unités peças pezzi pesos reais mxn stuks sztuk* szt zł złotych pln tl lira adet руб* рублей
 рубль штук* шт ريال جنيه درهم دينار قطعة 件 個 个 台 本 円 元 块 개 원 मिनट रुपये रुपए
"""

# Numbers with one of these are no person's, and stay.
HARMLESS_LABEL = """
 ean upc gtin asin isin sku mpn vat vat_no vat_id vat_number ust_idnr ust_id ustid umsatzsteuer_id tva iva btw p.iva
 partita_iva nip siret siren hrb hrb_nr krs kvk company_no company_number company_reg registration_no eori duns
 queue_depth depth content_length article article_no artikel artikelnummer artikelnr art.-nr item_no item_code
 part_no product_id product_code product_no
"""

# Before numbers with dots.
VERSION_LABEL = "version ver build release kernel model"

LOG_IN = """
 api_key apikey secret_key access_key access_token auth_token client_secret clé_api clave_api api_schlüssel password
 passwords passwd passphrase pwd pw pass_code passwort kennwort contraseña contrasena clave senha palavra_passe
 mot_de_passe mdp parola parola_d'ordine wachtwoord hasło haslo şifre* sifre* parolam пароль пароля كلمة_السر
 كلمة_المرور الرقم_السري 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 पासवर्ड kata_sandi lösenord adgangskode
 salasana heslo jelszó mật_khẩu รหัสผ่าน סיסמה
"""
# A short number that proves who somebody is. With PIN the number stands beside it.
PIN = """
 pin pin_code pincode pins pin_no tan mtan nip cvv cvc cvv2 cvc2 csc security_code code_pin codice_pin código_pin
 geheimzahl пин пин_код cvv_код رمز_سري 暗証番号 安全码 핀번호 पिन पिन_कोड
"""
ONE_TIME_CODE = """
 otp one_time_passcode one_time_password one_time_code one_time_pin passcode verification_code verify_code
 security_code login_code sign_in_code access_code authentication_code auth_code activation_code 2fa your_code
 use_code code_to_sign code_to_log google_code whatsapp_code bestätigungscode bestätigungs_code sicherheitscode
 verifizierungscode anmeldecode einmalcode einmalpasswort código_de_verificación código_de_seguridad
 código_de_acceso código_de_confirmación tu_código codigo_de_verificacion código_de_verificação código_de_acesso
 código_de_segurança código_de_confirmação seu_código code_de_vérification code_de_sécurité code_de_confirmation
 code_d'accès votre_code code_à_usage_unique codice_di_verifica codice_di_sicurezza codice_di_conferma
 codice_di_accesso codice_otp verificatiecode beveiligingscode inlogcode bevestigingscode kod_weryfikacyjny kod_sms
 kod_autoryzacyjny kod_dostępu doğrulama_kod* güvenlik_kod* onay_kod* tek_kullanımlık_şifre* код_подтверждения
 код_доступа код_безопасности проверочный_код код_из_смс ваш_код رمز_التحقق رمز_التأكيد كود_التحقق رمز_الدخول 验证码
 驗證碼 校验码 动态码 认证码 認証コード 確認コード 認証番号 ワンタイムパスワード 인증번호 인증_번호 인증코드
 확인_코드 ओटीपी सत्यापन_कोड
"""

NAME = """
 my_name_is my_name's name_is name's full_name_is in_the_name_of under_the_name under_the_name_of account_holder
 card_holder cardholder name_on_the_card maiden_name maiden_name_is mein_name_ist mein_name_lautet ich_heiße
 ich_heisse auf_den_namen mädchenname me_llamo mi_nombre_es a_nombre_de mi_nombre_completo_es meu_nome_é me_chamo
 em_nome_de m'appelle m’appelle mon_nom_est au_nom_de mi_chiamo il_mio_nome_è a_nome_di a_nome mijn_naam_is ik_heet
 op_naam_van nazywam_się mam_na_imię na_nazwisko moje_nazwisko adım ismim benim_adım adına меня_зовут мое_имя
 моё_имя на_имя моя_фамилия اسمي باسم انا_اسمي 名前は 氏名は 氏名 名前 申します 我叫 我的名字是 姓名 이름은 성함은
 이름 मेरा_नाम नाम jag_heter jeg_heter nama_saya
"""
# Only before two capitalised words, and the first only before "speaking" and the like.
CALLER = "this_is speaking_is"
NAME_IF_CAPITALISED = "soy je_suis sono sou_a sou_o sou jestem"
SIGN_OFF = """
 regards kind_regards best_regards best_wishes warm_regards sincerely yours_sincerely yours_faithfully yours_truly
 freundlichen_grüßen freundliche_grüße viele_grüße liebe_grüße beste_grüße mfg grüße gruß hochachtungsvoll
 cordialement bien_à_vous salutations saludos un_saludo atentamente atenciosamente cumprimentos abraços saluti
 cordiali_saluti distinti_saluti groeten groet met_vriendelijke_groet pozdrawiam z_poważaniem saygılarımla уважением
 с_уважением hälsningar hilsen
"""
# These are said to end any text; a name follows on the next line.
WEAK_SIGN_OFF = """
 thanks thank_you cheers best yours many_thanks danke merci gracias obrigado obrigada grazie bedankt dzięki
 teşekkürler спасибо love
"""

BIRTH = """
 born born_on born_in dob d.o.b date_of_birth birth_date birthdate birthday birthday_is geboren geboren_am geb
 geburtsdatum geburtstag nací nacido nacida fecha_de_nacimiento nacimiento cumpleaños nasci nascido nascida
 data_de_nascimento nascimento né_le née_le né née date_de_naissance nato nata nato_il nata_il data_di_nascita
 geboren_op geboortedatum urodzony urodzona urodziłem_się urodziłam_się data_urodzenia doğum_tarihi* doğdum
 doğumluyum родился родилась дата_рождения ولدت تاريخ_الميلاد تاريخ_ميلادي 生年月日 誕生日 生まれ 出生 出生日期 生日
 생년월일 생일 태어 जन्म जन्मतिथि जन्म_तिथि født född
"""

NATIONAL_ID = """
 ni ni_number nino national_insurance national_insurance_number ssn social_security social_security_number nhs
 nhs_no nhs_number driving_licence driving_license driver's_license drivers_license licence_number license_number
 passport passport_no passport_number national_id id_card identity_card reg reg_no number_plate registration_plate
 license_plate licence_plate plate vrn itin tax_id tfn medicare dni nie nif curp rfc cuit cuil rut cédula pasaporte
 matrícula seguridad_social cpf rg cnh cnpj título_de_eleitor passaporte cartão_de_cidadão steuer_id steuer_idnr
 steueridentifikationsnummer steuernummer sozialversicherungsnummer svnr personalausweis ausweis* reisepass
 führerschein* kennzeichen numéro_de_sécurité_sociale numéro_de_sécu sécu sécurité_sociale passeport
 carte_d'identité permis_de_conduire immatriculation plaque codice_fiscale carta_d'identità patente passaporto targa
 bsn burgerservicenummer paspoort rijbewijs kenteken pesel dowód dowod dowodu paszport* prawo_jazdy tc_kimlik*
 kimlik* tckn pasaport* ehliyet* plaka* паспорт* снилс инн водительск* رقم_الهوية الهوية هوية جواز جواز_السفر
 الإقامة الرقم_القومي pan pan_card pan_no aadhaar aadhar voter_id आधार पैन ktp nik personnummer cpr fødselsnummer
 身份证 身份證 护照 護照 マイナンバー 免許証 パスポート 旅券 주민등록 주민번호 여권 운전면허
"""

MONEY = """
 iban bic swift sort_code account account_no account_number acct acct_no a/c bank_account routing routing_number
 clabe cbu rib konto kontonummer kontonr kto blz bankverbindung cuenta número_de_cuenta numéro_de_compte compte
 conto numero_di_conto rekening* rekeningnummer konta numer_konta hesap* счёта счета лицевой_счёт رقم_الحساب آيبان
 银行卡 卡号 账号 口座 口座番号 계좌 खाता card card_no card_number cc credit_card debit_card kreditkarte* karte
 tarjeta cartão carte carte_bancaire carta kaart karta karty kart карта карты بطاقة クレジットカード 카드 upi upi_id
 pix chave_pix btc bitcoin eth ethereum wallet usdt
"""

ADDRESS = """
 my_address live_at mi_dirección_es mi_dirección vivo_en meu_endereço_é meu_endereço moro_na moro_no meine_adresse
 meine_adresse_ist wohne_in wohnhaft mon_adresse mon_adresse_est j'habite habite_au il_mio_indirizzo abito_in
 mijn_adres mijn_adres_is woon_op mój_adres mieszkam adresim adresimiz мой_адрес адрес проживаю_по عنواني
 عنوان_البيت العنوان पता पता_है 地址 住址 住所 주소 주소는 住在
"""
POSTCODE = """
 postcode my_postcode postcode_is zip zip_code postal_code code_postal postleitzahl plz cep cp c.p código_postal
 codice_postale cap kod_pocztowy posta_kodu индекс الرمز_البريدي 邮编 郵便番号 우편번호 पिन पिन_कोड pin_code pincode
"""
# Before a name and a number: rue de Rivoli 12
STREET_BEFORE = """
 calle avenida av avda paseo plaza carrera rua travessa alameda rodovia rue avenue boulevard impasse allée quai
 chemin viale piazza corso vicolo ulica ul aleja улица ул проспект переулок شارع
"""
# Grown together with the name: Lindenstraße 14, Prinsengracht 263
STREET_ENDING = "straße strasse str. gasse allee straat laan gracht plein"
# Before coordinates.
PLACE = (
    "gps lat latitude coordinates coords coordenadas koordinaten location ubicación standort position 定位 坐标 座標"
)

# Said instead of @ and of a dot.
AT = """
 arroba ät aet arobase arrobase chiocciola małpa malpa apenstaartje собака собачка 艾特 アット アットマーク 골뱅이
 ات آت एट snabel_a snabela kukac zavináč 앳
"""
DOT = """
 dot punto ponto punkt point punt kropka nokta точка пункт тчк 点 點 ドット 점 쩜 닷 دوت نقطة डॉट prick tečka pont
 titik
"""
# "look at example dot com" is about a page.
NOT_A_MAILBOX = """
 look looks looked meet met me us you be is are was were am im buy bought shop order ordered here there available
 seen find found it them that this visit live sold work works working check him her read see arrive arrived page
"""
# Parts of an address without a dot that are no host: pkg@latest
NOT_A_HOST = """
 latest next main master head dev beta alpha canary stable staging prod production everyone here channel all home
 work
"""

NUMBER_WORDS = """
 zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
 eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred double triple treble nought cero
 dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince veinte veintiuno veintidós
 veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve treinta cuarenta cincuenta
 sesenta setenta ochenta noventa cien doble dois duas três quatro sete meia oito nove dez onze doze treze quatorze
 quinze dezesseis dezassete dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta oitenta null eins
 zwei zwo drei vier fünf sechs sieben acht neun zehn zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn
 neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert doppel zéro deux trois quatre cinq
 sept huit neuf dix douze treize seize vingt trente quarante cinquante soixante due tre quattro cinque sei sette
 otto dieci undici dodici tredici quattordici quindici sedici venti trenta quaranta cinquanta sessanta settanta
 ottanta novanta cento nul een twee drie vijf zes zeven negen tien twaalf dertien veertien vijftien zestien
 zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig negentig dubbel jeden dwa trzy
 cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście
 siedemnaście osiemnaście dziewiętnaście dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt
 siedemdziesiąt osiemdziesiąt dziewięćdziesiąt dwieście trzysta czterysta pięćset sześćset siedemset osiemset
 dziewięćset sıfır bir iki üç dört beş altı yedi sekiz dokuz yirmi otuz kırk elli altmış yetmiş seksen doksan yüz
 ноль нуль один два три четыре пять шесть семь восемь девять десять двадцать тридцать сорок пятьдесят шестьдесят
 семьдесят восемьдесят девяносто сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот صفر واحد
 اثنان اثنين إثنان إثنين ثلاثة ثلاثه اربعة أربعة اربعه أربعه خمسة خمسه ستة سته سبعة سبعه ثمانية ثمانيه تسعة تسعه
 عشرة शून्य ज़ीरो जीरो एक दो तीन चार पांच पाँच छह छः छे सात आठ नौ दस डबल noll två fyra fem sju åtta nio seks syv
 åtte nol satu dua tiga empat lima enam tujuh delapan sembilan
"""
# A number only among others, because another language has it as an everyday word.
WEAK_NUMBER_WORDS = "un uno une ein eine en on to ni sto cent elf yüz ciento um uma"
BETWEEN_NUMBER_WORDS = "and und y e et i en then dann luego puis poi potem sonra потом و"

# Keys of payloads and labels of fields. Two words of a key are joined by `_`.
NAME_KEYS = """
 kundenname kontoinhaber empfängername familienname geburtsname nachname vorname klantnaam voornaam achternaam
 nombre_completo nombre_cliente apellido apellidos nome_completo nome_cliente sobrenome apelido prénom prenom
 nom_de_famille nom_client cognome nominativo imię imie nazwisko ad_soyad adsoyad soyad soyadı soyisim isim имя
 фамилия отчество фио الاسم اسم_العميل اللقب 姓名 姓氏 氏名 名前 お名前 苗字 이름 성명 성함 고객명 नाम उपनाम
"""
# As `name` is: masked where the value looks like a name, and nothing else is named.
NAME_LIKE_KEYS = "name nom nome nombre naam"
HOLDER_KEYS = "cliente kunde kundin klant klient müşteri клиент"
ADDRESS_KEYS = """
 dirección direccion domicilio calle codigo_postal código_postal endereço endereco bairro cep anschrift adresse
 straße strasse hausnummer plz postleitzahl rue code_postal indirizzo straat huisnummer woonplaats adres ulica
 kod_pocztowy mahalle sokak адрес улица العنوان عنوان 地址 住所 住址 邮编 郵便番号 주소 우편번호 पता
"""
BIRTH_KEYS = """
 geburtsdatum geburtstag nacimiento nascimento naissance nascita geboortedatum urodzenia doğum дата_рождения
 生年月日 生日 出生日期 생년월일 जन्मतिथि
"""
PAPER_KEYS = """
 nino nhs_number dni nie nif curp rfc cuit cuil rut cédula cedula cpf rg cnh steuer_id steuerid personalausweis
 reisepass passeport pasaporte passaporte codice_fiscale bsn pesel dowód tc_kimlik tckn aadhaar aadhar pan_number
 voter_id ktp personnummer 身份证 身份证号 護照 주민등록번호 여권번호 снилс паспорт bic clabe rib cvv cvc pix
 chave_pix upi_id sort_code account_number routing_number card_number kontonummer
"""
TRACKING_KEYS = """
 seguimiento rastreo rastreio rastreamento suivi tracciamento sendungsverfolgung sendungsnummer zendingsnummer
 pakketnummer kollinummer paketnummer takip_no guía 运单号 快递单号 物流单号 追跡番号 伝票番号 운송장번호 송장번호
"""
ORDER_KEYS = """
 bestelnummer ordernummer ordrenummer rechnungsnummer bestelling bestellung bestellnr zamówienie zamowienie sipariş
 siparis заказ 订单 订单号 订单编号 訂單 訂單編號 注文番号 주문번호 ordine
"""
PHONE_KEYS = "电话 電話 手机 手機 携帯 전화 휴대폰 핸드폰 телефон هاتف جوال موبايل फोन फ़ोन मोबाइल"
EMAIL_KEYS = "邮箱 邮件 メール 이메일 почта بريد ईमेल"
JOINED_ORDER_KEYS = "订单 訂單 单号 單號 注文 受注 주문 ऑर्डर"
JOINED_TRACKING_KEYS = "运单 運單 快递单 物流单 追跡 伝票 운송장 송장"
# What keys in these scripts say of a thing rather than the thing.
JOINED_DESCRIPTORS = """
 状态 狀態 状況 ステータス 金额 金額 合计 合計 总额 时间 時間 日時 日期 数量 數量 類型 类型 상태 금액 일시 수량 날짜
 유형 स्थिति राशि
"""
