"""What can be plugged in where: connection types with the currents and powers usual for them."""

from dataclasses import dataclass

AC, THREE_PHASE, DC = 10, 20, 30


@dataclass(frozen=True)
class Plug:
    """A connection as places have it; `kind`, `level` and `current` are ids of reference entries."""

    kind: int
    level: int
    amps: int
    volts: int
    kilowatts: float
    current: int


# A row that is listed twice is twice as likely.
PLUGS = {
    "type2": (
        Plug(25, 2, 32, 400, 22.0, THREE_PHASE),
        Plug(25, 2, 32, 400, 22.0, THREE_PHASE),
        Plug(25, 2, 16, 400, 11.0, THREE_PHASE),
        Plug(1036, 2, 32, 400, 22.0, THREE_PHASE),
        Plug(25, 2, 16, 230, 3.7, AC),
        Plug(28, 1, 8, 230, 1.8, AC),
        Plug(33, 3, 125, 400, 50.0, DC),
        Plug(33, 3, 375, 400, 150.0, DC),
        Plug(33, 3, 500, 600, 300.0, DC),
        Plug(2, 3, 125, 400, 50.0, DC),
    ),
    "british": (
        Plug(25, 2, 32, 230, 7.4, AC),
        Plug(25, 2, 32, 230, 7.4, AC),
        Plug(25, 2, 32, 400, 22.0, THREE_PHASE),
        Plug(1036, 3, 63, 400, 43.0, THREE_PHASE),
        Plug(3, 2, 13, 230, 3.0, AC),
        Plug(33, 3, 125, 400, 50.0, DC),
        Plug(33, 3, 375, 400, 150.0, DC),
        Plug(2, 3, 125, 400, 50.0, DC),
    ),
    "type1": (
        Plug(1, 2, 30, 208, 6.2, AC),
        Plug(1, 2, 32, 240, 7.7, AC),
        Plug(1, 2, 48, 240, 11.5, AC),
        Plug(9, 1, 16, 120, 1.9, AC),
        Plug(32, 3, 125, 400, 50.0, DC),
        Plug(32, 3, 350, 430, 150.0, DC),
        Plug(2, 3, 125, 400, 50.0, DC),
    ),
    "japan": (
        Plug(1, 2, 16, 200, 3.2, AC),
        Plug(1, 2, 30, 200, 6.0, AC),
        Plug(2, 2, 60, 400, 20.0, DC),
        Plug(2, 3, 125, 400, 50.0, DC),
        Plug(2, 3, 225, 400, 90.0, DC),
    ),
}
