"""What counters say: formulas by hand and against published output, and reports that find the load that was put in."""
import math
from types import SimpleNamespace

import pytest

from book.pages import utilization as own_counters
from book.pages.utilization import read_counters
from gpucalc import Case, arithmetic_intensity as ai, counters as cn
from gpucalc.core.evaluate import Row
from gpucalc.core.quantities import DATA
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.rents import cheapest_rent
from tests.close import close
from tests.counter_samples import FILES
from tests.pictures import boxes

H100 = "H100 SXM 80GB"
BOOK = price_book.prices()


def report(file, gpu=None, seconds=60, rate=2.5):
    found = read_counters(DATA / "counters" / file, seconds)
    cards = own_counters.cards_of(found, gpu)
    return own_counters.report(found, cards, {card.name: rate for card in cards.values()}, 0.01)


# By hand

def test_activities():
    # 3.35 TB/s for 2 s move 6.7 TB: 5.36 TB are four fifths. 989 TFLOP/s for 2 s: 1978 TFLOP, of which 494.5 are a quarter.
    assert cn.dram_activity(5.36e12, 2, 3.35e12) == close(0.8)
    assert cn.tensor_activity(494.5e12, 2, 989e12) == close(0.25)


def test_limits():
    # Four fifths of the bandwidth where nine tenths are reached: 0.8 / 0.9; more than is reached counts as all the time.
    assert cn.memory_time_share(0.8, 0.9) == close(8 / 9) and cn.memory_time_share(0.95, 0.9) == 1
    # Half of the cycles at three quarters of the clock, where 0.75 of the peak is reached: half of the time.
    assert cn.compute_time_share(0.5, 0.75, 0.75) == close(0.5) and cn.compute_time_share(0.5, 0.75) == close(2 / 3)
    assert cn.useful_share(0.2, 0.7) == close(0.7)
    assert cn.memory_bound_activity(0.92) == close(0.46) and cn.compute_bound_activity(0.78, 0.25) == close(0.195)
    assert (cn.is_idle(0.009), cn.is_idle(0.01), cn.is_idle(0.04, 0.05)) == (1, 0, 1)


def test_needs_and_dollars():
    # 0.7 of 2 TB/s at a fill of 0.7: 2 TB/s.
    assert cn.needed_bandwidth(0.7, 2e12, 0.7) == close(2e12) and cn.needed_flops(0.35, 1e15, 0.7) == close(5e14)
    # 8 GPUs at 2.50 USD for 10 hours are 200 USD: 30 % idle are 60, 65 % not used are 130.
    paid = cn.counted_usd(8, 2.5, 36_000)
    assert paid == close(200) and cn.idle_usd(paid, 0.3) == close(60) and cn.unused_usd(paid, 0.35) == close(130)
    # Two cards at 2.50 instead of 1.00 for 730 hours.
    assert cn.smaller_card_usd_per_month(2, 2.5, 1.0) == close(2190)


def test_nvidias_own_test_of_the_tensor_units_is_bound_by_compute():
    # DCGM user guide, dcgmi dmon -e 1001,1004,1005 under dcgmproftester: 0.928 of the tensor cycles, nothing of the memory.
    card = catalogue.gpu(H100)
    assert own_counters.bound(card, 0.928, 0.0) == "compute" and own_counters.bound(card, 0.0, 0.0) == "neither"


# Loads

def test_decode_waits_for_memory_and_prefill_computes():
    case = Case(model="Llama-3-8B", gpu=H100, context=2048, prompt=2048, efficiency="achieved")
    alone, many, reads, trains = own_counters.loads(case, [1, 64], 0.4)
    assert [one.bound for one in (alone, many, reads)] == ["memory", "memory", "compute"]
    # By hand: 8.03e9 parameters but the input embedding of 128,256 x 4,096, 2 bytes each, and 2,048 tokens of 131,072 bytes.
    moved = 2 * (8_030_261_248 - 128_256 * 4096) + 2048 * 131_072
    seconds = case.but(batch=1)(ai.decode_seconds)
    assert alone.dram.value == pytest.approx(moved / seconds / 3.35e12, rel=1e-3)
    assert alone.tensor.plan < 0.01 < many.tensor.plan < 0.15 and trains.tensor == close(0.4)
    assert alone.gain_flops == pytest.approx(1, abs=0.01) and alone.gain_bandwidth > 1.5
    assert reads.gain_flops > 1.5 and reads.gain_bandwidth < 1.1
    # The gains are those of a card with one figure twice as good; training at 40 % MFU computes for 0.4 of what is reached.
    assert (alone.gain_flops, alone.gain_bandwidth) == tuple(own_counters.faster(case.but(batch=1), ai.decode_seconds, *times) for times in ((2, 1), (1, 2)))
    share = 0.4 / case("product_share")
    assert trains.gain_flops == close(1 / (1 - share + share / 2)) and math.isnan(trains.gain_bandwidth) and trains.dram is None


def test_a_limit_binds_from_half_of_what_it_reaches():
    """Of an H100's peaks benchmarks reach 0.92 of the bandwidth and 0.78 of FLOP/s or so: half of that, by the larger share, binds."""
    card, most = catalogue.gpu(H100), own_counters.thresholds(H100)
    assert most["dram"] == close(most["most_dram"] / 2) and most["tensor"] == close(most["most_tensor"] / 2)
    dram, tensor = most["dram"], most["tensor"]
    assert own_counters.bound(card, tensor * 1.001, 0) == "compute" and own_counters.bound(card, tensor * 0.999, dram * 0.999) == "neither"
    assert own_counters.bound(card, 0, dram * 1.001) == "memory" == own_counters.bound(card, tensor * 1.2, dram * 1.2)
    assert own_counters.bound(card, tensor * 1.21, dram * 1.2) == "compute" and own_counters.bound(card, tensor * 1.2, dram * 1.21) == "memory"


def test_a_card_twice_as_good_at_what_binds_halves_the_time():
    """At its peaks a decode step reads for its whole time; a prefill computes for most of it, and other kernels read beside its products."""
    case = Case(model="Llama-3-8B", gpu=H100, context=2048, prompt=4096, batch=1, efficiency="bound", kernel_seconds=0)
    assert own_counters.faster(case, ai.decode_seconds, 1, 2) == pytest.approx(2, rel=0.02) and own_counters.faster(case, ai.decode_seconds, 2, 1) == pytest.approx(1, abs=0.02)
    computes, reads = own_counters.faster(case, ai.prefill_seconds, 2, 1), own_counters.faster(case, ai.prefill_seconds, 1, 2)
    assert 1 < reads < 1.2 < 1.7 < computes < 2 and own_counters.faster(case, ai.prefill_seconds, 2, 2) == pytest.approx(2, rel=1e-9)
    # Twice as fast in one part and as fast in the other: the two shares of the time add up to all of it.
    assert 2 * (1 - 1 / computes) + 2 * (1 - 1 / reads) == pytest.approx(1, rel=1e-9)


# Reports find what was put in

def test_the_exporter_sample_is_found():
    found = report("exporter_csv.txt")
    assert found.gpus["verdict"].tolist() == ["memory", "compute", "neither", "idle"] and found.gpus["sure"].all()
    assert found.gpus["idle_share"].tolist() == close([0, 1 / 3, 0, 1])
    # A day of four GPUs at 2.50 USD; one and a third of them idle.
    assert found.whole["paid"] == close(240) and found.whole["idle_usd"] == close(80)
    # Two thirds of the day at 0.55 of the peak, where 0.78 is reached.
    assert found.gpus["useful"].iloc[1] == pytest.approx(2 / 3 * 0.55 / 0.78, rel=0.02)
    assert found.whole["idle_month_usd"] == close(80 * 730 / 24)
    unused = found.whole["unused_usd"]
    assert unused == close(found.gpus["unused_usd"].sum()) and 80 < unused < 240 and found.whole["unused_month_usd"] == close(unused * 730 / 24)


def test_the_sample_of_nvidia_smi_can_not_name_the_limit():
    found = report("nvidia_smi_csv.txt")
    assert found.gpus["idle_share"].tolist() == close([0.4, 1]) and not found.whole["limits_known"]
    assert found.gpus["verdict"].tolist() == ["unknown", "idle"] and found.gpus["name"].unique().tolist() == ["A100 SXM 80GB"]
    assert found.gpus["slowed_share"].tolist() == [0, 0], "an idle clock is not a slowed one"


def test_the_sample_of_dcgmi_needs_the_card_and_the_time_between_samples():
    with pytest.raises(ValueError, match="parameter gpu: None, and for GPU 0 the file names no card"):
        report("dcgmi_dmon.txt")
    found = report("dcgmi_dmon.txt", H100)
    assert found.gpus["verdict"].tolist()[:3] == ["memory", "memory", "compute"]
    assert found.gpus["period"].tolist() == [6000] * 4, "100 samples a minute apart"
    half = found.gpus.iloc[3]
    assert half["idle_share"] == half["compute_share"] == 0.5 and not half["sure"] and "too few samples" in own_counters.verdict(half)


def test_the_samples_are_what_their_composer_writes_in_shape():
    import random
    for file, compose in FILES.items():
        lines = (DATA / "counters" / file).read_text(encoding="utf-8").splitlines()
        made = compose(random.Random(file))
        assert lines[0] == made[0] and len(lines) == len(made)


def test_smaller_cards_and_fewer_gpus():
    found = report("exporter_csv.txt", rate=100.0)
    launches = own_counters.smaller_cards(BOOK, found.gpus.iloc[2], catalogue.gpu(H100), 0.7, "on-demand")
    # 0.116 of 3.35 TB/s at 0.7 are 555 GB/s, 20.5 GiB, 44 TFLOP/s: an L4 reads too slowly, an A40 does.
    assert "A40 48GB" in set(launches["gpu"]) and "L4 24GB" not in set(launches["gpu"])
    assert launches["usd_per_hour"].is_monotonic_increasing and (launches["saved"] > 0).all()
    busy = own_counters.smaller_cards(BOOK, found.gpus.iloc[0], catalogue.gpu(H100), 0.9, "on-demand")
    assert (catalogue.gpus().loc[busy["gpu"], "bandwidth"] > 3e12).all(), "memory-bound at 0.85 of 3.35 TB/s"
    one, = own_counters.fewer_gpus(found, 0.7)
    # 29.3 + 72.3 + 20.5 + 29.3 GiB on cards of 71.7 usable: 3.
    assert (one.gpus, one.by_memory, one.needed) == (4, 3, 3) and one.saved == close(100 * 730)
    assert own_counters.smaller_cards(BOOK, report("nvidia_smi_csv.txt").gpus.iloc[0], catalogue.gpu("A100 SXM 80GB"), 0.7, "on-demand") is None


def test_a_card_whose_clock_is_not_known_counts_at_its_full_clock():
    found, card = report("exporter_csv.txt", rate=100.0), catalogue.gpu(H100)
    unknown = Row(card | {"clock": math.nan}, card.name, card.kind)
    one = found.gpus.iloc[2]
    known, full = (own_counters.smaller_cards(BOOK, one, each, 0.7, "on-demand") for each in (card, unknown))
    assert len(full) and set(full["gpu"]) <= set(known["gpu"])


def test_the_error_of_a_share_counts_blocks():
    import numpy as np
    # Ten blocks of ten, of which five are 1: deviation sqrt(10 / 9 / 4), over sqrt(10).
    assert own_counters.block_error(np.repeat([0.0, 1.0] * 5, 10)) == close(math.sqrt(10 / 36) / math.sqrt(10))
    assert own_counters.block_error(np.ones(5)) == math.inf


def test_a_single_sample_is_too_few(tmp_path):
    (tmp_path / "one.csv").write_text("timestamp,index,name,utilization.gpu [%]\n2026/11/23 06:17:26, 0, NVIDIA L4, 3 %\n")
    found = read_counters(tmp_path / "one.csv")
    one = own_counters.report(found, own_counters.cards_of(found, None), {"L4 24GB": 1.0}, 0.01).gpus.iloc[0]
    assert not one["sure"] and one["paid"] > 0 and "too few samples" in own_counters.verdict(one)


def test_gaps_are_paid_and_named(tmp_path):
    rows = "".join(f"2026-11-23T{hour:02}:{minute:02}:00Z,0,NVIDIA L4,50\n" for hour in (0, 6) for minute in range(0, 60, 10))
    (tmp_path / "gap.csv").write_text("timestamp,gpu,modelName,DCGM_FI_DEV_GPU_UTIL\n" + rows)
    found = read_counters(tmp_path / "gap.csv")
    one = own_counters.report(found, own_counters.cards_of(found, None), {"L4 24GB": 1.0}, 0.01).gpus.iloc[0]
    # From 00:00 to 06:50 and ten minutes; from 00:50 to 06:00 are 310 minutes, of which 10 are a usual step.
    assert (one["gaps"], one["missing"], one["period"]) == (1, 18_000, 25_200) and one["paid"] == close(7)


@pytest.mark.parametrize("columns, known", [
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", False), ("DCGM_FI_PROF_DRAM_ACTIVE", False), ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE,DCGM_FI_PROF_DRAM_ACTIVE", True)])
def test_limits_are_known_where_both_are_counted(tmp_path, columns, known):
    values = ",".join(["0.5"] * len(columns.split(",")))
    rows = "".join(f"2026-11-23T00:{minute:02}:00Z,0,NVIDIA L4,90,{values}\n" for minute in range(0, 60, 10))
    (tmp_path / "one.csv").write_text(f"timestamp,gpu,modelName,DCGM_FI_DEV_GPU_UTIL,{columns}\n{rows}")
    found = read_counters(tmp_path / "one.csv")
    one = own_counters.report(found, own_counters.cards_of(found, None), {"L4 24GB": 1.0}, 0.01).gpus.iloc[0]
    assert one["limits_known"] == known


def test_another_card_than_the_file_names_is_said():
    found = read_counters(DATA / "counters/nvidia_smi_csv.txt")
    assert "The file names A100 SXM 80GB, you gave H100 SXM 80GB" in own_counters.other_names(found, own_counters.cards_of(found, H100))[0]
    assert own_counters.other_names(found, own_counters.cards_of(found, None)) == []


@pytest.mark.parametrize("name, short", [
    ("0", "0"), ("node-1/7", "node-1/7"), ("ip-10-0-12-123.eu-west-1.compute.internal/3", "ip-10-0-12-123/3"),
    ("GPU-5fa3c1d2-7b11-4c56-9d3e-000000000001", "GPU-5fa3c1d2...000000001")])
def test_a_long_name_keeps_what_tells_gpus_of_a_host_apart(name, short):
    assert own_counters._short(name) == short


def test_a_load_has_a_bar_for_each_limit_to_scale():
    """A mark stands where the limit takes most of the time; what is not computed has no bar."""
    found = [SimpleNamespace(name="decode", dram=SimpleNamespace(plan=0.8), tensor=0.25), SimpleNamespace(name="own", dram=None, tensor=0.0)]
    shown = own_counters.loads_picture(found, {"dram": 0.5, "tensor": 0.2}, "L4")
    tracks, marks, (memory,), tensor = (boxes(shown, color) for color in ("wash", "ink", "a", "b"))
    assert [(box.left, box.right) for box in tracks] == [(58, 338)] * 4
    assert [box.left + 1.5 for box in marks] == pytest.approx([58 + 140, 58 + 56] * 2, abs=0.1)
    assert (memory.left, memory.right) == (58, 58 + 224) and [box.right - box.left for box in tensor] == [70, 1]
    assert "own: memory not computed, tensor 0 %" in shown.plain and shown.source.count(">–<") == 1


# The bill split by teams

MONTHS = ("timestamp,index,name,utilization.gpu [%],team\n2026-05-31T23:00:00Z,0,NVIDIA H100 80GB HBM3,50 %,chat\n"
          "2026-06-01T00:00:00Z,0,NVIDIA H100 80GB HBM3,50 %,search\n2026-06-01T01:00:00Z,0,NVIDIA H100 80GB HBM3,50 %,\n")


def reported(tmp_path, text=MONTHS, rate=3.0):
    found = own_counters.read_counters(saved(tmp_path, "counters.csv", text))
    return own_counters.report(found, own_counters.cards_of(found, None), {"H100 SXM 80GB": rate}, 0.01)


def saved(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_bill_is_split_by_hours_and_by_tokens(tmp_path):
    # Three samples an hour apart stand for an hour each, at 3 USD: 3 USD in May, all chat's; 6 in June, half of it nobody's.
    # Of June's 2 million tokens a quarter is chat's: 6 * 0.25 = 1.5 USD; search pays 4.5, and 3 for its hour: 2 USD a million.
    hours = own_counters.team_hours(reported(tmp_path), None)
    tokens = own_counters.read_tokens(saved(tmp_path, "t.csv", "Month,team,tokens\n2026-06,search,1e6\n2026-06,search,0.5e6\n2026-06,chat,500000\n"))
    found = own_counters.split_bill(hours, [3.0] * len(hours), tokens).set_index(["month", "team"])
    assert found["by_hours"].to_dict() == {("2026-05", "chat"): 3, ("2026-06", "chat"): 0, ("2026-06", "nobody"): 3, ("2026-06", "search"): 3}
    assert found["by_tokens"].dropna().to_dict() == {("2026-06", "chat"): 1.5, ("2026-06", "search"): 4.5}
    assert found.at[("2026-06", "search"), "per_million"] == 2 and found.at[("2026-06", "search"), "gpu_hours"] == 1
    assert found["by_hours"].sum() == reported(tmp_path).whole.paid == 9


def test_a_month_has_the_rent_of_the_book_that_was_out_by_its_end(tmp_path):
    hours = own_counters.team_hours(reported(tmp_path), {"0": "chat"})
    assert hours["team"].tolist() == ["chat", "chat"] and hours["seconds"].tolist() == [3600, 7200], "the map goes before the file"
    old, new = (cheapest_rent(price_book.prices(path), gpu="H100 SXM 80GB", term="on-demand").usd_per_hour
                for path in price_book.price_books()[:2])
    rates = own_counters.monthly_rents(hours, "on-demand", {"H100 SXM 80GB": 9}, price_book.price_books())
    assert rates == [old, new] and old != new, "books of 2026-01-12 and 2026-06-24"
    assert own_counters.monthly_rents(hours, "on-demand", {"H100 SXM 80GB": 9}, []) == [9, 9]


def test_the_split_bill_as_a_file_starts_no_formula(tmp_path):
    hours = own_counters.team_hours(reported(tmp_path), {"0": "=1+1<b>"})
    shown = own_counters.bill_table(own_counters.split_bill(hours, [3.0, 3.0], None), "bill").source
    assert "<b>" not in shown and "=1+1&lt;b&gt;" in shown


@pytest.mark.parametrize("text, message", [
    ("month,team,tokens\n2026-13,chat,5\n", "t.csv, row 2, column month: '2026-13'; allowed: a month such as 2026-11"),
    ("month,team,tokens\n2026-06,chat,-5\n", "t.csv, row 2, column tokens: '-5'; allowed: a number above 0 such as 3.2e9"),
    ("month,team,tokens\n2026-06,,5\n", "t.csv, row 2, column team: blank; allowed: a name"),
    ("month,tokens\n2026-06,5\n", "columns month, team, tokens")])
def test_a_broken_file_of_tokens_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError) as error:
        own_counters.read_tokens(saved(tmp_path, "t.csv", text))
    assert message in str(error.value)


def test_teams_and_tokens_that_fit_no_counters_are_refused(tmp_path):
    with pytest.raises(ValueError, match="parameter teams: '7': no GPU of the file; allowed: 0"):
        own_counters.team_hours(reported(tmp_path), {"7": "chat"})
    hours = own_counters.team_hours(reported(tmp_path), None)
    late = own_counters.read_tokens(saved(tmp_path, "t.csv", "month,team,tokens\n2026-07,chat,5\n"))
    with pytest.raises(ValueError, match="tokens of 2026-07: no counters of that month; allowed: 2026-05, 2026-06"):
        own_counters.split_bill(hours, [3.0] * len(hours), late)
