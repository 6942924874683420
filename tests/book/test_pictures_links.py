"""The pictures of links and of serving, and the table of cards that share a model: their figures are the formulas'."""
import re

import pytest

from book.pages.interconnect import known, neighbor_picture, one_user, ring_picture, splits, useful
from book.pages.serving import batching_picture, queue_picture, schedule, slice_table
from gpucalc import Case, interconnect as ic, serving as sv
from gpucalc.core.evaluate import Row
from gpucalc.rows import catalogue

SERVER = Case(model="Llama-3-70B", gpu="A100 SXM 80GB", link="NVLink 3", efficiency="achieved", tensor_parallel=8, batch=20, prompt=500,
              output=200, context=sv.mean_context, requests_per_second=1000 / 60)


def test_a_ring_ends_with_all_pieces_everywhere():
    drawn = ring_picture().source
    assert "each sends 1.5 times its own data" in drawn
    # One finished piece on each GPU after half the steps, all four at the end, and one of each color below.
    assert [len(re.findall(rf'fill-{color}"', drawn)) for color in "abcd"] == [1 + 4 + 1] * 4


def test_a_link_without_what_is_not_known():
    link = catalogue.link("InfiniBand NDR")
    unknown = known(Row({**link, "latency": float("nan")}, link.name, link.kind))
    assert (unknown.name, unknown.kind) == (link.name, link.kind) and {*link} - {*unknown} >= {"latency"} and "link_bandwidth" in unknown


def test_neighbors_have_what_the_ports_give():
    mesh = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="9"', neighbor_picture(catalogue.link("InfiniBand NDR")).source)
    assert sum(float(x) > 204 for x, _ in mesh) == 8 == len(mesh) / 2, "a switch on the left, a mesh on the right"
    drawn = neighbor_picture(catalogue.link("InfiniBand NDR")).source
    assert all(rate in drawn for rate in ("450 GB/s", "64 GB/s", "31.5 GB/s", "50 GB/s"))
    assert Case(gpu="MI300X 192GB", ranks=2)(ic.group_bandwidth) == 448e9 / 7 and "14.3 times" in drawn


@pytest.mark.parametrize("continuous", [False, True])
def test_a_server_answers_in_turn(continuous):
    """Each prompt stops the others; an answer has all its tokens; no place stands idle while somebody waits, if batching continues."""
    answers = (3, 1, 2, 2)
    done = schedule(continuous, answers, places=2, time=14)
    assert sum(moment.count("prompt") for moment in done) == len(answers)
    assert sum(moment.count("token") for moment in done) == sum(answers)
    assert all(set(moment) <= {"prompt", "pause", None} or "prompt" not in moment for moment in done)
    started = [number for number, moment in enumerate(done) if "prompt" in moment]
    assert started == ([0, 1, 3, 6] if continuous else [0, 1, 5, 6])


def test_the_batch_that_is_kept_full_writes_more():
    drawn = batching_picture(SERVER)
    more, fewer = map(int, re.search(r"writes (\d+) tokens instead of (\d+)", drawn.source).groups())
    assert more > fewer and 'data-yours="replica_pass_seconds"' in drawn.source


@pytest.mark.parametrize("replicas", [1, 3, 6])
def test_the_queue_shows_the_places_that_are_filled(replicas):
    drawn = queue_picture(SERVER.but(replicas=replicas)).source
    inside = 1000 / 60 * SERVER(sv.request_seconds)
    assert f"{inside:.0f} inside at once" in drawn
    filled = min(-(-inside // replicas), 20)
    assert len(re.findall(r'fill-a"', drawn)) == min(replicas, 4) * filled


def test_cards_that_share_a_model():
    found = splits("Llama-3-70B", "RTX 4090 24GB").set_index("gpus")
    # 141 GB of weights in BF16 are six cards of 24 GB, 40 GB in four bits are two; eight divide the heads.
    assert found["BF16"].tolist() == ["no", "no", "no", "yes"] and found["4 bits"].tolist() == ["no", "yes", "yes", "yes"]
    case = one_user("Llama-3-70B", "RTX 4090 24GB", 4, "INT4-g128")
    assert found.loc[4, "token"] == case.band(sv.replica_pass_seconds).plan > case(sv.replica_pass_seconds)
    assert found.loc[4, "prompt_sending"] == case(sv.prompt_exchange_seconds) / case(sv.replica_prefill_seconds)
    assert useful(found.reset_index()) == 4 and useful(found.reset_index(), least=0.9) == 1


def test_slices_of_a_card_and_the_whole():
    drawn = slice_table("A100 SXM 80GB", "Llama-3-8B").source
    rows = re.findall(r'<tr><td class="short">(.*?)</td><td class="number" data-value="(\d+)">', drawn)
    assert rows == [("1g.10gb", "7"), ("2g.20gb", "3"), ("3g.40gb", "2"), ("the whole card", "1")]
