"""Real countries and real towns, near which invented places are put."""

from dataclasses import dataclass

# code, weight (its share of the world's charging here), manner of addresses, plugs; then its towns, largest first, each
# as name/region/latitude/longitude. Many records have an empty region.
_TABLE = """
DE 110 german type2: Berlin/Berlin/52.5200/13.4050|Hamburg/Hamburg/53.5511/9.9937|München/Bayern/48.1372/11.5756
  Köln/Nordrhein-Westfalen/50.9375/6.9603|Frankfurt am Main/Hessen/50.1109/8.6821
  Stuttgart/Baden-Württemberg/48.7758/9.1829|Leipzig/Sachsen/51.3397/12.3731|Bremen/Bremen/53.0793/8.8017
  Dresden/Sachsen/51.0504/13.7373|Hannover/Niedersachsen/52.3759/9.7320|Nürnberg/Bayern/49.4521/11.0767
  Freiburg im Breisgau/Baden-Württemberg/47.9990/7.8421|Kassel/Hessen/51.3127/9.4797|Erfurt/Thüringen/50.9848/11.0299
FR 75 french type2: Paris/Île-de-France/48.8566/2.3522|Lyon/Auvergne-Rhône-Alpes/45.7640/4.8357
  Marseille/Provence-Alpes-Côte d'Azur/43.2965/5.3698|Toulouse/Occitanie/43.6047/1.4442
  Bordeaux/Nouvelle-Aquitaine/44.8378/-0.5792|Nantes/Pays de la Loire/47.2184/-1.5536
  Lille/Hauts-de-France/50.6292/3.0573
  Strasbourg/Grand Est/48.5734/7.7521|Rennes/Bretagne/48.1173/-1.6778|Grenoble/Auvergne-Rhône-Alpes/45.1885/5.7245
  Dijon/Bourgogne-Franche-Comté/47.3220/5.0415|Tours/Centre-Val de Loire/47.3941/0.6848
NL 70 dutch type2: Amsterdam/Noord-Holland/52.3676/4.9041|Rotterdam/Zuid-Holland/51.9244/4.4777
  Den Haag/Zuid-Holland/52.0705/4.3007|Utrecht/Utrecht/52.0907/5.1214|Eindhoven/Noord-Brabant/51.4416/5.4697
  Groningen/Groningen/53.2194/6.5665|Zwolle/Overijssel/52.5168/6.0830|Maastricht/Limburg/50.8514/5.6910
GB 85 british british: London/Greater London/51.5074/-0.1278|Birmingham/West Midlands/52.4862/-1.8904
  Manchester/Greater Manchester/53.4808/-2.2426|Leeds/West Yorkshire/53.8008/-1.5491|Glasgow/Scotland/55.8642/-4.2518
  Edinburgh/Scotland/55.9533/-3.1883|Bristol//51.4545/-2.5879|Cardiff/Wales/51.4816/-3.1791
  Norwich/Norfolk/52.6309/1.2974|Exeter/Devon/50.7184/-3.5339|York/North Yorkshire/53.9600/-1.0873
  Belfast/Northern Ireland/54.5973/-5.9301
US 150 american type1: New York/NY/40.7128/-74.0060|Los Angeles/CA/34.0522/-118.2437|Chicago/IL/41.8781/-87.6298
  Houston/TX/29.7604/-95.3698|Phoenix/AZ/33.4484/-112.0740|Denver/CO/39.7392/-104.9903|Atlanta/GA/33.7490/-84.3880
  Austin/TX/30.2672/-97.7431|Minneapolis/MN/44.9778/-93.2650|Columbus/OH/39.9612/-82.9988
  Raleigh/NC/35.7796/-78.6382|Sacramento/CA/38.5816/-121.4944|Salt Lake City/UT/40.7608/-111.8910
  Nashville/TN/36.1627/-86.7816|Boise/ID/43.6150/-116.2023|Albuquerque/NM/35.0844/-106.6504
CA 30 american type1: Toronto/ON/43.6532/-79.3832|Montréal/QC/45.5017/-73.5673|Calgary/AB/51.0447/-114.0719
  Ottawa/ON/45.4215/-75.6972|Edmonton/AB/53.5461/-113.4938|Winnipeg/MB/49.8951/-97.1384
  Québec/QC/46.8139/-71.2080|Kelowna/BC/49.8880/-119.4960
NO 32 norwegian type2: Oslo/Oslo/59.9139/10.7522|Bergen/Vestland/60.3913/5.3221|Trondheim/Trøndelag/63.4305/10.3951
  Stavanger/Rogaland/58.9700/5.7331|Tromsø/Troms/69.6492/18.9553|Lillehammer/Innlandet/61.1153/10.4662
SE 30 swedish type2: Stockholm/Stockholms län/59.3293/18.0686|Göteborg/Västra Götalands län/57.7089/11.9746
  Malmö/Skåne län/55.6050/13.0038|Uppsala/Uppsala län/59.8586/17.6389|Örebro/Örebro län/59.2753/15.2134
  Umeå/Västerbottens län/63.8258/20.2630
DK 16 danish type2: København/Hovedstaden/55.6761/12.5683|Aarhus/Midtjylland/56.1629/10.2039
  Odense/Syddanmark/55.4038/10.4024|Aalborg/Nordjylland/57.0488/9.9217
FI 14 finnish type2: Helsinki/Uusimaa/60.1699/24.9384|Tampere/Pirkanmaa/61.4978/23.7610
  Turku/Varsinais-Suomi/60.4518/22.2666|Oulu/Pohjois-Pohjanmaa/65.0121/25.4651
IS 3 icelandic type2: Reykjavík//64.1466/-21.9426|Akureyri//65.6885/-18.1262|Selfoss//63.9331/-20.9971
PL 22 polish type2: Warszawa/mazowieckie/52.2297/21.0122|Kraków/małopolskie/50.0647/19.9450
  Wrocław/dolnośląskie/51.1079/17.0385|Poznań/wielkopolskie/52.4064/16.9252|Gdańsk/pomorskie/54.3520/18.6466
  Łódź/łódzkie/51.7592/19.4560|Lublin/lubelskie/51.2465/22.5684
CZ 12 czech type2: Praha/Hlavní město Praha/50.0755/14.4378|Brno/Jihomoravský kraj/49.1951/16.6068
  Ostrava/Moravskoslezský kraj/49.8209/18.2625|Plzeň/Plzeňský kraj/49.7384/13.3736
  Olomouc/Olomoucký kraj/49.5938/17.2509
SK 6 czech type2: Bratislava/Bratislavský kraj/48.1486/17.1077|Košice/Košický kraj/48.7164/21.2611
  Žilina/Žilinský kraj/49.2231/18.7394
HU 9 hungarian type2: Budapest/Budapest/47.4979/19.0402|Debrecen/Hajdú-Bihar/47.5316/21.6273
  Szeged/Csongrád-Csanád/46.2530/20.1414|Győr/Győr-Moson-Sopron/47.6875/17.6504
SI 4 slovene type2: Ljubljana//46.0569/14.5058|Maribor//46.5547/15.6459|Celje//46.2397/15.2677
HR 6 slovene type2: Zagreb/Grad Zagreb/45.8150/15.9819|Osijek/Osječko-baranjska/45.5550/18.6955
  Karlovac/Karlovačka/45.4929/15.5553
AT 18 german type2: Wien/Wien/48.2082/16.3738|Graz/Steiermark/47.0707/15.4395|Linz/Oberösterreich/48.3069/14.2858
  Salzburg/Salzburg/47.8095/13.0550|Innsbruck/Tirol/47.2692/11.4041
CH 20 german type2: Zürich/ZH/47.3769/8.5417|Bern/BE/46.9480/7.4474|Basel/BS/47.5596/7.5886|Winterthur/ZH/47.5000/8.7241
  Luzern/LU/47.0502/8.3093|St. Gallen/SG/47.4245/9.3767
BE 26 dutch type2: Antwerpen/Antwerpen/51.2194/4.4025|Gent/Oost-Vlaanderen/51.0543/3.7174
  Leuven/Vlaams-Brabant/50.8798/4.7005|Mechelen/Antwerpen/51.0259/4.4776|Hasselt/Limburg/50.9307/5.3325
LU 4 french type2: Luxembourg//49.6116/6.1319|Esch-sur-Alzette//49.4958/5.9806|Ettelbruck//49.8475/6.1042
IE 9 british british: Dublin/Leinster/53.3498/-6.2603|Cork/Munster/51.8985/-8.4756|Limerick/Munster/52.6638/-8.6267
  Kilkenny/Leinster/52.6541/-7.2448
ES 30 spanish type2: Madrid/Comunidad de Madrid/40.4168/-3.7038|Barcelona/Cataluña/41.3874/2.1686
  Valencia/Comunidad Valenciana/39.4699/-0.3763|Sevilla/Andalucía/37.3891/-5.9845|Zaragoza/Aragón/41.6488/-0.8891
  Valladolid/Castilla y León/41.6523/-4.7245|Murcia/Región de Murcia/37.9922/-1.1307
  Vitoria-Gasteiz/País Vasco/42.8467/-2.6716
PT 14 portuguese type2: Lisboa/Lisboa/38.7223/-9.1393|Porto/Porto/41.1579/-8.6291|Coimbra/Coimbra/40.2033/-8.4103
  Braga/Braga/41.5454/-8.4265|Évora/Évora/38.5714/-7.9135
IT 38 italian type2: Roma/Lazio/41.9028/12.4964|Milano/Lombardia/45.4642/9.1900|Torino/Piemonte/45.0703/7.6869
  Bologna/Emilia-Romagna/44.4949/11.3426|Firenze/Toscana/43.7696/11.2558|Verona/Veneto/45.4384/10.9916
  Perugia/Umbria/43.1107/12.3908|Trento/Trentino-Alto Adige/46.0748/11.1217|Lecce/Puglia/40.3515/18.1750
GR 7 greek type2: Athina/Attica/37.9838/23.7275|Larissa/Thessaly/39.6390/22.4191
  Ioannina/Epirus/39.6650/20.8537|Tripoli/Peloponnese/37.5089/22.3794
RO 8 romanian type2: București/București/44.4268/26.1025|Cluj-Napoca/Cluj/46.7712/23.6236
  Timișoara/Timiș/45.7489/21.2087
  Brașov/Brașov/45.6427/25.5887
EE 4 estonian type2: Tallinn/Harjumaa/59.4370/24.7536|Tartu/Tartumaa/58.3780/26.7290|Paide/Järvamaa/58.8856/25.5572
LV 4 baltic type2: Rīga//56.9496/24.1052|Daugavpils//55.8714/26.5161|Valmiera//57.5385/25.4264
LT 5 baltic type2: Vilnius/Vilniaus apskritis/54.6872/25.2797|Kaunas/Kauno apskritis/54.8985/23.9036
  Panevėžys/Panevėžio apskritis/55.7348/24.3575
TR 8 turkish type2: Ankara/Ankara/39.9334/32.8597|Bursa/Bursa/40.1885/29.0610|Konya/Konya/37.8746/32.4932
  Eskişehir/Eskişehir/39.7667/30.5256
JP 28 japanese japan: Tokyo/Tokyo/35.6762/139.6503|Nagoya/Aichi/35.1815/136.9066|Kyoto/Kyoto/35.0116/135.7681
  Sapporo/Hokkaido/43.0618/141.3545|Sendai/Miyagi/38.2682/140.8694|Saitama/Saitama/35.8617/139.6455
  Kumamoto/Kumamoto/32.8031/130.7079|Nagano/Nagano/36.6513/138.1810
KR 14 korean type1: Seoul/Seoul/37.5665/126.9780|Daegu/Daegu/35.8714/128.6014|Daejeon/Daejeon/36.3504/127.3845
  Gwangju/Gwangju/35.1595/126.8526
IN 16 commonwealth type2: Bengaluru/Karnataka/12.9716/77.5946|New Delhi/Delhi/28.6139/77.2090
  Pune/Maharashtra/18.5204/73.8567|Hyderabad/Telangana/17.3850/78.4867|Jaipur/Rajasthan/26.9124/75.7873
AU 18 commonwealth type2: Sydney/NSW/-33.8688/151.2093|Melbourne/VIC/-37.8136/144.9631|Brisbane/QLD/-27.4698/153.0251
  Adelaide/SA/-34.9285/138.6007|Canberra/ACT/-35.2809/149.1300|Ballarat/VIC/-37.5622/143.8503|Perth/WA/-31.9523/115.8613
NZ 9 commonwealth type2: Auckland/Auckland/-36.8509/174.7645|Christchurch/Canterbury/-43.5321/172.6362
  Hamilton/Waikato/-37.7870/175.2793|Palmerston North/Manawatū-Whanganui/-40.3523/175.6082
  Queenstown/Otago/-45.0312/168.6626
ZA 5 commonwealth type2: Johannesburg/Gauteng/-26.2041/28.0473|Pretoria/Gauteng/-25.7479/28.2293
  Bloemfontein/Free State/-29.0852/26.1596
BR 14 portuguese type2: São Paulo/São Paulo/-23.5505/-46.6333|Belo Horizonte/Minas Gerais/-19.9167/-43.9345
  Curitiba/Paraná/-25.4284/-49.2733|Brasília/Distrito Federal/-15.7942/-47.8822|Campinas/São Paulo/-22.9099/-47.0626
MX 6 spanish type1: Ciudad de México/Ciudad de México/19.4326/-99.1332|Guadalajara/Jalisco/20.6597/-103.3496
  Monterrey/Nuevo León/25.6866/-100.3161|Puebla/Puebla/19.0414/-98.2063
CL 4 spanish type2: Santiago/Región Metropolitana/-33.4489/-70.6693|Temuco/La Araucanía/-38.7359/-72.5904
  Rancagua/O'Higgins/-34.1708/-70.7444
"""


@dataclass(frozen=True)
class Town:
    name: str
    region: str
    lat: float
    lon: float


@dataclass(frozen=True)
class Country:
    code: str
    weight: int
    manner: str
    plugs: str
    towns: tuple[Town, ...]


def _country(entry: str) -> Country:
    head, _, towns = entry.partition(": ")
    code, weight, manner, plugs = head.split()
    return Country(code, int(weight), manner, plugs, tuple(_town(text) for text in towns.split("|")))


def _town(text: str) -> Town:
    name, region, lat, lon = text.split("/")
    return Town(name, region, float(lat), float(lon))


COUNTRIES = tuple(_country(entry) for entry in _TABLE.strip().replace("\n  ", "|").split("\n"))
