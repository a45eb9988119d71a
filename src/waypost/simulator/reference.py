"""The lists that records refer to by id: countries, operators, connection types and so on, in the provider's shape.

Entries stay JSON objects, because a file of records brings entries of its own, in whatever shape they have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.kernel.folding import slug
from waypost.places.countries import NAMES
from waypost.simulator.manners import MANNERS

Entry = dict[str, Any]
Lists = dict[str, list[Entry]]

# The provider's own numbers where they are well known; other countries are numbered from 300.
_WELL_KNOWN = """
GB 1|US 2|IE 3|HK 4|AU 18|AT 19|BE 26|BR 36|CA 44|CN 50|DK 65|EE 74|FI 79|FR 80|DE 87|IT 112|JP 114|LT 131|LU 132
MC 149|NL 159|NO 168|PL 179|PT 180|ES 210|SE 216|CH 217
"""
_COUNTRY_IDS = {pair[:2]: int(pair[3:]) for line in _WELL_KNOWN.strip().splitlines() for pair in line.split("|")}
_CONTINENTS = {
    code: continent
    for continent, codes in {
        "AF": "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW "
        "MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
        "AN": "AQ BV GS HM TF",
        "AS": "AE AF AM AZ BD BH BN BT CC CN CX GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV "
        "MY NP OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE",
        "NA": "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV "
        "SX TC TT US VC VG VI",
        "OC": "AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
        "SA": "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
    }.items()
    for code in codes.split()
}
UNKNOWN_OPERATOR, BUSINESS_OWNER, FIRST_OPERATOR = 1, 45, 100
OPERATORS = tuple(name for manner in MANNERS.values() for name in manner.operators)


@dataclass(frozen=True)
class Reference:
    """All lists by name, as `/v3/referencedata` serves them, and the known country codes."""

    lists: Mapping[str, list[Entry]]
    country_codes: frozenset[str]
    encoded: bytes

    @classmethod
    def of(cls, lists: Lists) -> "Reference":
        codes = frozenset(code for entry in lists["Countries"] if isinstance(code := entry.get("ISOCode"), str))
        return cls(lists, codes, msgspec.json.encode(lists))

    def by_id(self, name: str) -> dict[int, Entry]:
        return {entry["ID"]: entry for entry in self.lists[name]}


def website(operator: str) -> str:
    """An address that can never belong to anybody."""
    return f"https://{slug(operator)}.example/"


def built_in() -> Lists:
    return {
        "ChargerTypes": _entries(
            ("Title", "Comments", "IsFastChargeCapable"),
            (1, "Level 1 : Low (Under 2kW)", "Under 2 kW, usually domestic socket types", False),
            (2, "Level 2 : Medium (Over 2kW)", "Over 2 kW, usually non-domestic socket type", False),
            (3, "Level 3:  High (Over 40kW)", "40KW and Higher", True),
        ),
        "ConnectionTypes": _connection_types(),
        "CurrentTypes": _entries(
            ("Title", "Description"),
            (10, "AC (Single-Phase)", "Alternating Current - Single Phase"),
            (20, "AC (Three-Phase)", "Alternating Current - Three Phase"),
            (30, "DC", "Direct Current"),
        ),
        "Countries": sorted(map(_country, NAMES), key=lambda entry: int(entry["ID"])),
        "DataProviders": _data_providers(),
        "Operators": _operators(),
        "StatusTypes": _entries(
            ("Title", "IsOperational", "IsUserSelectable"),
            (0, "Unknown", None, True),
            (30, "Temporarily Unavailable", True, True),
            (50, "Operational", True, True),
            (75, "Partly Operational (Mixed)", True, True),
            (100, "Not Operational", False, True),
            (150, "Planned For Future Date", False, True),
            (200, "Removed (Decommissioned)", False, True),
        ),
        "SubmissionStatusTypes": _entries(
            ("Title", "IsLive"),
            (100, "Imported and Published", True),
            (200, "Submission Published", True),
            (1000, "Delisted", False),
        ),
        "UsageTypes": _entries(
            ("Title", "IsPayAtLocation", "IsMembershipRequired", "IsAccessKeyRequired"),
            (0, "(Unknown)", None, None, None),
            (1, "Public", None, None, None),
            (2, "Private - Restricted Access", None, True, None),
            (4, "Public - Membership Required", False, True, True),
            (5, "Public - Pay At Location", True, False, False),
            (6, "Private - For Staff, Visitors or Customers", False, False, False),
            (7, "Public - Notice Required", False, False, False),
        ),
    }


def _entries(fields: tuple[str, ...], *rows: tuple[Any, ...]) -> list[Entry]:
    return [dict(zip(("ID", *fields), row, strict=True)) for row in rows]


def _connection_types() -> list[Entry]:
    names: Iterable[tuple[int, str, str | None]] = (
        (0, "Unknown", "Not Specified"),
        (1, "Type 1 (J1772)", "SAE J1772-2009"),
        (2, "CHAdeMO", "IEC 62196-3 Configuration AA"),
        (3, "BS1363 3 Pin 13 Amp", "BS1363 / Type G"),
        (9, "NEMA 5-20R", None),
        (25, "Type 2 (Socket Only)", "IEC 62196-2 Type 2"),
        (28, "CEE 7/4 - Schuko - Type F", "CEE 7/4"),
        (32, "CCS (Type 1)", "IEC 62196-3 Configuration EE"),
        (33, "CCS (Type 2)", "IEC 62196-3 Configuration FF"),
        (1036, "Type 2 (Tethered Connector) ", "IEC 62196-2"),
    )
    flags = {"IsDiscontinued": False, "IsObsolete": False}
    return [{"ID": number, "Title": title, "FormalName": formal, **flags} for number, title, formal in names]


def _country(code: str) -> Entry:
    number = _COUNTRY_IDS.get(code) or 300 + list(NAMES).index(code)
    return {"ID": number, "Title": NAMES[code], "ISOCode": code, "ContinentCode": _CONTINENTS.get(code, "EU")}


def _data_providers() -> list[Entry]:
    manual = {"ID": 1, "Title": "Manual Data Entry", "IsProviderEnabled": True}
    automated = {"ID": 20, "Title": "Automated Import", "IsProviderEnabled": True}
    rows = (
        (1, "Simulated Contributors", manual, True),
        (2, "Simulated National Registry", automated, True),
        (3, "Simulated Roaming Feed", automated, False),
    )
    return [
        {
            "ID": number,
            "Title": title,
            "WebsiteURL": website(title),
            "Comments": None,
            "DataProviderStatusType": how,
            "IsRestrictedEdit": False,
            "IsOpenDataLicensed": is_open,
            "IsApprovedImport": True,
            "License": "Invented data, for any purpose" if is_open else "Invented data, not openly licensed",
            "DateLastImported": None,
        }
        for number, title, how, is_open in rows
    ]


def _operators() -> list[Entry]:
    invented = ((FIRST_OPERATOR + index, name, website(name)) for index, name in enumerate(OPERATORS))
    rows = (
        (UNKNOWN_OPERATOR, "(Unknown Operator)", None),
        (BUSINESS_OWNER, "(Business Owner at Location)", None),
        *invented,
    )
    empty = (
        "Comments",
        "PhonePrimaryContact",
        "PhoneSecondaryContact",
        "IsPrivateIndividual",
        "AddressInfo",
        "BookingURL",
    )
    return [
        {
            "ID": number,
            "Title": title,
            "WebsiteURL": site,
            **dict.fromkeys(empty),
            "ContactEmail": None,
            "FaultReportEmail": None,
            "IsRestrictedEdit": False,
        }
        for number, title, site in rows
    ]
