"""How captions say how old a price is."""
from book.components.dates import dated
from gpucalc.rows.rents import cheapest_rent
from tests.gpucalc.test_ages import BOOK, H100


def test_a_caption_says_the_book_the_oldest_row_and_what_is_not_yours():
    rent = cheapest_rent(BOOK, gpu=H100, term="on-demand")
    file = BOOK.attrs["file"]
    assert dated(BOOK, rent) == f"prices: {file}, the oldest of {rent.date}"
    assert dated(BOOK) == f"prices: {file}"
    mine = BOOK.assign(yours=False)
    mine.attrs = BOOK.attrs | {"own": True}
    assert dated(mine, rent) == f"prices: {file}, the oldest of {rent.date}; in part not yours"
