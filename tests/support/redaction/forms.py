"""Forms of numbers, addresses, keys and sentences from which texts are drawn; each list is written with bars."""


def listed(text: str) -> list[str]:
    return text.split("|")


# Country code, and the national number as it is written there; N is any digit.
PHONES = listed(
    "55 11 9NNNN-NNNN|49 151 NNNNNNNN|33 6 NN NN NN NN|91 98NNN NNNNN|1 (415) NNN-NNNN|353 85 NNN NNNN|39 312 NNN NNNN"
    "|48 512 NNN NNN|31 6 NNNNNNNN|86 138 NNNN NNNN|81 90-NNNN-NNNN|27 82 NNN NNNN|254 712 NNNNNN|64 21 NNN NNNN"
    "|47 406 NN NNN|45 32 NN NN NN|420 601 NNN NNN|36 20 NNN NNNN|30 691 NNN NNNN|972 50-NNN-NNNN|65 8NNN NNNN"
    "|52 55 NNNN NNNN|43 664 NNNNNN|41 78 NNN NN NN|62 812-NNN-NNN|90 501 NNN NN NN|961 71 NNN NNN|670 7721 NNNN"
)
PHONE_SENTENCES = listed(
    "my number is {}|Call me on {}, please|reach us at {}.|({})|new contact: {} (evenings)|Tel. {}|WhatsApp {}"
    '|to={};from=console|cust:{},ref|ruf mich an: {} danke|{}|<a href="tel:{}">call</a>|whatsapp:{}'
    "|sms to {} failed: 30007|Mobil {} oder per Mail"
)
EMAIL_SENTENCES = listed(
    'write to {} please|From: Ann Lee <{}>|to={};cc=ops|owner ({}) said|evt:{}:msg9|{}|<a href="mailto:{}">mail</a>'
    "|KeyError: '{}' at handler.py:41|{}, thanks|[mail](mailto:{})|user={}&page=2|email={} attempt=2"
    "|SELECT * FROM u WHERE mail = '{}'|cc: {}\nbcc: ops"
)
ORDER_SENTENCES = listed(
    "where is order {}?|Order #{}|order no. {} is late|orders {} and 77123|my order number is {}|Bestellung {}"
    "|Bestellnummer: {}|Bestell-Nr. {}|Auftrag Nr. {}|commande n° {}|pedido {}|pedido nº {}|ordine n. {}|bestelling {}"
    "|zamówienie nr {}|encomenda {}|beställning {}|заказ № {}|订单号{}|注文番号 {}|refund order_id={} amount=12.50"
    "|GET /admin/orders/{}.json 200|PUT /v1/orders/{}/cancel|order: {}|**Order** {}|<b>Order:</b> {}|order ({})"
)
PARCEL_SENTENCES = listed(
    "Your tracking number is {}. Enjoy|tracking: {}|Tracking no. {}|AWB {} left the depot|Sendungsnummer {}|Sendung: {}"
    "|colis {}|numéro de suivi : {}|envío {}|Waybill: {}|tracking code {}|Sendungsverfolgung {}|track & trace {}"
)
LINK_SENTENCES = listed('Follow it: {} thanks|[parcel]({})|<a href="{}">Track</a>|{}|See {}.')
LINKS = listed(
    "https://www.dpd.example/tracking?parcelNumber={}|https://gls-group.example/track/{}|http://evri.example/parcel/{}"
    "|https://www.laposte.example/outils/suivre-vos-envois?code={}&suivi=1|https://t.17track.example/en#nums={}"
    "|https://shop.aftership.example/track?awb={}&lang=pt|https://www.ups.com/track?loc=en&tracknum={}"
    "|https://nolp.dhl.de/verfolgen?piececode={}"
)
LOCAL_PARTS = listed("lena|t.okafor|mary_ann|j-p|o'neill|rui+shop|x9|Ana.Lúcia|наташа|李雷")
HOSTS = listed("posteo.example|mail.firma.example|uni-köln.example|shop.co.example|例え.テスト|a-b.example.museum")
NAMES = listed("Oluwaseun|Siobhán|Przemysław|Nguyễn|D'Angelo|Van der Berg|伊藤")
ORDERS = listed("NNNNN|NNNNNN|NNNNNNNNNN|SO-NNNNNN|DE-NNNNN-B|NNN-NNNNNNN-NNNNNNN|RG/NNNN/NNNNN|XKNNCDNN")
PARCELS = listed(
    "1ZNNNE4NNNNNNNNNNN|94NNNNNNNNNNNNNNNNNNNN|JDNNNNNNNNNNNNNNNNNN|NNNNNNNNNNNN|RRNNNNNNNNNGB|3SKABCNNNNNNNNN"
    "|6ANNNNNNNNNNN|TBANNNNNNNNNNNN|LYNNNNNNNNNCN|H0NNNNNNNNNNNNN|NNNNNNNNNNNNNN"
)
PHONE_KEYS = listed(
    "phoneNumber|phone_number|PhoneNo|customerTel|MOBILE|cell_phone|whatsappNumber|wa-id|contact.phone|faxNumber|telefono"
    "|shippingPhone|callback_msisdn|mobile2|Telephone|home_phone|phoneE164|Telefonnummer"
)
EMAIL_KEYS = listed("emailAddress|EMAIL|customer_email|replyToEmail|contact-email|e_mail|billing.email")
ORDER_KEYS = listed("orderNumber|order_id|ORDER_NO|parentOrderId|orderRef|order-reference|shopOrderNumbers")
PARCEL_KEYS = listed("trackingCode|tracking_no|TrackingNumber|awb|shipmentId|parcel_number|waybillNo")
NAME_KEYS = listed("firstName|last_name|customerName|shipping_name|recipient_name|FullName|given_name")
ADDRESS_KEYS = listed("address1|shippingAddress|street|postcode|billing_address|zipCode")
HARMLESS_KEYS = listed("ref|value|note|detail|x|output|raw|data|msg")
# Full-width, Arabic, Persian, Devanagari
DIGITS = listed("０１２３４５６７８９|٠١٢٣٤٥٦٧٨٩|۰۱۲۳۴۵۶۷۸۹|०१२३४५६७८९")
