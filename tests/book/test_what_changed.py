"""Two books compared: which prices are the same, what moved, and which conclusions flip; on small books and the project's."""
import math

import pandas
import pytest

from book.pages import what_changed as page
from book.prices.book_diff import matched
from gpucalc import what_changed as wc
from gpucalc.core.figures import percent
from gpucalc.decisions import token_offers
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm, sold
from gpucalc.rows.price_book import PRICES, MissingPrice, price_books, prices, project_book
from gpucalc.rows.tables import DATA

HEADER = ",".join(PRICES.columns)
H100 = "H100 SXM 80GB"
OLD = f"""{HEADER}
rent,AWS,p5,{H100},8,not stated,on-demand,80,USD,USD/h,,,,,,2025,list,seen,
rent,AWS,p5,{H100},8,not stated,reserved-3y,44,USD,USD/h,3,,,,,2025,list,seen,
rent,AWS,p5,{H100},8,not stated,spot,32,USD,USD/h,,,,,,2025,list,seen,
rent,AWS,SageMaker ml.p5,{H100},8,us-east-1,managed,80.1,USD,USD/h,,,p5,,,2025,list,seen,
rent,Other,eight,{H100},8,all,on-demand,72,USD,USD/h,,,,,,2025,list,seen,
rent,Other,a100,A100 SXM 80GB,8,all,on-demand,32,USD,USD/h,,,,,,2025,list,seen,
rent,Gone,x,{H100},1,all,on-demand,1,USD,USD/h,,,,,,2025,list,seen,
server,Maker,8x,{H100},8,west,purchase,250000,USD,USD,,,,,,2025,list,seen,
power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2025,list,seen,
hosting,Hall,rack,,,west,list,1000,USD,USD/month,,,,,,2025,list,seen,
egress,AWS,out,,,west,list,0,USD,USD/GB,,,,0,100e9,2025,list,seen,
egress,AWS,out,,,west,list,0.09,USD,USD/GB,,,,100e9,,2025,list,seen,
api-input,Api,Llama-3-8B,,,west,list,1,USD,USD/Mtoken,,,,,,2025,list,seen,
api-output,Api,Llama-3-8B,,,west,list,2,USD,USD/Mtoken,,,,,,2025,list,seen,
"""
NEW = (OLD.replace("p5,H100 SXM 80GB,8,not stated,on-demand,80", "p5,H100 SXM 80GB,8,us-east-1,on-demand,40")
       .replace("not stated,reserved-3y,44", "us-east-1,reserved-3y,30").replace("not stated,spot,32", "eu-west-1,spot,16")
       .replace(f"rent,Gone,x,{H100},1,all,on-demand,1,USD,USD/h,,,,,,2025,list,seen,",
                f"rent,AWS,p5,{H100},8,eu-west-1,on-demand,45,USD,USD/h,,,,,,2025,list,seen,")
       .replace("list,0.09,", "list,0.08,"))


@pytest.fixture
def book(tmp_path):
    def read(text, name="book.csv"):
        (tmp_path / name).write_text(text)
        return project_book(tmp_path / name)
    return read


@pytest.fixture
def books(book):
    return book(OLD, "old.csv"), book(NEW, "new.csv")


def changes(frame):
    return {(row["sku"], row["term"], row["region"], row["from_bytes"]): (row["before"], row["after"], row["change"])
            for row in frame.to_dict("records")}


def test_like_is_matched_with_like(books):
    found = changes(matched(*books))
    assert found["p5", "on-demand", "not stated / us-east-1", 0] == (80, 40, "moved")
    assert found["p5", "spot", "not stated / eu-west-1", 0] == (32, 16, "moved")
    assert found["out", "list", "west", 100e9] == (0.09, 0.08, "moved")
    assert found["out", "list", "west", 0] == (0, 0, "same")
    assert found["p5", "on-demand", "eu-west-1", 0][1:] == (45, "added")
    assert found["x", "on-demand", "all", 0][::2] == (1, "gone")
    ratios = matched(*books).set_index(["sku", "term"])["ratio"]
    assert ratios["p5", "reserved-3y"] == pytest.approx(30 / 44) and math.isnan(ratios["x", "on-demand"])


def test_matching_works_both_ways(books):
    there, back = (matched(*pair)["change"].value_counts() for pair in (books, books[::-1]))
    assert (there["moved"], there["same"]) == (back["moved"], back["same"]) and there["added"] == back["gone"]
    assert set(matched(books[0], books[0])["change"]) == {"same"}


def test_an_unstated_region_is_never_matched_to_one_of_several(book):
    old = book(OLD, "old.csv")
    new = book(NEW.replace("us-east-1,on-demand,40", "ap-south-1,on-demand,40"), "new.csv")
    found = changes(matched(old, new))
    assert found["p5", "on-demand", "not stated", 0][2] == "gone"
    assert {found["p5", "on-demand", region, 0][2] for region in ("ap-south-1", "eu-west-1")} == {"added"}


def test_a_region_that_both_state_is_not_lent_to_an_unstated_one(book):
    """The home region has its own price in the older book, so the unstated one has no partner."""
    extra = f"rent,AWS,p5,{H100},8,us-east-1,on-demand,79,USD,USD/h,,,,,,2025,list,seen,\n"
    found = changes(matched(book(OLD + extra, "old.csv"), book(NEW, "new.csv")))
    assert found["p5", "on-demand", "us-east-1", 0] == (79, 40, "moved")
    assert found["p5", "on-demand", "not stated / eu-west-1", 0] == (80, 45, "moved")


def test_other_numbers_of_gpus_are_another_offer(book):
    frame = matched(book(OLD, "old.csv"), book(NEW.replace(f"eight,{H100},8", f"eight,{H100},4"), "new.csv"))
    assert sorted(frame[frame["sku"] == "eight"]["change"]) == ["added", "gone"]


def test_what_has_no_gpus_has_none_of_them(books):
    """What is no instance counts no GPUs: it is not the same offer as one of a single GPU."""
    frame = matched(*books).set_index("item")
    assert (frame.gpus_per_server["power"], frame.from_bytes["power"], frame.unit["power"]) == (0, 0, "USD/kWh")
    assert list(frame.loc["rent"].query("sku == 'x'").gpus_per_server) == [1]


def verdicts(books, **situation):
    return page.compared(*books, wc.Situation(models=(), **situation)).set_index("question")


def test_a_price_that_moves_within_an_answer_flips_nothing(books, book):
    dearer = book(OLD.replace("8,all,on-demand,72,", "8,all,on-demand,76,"), "dearer.csv")
    row = verdicts((books[0], dearer)).loc["H100 SXM 80GB: rent or own at 60 % utilization?"]
    assert row.value_before != row.value_after and row.answer_before == row.answer_after
    assert row.verdict == "stays" and "rent" in row.moved


def test_a_flip_names_the_price_that_moved_it(books):
    frame = verdicts(books)
    row = frame.loc["H100 SXM 80GB: who rents it cheapest?"]
    assert (row.answer_before, row.answer_after, row.verdict) == ("Other", "AWS", "flips")
    assert row.moved == "AWS 10.00 to 5.00"
    assert row.figure_after == "5.00 USD a GPU-hour; of all: AWS, 5.00 USD a GPU-hour"
    assert row.figure_before == "9.00 USD a GPU-hour; of all: Gone, 1.00 USD a GPU-hour", "of all that the book prices"
    row = frame.loc["AWS p5, us-east-1 (H100 SXM 80GB): does reserved-3y pay at 60 %?"]
    assert (row.answer_before, row.answer_after, row.verdict) == ("reserve", "on demand", "flips")
    assert (row.value_before, row.value_after) == (44 / 80, 30 / 40)
    assert row.moved == "on demand 10.00 to 5.00; reserved-3y 5.50 to 3.75"


def test_candidates_that_one_book_lacks_decide_nothing(books):
    """The older book's cheapest H100 is at a provider that the newer one doesn't price."""
    row = verdicts(books).loc["H100 SXM 80GB: who rents it cheapest?"]
    assert row.answer_before == "Other" and "Gone" not in row.moved
    alone = {each.question: each for each in page.conclusions(books[0], wc.Situation(models=()))}
    assert alone["H100 SXM 80GB: who rents it cheapest?"].answer == "Gone"


@pytest.mark.parametrize("lost, question", [
    (",reserved-3y,", "AWS p5, us-east-1 (H100 SXM 80GB): does reserved-3y pay at 60 %?"),
    (",spot,", "AWS p5, us-east-1 (H100 SXM 80GB): does spot pay for 16 machines?"),
    (",managed,", "AWS SageMaker ml.p5, us-east-1 (H100 SXM 80GB): is the service worth the staff of a server?"),
    ("server,Maker", "H100 SXM 80GB: rent or own at 60 % utilization?"),
    ("power,", "H100 SXM 80GB: rent or own at 60 % utilization?"),
    ("rent,AWS,p5", "H100 SXM 80GB: who rents it cheapest?")])
def test_a_missing_price_is_shown_as_such(books, book, lost, question):
    shorter = book("".join(line for line in NEW.splitlines(keepends=True) if lost not in line), "shorter.csv")
    row = verdicts((books[0], shorter)).loc[question]
    assert row.verdict == "missing" and row.moved == "no price in shorter.csv"
    assert row.answer_before and pandas.isna(row.answer_after)
    assert verdicts((shorter, books[0])).loc[question].moved == "no price in shorter.csv"


def test_a_server_of_unknown_power_allows_no_conclusion(book):
    text = OLD.replace(f"eight,{H100},8", "eight,Trainium 32GB,8").replace(f"8x,{H100},8", "8x,Trainium 32GB,8")
    assert not [each for each in page.conclusions(book(text), wc.Situation(models=())) if each.topic == "rent or own"]


def test_a_book_against_itself_flips_nothing(books):
    for same in books:
        frame = page.compared(same, same, wc.Situation(models=("Llama-3-8B",)))
        assert set(frame["verdict"]) <= {"stays", "close"} and set(frame["moved"]) == {""}


def test_flips_are_the_same_in_both_directions(books):
    there, back = verdicts(books)["verdict"], verdicts(books[::-1])["verdict"]
    assert there.to_dict() == back.to_dict()


def test_the_decision_flips_between_the_two_edges_only(books):
    edges = [wc.decision(each, H100, wc.Situation(), provider="AWS")["break_even_utilization"] for each in books]
    assert 0.1 < edges[0] < edges[1] < 1
    for share, flips in ((0.9 * edges[0], False), (1.1 * edges[0], True), (0.9 * edges[1], True), (1.1 * edges[1], False)):
        answers = {wc.decision(each, H100, wc.Situation(utilization=share), provider="AWS")["answer"] for each in books}
        assert (len(answers) == 2) == flips


def test_what_is_said_follows_the_draws(books):
    """At a utilization at the edge of the band of the break-even owning wins in a tenth of the draws, in its middle in half."""
    edge = wc.decision(books[0], H100, provider="AWS")["edge"]
    assert edge.low < edge.plan < edge.high and edge.rows == wc.DRAWS
    for share, chance, said in ((edge.low, 0.1, "rent"), (edge.plan, 0.5, "too close to call"), (edge.high, 0.9, "own")):
        found = wc.decision(books[0], H100, wc.Situation(utilization=share), provider="AWS")
        assert found["chance"] == pytest.approx(chance, abs=0.02) and found["said"] == said
        assert found["edge"] == edge


def test_an_answer_that_is_too_close_to_call_never_flips(books):
    edges = [wc.decision(each, H100)["edge"] for each in books]
    frame = verdicts(books, utilization=edges[0].plan)
    row = frame.loc[frame.index.str.startswith("H100 SXM 80GB: rent or own")].iloc[0]
    assert (row.answer_before, row.verdict) == ("too close to call", "close")


def test_prices_put_in_one_at_a_time(books, book):
    dearer = book(NEW.replace("purchase,250000", "purchase,500000").replace("list,0.1,", "list,0.2,"), "dearer.csv")
    frame = page.one_at_a_time(books[0], dearer, H100, provider="AWS").set_index("price")
    assert list(frame.index) == ["none", "rent", "server", "power", "all"]
    assert frame.loc["rent", ["old", "new"]].to_list() == [10, 5] and frame.loc["server", "new"] == 500000
    edge = frame["break_even_utilization"]
    assert edge["none"] < edge["power"] < edge["server"] and edge["none"] < edge["rent"] < edge["all"]
    assert edge["rent"] == wc.decision(books[1], H100, provider="AWS")["break_even_utilization"]
    assert edge["all"] == wc.decision(dearer, H100, provider="AWS")["break_even_utilization"]
    assert not frame["flips"]["none"] and frame["flips"]["all"] == (frame["answer"]["all"] != frame["answer"]["none"])


def test_a_server_of_another_size_is_put_in_with_its_size(books, book):
    smaller = (f"8x,{H100},8,west,purchase,250000", f"4x,{H100},4,west,purchase,150000")
    frame = page.one_at_a_time(books[0], book(NEW.replace(*smaller), "smaller.csv"), H100, provider="AWS").set_index("price")
    alone = wc.decision(book(OLD.replace(*smaller), "alone.csv"), H100, provider="AWS")
    assert frame.loc["server", "break_even_utilization"] == alone["break_even_utilization"]


def test_what_the_reader_gives_overrules_both_books(books):
    situation = wc.Situation(given={"server_usd": 1e6, "gpus_per_server": 8, "years": 3})
    for each in books:
        held = wc.decision(each, H100, situation)["deal"]
        assert held.ranges["likely"]["server_usd"] == 1e6 and held.ranges["likely"]["years"] == 3


def test_spot_is_charged_for_its_interruptions(books):
    """Mean time between interruptions of one machine in 16 of a day each: 5,400 s. Slowdown by Daly's complete model."""
    mean, write, restart = 86400 / 16, 60, 600
    part = math.sqrt(2 * write * mean) / (6 * mean)
    work = math.sqrt(2 * write * mean) * (1 + part + part**2) - write
    slowdown = mean * math.exp(restart / mean) * (math.exp((work + write) / mean) - 1) / work
    row = verdicts(books).loc["AWS p5, us-east-1 (H100 SXM 80GB): does spot pay for 16 machines?"]
    assert row.value_before == pytest.approx(32 / 80 * slowdown) and row.answer_before == "spot"
    often = verdicts(books, machines=400).loc["AWS p5, us-east-1 (H100 SXM 80GB): does spot pay for 400 machines?"]
    assert often.answer_before == "on demand"


def test_managed_is_worth_it_below_the_cost_of_staff(books):
    """0.10 USD an hour for the server, 8,760 hours at 60 %: 525.60 USD a year."""
    row = verdicts(books).loc["AWS SageMaker ml.p5, us-east-1 (H100 SXM 80GB): is the service worth the staff of a server?"]
    assert row.value_before == pytest.approx(0.1 * 8760 * 0.6) and row.value_after == pytest.approx(40.1 * 8760 * 0.6)
    staff = catalogue.assumptions().loc["staff_usd_per_year", "likely"]
    assert row.answer_before == ("managed" if 525.6 < staff else "plain") and row.answer_after == "plain"


def test_an_edge_above_all_hours_never_pays(book):
    """A server at 250,000 USD against 9 USD a GPU-hour pays above some share of the hours; at 20 times the price never."""
    for usd, said in ((250_000, "own above "), (5_000_000, "owning never pays")):
        small = book(OLD.replace("purchase,250000", f"purchase,{usd}"), f"{usd}.csv")
        found = next(each for each in page.conclusions(small, wc.Situation(models=())) if each.topic == "rent or own")
        assert found.figure == (said + percent(found.value) if found.value <= 1 else said)
        assert (found.value <= 1) == (usd == 250_000) and found.answer == ("own" if found.value < 0.6 else "rent")


def test_best_value_divides_by_the_peak_and_the_bandwidth(books):
    card = catalogue.gpu(H100)
    found = {each.question: each for each in page.conclusions(books[0], wc.Situation(models=())) if each.topic == "value"}
    assert found["Which GPU rents the cheapest PFLOP/s?"].value == pytest.approx(1 / (card.peak_flops / 1e15))
    assert found["Which GPU rents the cheapest TB/s?"].value == pytest.approx(1 / (card.bandwidth / 1e12))


def test_own_servers_against_an_api(books, book):
    """20 million requests of 2,000 tokens in and 300 out at 1 and 2 USD a million: 52,000 USD a month."""
    situation = wc.Situation(models=("Llama-3-8B",))
    found = next(each for each in page.conclusions(books[0], situation) if each.topic == "serving")
    assert found.figure.endswith("against 52,000 USD") and found.answer == "servers"
    dear = book(OLD.replace("Llama-3-8B,,,west,list,1,", "Llama-3-8B,,,west,list,0.001,").replace("list,2,", "list,0.001,"))
    assert next(each for each in page.conclusions(dear, situation) if each.topic == "serving").answer == "API"


# The project's books


@pytest.fixture(scope="module")
def project():
    return wc.two_books()


def test_the_projects_books_allow_conclusions_and_a_worked_example(project):
    frame = page.compared(*project)
    assert list(frame.columns) == page.COLUMNS
    both = frame[frame["verdict"] != "missing"]
    assert len(both) >= 15 and {"rent or own", "value", "provider", "spot", "serving"} <= set(both["topic"])
    assert (both[["oldest_before", "oldest_after"]] != "").all(axis=None)
    gpu = wc.worked(*project)
    edge = page.one_at_a_time(*project, gpu).set_index("price")["break_even_utilization"]
    assert edge["none"] == wc.decision(project[0], gpu)["break_even_utilization"]
    assert edge["all"] == wc.decision(project[1], gpu)["break_even_utilization"]


def test_no_page_names_a_book_and_any_may_go(tmp_path, monkeypatch):
    """D27: without any one of the books, the rest compare; with one alone a sentence says so."""
    own = price_books()
    for path in (DATA.parent / "notebooks").glob("[a-z]*.md"):
        text = path.read_text(encoding="utf-8")
        assert [book.stem for book in own if book.stem in text] == [], path.name
    for gone in own:
        left = [path for path in own if path != gone]
        monkeypatch.setattr(wc.price_book, "price_books", lambda left=left: left)
        old, new = wc.two_books()
        assert len(page.compared(old, new, wc.Situation(models=()))) and page.provider_moves(old, new) is not None
    monkeypatch.setattr(wc.price_book, "price_books", lambda: own[:1])
    with pytest.raises(MissingPrice, match="^data/prices holds no second price book; give the parameter before$"):
        wc.two_books()


def test_the_date_of_a_conclusion_is_that_of_its_oldest_row(books, book):
    newer = book(OLD.replace(",2025,list", ",2026-02-01,list").replace("power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2026-02-01",
                                                                       "power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2024-06"), "newer.csv")
    frame = verdicts((books[0], newer))
    assert set(frame["oldest_before"]) == {"2025"}
    owning = frame.index.str.contains("rent or own")
    assert set(frame.loc[owning, "oldest_after"]) == {"2024-06"} and set(frame.loc[~owning, "oldest_after"]) == {"2026-02-01"}


def test_a_price_that_is_not_firm_decides_nothing(books, book):
    """A floor below all others, and a server that somebody reports, are in the book and in no conclusion."""
    floor = f"rent,Floor,f,{H100},1,all,on-demand,0.5,USD,USD/h,,,,,,2025,list,floor,\n"
    frame = verdicts((books[0], book(OLD + floor, "floor.csv")))
    assert (frame["verdict"] == "stays").all() and not frame["figure_after"].str.contains("Floor").any()
    assert "Floor" not in set(page.provider_moves(books[0], book(OLD + floor, "f.csv"))["provider"])
    told = book(OLD.replace("purchase,250000,USD,USD,,,,,,2025,list,seen", "purchase,250000,USD,USD,,,,,,2025,list,secondary"), "told.csv")
    assert "H100 SXM 80GB: rent or own at 60 % utilization?" not in {each.question for each in page.conclusions(told, wc.Situation(models=()))}
    assert page.left_out(told).to_dict("records") == [{"gpu": H100, "why": "its price of 2025 is secondary"}]


@pytest.mark.parametrize("date, there", [("2022-12-31", False), ("2023-01-02", True), ("2023", False), ("2024", True)])
def test_own_or_rent_is_judged_on_servers_that_are_still_sold(book, date, there):
    """Two years, of the book's date: 2025-01-01 here. Another server of the GPU that is still sold counts."""
    old = OLD.replace("purchase,250000,USD,USD,,,,,,2025", f"purchase,250000,USD,USD,,,,,,{date}")
    found = book(old.replace(",2025,", ",2025-01-01,").replace("power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2025,", "power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2025-01-01,"))
    topics = {each.topic for each in page.conclusions(found, wc.Situation(models=()))}
    assert ("rent or own" in topics) == there
    assert len(page.left_out(found)) == (not there)
    if not there:
        assert page.left_out(found)["why"].to_list() == [f"last priced {date}, so hardly sold new"]
        assert wc.decision(found, H100)["deal"].rows["server"].date == date, "the only price of the GPU that is asked for"
    both = book(old.replace(",2025,", ",2025-01-01,") + f"server,Maker,new,{H100},8,west,purchase,300000,USD,USD,,,,,,2025-01-01,list,seen,\n", "b.csv")
    assert wc.decision(both, H100)["deal"].rows["server"].sku == ("8x" if there else "new")
    assert len(sold(both)) == len(both) - (not there)


def test_servers_against_an_api_by_the_ends_of_the_bill(monkeypatch, books):
    """The verdict is the bill at the slow and at the fast end, not one factor on the bill."""
    situation, real = wc.Situation(models=("Llama-3-8B",)), token_offers.rented_plans
    for low, high, said in ((1, 51_000, "servers"), (53_000, 60_000, "API"), (51_000, 53_000, "too close to call")):
        monkeypatch.setattr(token_offers, "rented_plans", lambda *given, low=low, high=high: real(*given).assign(
            low_serving_usd_per_month=low, high_serving_usd_per_month=high))
        (found,) = (each for each in page.conclusions(books[0], situation) if each.topic == "serving")
        assert found.answer == said and found.figure.endswith("against 52,000 USD")


def test_what_differs_by_a_rounding_has_not_moved(books, book):
    near = book(OLD.replace("8,all,on-demand,72,", "8,all,on-demand,72.05,"), "near.csv")
    assert set(matched(books[0], near)["change"]) == {"same"} and set(page.provider_moves(books[0], near)["ratio"]) == {1}
    assert set(verdicts((books[0], near))["moved"]) == {""}


def test_two_books_of_ones_own(tmp_path, monkeypatch):
    """`only` and `rates` are of both; those of the project have nothing to complete."""
    asked = []
    real = wc.price_book.prices
    monkeypatch.setattr(wc.price_book, "prices", lambda *given: asked.append(given) or real(given[0]))
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(OLD)
    wc.two_books(after=tmp_path / "two.csv", before=tmp_path / "one.csv", only=True, rates={"EUR": 1.1})
    assert asked == [(tmp_path / name, True, {"EUR": 1.1}) for name in ("two.csv", "one.csv")]
    wc.two_books(prices=tmp_path / "one.csv", only=True)
    assert asked[2:] == [(tmp_path / "one.csv", True, None), (price_books()[-1], True, None)]


def test_nothing_in_common_is_a_table_without_rows(book):
    power = book(f"{HEADER}\npower,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2025,list,seen,\n")
    assert page.compared(power, power).empty and list(page.compared(power, power).columns) == page.COLUMNS
    assert wc.worked(power, power) is None and firm(power).all()


def test_what_moved_is_the_largest_change_first_and_a_new_price_before_all():
    sides = [page.Conclusion("", "", "", 0, "", prices) for prices in (
        {"a": (10, ""), "b": (2000, "X"), "c": (5, ""), "same": (1, "")},
        {"a": (11, ""), "b": (999.5, "Y"), "d": (1000, "Z"), "same": (1, "")})]
    # c is gone and d is new; b halves, ln 2; a rises a tenth, ln 1.1, and is the fourth.
    assert page._moved(*sides) == "c 5.00 to none; d none to 1,000 (Z); b 2,000 (X) to 999.50 (Y)"


def test_moves_of_a_provider_say_whether_the_machine_is_the_same(books, book):
    moves = page.provider_moves(*books).set_index(["provider", "gpu", "term"])
    aws = moves.loc["AWS", H100, "on-demand"]
    assert (aws.before, aws.after, aws.ratio, aws.same) == (10, 5, 0.5, True)
    other = book(NEW.replace("rent,AWS,p5,", "rent,AWS,p6,").replace(",,p5,,,", ",,p6,,,"), "p6.csv")
    renamed = page.provider_moves(books[0], other)
    assert not renamed.set_index(["provider", "gpu", "term"]).loc["AWS", H100, "on-demand"].same


def test_the_two_newest_of_several_books_are_compared(tmp_path, monkeypatch):
    """And the newest of all where the reader's is none of them; a book of the same content is no other one."""
    paths = [tmp_path / f"{year}.csv" for year in (2023, 2024, 2025, 2026)]
    for path in paths:
        path.write_text(OLD.replace(",2025,", f",{path.stem},"))
    monkeypatch.setattr(wc.price_book, "price_books", lambda: paths)
    mine = tmp_path / "mine.csv"
    mine.write_text(OLD.replace(",2025,", ",2024-06,"))
    copied = tmp_path / "copied.csv"
    copied.write_bytes(paths[-1].read_bytes())

    def names(*given, **more):
        return [found.attrs["file"] for found in wc.two_books(*given, **more)]
    assert names() == ["2025.csv", "2026.csv"]
    assert names(mine) == ["mine.csv", "2026.csv"], "in the order of their dates"
    assert names(copied) == ["2025.csv", "copied.csv"]
    assert names(before=paths[0]) == ["2023.csv", "2026.csv"] and names(after=paths[0]) == ["2026.csv", "2023.csv"]
    assert names(mine, before=paths[-1]) == ["2026.csv", "mine.csv"], "a place that is given is kept"


@pytest.mark.parametrize("items", [["power"], ["hosting", "hosting-power"]])
def test_no_example_is_worked_where_owning_can_t_be_priced(items):
    book = prices()
    poor = book[~book["item"].isin(items)]
    poor.attrs = book.attrs
    assert wc.worked(book, book) and wc.worked(book, poor) is None
