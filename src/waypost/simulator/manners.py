"""How streets, sites and postcodes are written in each part of the world, in common words without brands."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Manner:
    """`address` takes {street} and {number}, a site {street} or {town}; in a postcode # is a digit, @ a letter."""

    address: str
    postcode: str
    streets: tuple[str, ...]
    sites: tuple[str, ...]
    operators: tuple[str, ...]


# Each manner's name, address and postcode; then its streets, its sites and its operators. A line that ends with a bar
# goes on in the next.
_TABLE = """
german | {street} {number} | #####
  Bahnhofstraße|Lindenweg|Hauptstraße|Gartenstraße|Mühlweg|Schillerstraße|Am Markt|Ringstraße|Birkenallee|Bergstraße
  Parkhaus {street}|Rathaus {town}|P+R {town} Süd|Stadtwerke {town}|Hotel {town}|Schwimmbad {town}|{street}
  Ladehafen Nord|Rheinlader|Alpenstecker
french | {number} {street} | #####
  Rue de la Gare|Avenue des Tilleuls|Place du Marché|Rue du Moulin|Boulevard de la République|Rue Pasteur|
  Chemin des Vignes|Rue de l'Église|Quai du Port|Allée des Platanes
  Parking {street}|Mairie de {town}|Gare de {town}|Médiathèque de {town}|{town} - {street}|Piscine municipale {town}
  Bornes du Midi|Réseau Hirondelle|Voltanne
dutch | {street} {number} | #### @@
  Stationsweg|Kerkstraat|Molenlaan|Dorpsstraat|Wilgenlaan|Havenkade|Beukenlaan|Marktplein|Schoolstraat|Parkweg
  Parkeergarage {street}|Station {town}|Gemeentehuis {town}|Sporthal {town}|{street}|Transferium {town}
  Wattwerf|Laadpolder|Tulpstroom
british | {number} {street} | @@# #@@
  High Street|Station Road|Church Lane|Mill Road|Victoria Street|Park Avenue|Bridge Street|Orchard Way|Queens Road|
  Market Place
  {street} Car Park|{town} Leisure Centre|{town} Park & Ride|{town} Library|{street}|{town} Railway Station
  Hedgerow Charge|Copper Kettle Energy|Pennine Plugs
american | {number}00 {street} | #####
  Main St|Oak Ave|Maple Dr|2nd St|Washington Blvd|Cedar Ln|Lakeview Rd|Mill Creek Pkwy|Elm St|Railroad Ave
  {town} City Hall|{street} Parking Garage|{town} Public Library|{town} Transit Center|{street} Plaza|{town} Museum
  Prairie Volt|Bluebird Charging|Canyon Current
commonwealth | {number} {street} | ####
  George Street|Station Road|Victoria Road|Lake Terrace|Park Road|Bridge Street|Acacia Avenue|Hill Street|Market Road
  {street} Car Park|{town} Civic Centre|{town} Showgrounds|{town} Library|{street}|{town} Visitor Centre
  Southern Socket|Kowhai Charge|Banksia Power
norwegian | {street} {number} | ####
  Storgata|Stasjonsveien|Kirkeveien|Bjørkelia|Fjordgata|Skolegata|Havnegata|Furuveien
  {town} stasjon|{street} parkering|{town} rådhus|{town} svømmehall|{street}
  Fjordlader|Nordlysstrøm
swedish | {street} {number} | ### ##
  Storgatan|Stationsgatan|Kyrkogatan|Björkvägen|Hamngatan|Skolgatan|Kungsgatan|Lindvägen
  P-hus {street}|{town} station|{town} stadshus|{town} simhall|{street}
  Älgström|Laddviken
danish | {street} {number} | ####
  Stationsvej|Kirkegade|Havnegade|Skolevej|Bøgevej|Nørregade|Strandvejen|Møllevej
  P-hus {street}|{town} Station|{town} Rådhus|{town} Svømmehal|{street}
  Klitstrøm|Ladebøgen
finnish | {street} {number} | #####
  Asemakatu|Kirkkokatu|Koivutie|Satamakatu|Koulukatu|Puistotie|Rantatie|Kauppakatu
  {street} pysäköinti|{town} rautatieasema|{town} kirjasto|{town} uimahalli|{street}
  Kuusivirta|Järvilataus
icelandic | {street} {number} | ###
  Hafnargata|Skólavegur|Aðalgata|Birkihlíð|Sjávargata
  {street}|{town} sundlaug|{town} bókasafn
  Goshver Hleðsla
polish | ul. {street} {number} | ##-###
  Dworcowa|Lipowa|Szkolna|Polna|Ogrodowa|Rynek|Kościelna|Młyńska|Parkowa
  Parking {street}|Dworzec {town}|Urząd Miasta {town}|Basen {town}|{town}, {street}
  Żubrowolt|Ładobor
czech | {street} {number} | ### ##
  Nádražní|Lipová|Školní|Zahradní|Na Náměstí|Mlýnská|Lesní|Husova
  Parkoviště {street}|Nádraží {town}|Radnice {town}|Bazén {town}|{town}, {street}
  Jiskrovod|Lipavolt
hungarian | {street} {number}. | ####
  Állomás utca|Fő tér|Kossuth utca|Malom utca|Iskola utca|Hársfa utca
  {street} parkoló|{town} vasútállomás|{town} városháza|{town} uszoda
  Tiszatöltő
slovene | {street} {number} | ####
  Kolodvorska|Glavni trg|Šolska|Lipova|Cvetna|Mlinska
  Parking {street}|Kolodvor {town}|Knjižnica {town}|{town}, {street}
  Lipovolt Sava
spanish | {street}, {number} | #####
  Calle Mayor|Avenida de la Estación|Plaza de España|Calle del Molino|Paseo de los Olmos|Calle Real|Camino Viejo|
  Avenida del Puerto
  Aparcamiento {street}|Ayuntamiento de {town}|Estación de {town}|Biblioteca de {town}|{street}
  Carga Cigüeña|Olivolt
portuguese | {street}, {number} | ####-###
  Rua da Estação|Avenida da Liberdade|Praça da República|Rua das Flores|Rua do Moinho|Largo da Igreja|Rua Nova
  Estacionamento {street}|Câmara Municipal de {town}|Estação de {town}|Mercado de {town}|{street}
  Andorinha Elétrica|Sobreiro Carga
italian | {street}, {number} | #####
  Via Roma|Viale della Stazione|Piazza del Mercato|Via Garibaldi|Via dei Mulini|Corso Italia|Via delle Rose
  Parcheggio {street}|Municipio di {town}|Stazione di {town}|Piscina di {town}|{street}
  Colonnina Rondine|Ulivo Ricarica
greek | {street} {number} | ### ##
  Odos Stathmou|Leoforos Dimokratias|Plateia Agoras|Odos Elaion|Odos Thalassis
  Parking {street}|{town} Town Hall|{town} Station|{street}
  Elaia Fortisi
romanian | {street} {number} | ######
  Strada Gării|Bulevardul Unirii|Strada Morii|Strada Teilor|Piața Centrală|Strada Școlii
  Parcare {street}|Gara {town}|Primăria {town}|Bazinul {town}|{street}
  Rândunica Volt
estonian | {street} {number} | #####
  Jaama|Kooli|Kase|Sadama|Turu|Pargi
  {street} parkla|{town} raudteejaam|{town} raamatukogu
  Rukkilaadija
baltic | {street} {number} | #####
  Liepų|Stoties|Parko|Ozolu|Skolas|Bērzu
  {street} P+R|{town} Station|{town} Library|{street}
  Amber Plug
turkish | {street} No: {number} | #####
  İstasyon Caddesi|Çam Sokak|Cumhuriyet Caddesi|Okul Sokak|Değirmen Sokak|Park Caddesi
  {street} Otopark|{town} Belediyesi|{town} Gar|{street}
  Leylek Şarj
japanese | {number}-2 {street} | ###-####
  Ekimae|Sakuragaoka|Honcho|Midorigaoka|Minamicho|Kitamachi|Chuo|Asahicho
  {town} City Hall|{street} Parking|Roadside Station {street}|{town} Library|{street} Community Centre
  Tsubame Juden|Kawasemi Denki
korean | {number} {street} | #####
  Yeok-ro|Jungang-daero|Hakgyo-gil|Sijang-ro|Gongwon-ro|Hanbat-gil
  {town} City Hall|{street} Public Parking|{town} Library|{street} Sports Centre
  Kkachi Charge
"""


def _manner(entry: str) -> tuple[str, Manner]:
    head, *lists = entry.replace("|\n  ", "|").split("\n  ")
    name, address, postcode = head.split(" | ")
    return name, Manner(address, postcode, *(tuple(words.split("|")) for words in lists))


MANNERS = dict(map(_manner, re.split(r"\n(?! )", _TABLE.strip())))

# Countries that share their manner with a neighbour but have postcodes of their own.
_POSTCODES = (
    "AT ####|BE ####|BR #####-###|CA @#@ #@#|CH ####|CL #######|IE @## @###|IN ######|LU ####|LV LV-####|SK ### ##"
)
POSTCODES = dict(entry.split(" ", 1) for entry in _POSTCODES.split("|"))
