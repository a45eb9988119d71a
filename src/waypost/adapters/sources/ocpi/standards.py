"""The standards of connectors, as people call them."""

_NAMES = {
    "CHADEMO": "CHAdeMO",
    "CHAOJI": "ChaoJi",
    "GBT_AC": "GB/T (AC)",
    "GBT_DC": "GB/T (DC)",
    "IEC_62196_T1": "Type 1 (J1772)",
    "IEC_62196_T1_COMBO": "CCS (Type 1)",
    "IEC_62196_T2": "Type 2",
    "IEC_62196_T2_COMBO": "CCS (Type 2)",
    "IEC_62196_T3A": "Type 3A",
    "IEC_62196_T3C": "Type 3C",
    "PANTOGRAPH_BOTTOM_UP": "Pantograph, from below",
    "PANTOGRAPH_TOP_DOWN": "Pantograph, from above",
    "SAE_J3400": "NACS (J3400)",
    "TESLA_R": "Tesla Roadster",
    "TESLA_S": "Tesla",
}
_FAMILIES = {
    "DOMESTIC_": "Domestic socket, type ",
    "IEC_60309_2_": "IEC 60309, ",
    "NEMA_": "NEMA ",
}


def name_of(standard: str) -> str:
    """Returns the usual name; one that is new to us is shown as it comes, with spaces."""
    if standard in _NAMES:
        return _NAMES[standard]
    for start, name in _FAMILIES.items():
        if standard.startswith(start):
            return name + standard.removeprefix(start).replace("_", " ")
    return standard.replace("_", " ").strip() or "unknown"
