"""Numbers along the quadtree: a cell is one run of them, whatever its size."""

from hypothesis import example, given
from hypothesis import strategies as st

from waypost.importing.geography import CODE_DEPTH, FLOOR_DEPTH, Cell, cell_of, code_of

lats, lons = st.floats(-90, 90), st.floats(-180, 180)
cells = st.text("0123", max_size=FLOOR_DEPTH).map(Cell)


@given(lats, lons, cells)
@example(90.0, 180.0, Cell(""))
@example(0.0, 0.0, Cell("1"))
@example(-90.0, -180.0, Cell("2"))
def test_a_point_is_in_a_cell_exactly_when_its_number_is_in_the_run(lat: float, lon: float, cell: Cell) -> None:
    assert cell.holds(lat, lon) == (code_of(lat, lon) in cell.codes)


@given(lats, lons, st.integers(0, FLOOR_DEPTH))
def test_a_point_has_its_number_in_the_runs_of_all_cells_around_it(lat: float, lon: float, depth: int) -> None:
    assert code_of(lat, lon) in cell_of(lat, lon, depth).codes


@given(cells)
def test_the_runs_of_the_quarters_make_up_the_run_of_the_cell(cell: Cell) -> None:
    quarters = [quarter.codes for quarter in cell.quarters()]
    if quarters:
        ends = [cell.codes.start, *(codes.stop for codes in quarters)]
        assert ends[-1] == cell.codes.stop
        assert [codes.start for codes in quarters] == ends[:-1]


def test_the_numbers_fit_into_what_keys_and_stores_have_for_them() -> None:
    assert Cell("").codes == range(4**CODE_DEPTH)
    assert 4**CODE_DEPTH < 10**18
