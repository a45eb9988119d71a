"""Polish and German, checked by hand: how adjectives agree with the nouns we ship, and what sounds alike."""

import pytest

from waypost.sharing.phrases.language import Language
from waypost.sharing.phrases.vocabulary import shipped

# An adjective as a dictionary has it, then as it stands before a noun of each class; the nouns are hard ones, too:
# "astronauta" is masculine in spite of its ending, "noc" feminine in spite of having none.
POLISH = """
zielony: zielony bocian, zielona sowa, zielone jezioro, zielone skrzypce
złoty: złoty smok, złota królowa, złote runo, złote organy
duży: duży kot, duża gałąź, duże jabłko, duże pierogi
cichy: cichy solista, cicha noc, ciche molo, ciche drzwi
śpiący: śpiący kosmonauta, śpiąca foka, śpiące szczenię, śpiące kocięta
nocny: nocny księżyc, nocna podróż, nocne niebo, nocne plejady
niebieski: niebieski astronauta, niebieska supernowa, niebieskie ufo, niebieskie łyżwy
wielki: wielki satelita, wielka opowieść, wielkie królestwo, wielkie schody
maleńki: maleńki pianista, maleńka sól, maleńkie pisklę, maleńkie klocki
krótki: krótki walc, krótka baśń, krótkie preludium, krótkie narty
górski: górski potok, górska paproć, górskie echo, górskie igrzyska
długi: długi most, długa równonoc, długie tango, długie szuwary
drogi: drogi klejnot, droga perła, drogie szkiełko, drogie okulary
motyli: motyli balet, motyla wyspa, motyle święto, motyle zarośla
sokoli: sokoli król, sokola wieża, sokole serce, sokole arkady
letni: letni poranek, letnia łąka, letnie morze, letnie wrotki
lisi: lisi sekret, lisia ścieżka, lisie marzenie, lisie szachy
żółwi: żółwi kosmita, żółwia kołysanka, żółwie boisko, żółwie kalosze
niedźwiedzi: niedźwiedzi mazurek, niedźwiedzia jesień, niedźwiedzie śniadanie, niedźwiedzie kluski
olbrzymi: olbrzymi merkury, olbrzymia wenus, olbrzymie słońce, olbrzymie pierścienie
"""

GERMAN = """
grün: grüner otter, grüne eule, grünes krokodil, grüne murmeln
klein: kleiner könig, kleine uhr, kleines mammut, kleine zwillinge
süß: süßer lebkuchen, süße brezel, süßes plätzchen, süße spätzle
neu: neuer gedanke, neue insel, neues fahrrad, neue turnschuhe
nah: naher stern, nahe galaxie, nahes universum, nahe plejaden
blau: blauer wal, blaue seerose, blaues veilchen, blaue wasserfarben
schlau: schlauer fuchs, schlaue elster, schlaues eichhörnchen, schlaue zwillinge
golden: goldener turm, goldene trompete, goldenes vlies, goldene sandalen
selten: seltener komet, seltene nova, seltenes geheimnis, seltene perseiden
kupfern: kupferner dreizack, kupferne teekanne, kupfernes teleskop, kupferne zimbeln
munter: munterer seehund, muntere ente, munteres fohlen, muntere murmeln
tanzend: tanzender bär, tanzende katze, tanzendes pony, tanzende rollschuhe
gestreift: gestreifter tiger, gestreifte krawatte, gestreiftes zebra, gestreifte hausschuhe
hell: heller mond, helle sonne, helles licht, helle ferien
weise: weiser drache, weise schildkröte, weises nashorn, weise zwillinge
leise: leiser donner, leise musik, leises lied, leise gezeiten
edel: edler ritter, edle prinzessin, edles einhorn, edle stelzen
nobel: nobler palast, noble residenz, nobles hotel, noble zauberschuhe
flexibel: flexibler kalender, flexible leinwand, flexibles lineal, flexible ferien
komfortabel: komfortabler raumanzug, komfortable hütte, komfortables baumhaus, komfortable turnschuhe
sauer: saurer apfel, saure kirsche, saures obst, saure makkaroni
teuer: teurer diamant, teure perle, teures amulett, teure spielkarten
"""
TABLES = {"pl": POLISH, "de": GERMAN}


def examples() -> list[tuple[str, str, str]]:
    return [
        (language, adjective, phrase)
        for language, table in TABLES.items()
        for adjective, phrases in (line.split(": ") for line in table.strip().splitlines())
        for phrase in phrases.split(", ")
    ]


def before(noun: str, adjective: str, language: Language) -> str:
    kind = next(each.kind for nouns in language.nouns.values() for each in nouns if each.word == noun)
    forms = dict(zip(language.agreement.classes, language.agreement.forms(adjective) or (), strict=True))
    return f"{forms[kind]} {noun}"


@pytest.mark.parametrize(("language", "adjective", "phrase"), examples())
def test_an_adjective_agrees_with_its_noun(language: str, adjective: str, phrase: str) -> None:
    noun = phrase.rsplit(maxsplit=1)[-1]
    assert before(noun, adjective, shipped().language(language)) == phrase


@pytest.mark.parametrize("language", TABLES)
def test_every_ending_has_been_checked_by_hand(language: str) -> None:
    endings = shipped().language(language).agreement.endings
    checked = {adjective for code, adjective, _ in examples() if code == language}
    longest = {max((end for end in endings if each.endswith(end)), key=len) for each in checked}
    assert longest == set(endings)


@pytest.mark.parametrize("language", TABLES)
def test_every_class_has_nouns(language: str) -> None:
    shipped_language = shipped().language(language)
    kinds = {noun.kind for nouns in shipped_language.nouns.values() for noun in nouns}
    assert kinds == set(shipped_language.agreement.classes)


@pytest.mark.parametrize(
    ("language", "pairs"),
    [
        ("pl", "morze może, bród brud, kot kod, góra kura, chart hart, bułka półka, trzy czy, koza kosa, kasza kasia"),
        ("de", "lerche lärche, wal wahl, saite seite, rad rat, viel fiel, stadt statt, kirche kirsche, tier tür"),
    ],
)
def test_words_that_would_be_confused_on_the_phone_sound_alike(language: str, pairs: str) -> None:
    key = shipped().language(language).sounding.key
    for one, two in (pair.split() for pair in pairs.split(", ")):
        assert key(one) == key(two)


@pytest.mark.parametrize(
    ("language", "pairs"),
    [
        ("pl", "las lis, kot kos, rosa róża, zielony zielona, smok sok, cicho cicha, lato łata"),
        ("de", "rose riese, hase hose, mond mund, grüner grünes, wolke welle, fuchs fisch, sonne sahne"),
    ],
)
def test_words_that_differ_by_ear_do_not_sound_alike(language: str, pairs: str) -> None:
    key = shipped().language(language).sounding.key
    for one, two in (pair.split() for pair in pairs.split(", ")):
        assert key(one) != key(two)
