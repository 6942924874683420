"""The answer to a case: as a table, in words, in the terminal, and beside another, on the cases of data/cases."""
import subprocess
import sys

import pytest

import gpucalc
from gpucalc import compare, decide
from gpucalc.core.quantities import DATA
from gpucalc.page import answer_words, deciding, decide_command
from gpucalc.rows import price_book

CASES = DATA / "cases"
# Each kind of job, quick ones.
SOME = ("chat_70b", "million_images", "lab_rtx6000", "three_on_one")
YEAR = {"job": "pretrain", "model": "Llama-3-8B", "training_tokens": 1e11, "cards": "A100 SXM 80GB", "gpus": 8, "deadline_days": 365}
EMBED = {"job": "embed", "model": "Llama-3-8B", "weight_format": "BF16", "window_requests": 1e7}
NOTHING = {"job": "serve", "model": "Llama-3-70B", "requests_per_second": 10, "first_token_limit": 0.01, "token_limit": 0.002}
OWN = {"job": "rent_or_buy", "gpu": "H100 SXM 80GB"}


@pytest.fixture(scope="module")
def book():
    return price_book.prices()


@pytest.fixture(scope="module")
def answers(book):
    """Answers by case, with what is told of them."""
    found = {name: deciding.answered(deciding.read(CASES / f"{name}.yaml"), book) for name in SOME}
    found |= {name: deciding.answered(deciding.read(held), book) for name, held in (("embed", EMBED), ("year", YEAR))}
    return {name: (answer, answer_words.told(answer, book, *deciding.more(answer, book))) for name, answer in found.items()}


@pytest.fixture
def run(capsys):
    def done(*words):
        status = decide_command.main([str(word) for word in words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err
    return done


# As a table

def test_the_best_choice_stands_first_and_the_others_say_why(book):
    found = decide(CASES / "chat_70b.yaml", book)
    answer = found.attrs["answer"]
    assert (found["gpu"][0], found["provider"][0]) == (answer.best["gpu"], answer.best["provider"])
    kept = found[found["reason"] == ""]
    assert kept.index.tolist() == list(range(len(kept))) and kept["serving_usd_per_month"].is_monotonic_increasing
    assert kept["beside"][0] == "" and (kept["beside"][1:] != "").all()
    lost = found[found["reason"] != ""]
    assert set(lost["gpu"]) == set(answer.lost) and not set(lost["gpu"]) & set(kept["gpu"])
    assert (found["low_serving_usd_per_month"][0] <= found["serving_usd_per_month"][0] <= found["high_serving_usd_per_month"][0])


def test_a_case_is_a_file_a_mapping_or_a_case(book):
    from gpucalc.rows.case_file import read_case
    held = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "cards": "H100 SXM 80GB"}
    whole = gpucalc.Case(**held)
    tables = [decide(held, book), decide(whole, book)]
    assert tables[0].equals(tables[1])
    path = CASES / "three_on_one.yaml"
    assert decide(path, book).equals(decide(read_case(path), book))
    with pytest.raises(ValueError, match="^job: missing"):
        decide(gpucalc.Case(model="Llama-3-8B"), book)
    with pytest.raises(ValueError, match="model: missing|requests_per_second"):
        decide({"job": "serve"}, book)


def test_prices_of_ones_own(tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("gpu,usd_per_hour\nH100 SXM 80GB,0.50\n")
    found = decide(CASES / "chat_70b.yaml", mine)
    assert (found["gpu"][0], found["usd_per_hour"][0]) == ("H100 SXM 80GB", 0.5)


def test_rent_or_buy_is_a_table_of_two(book):
    found = decide(OWN, book)
    assert sorted(found["way"]) == ["own", "rent"] and found["usd_per_hour"].is_monotonic_increasing
    with pytest.raises(ValueError, match="^server_usd: the book has no price of a server of MI300X 192GB"):
        decide(OWN | {"gpu": "MI300X 192GB"}, book)


# In words

def texts(told):
    cards = [text for card in told.cards for text in (card.title, card.big, card.small, card.note, card.link)]
    rows = [text for row in told.rows for text in (row["layout"], row["reason"])]
    lists = [*told.binds, *told.helps, *told.loosen, *told.flips, *told.cautions]
    return [told.question, told.headline, told.prices, *cards, *rows, *lists]


@pytest.mark.parametrize("name", [*SOME, "embed", "year"])
def test_no_sentence_shows_its_template(answers, name):
    answer, told = answers[name]
    for text in texts(told):
        assert not set("{}") & set(text) and "  " not in text and " ," not in text, text
        assert "nan" not in text.lower().split() and "inf" not in text.split() and "None" not in text, text
        for wrong in ("1 GPUs", " 1 replicas", " 1 days", "1 machines", "1 tokens", "of 1 GPU each"):
            assert wrong not in text.replace("11 ", "").replace("21 ", ""), text
    assert [card.name for card in told.cards] == ["fits", "fast", "many", "long", "cost", "ways"]
    assert told.question.endswith("?") and told.headline.endswith(".")
    assert (name == "lab_rtx6000") == ("of your own" in told.headline)
    assert answer.best["gpu"] in told.headline and answer.best["provider"] in told.headline


def test_the_headline_says_what_how_many_from_whom_and_for_how_much(answers):
    answer, told = answers["chat_70b"]
    best, cost = answer.best, answer.figures["cost"]
    three = gpucalc.core.figures.three_figures
    assert told.headline == (
        f"Take {best['rented_gpus']:.0f} × {best['gpu']} as {best['planned_replicas']:.0f} replicas of one GPU each, rented from "
        f"{best['provider']} on demand: {three(cost.plan)} USD a month (8 in 10 between {three(cost.low)} and "
        f"{three(cost.high)} USD). With this plan the limits hold in half of all cases.")
    assert told.question.startswith("What does it take to serve Llama-3-70B in FP8 at 10 requests a second, with prompts")


def test_the_rent_that_flips_a_choice_makes_it_cost_as_much(answers):
    _, told = answers["chat_70b"]
    best, other = told.rows[0], next(row for row in told.rows if row["gpu"] != told.rows[0]["gpu"])
    rent = answer_words.turning_rent(other, best)
    assert rent / other["usd_per_hour"] == pytest.approx(best["objective"] / other["objective"])
    assert gpucalc.core.figures.hourly(rent) in told.flips[0]


def test_a_load_that_flips_the_choice_does(answers, book):
    answer, _ = answers["chat_70b"]
    found, _ = deciding.more(answer, book)
    assert found
    change, gpu = found[0]
    again = decide({"job": "serve", "model": "Llama-3-70B", "weight_format": "FP8", "cache_element_bytes": 1, "requests_per_second": 10,
                    "prompt": 1000, "output": 300, "first_token_limit": 1, "token_limit": 0.05} | {change.name: change.value}, book)
    assert again["gpu"][0] == gpu != answer.best["gpu"]


def test_nothing_keeps_the_limits(book, run, tmp_path):
    answer = deciding.answered(deciding.read(NOTHING), book)
    told = answer_words.told(answer, book, *deciding.more(answer, book))
    assert answer.best is None and told.cards == [] and told.flips == [] and told.cautions == []
    assert told.headline.startswith("Nothing on offer keeps the limits") and "comes nearest" in told.headline
    assert told.loosen and all(text.startswith("Allow ") and " instead of " in text for text in told.loosen)
    assert all(row["reason"] for row in told.rows)
    path = tmp_path / "case.yaml"
    path.write_text("".join(f"{name}: {value}\n" for name, value in NOTHING.items()))
    status, out, _ = run(path)
    assert status == 0 and "What to loosen" in out


def test_a_notebook_says_the_same(book):
    text = deciding.said(CASES / "chat_70b.yaml", book)._repr_markdown_()
    assert text.count("\n- ") > 10 and "- Does it fit? **" in text and "MI300X 192GB" in text and "**What binds**\n\n- " in text
    assert "Rent or buy" in deciding.said(OWN, book)._repr_markdown_()


# In the terminal

@pytest.mark.parametrize("name", ["chat_70b", "lab_rtx6000"])
def test_the_terminal_has_all_of_it_in_100_characters(run, name):
    status, out, err = run(CASES / f"{name}.yaml")
    assert (status, err) == (0, "") and max(map(len, out.splitlines())) <= 100
    for title in ("Does it fit?", "How many GPUs?", "What does it cost?", "What binds", "What helps", "The next choices", "Prices of"):
        assert (title in out) or (title == "The next choices" and name == "lab_rtx6000")


def test_rent_or_buy_in_the_terminal(run, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("job: rent_or_buy\ngpu: H100 SXM 80GB\n")
    status, out, _ = run(path)
    assert status == 0 and out.startswith("Rent or buy 8 × H100 SXM 80GB?") and "an hour of use of a GPU costs" in out


def test_a_bad_file_is_refused_with_all_its_faults(run, tmp_path):
    (tmp_path / "bad.yaml").write_text("job: serve\nmodel: Llama-3-80B\nrequests_per_second: ten\nbatch: 3\n")
    (tmp_path / "bad.csv").write_text("gpu,usd_per_hour\nH100 SXM 80GB,-3\nHxx,1\n")
    status, out, err = run(tmp_path / "bad.yaml", "--prices", tmp_path / "bad.csv", "--compare", tmp_path / "none.yaml")
    assert (status, out) == (2, "")
    for fault in ("model: data/models.csv has no model 'Llama-3-80B'", "requests_per_second: 'ten'", "batch: not for the job serve",
                  "bad.csv, row 2", "bad.csv, row 3", "none.yaml"):
        assert fault in err
    assert run()[0] == 2 and run(CASES / "three_on_one.yaml", "--rows", "1,x")[0] == 2
    assert run(CASES / "three_on_one.yaml", "--rows", "1,9999")[0] == 2
    assert run(CASES / "three_on_one.yaml", "--only", "1")[0] == 2
    assert run("--help")[0] == 0


def test_prices_of_ones_own_are_marked(run, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text('gpu,usd_per_hour,provider\nH100 SXM 80GB,1.20,<script>alert(1)</script>\n')
    status, out, _ = run(CASES / "chat_70b.yaml", "--prices", mine)
    assert status == 0 and "<script>alert(1)</script>" in out
    assert "(not yours)" in out and "Prices: mine.csv, laid over the book of" in out


def test_the_command_is_a_word_of_gpucalc(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gpucalc", "decide", tmp_path / "none.yaml"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "none.yaml" in done.stderr


# Side by side

def test_two_cases_side_by_side(book):
    found = compare(CASES / "chat_70b.yaml", CASES / "three_on_one.yaml", book).set_index("what")
    assert found.loc["model"].tolist() == ["Llama-3-70B", "Llama-3.2-1B", ""]
    assert found.loc["What does it cost?", "better"] == "second" and "USD a month" in found.loc["What does it cost?", "first"]
    assert "prompt" not in found.index, "what is the same is left out"


def test_a_case_beside_itself_is_the_same(book):
    found = compare(CASES / "three_on_one.yaml", CASES / "three_on_one.yaml", book)
    assert set(found["better"]) <= {"", "same"} and found["what"][0] == "take"


def test_two_choices_of_one_case(book):
    answer = deciding.answered(deciding.read(CASES / "chat_70b.yaml"), book)
    found = deciding.offers(answer, book, 0, 1).set_index("what")
    assert found.loc["why", "first"] == "the best" and found.loc["why", "second"].startswith("costs")
    with pytest.raises(ValueError, match=r"^row 9999: not there; allowed: 0 to \d+$"):
        deciding.offers(answer, book, 0, 9999)


@pytest.mark.parametrize(("one", "other", "wins"), [
    ((1, 2, 3), (4, 5, 6), "first"), ((4, 5, 6), (1, 2, 3), "second"), ((1, 2, 3), (3, 4, 5), "tie"), ((1, 2, 3), (1, 2, 3), "same")])
def test_who_wins(one, other, wins):
    from gpucalc.plan.answer import Figure
    assert deciding.better(Figure(*one, None, "USD"), Figure(*other, None, "USD"), "cost") == wins
    swapped = {"first": "second", "second": "first"}.get(wins, wins)
    assert deciding.better(Figure(*one, None, "token/second"), Figure(*other, None, "token/second"), "fast") == swapped
    assert deciding.better(None, Figure(*other, None, "USD"), "cost") == ""
