"""What a reader is shown of two price books, and how a page shows it."""
import pandas
import pytest

from book.pages import what_changed
from gpucalc import what_changed as wc
from gpucalc.core.figures import times
from gpucalc.laws.owning import owned_usd_per_hour
from gpucalc.rows import catalogue, price_book
from tests.book import test_what_changed as older
from tests.pictures import boxes

H100 = "H100 SXM 80GB"
SITUATION = wc.Situation(models=())


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    found = []
    for name, text in (("old.csv", older.OLD), ("new.csv", older.NEW)):
        path = tmp_path_factory.mktemp("books") / name
        path.write_text(text)
        found.append(price_book.prices(path))
    return found


@pytest.fixture(scope="module")
def moved(books):
    return what_changed.moved_prices(*books)


def test_prices_that_moved_stand_in_the_order_of_their_ratio(moved):
    assert set(moved.change == 0) == {False} and moved.ratio.is_monotonic_increasing
    first = moved.iloc[0]
    assert (first.offer, first.before, first.after) == ("AWS p5, on-demand", 80, 40)
    assert first.change == -0.5
    assert "AWS out, egress" in set(moved.offer), "what is no rent is named by its item"


def test_the_widest_move_is_up_or_down(moved):
    assert what_changed.widest(moved).after == 40
    assert what_changed.widest(moved.assign(ratio=moved["ratio"].where(moved["term"] != "spot", 2.5))).term == "spot"
    assert what_changed.widest(moved.head(0)) is None


def test_a_newer_book_may_rest_on_an_older_row():
    moves = pandas.DataFrame({"date_before": ["2026-01", "2025", "2025-06-01", "2026"],
                              "date_after": ["2025", "2025-03", "2025-05", "2026-01"]})
    assert list(what_changed.on_older_rows(moves).index) == [0, 2], "a year says nothing of the months in it"
    assert what_changed.on_older_rows(moves.head(0)).empty


def test_what_cannot_be_compared_is_counted_once(books):
    compared = what_changed.compared(*books, SITUATION)
    found = what_changed.lacking(compared, *books)
    assert found[["older", "newer", "neither"]].sum().sum() == (compared["verdict"] == "missing").sum() > 0
    assert what_changed.lacking(compared[compared["verdict"] != "missing"], *books).empty


@pytest.fixture(scope="module")
def steps(books):
    """At a utilization between the two edges, where the newer rent flips the decision."""
    edges = [wc.decision(book, H100)["break_even_utilization"] for book in books]
    return what_changed.one_at_a_time(*books, H100, wc.Situation(utilization=sum(edges) / 2))


def test_a_price_flips_a_decision_alone_or_not(books, steps):
    assert what_changed.flips_alone(steps) == ["rent"]
    assert what_changed.flips_alone(what_changed.one_at_a_time(*books, H100, wc.Situation(utilization=0.05))) == []


def test_costs_over_utilization_are_those_of_each_decision(books):
    pairs = dict(zip(("older", "newer"), books))
    deals = {name: wc.decision(book, H100)["deal"] for name, book in pairs.items()}
    found = what_changed.costs_by_use(deals, H100, [0.3, 0.75]).set_index(["book", "hour", "utilization"]).cost
    for name, book in pairs.items():
        alone = wc.decision(book, H100, wc.Situation(utilization=0.75))
        assert found[name, "owned", 0.75] == pytest.approx(alone["owned_usd_per_hour"], rel=1e-12)
        assert found[name, "rented", 0.75] == pytest.approx(alone["level_usd_per_hour"], rel=1e-12)
    assert found["older", "owned", 0.3] > found["older", "owned", 0.75]
    case = deals["older"].case(catalogue.gpu(H100)).but(utilization=0.3)
    assert found["older", "owned", 0.3] == case(owned_usd_per_hour)


def test_the_middle_of_what_was_asked_for_again():
    """Of 0, +10 and +50 %: the middle 10, a tenth of the way 2, nine tenths 42; a row of an older date or of spot counts for nothing."""
    moves = pandas.DataFrame({"term": ["on-demand"] * 4 + ["spot"], "ratio": [1, 1.1, 1.5, 9, 9], "provider": list("AABCC"),
                              "date_before": ["2026-01"] * 5, "date_after": ["2026-02"] * 3 + ["2026-01", "2026-02"]})
    found = what_changed.rise(moves)
    assert (found.low, found.plan, found.high) == pytest.approx((0.02, 0.1, 0.42))
    assert (found.rows, found.value) == (3, found.plan) and what_changed.rise(moves.head(0)) is None


def test_rents_over_the_years_by_window():
    found = what_changed.rents_by_window()
    assert list(dict.fromkeys(found["window"])) == list(what_changed.windows())
    assert found[found["gpu"] == H100]["pairs"].to_list() == [5, 9, 4], "the order in which the page reads them"
    shown = what_changed.rents_table(found, "Rents").source
    assert "−23.3 %" in shown and "+16.4 %" in shown and shown.count("<tr>") == 1 + len(found)


def test_rents_are_drawn_over_those_of_the_same_provider_at_the_turn():
    found = what_changed.against_turn(H100)
    at_turn = found[found["date"] == what_changed.TURNING_MONTH]
    assert len(at_turn) >= 7 and (at_turn["level"] == 1).all() and found["provider"].nunique() == 9
    last = found.sort_values("date").groupby("provider")["level"].last()
    assert (last >= 1).all() and (last > 1).sum() == 5
    chart = what_changed.rents_chart(found, what_changed.TURNING_MONTH, "says").to_dict()
    assert chart["usermeta"]["alt"] == "says" and chart["layer"][0]["mark"]["interpolate"] == "step-after"
    assert chart["layer"][0]["encoding"]["y"]["title"] == "rent over the same provider's in 2025-10"


# On a page

def test_moves_as_a_table_and_bars(moved, books):
    assert "−11.1 %" in what_changed.moved_table(moved, "Moved").source
    moves = what_changed.provider_moves(*books).sort_values("ratio")
    chart = what_changed.moves_chart(moves)
    low, high = chart.to_dict()["encoding"]["x"]["scale"]["domain"]
    assert low < moves.ratio.min() and high > moves.ratio.max()
    (bars,) = chart.to_dict()["datasets"].values()
    assert [bar["offer"] for bar in bars] == [f"{row.provider}, {row.term}|{row.gpu}" for row in moves.itertuples()]
    assert chart.to_dict()["encoding"]["x"]["axis"]["values"] == [0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert {(bar["same"], bar["instance"]) for bar in bars} <= {(True, "same SKU"), (False, "other SKU")}
    alt = chart.usermeta["alt"]
    first, last = moves.iloc[0], moves.iloc[-1]
    assert alt == (f"How the cheapest GPU-hour of each provider moved. The ends are {first.provider}, {first.term}, {first.gpu} at "
                   f"{times(first.ratio)} the older price and {last.provider}, {last.term}, {last.gpu} at {times(last.ratio)} the "
                   "older price.")
    assert chart.to_dict()["height"] == max(120, 36 * len(moves))
    assert what_changed.moves_chart(moves.head(0)).usermeta["alt"] == "No provider's cheapest GPU-hour moved."
    assert what_changed.moves_chart(moves.head(1)).usermeta["alt"].count(" the older price") == 1


def test_steps_as_a_table(steps, books):
    assert "flips" in what_changed.steps_table(steps, ["price", "old", "answer", "flips"], "Steps").source
    none = what_changed.one_at_a_time(books[0], books[0], H100)
    assert "older, USD" not in what_changed.steps_table(none, ["price", "old", "answer", "flips"], "Steps").source


@pytest.mark.parametrize("before, after, here, said", [
    (0.4, 0.7, 0.5, "flips the decision"), (0.7, 0.4, 0.4, "changes nothing"), (0.4, 0.7, 0.71, "changes nothing"), (0.9, 1.6, 1.45, "flips the decision"),
    (0.5, 4.0, 1.5, "flips the decision"), (0.6, 0.8, None, "only between the two")])
def test_the_zone_in_which_a_decision_flips(before, after, here, said):
    """Rent below both break-evens, own above both, to scale; the line ends at all hours, or behind the later break-even."""
    shown = what_changed.flip_zone(before, after, here, "H100")
    low, high, reach = *sorted((before, after)), max(1, min(max(before, after) * 1.15, 3))
    zones = [boxes(shown, color)[0] for color in ("b", "wash", "a")]
    edges = [8 + 384 * min(share / reach, 1) for share in (0, low, high, max(reach, high))]
    assert [zone.left for zone in zones] == pytest.approx(edges[:3], abs=0.1) and [zone.right for zone in zones] == pytest.approx(edges[1:], abs=0.1)
    assert said in shown.plain and ("rent<" in shown.source) == (edges[1] > 68) and ("you: " in shown.source) == (here is not None)
    assert here is None or ("above both" in shown.plain) == (here > high) and ("below both" in shown.plain) == (here <= low)
